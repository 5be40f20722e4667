/* SPDX-License-Identifier: Apache-2.0 */
/* Lookups that suggest the nearest name, and the transaction in which commands write to
 * the database. */
#include "tools/catalog.h"

#include <inttypes.h>
#include <string.h>
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/text.h"
#include "lib/banned.h"

enum err tools_catalog(struct cmd_ctx *x, struct catalog **c)
{
	TRY(ctx_db(x));
	return catalog_load(x->db, x->a, c, x->f);
}

enum err tools_app(struct cmd_ctx *x, const struct catalog *c, const char *name,
    const struct app **app)
{
	size_t least = (size_t)-1;
	const char *best = NULL;

	*app = catalog_app_named(c, name);
	if (*app != NULL)
		return OK;
	for (size_t i = 0; i < c->napps; i++)
		if (near_offer(name, c->apps[i].name, &least))
			best = c->apps[i].name;
	if (best != NULL)
		return ctx_not_found(
		    x, "there is no app %s; did you mean %s?", name, best);
	return ctx_not_found(x, "there is no app %s; locus app add creates one", name);
}

enum err tools_platform(struct cmd_ctx *x, const struct catalog *c, const char *name,
    const struct platform **platform)
{
	size_t least = (size_t)-1;
	const char *best = NULL;

	*platform = catalog_platform_named(c, name);
	if (*platform != NULL)
		return OK;
	for (size_t i = 0; i < c->nplatforms; i++)
		if (near_offer(name, c->platforms[i].name, &least))
			best = c->platforms[i].name;
	return ctx_not_found(x, "there is no platform %s%s%s", name,
	    best == NULL ? "; x86_64-pc-linux-gnu is one" : "; did you mean ",
	    best == NULL ? "" : best);
}

enum err tools_user(struct cmd_ctx *x, const char *arg, struct user **u)
{
	int64_t id;
	enum err e = text_i64(arg, 1, INT64_MAX, &id) ?
	                 user_by_id(x->db, x->a, id, u, x->f) :
	                 user_by_email(x->db, x->a, arg, u, x->f);

	return e == E_NOTFOUND ? ctx_not_found(x, "there is no account %.100s", arg) :
	                         e;
}

static enum err transact_once(
    struct cmd_ctx *x, enum err (*work)(struct cmd_ctx *, void *), void *arg)
{
	TRY(db_ready(x->db, x->f));
	TRY(db_begin(x->db, x->f));
	return work(x, arg);
}

static enum err transact(
    struct cmd_ctx *x, enum err (*work)(struct cmd_ctx *, void *), void *arg, bool dry)
{
	int attempt = 0;
	enum err e;

	do {
		e = transact_once(x, work, arg);
		if (e == OK && dry)
			db_rollback(x->db);
		else if (e == OK && (e = db_commit(x->db, x->f)) == E_RETRY &&
			 db_commit_uncertain(x->db))
			return FAIL(x->f, E_RETRY,
			    "the connection to the database was lost during the commit: check whether the change was made, then try again");
	} while (db_again(x->db, &attempt, &e, x->f));
	return e;
}

enum err tools_transaction(
    struct cmd_ctx *x, enum err (*work)(struct cmd_ctx *, void *), void *arg)
{
	return transact(x, work, arg, false);
}

enum err tools_transaction_dry(
    struct cmd_ctx *x, enum err (*work)(struct cmd_ctx *, void *), void *arg)
{
	return transact(x, work, arg, true);
}

enum err tools_host(struct cmd_ctx *x, int64_t id, struct host **h)
{
	enum err e = host_by_id(x->db, x->a, id, h, x->f);

	return e == E_NOTFOUND ? ctx_not_found(x, "there is no host %" PRId64, id) : e;
}

enum err tools_team(struct cmd_ctx *x, const char *arg, int64_t *id)
{
	struct row_team_line *t = NULL;
	enum err e = E_NOTFOUND;

	if (text_i64(arg, 1, INT64_MAX, id))
		e = db_row(x->db, x->a, x->f, &t, TEAM_LINE_BY_ID, .id = *id);
	if (e == E_NOTFOUND)
		e = db_number(x->db, x->f, id, TEAM_ID_BY_NAME, .name = arg);
	return e == E_NOTFOUND ?
	           ctx_not_found(
		       x, "there is no team %.100s; locus team list lists them", arg) :
	           e;
}

const struct print_column set_columns[] = {
	{ "setting", "SETTING", PRINT_TEXT, "the option's name" },
	{ "was", "WAS", PRINT_TEXT, NULL },
	{ "now", "NOW", PRINT_TEXT, "in a dry run: what it would be" },
	{ 0 },
};

void set_given(const int64_t *given, int32_t *column)
{
	if (given != NULL)
		*column = (int32_t)*given;
}

struct set_report set_report_new(struct cmd_ctx *x)
{
	return (struct set_report){ .x = x };
}

void set_report_text(
    struct set_report *r, const char *setting, const char *was, const char *now)
{
	was = was == NULL ? "" : was;
	now = now == NULL ? "" : now;
	if (strcmp(was, now) != 0)
		PUSH(r->x->a, r->v, r->n, r->cap) = (struct set_change){ setting,
			arena_strdup(r->x->a, was), arena_strdup(r->x->a, now) };
}

void set_report_number(
    struct set_report *r, const char *setting, int64_t was, int64_t now)
{
	set_report_text(r, setting, arena_printf(r->x->a, "%" PRId64, was),
	    arena_printf(r->x->a, "%" PRId64, now));
}

void set_report_real(struct set_report *r, const char *setting, double was, double now)
{
	set_report_text(r, setting, arena_printf(r->x->a, "%.10g", was),
	    arena_printf(r->x->a, "%.10g", now));
}

void set_report_print(const struct set_report *r, bool dry, const char *what)
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
