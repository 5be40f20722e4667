/* SPDX-License-Identifier: Apache-2.0 */
/* locus file list: the large files, their states and the progress of their work. */
#include <stdio.h>
#include <stdlib.h>
#include "db/trigger_rows.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "model/decision.h"
#include "model/states.h"
#include "rules/sched/decide.h"
#include "rules/sched/fileset.h"
#include "tools/census.h"
#include "tools/file_view.h"
#include "tools/human.h"
#include "tools/json.h"
#include "tools/table.h"
#include "lib/banned.h"

struct file_view
file_view_of(struct cmd_ctx *x, const struct row_file_info *info,
    const struct row_tally *tally, bool no_work)
{
	const struct snap_file f = { .has_unsent = info->has_unsent != 0,
		.has_open_wu = info->has_open_wu != 0,
		.has_any_wu = info->has_any_wu != 0,
		.no_work_available = no_work,
		.draining = info->paused == FILESET_DRAINING };
	struct file_view v = { .info = *info, .state = fileset_state(x->cf, &f) };

	if (tally != NULL)
		v.tally = *tally;
	return v;
}

char *
file_view_parts(struct arena *a, const struct file_view *v)
{
	if (v->info.gen_parts == 0)
		return arena_strdup(a, "");
	return arena_printf(a, "%d of %d", v->info.gen_next, v->info.gen_parts);
}

const char *
file_view_held_back(const struct file_view *v)
{
	static const char *const names[] = {
		[FILESET_PAUSED] = "paused", [FILESET_DRAINING] = "draining"
	};
	int32_t at = v->info.paused;

	return at > FILESET_OPEN && at < (int32_t)N(names) ? names[at] : "";
}

char *
demand_text(struct arena *a, const struct row_demand *d, int64_t now)
{
	if (d->asked == 0)
		return arena_strdup(
		    a, "no host has requested work that had to be made");
	return arena_printf(a,
	    "%lld requests for work that had to be made, the last %s ago; %lld waits were met",
	    (long long)d->asked, human_span(a, now - d->last), (long long)d->met);
}

void
demand_json(json_t *object, const struct row_demand *d)
{
	char last[21];

	json_object_set_new(object, "demand",
	    json_pack("{s:I, s:I, s:s}", "asked", (json_int_t)d->asked, "met",
		(json_int_t)d->met, "last",
		d->asked == 0 ? "" : clock_text(d->last, last)));
}

struct row_demand
file_view_demand(const struct file_view *v)
{
	return (struct row_demand){ v->info.demand, v->info.demand_met,
		v->info.demand_time };
}

json_t *
file_view_json(const struct file_view *v)
{
	const struct row_tally *t = &v->tally;

	json_t *j = json_pack(
	    "{s:o, s:o, s:s, s:s, s:i, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:i, s:i}",
	    "name", json_text(v->info.name), "app", json_text(v->info.app), "state",
	    file_state_name(v->state), "held_back", file_view_held_back(v), "nfiles",
	    v->info.nfiles, "size", (json_int_t)v->info.size, "unsent",
	    (json_int_t)t->unsent, "in_progress", (json_int_t)t->in_progress, "done",
	    (json_int_t)t->success, "valid", (json_int_t)t->valid, "failed",
	    (json_int_t)t->failed, "holders", (json_int_t)v->info.holders, "gen_next",
	    v->info.gen_next, "gen_parts", v->info.gen_parts);

	struct row_demand demand = file_view_demand(v);

	saved_json(j, &v->sent);
	demand_json(j, &demand);
	return j;
}

static void
put_file_row(struct cmd_ctx *x, struct table *t, const struct file_view *v)
{
	const char *back = file_view_held_back(v);

	table_put(t, v->info.name);
	table_printf(t, "%d", v->info.nfiles);
	table_put(t, human_bytes(x->a, v->info.size));
	table_put(t, v->info.app);
	table_printf(
	    t, "%s%s%s", file_state_name(v->state), back[0] == '\0' ? "" : ", ", back);
	table_printf(t, "%lld", (long long)v->tally.unsent);
	table_printf(t, "%lld", (long long)v->tally.in_progress);
	table_printf(t, "%lld", (long long)v->tally.success);
	table_printf(t, "%lld", (long long)v->tally.failed);
	table_printf(t, "%lld", (long long)v->info.holders);
	table_printf(t, "%lld", (long long)v->info.demand);
	table_put(t, file_view_parts(x->a, v));
}

