/* SPDX-License-Identifier: Apache-2.0 */
/* jansson refuses text that is not UTF-8, but names of files and hosts may contain any
 * bytes. */
#include "tools/json.h"

#include <stdio.h>
#include "lib/arena.h"
#include "lib/banned.h"

json_t *
json_text(const char *s)
{
	struct arena a = { 0 };
	char *copy = arena_strdup(&a, s);
	json_t *text;

	for (char *p = copy; *p != '\0'; p++)
		if ((unsigned char)*p < ' ' || *p == 127)
			*p = '?';
	text = json_string(copy);
	if (text == NULL) {
		for (char *p = copy; *p != '\0'; p++)
			if ((unsigned char)*p > 126)
				*p = '?';
		text = json_string(copy);
	}
	arena_free(&a);
	return text;
}

void
json_show(json_t *root)
{
	json_dumpf(root, stdout, JSON_INDENT(1) | JSON_REAL_PRECISION(17));
	printf("\n");
	json_decref(root);
}
