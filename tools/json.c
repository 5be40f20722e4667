/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/json.h"

#include <stdio.h>
#include "lib/buf.h"
#include "tools/listing.h"
#include "lib/banned.h"

/* The value as json has it, but a text without quotes; null is empty. */
static const char *
leaf_text(struct arena *a, const json_t *v)
{
	switch (json_typeof(v)) {
	case JSON_STRING:
		return json_string_value(v);
	case JSON_INTEGER:
		return arena_printf(a, "%" JSON_INTEGER_FORMAT, json_integer_value(v));
	case JSON_REAL:
		return arena_printf(a, "%.15g", json_real_value(v));
	case JSON_TRUE:
		return "true";
	case JSON_FALSE:
		return "false";
	default:
		return "";
	}
}

/* Prints the values below v, whose path is given; depth first, in order. */
static void
tree_print(struct arena *a, const char *path, json_t *v)
{
	const char *dot = path[0] == '\0' ? "" : ".", *key;
	json_t *child;
	size_t i;

	if (json_is_object(v)) {
		json_object_foreach(v, key, child)
		    tree_print(a, arena_printf(a, "%s%s%s", path, dot, key), child);
	} else if (json_is_array(v)) {
		json_array_foreach(v, i, child)
		    tree_print(a, arena_printf(a, "%s%s%zu", path, dot, i), child);
	} else {
		tsv_print(path);
		putchar('\t');
		tsv_print(leaf_text(a, v));
		putchar('\n');
	}
}

void
json_show(enum format format, json_t *root)
{
	struct arena a = { 0 };

	if (format == FORMAT_TSV) {
		printf("path\tvalue\n");
		tree_print(&a, "", root);
	} else {
		json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
		printf("\n");
	}
	json_decref(root);
	arena_free(&a);
}