static void
print_file_table(struct cmd_ctx *x, const struct file_view *v, size_t n)
{
	static const char *const heads[] = { "NAME", "FILES", "SIZE", "APP", "STATE",
		"UNSENT", "IN PROGRESS", "DONE", "FAILED", "HOLDERS", "DEMAND",
		"PARTS MADE" };
	struct table t = table_new(x->a, "lrrllrrrrrrl");

	for (size_t i = 0; i < N(heads); i++)
		table_put(&t, heads[i]);
	for (size_t i = 0; i < n; i++)
		put_file_row(x, &t, &v[i]);
	table_print(&t);
}

static void
print_files_json(const struct file_view *v, size_t n)
{
	json_t *list = json_array();

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, file_view_json(&v[i]));
	json_show(list);
}

static int
tally_compare_id(const void *key, const void *item)
{
	int64_t id = *(const int64_t *)key, at = ((const struct row_tally *)item)->id;

	return (id > at) - (id < at);
}

/* Copies the ledger's sums, sorted by id, to their files. */
static void
join_ledger(struct file_view *v, size_t n, const struct row_ledger *sums, size_t nsums)
{
	for (size_t i = 0; i < n; i++)
		for (size_t lo = 0, hi = nsums; lo < hi;) {
			size_t mid = lo + (hi - lo) / 2;

			if (sums[mid].fileset_id == v[i].info.id) {
				v[i].sent = sums[mid];
				break;
			}
			if (sums[mid].fileset_id < v[i].info.id)
				lo = mid + 1;
			else
				hi = mid;
		}
}

static enum err
file_list_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct row_file_info *info = NULL;
	struct row_tally *tallies = NULL;
	struct row_ledger *sums;
	struct file_view *v;
	size_t n, ntallies, nsums, nno_work;
	char **no_work;
	enum err e = ctx_db(x);
	const struct triggers t = triggers_of(x->cf, x->db, NULL);

	(void)opts, (void)args, (void)nargs;
	if (e == OK)
		e = db_query(x->db, x->a, x->f, &info, &n, FILE_INFOS);
	if (e == OK)
		e = db_query(x->db, x->a, x->f, &tallies, &ntallies, FILE_TALLIES);
	if (e == OK)
		e = ledger_of_files(x->db, x->a, &sums, &nsums, x->f);
	if (e == OK)
		e = trigger_list(
		    &t, x->a, TRIGGER_NO_WORK_AVAILABLE, &no_work, &nno_work, x->f);
	if (e != OK)
		return e;
	v = NEWN(x->a, struct file_view, n + 1);
	for (size_t i = 0; i < n; i++)
		v[i] = file_view_of(x, &info[i],
		    ntallies == 0 ? NULL :
				    bsearch(&info[i].id, tallies, ntallies,
					sizeof(struct row_tally), tally_compare_id),
		    trigger_in(no_work, nno_work, info[i].name));
	join_ledger(v, n, sums, nsums);
	if (x->format == FORMAT_JSON)
		print_files_json(v, n);
	else if (n > 0)
		print_file_table(x, v, n);
	else
		return ctx_not_found(
		    x, "the project has no large files; locus file add adds some");
	return OK;
}

const struct cmd cmd_file_list = { .name = "file list",
	.args = "",
	.purpose = "list the large files, their states and their work",
	.about =
	    "Prints one line per file or set of files: the number of its files, their size, the\n"
	    "app, how many results are unsent, in progress, done and failed, how many hosts hold\n"
	    "the whole set, how often a host requested work that had to be made first, and how\n"
	    "many of its parts have been made. States: ADVERTISED (it has unsent results),\n"
	    "DRAINING (none now, more may be made), EXHAUSTED (no more will be made), DEAD\n"
	    "(exhausted, and no workunit is open).",
	.formats = HAS_JSON,
	.run = file_list_run };
