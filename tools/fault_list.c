/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fault_list.h"

#include <stdarg.h>
#include <stdio.h>
#include "lib/banned.h"

static const char *const level_names[] = { [FAULT_NOTE] = "note",
	[FAULT_WARNING] = "warning",
	[FAULT_ERROR] = "error" };

const struct listing_column fault_columns[] = {
	{ "place", "PLACE", LIST_TEXT, "a file, or the database" },
	{ "line", "LINE", LIST_NUMBER, "null: none in particular" },
	{ "level", "LEVEL", LIST_TEXT, "error, warning or note" },
	{ "text", "TEXT", LIST_TEXT, NULL },
	{ 0 },
};

struct fault_list
fault_list_begin(struct cmd_ctx *x)
{
	return (struct fault_list){ .x = x,
		.l = x->format == FORMAT_TABLE ? NULL :
		                                 listing_begin(x, fault_columns) };
}

void
fault_put(struct fault_list *all, const char *place, int line, enum fault_level level,
    const char *fmt, ...)
{
	char text[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	all->n++;
	all->errors += level == FAULT_ERROR;
	if (all->l == NULL) {
		printf("%s%s", place, place[0] == '\0' ? "" : ":");
		if (line > 0)
			printf("%d:", line);
		printf("%s%s: %s\n", place[0] == '\0' ? "" : " ", level_names[level],
		    text);
		return;
	}
	listing_text(all->l, place);
	if (line > 0)
		listing_number(all->l, line);
	else
		listing_null(all->l);
	listing_text(all->l, level_names[level]);
	listing_text(all->l, text);
}

enum err
fault_list_end(struct fault_list *all, const char *where)
{
	if (all->l != NULL)
		listing_end(all->l);
	if (all->errors == 0)
		return OK;
	return FAIL(all->x->f, E_CONFIG, "%zu error%s in %s", all->errors,
	    all->errors == 1 ? "" : "s", where);
}
