/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/set_report.h"

#include <inttypes.h>
#include <string.h>
#include "lib/banned.h"

const struct print_column set_columns[] = {
	{ "setting", "SETTING", PRINT_TEXT, "the option's name" },
	{ "was", "WAS", PRINT_TEXT, NULL },
	{ "now", "NOW", PRINT_TEXT, "in a dry run: what it would be" },
	{ 0 },
};

struct set_report
set_report_new(struct cmd_ctx *x)
{
	return (struct set_report){ .x = x };
}

void
set_report_text(
    struct set_report *r, const char *setting, const char *was, const char *now)
{
	was = was == NULL ? "" : was;
	now = now == NULL ? "" : now;
	if (strcmp(was, now) != 0)
		PUSH(r->x->a, r->v, r->n, r->cap) = (struct set_change){ setting,
			arena_strdup(r->x->a, was), arena_strdup(r->x->a, now) };
}

void
set_report_number(struct set_report *r, const char *setting, int64_t was, int64_t now)
{
	set_report_text(r, setting, arena_printf(r->x->a, "%" PRId64, was),
	    arena_printf(r->x->a, "%" PRId64, now));
}

void
set_report_real(struct set_report *r, const char *setting, double was, double now)
{
	set_report_text(r, setting, arena_printf(r->x->a, "%.10g", was),
	    arena_printf(r->x->a, "%.10g", now));
}

void
set_report_print(const struct set_report *r, bool dry, const char *what)
{
	struct print *l;

	if (r->x->format == FORMAT_TABLE)
		ctx_progress(r->x,
		    r->n == 0 ? "unchanged" :
		    dry       ? "would change" :
				"changed",
		    "%s", what);
	if (r->n == 0 && r->x->format == FORMAT_TABLE)
		return;
	l = print_list(r->x, set_columns);
	for (size_t i = 0; i < r->n; i++) {
		print_cells(l, r->v[i].setting, r->v[i].was, r->v[i].now);
	}
	print_end(l);
}
