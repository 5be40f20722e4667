/* SPDX-License-Identifier: Apache-2.0 */
/* locus team list, team show, team set. */
#include <inttypes.h>
#include <string.h>
#include "db/stmts.h"
#include "db/work_list.h"
#include "lib/text.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "lib/banned.h"

struct team_list_opts {
	const char *name;
	int64_t limit;
};
static const struct field team_list_options[] = {
	{ "name", FIELD_OF(struct team_list_opts, name), "PATTERN",
	    "Only names that match, where * and ? stand for other characters." },
	{ "limit", FIELD_OF(struct team_list_opts, limit), "NUMBER",
	    "At most so many; default: 100 in a table, otherwise all." },
	{ 0 },
};

static const struct print_column team_columns[] = {
	{ "id", "ID", PRINT_NUMBER, NULL },
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "founder_id", NULL, PRINT_NUMBER, NULL },
	{ "founder", "FOUNDER", PRINT_TEXT, NULL },
	{ "type", NULL, PRINT_NUMBER,
	    "of a BOINC project: 1 company, 4 university, ..." },
	{ "country", "COUNTRY", PRINT_TEXT, NULL },
	{ "url", NULL, PRINT_TEXT, NULL },
	{ "joinable", "JOINABLE", PRINT_FLAG, "anybody may join" },
	{ "members", "MEMBERS", PRINT_NUMBER, NULL },
	{ "created", "CREATED", PRINT_TIME, NULL },
	{ "credit", "CREDIT", PRINT_REAL, NULL },
	{ "recent_credit", NULL, PRINT_REAL, "recent average per day" },
	{ 0 },
};
static const struct print_column team_show_columns[] = {
	{ "id", "id", PRINT_NUMBER, NULL },
	{ "name", "name", PRINT_TEXT, NULL },
	{ "founder_id", NULL, PRINT_NUMBER, NULL },
	{ "founder", "founder", PRINT_TEXT, NULL },
	{ "type", "type", PRINT_NUMBER, NULL },
	{ "country", "country", PRINT_TEXT, NULL },
	{ "url", "url", PRINT_TEXT, NULL },
	{ "joinable", "joinable", PRINT_FLAG, NULL },
	{ "members", "members", PRINT_NUMBER, NULL },
	{ "created", "created", PRINT_TIME, NULL },
	{ "credit", "credit", PRINT_REAL, NULL },
	{ "recent_credit", "recent credit", PRINT_REAL, "average per day" },
	{ "description", "description", PRINT_TEXT, NULL },
	{ 0 },
};

static void team_line_put(struct print *l, const struct row_team_line *t)
{
	print_cells(l, t->id, t->name, t->userid, t->founder, t->type, t->country,
	    t->url, t->joinable != 0, t->members, t->create_time, t->credit,
	    t->recent_credit);
}

static enum err team_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct team_list_opts *o = opts;
	char *name = o->name == NULL ? NULL : work_like(x->a, o->name);
	struct row_team_line *rows;
	struct pager p;
	int64_t wants;
	size_t found;
	enum err e = OK;

	(void)args, (void)n;
	TRY(ctx_db_report(x));
	p = pager_begin(x, team_columns, o->limit);
	while (e == OK && (wants = pager_wants(&p)) > 0) {
		rows = NULL;
		found = 0;
		e = db_query(x->db, &p.page, x->f, &rows, &found, TEAMS_LISTED,
		    .before = p.before, .name = name, .max = wants);
		for (size_t i = 0; i < found; i++)
			if (pager_takes(&p, rows[i].id))
				team_line_put(p.list, &rows[i]);
		pager_page(&p, wants, found);
	}
	return pager_end(&p, e, "team");
}

const struct cmd cmd_team_list = { .name = "team list",
	.args = "",
	.purpose = "list teams",
	.about = "Lists teams, the newest first. Exit status 3: no team matches.",
	.opts = team_list_options,
	.opts_size = sizeof(struct team_list_opts),
	.columns = team_columns,
	.run = team_list_run };

/* --- show --- */

static enum err team_line_of(
    struct cmd_ctx *x, const char *arg, struct row_team_line **t)
{
	int64_t id;

	TRY(tools_team(x, arg, &id));
	return db_row(x->db, x->a, x->f, t, TEAM_LINE_BY_ID, .id = id);
}

