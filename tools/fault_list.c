/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/fault_list.h"

#include <stdarg.h>
#include <stdio.h>
#include "lib/banned.h"

static const char *const level_names[] = { [FAULT_NOTE] = "note",
	[FAULT_WARNING] = "warning",
	[FAULT_ERROR] = "error" };

const struct print_column fault_columns[] = {
	{ "place", NULL, PRINT_TEXT, "a file, or the database" },
	{ "line", NULL, PRINT_NUMBER, "null: none in particular" },
	{ "level", NULL, PRINT_TEXT, "error, warning or note" },
	{ "text", NULL, PRINT_TEXT, NULL },
	{ 0 },
};

struct fault_list
fault_list_begin(struct cmd_ctx *x)
{
	return (struct fault_list){ .x = x, .l = print_list(x, fault_columns) };
}

void
fault_put(struct fault_list *all, const char *place, int line, enum fault_level level,
    const char *fmt, ...)
{
	const char *colon = place[0] == '\0' ? "" : ":";
	char text[2000];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	all->n++;
	all->errors += level == FAULT_ERROR;
	print_cells(
	    all->l, place, print_unless(line <= 0, line), level_names[level], text);
	print_line(all->l, NULL, "%s%s%s%s%s: %s", place, colon,
	    line > 0 ? arena_printf(all->x->a, "%d:", line) : "",
	    colon[0] == '\0' ? "" : " ", level_names[level], text);
}

enum err
fault_list_end(struct fault_list *all, const char *where)
{
	print_end(all->l);
	if (all->errors == 0)
		return OK;
	return FAIL(all->x->f, E_CONFIG, "%zu error%s in %s", all->errors,
	    all->errors == 1 ? "" : "s", where);
}