static enum err team_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct row_team_line *t = NULL;
	struct print *l;

	(void)opts, (void)n;
	TRY(ctx_db_report(x));
	TRY(team_line_of(x, args[0], &t));
	l = print_record_begin(x, team_show_columns);
	team_line_put(l, t);
	print_cells(l, t->description);
	print_end(l);
	return OK;
}

const struct cmd cmd_team_show = { .name = "team show",
	.args = "NAME|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show a team",
	.about = "Shows a team. locus user list --team NAME lists its members.",
	.columns = team_show_columns,
	.run = team_show_run };

/* --- set --- */

struct team_set_opts { /* NULL = unchanged */
	const char *name, *url, *country, *description, *founder;
	const int64_t *joinable;
	bool dry_run;
};
#define OFF(member) FIELD_OF(struct team_set_opts, member)

static const struct field team_set_options[] = {
	{ "name", OFF(name), "TEXT", "Its name, which no other team has." },
	{ "url", OFF(url), "URL", "Its site." },
	{ "country", OFF(country), "TEXT", "Its country." },
	{ "description", OFF(description), "TEXT", "What it says about itself." },
	{ "joinable", OFF(joinable), "0|1", "1: anybody may join.", .max = 1 },
	{ "founder", OFF(founder), "EMAIL|ID", "The account that leads it." },
	DRY_RUN_OPTION(struct team_set_opts),
	{ 0 },
};

static char *text_or(struct arena *a, const char *given, char *was)
{
	return given == NULL ? was : arena_strdup(a, given);
}

static enum err team_set_values(
    struct cmd_ctx *x, const struct team_set_opts *o, struct row_team_line *t)
{
	struct user *founder;
	int64_t other = 0;

	if (o->name != NULL && o->name[0] == '\0')
		return ctx_usage(x, "--name: a team needs a name");
	set_given(o->joinable, &t->joinable);
	if (o->founder != NULL) {
		TRY(tools_user(x, o->founder, &founder));
		t->userid = founder->id;
	}
	if (o->name != NULL &&
	    db_number(x->db, x->f, &other, TEAM_ID_BY_NAME, .name = o->name) == OK &&
	    other != t->id)
		return FAIL(x->f, E_RACE,
		    "team %" PRId64 " has the name %.100s already", other, o->name);
	t->name = text_or(x->a, o->name, t->name);
	t->url = text_or(x->a, o->url, t->url);
	t->country = text_or(x->a, o->country, t->country);
	t->description = text_or(x->a, o->description, t->description);
	return OK;
}

static enum err team_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct team_set_opts *o = opts;
	struct row_team_line *t = NULL, was;

	(void)n;
	if (o->name == NULL && o->url == NULL && o->country == NULL &&
	    o->description == NULL && o->joinable == NULL && o->founder == NULL)
		return ctx_usage(x, "nothing to change: give at least one option");
	TRY(ctx_db(x));
	TRY(team_line_of(x, args[0], &t));
	was = *t;
	TRY(team_set_values(x, o, t));
	if (!o->dry_run)
		TRY(db_exec(x->db, x->f, NULL, TEAM_SET, .name = t->name, .url = t->url,
		    .country = t->country, .description = t->description,
		    .joinable = t->joinable, .userid = t->userid, .id = t->id));
	struct set_report r = set_report_new(x);

	set_report_text(&r, "name", was.name, t->name);
	set_report_text(&r, "url", was.url, t->url);
	set_report_text(&r, "country", was.country, t->country);
	set_report_text(&r, "description", was.description, t->description);
	set_report_number(&r, "joinable", was.joinable, t->joinable);
	set_report_number(&r, "founder", was.userid, t->userid);
	set_report_print(&r, o->dry_run,
	    arena_printf(x->a, "team %" PRId64 " (%s)", t->id, t->name));
	return OK;
}

const struct cmd cmd_team_set = { .name = "team set",
	.args = "NAME|ID",
	.min_args = 1,
	.max_args = 1,
	.purpose = "change a team",
	.about = "Changes what the options name and leaves the rest.",
	.opts = team_set_options,
	.opts_size = sizeof(struct team_set_opts),
	.columns = set_columns,
	.run = team_set_run };
