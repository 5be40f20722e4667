/* SPDX-License-Identifier: Apache-2.0 */
/* locus file list: the large files, their states and the progress of their work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "db/trigger_rows.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "model/decision.h"
#include "model/states.h"
#include "rules/sched/decide.h"
#include "rules/sched/fileset.h"
#include "tools/catalog.h"
#include "tools/census.h"
#include "tools/file_view.h"
#include "tools/human.h"
#include "tools/json.h"
#include "tools/listing.h"
#include "tools/tallies.h"
#include "tools/work_pick.h"
#include "lib/banned.h"

enum { TABLE_ROWS = 100 };

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

struct file_list_opts {
	const char *app, *name, *sort;
	struct conf_list states;
	int64_t limit;
};
#define OFF(member) offsetof(struct file_list_opts, member)

static const struct opt file_list_options[] = {
	{ "state", OPT_TEXTS, OFF(states), "STATE",
	    "Only those in this state; paused and draining choose those held back. May be repeated." },
	{ "app", OPT_TEXT, OFF(app), "APP", "Only those of this app." },
	{ "name", OPT_TEXT, OFF(name), "PATTERN",
	    "Only names that match, where * and ? stand for other characters." },
	{ "sort", OPT_TEXT, OFF(sort), "name|size|unsent|hosts",
	    "In this order; all but names begin with the largest. Default: name." },
	{ "limit", OPT_NUMBER, OFF(limit), "NUMBER",
	    "At most so many; default: 100 in a table, otherwise all." },
	{ 0 },
};

static const struct listing_column file_list_columns[] = {
	{ "name", "NAME", LIST_TEXT, NULL },
	{ "nfiles", "FILES", LIST_NUMBER, "of the set; 1: a single file" },
	{ "size", "SIZE", LIST_BYTES, "of all of them" },
	{ "app", "APP", LIST_TEXT, NULL },
	{ "state", "STATE", LIST_TEXT, "ADVERTISED, DRAINING, EXHAUSTED or DEAD" },
	{ "held_back", "HELD", LIST_TEXT, "paused or draining: by the admin" },
	{ "unsent", "UNSENT", LIST_NUMBER, "its results that are unsent" },
	{ "in_progress", "IN PROGRESS", LIST_NUMBER, NULL },
	{ "done", "DONE", LIST_NUMBER, NULL },
	{ "valid", NULL, LIST_NUMBER, NULL },
	{ "failed", "FAILED", LIST_NUMBER, NULL },
	{ "holders", "HOLDERS", LIST_NUMBER, "hosts that hold the whole set" },
	{ "demand", "DEMAND", LIST_NUMBER,
	    "requests for work that had to be made first" },
	{ "demand_met", NULL, LIST_NUMBER, "waits that new work ended" },
	{ "demand_last", NULL, LIST_TIME, "last such request" },
	{ "gen_next", "MADE", LIST_NUMBER, "parts of which work was made" },
	{ "gen_parts", "PARTS", LIST_NUMBER, "0: the built-in generator makes none" },
	{ "jobs_sent", NULL, LIST_NUMBER, NULL },
	{ "hits", NULL, LIST_NUMBER, "of these, to hosts that held it" },
	{ "bytes_needed", NULL, LIST_BYTES, "sent for them" },
	{ "bytes_saved", NULL, LIST_BYTES, "held already" },
	{ 0 },
};

static void
put_file_row(struct listing *l, const struct file_view *v)
{
	listing_text(l, v->info.name);
	listing_number(l, v->info.nfiles);
	listing_real(l, v->info.size);
	listing_text(l, v->info.app);
	listing_text(l, file_state_name(v->state));
	listing_text(l, file_view_held_back(v));
	listing_number(l, v->tally.unsent);
	listing_number(l, v->tally.in_progress);
	listing_number(l, v->tally.success);
	listing_number(l, v->tally.valid);
	listing_number(l, v->tally.failed);
	listing_number(l, v->info.holders);
	listing_number(l, v->info.demand);
	listing_number(l, v->info.demand_met);
	listing_number(l, v->info.demand == 0 ? 0 : v->info.demand_time);
	listing_number(l, v->info.gen_next);
	listing_number(l, v->info.gen_parts);
	listing_number(l, v->sent.jobs);
	listing_number(l, v->sent.hits);
	listing_number(l, v->sent.bytes_needed);
	listing_number(l, v->sent.bytes_saved);
}

static int
pair_compare_id(const void *key, const void *item)
{
	int64_t id = *(const int64_t *)key, at = ((const struct row_pair *)item)->a;

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

/* --- choosing and sorting --- */

enum file_sort { BY_NAME, BY_SIZE, BY_UNSENT, BY_HOSTS };

struct file_choice {
	const char *app, *name;
	unsigned states,
	    held; /* bits 1 << enum file_state, 1 << FILESET_...; 0 = any */
	enum file_sort sort;
	size_t limit;
};

/* Words for states: work to send, none at present, and none ever. */
static const struct {
	const char *word;
	unsigned states;
} state_words[] = { { "active", 1U << FILE_ADVERTISED },
	{ "dry", 1U << FILE_DRAINING | 1U << FILE_EXHAUSTED },
	{ "done", 1U << FILE_DEAD } };

static enum err
choose_file_state(struct cmd_ctx *x, const char *name, struct file_choice *c)
{
	for (size_t i = 0; i < N(state_words); i++)
		if (strcmp(name, state_words[i].word) == 0) {
			c->states |= state_words[i].states;
			return OK;
		}
	for (int s = 0; s < FILE_STATES; s++)
		if (strcasecmp(name, file_state_name((enum file_state)s)) == 0) {
			/* "draining" is what the admin set, "DRAINING" the state. */
			if (strcmp(name, "draining") == 0)
				break;
			c->states |= 1U << s;
			return OK;
		}
	if (strcmp(name, "paused") == 0)
		c->held |= 1U << FILESET_PAUSED;
	else if (strcmp(name, "draining") == 0)
		c->held |= 1U << FILESET_DRAINING;
	else
		return ctx_usage(x,
		    "--state %.40s: it must be active, dry, done, ADVERTISED, DRAINING, EXHAUSTED, DEAD, paused or draining",
		    name);
	return OK;
}

static enum err
choose_files(struct cmd_ctx *x, const struct file_list_opts *o, struct file_choice *c)
{
	static const char *const orders[] = { [BY_NAME] = "name",
		[BY_SIZE] = "size",
		[BY_UNSENT] = "unsent",
		[BY_HOSTS] = "hosts" };
	size_t i = 0;

	*c = (struct file_choice){ .app = o->app, .name = o->name };
	for (size_t k = 0; k < o->states.n; k++)
		TRY(choose_file_state(x, o->states.v[k], c));
	while (o->sort != NULL && i < N(orders) && strcmp(o->sort, orders[i]) != 0)
		i++;
	if (i == N(orders))
		return ctx_usage(
		    x, "--sort %.40s: it must be name, size, unsent or hosts", o->sort);
	c->sort = (enum file_sort)i;
	c->limit = o->limit > 0              ? (size_t)o->limit :
	           x->format == FORMAT_TABLE ? TABLE_ROWS :
	                                       SIZE_MAX;
	return OK;
}

static bool
file_chosen(const struct file_choice *c, const struct file_view *v)
{
	return (c->app == NULL || strcmp(c->app, v->info.app) == 0) &&
	       (c->name == NULL || work_pick_glob(c->name, v->info.name)) &&
	       ((c->states == 0 && c->held == 0) || (c->states >> v->state & 1) != 0 ||
		   (c->held >> v->info.paused & 1) != 0);
}

/* The larger first, then by name, which is the order that the rows have. */
static int
larger_first(double a, double b, const struct file_view *x, const struct file_view *y)
{
	if (a != b)
		return a > b ? -1 : 1;
	return strcmp(x->info.name, y->info.name);
}

static int
compare_size(const void *a, const void *b)
{
	const struct file_view *x = a, *y = b;

	return larger_first(x->info.size, y->info.size, x, y);
}

static int
compare_unsent(const void *a, const void *b)
{
	const struct file_view *x = a, *y = b;

	return larger_first((double)x->tally.unsent, (double)y->tally.unsent, x, y);
}

static int
compare_hosts(const void *a, const void *b)
{
	const struct file_view *x = a, *y = b;

	return larger_first((double)x->info.holders, (double)y->info.holders, x, y);
}

static void
sort_files(struct file_view *v, size_t n, enum file_sort by)
{
	static int (*const orders[])(const void *, const void *) = {
		[BY_SIZE] = compare_size,
		[BY_UNSENT] = compare_unsent,
		[BY_HOSTS] = compare_hosts,
	};

	if (by != BY_NAME && n > 0)
		qsort(v, n, sizeof(*v), orders[by]);
}

/* --- counting --- */

/* Unsent results by the index of those only. */
static enum err
count_unsent(struct cmd_ctx *x, struct file_view *v, size_t n)
{
	struct row_pair *counts = NULL;
	size_t ncounts;

	TRY(db_query(x->db, x->a, x->f, &counts, &ncounts, FILES_UNSENT));
	for (size_t i = 0; i < n && ncounts > 0; i++) {
		const struct row_pair *p = bsearch(
		    &v[i].info.id, counts, ncounts, sizeof(*counts), pair_compare_id);

		v[i].tally.unsent = p == NULL ? 0 : p->b;
	}
	return OK;
}

/* From the counts that are kept; what is not unsent of the others is in progress. */
static enum err
count_of_files(struct cmd_ctx *x, struct file_view *v, size_t n)
{
	struct work_tallies t;

	TRY(work_tallies_read(x->db, x->a, TALLY_OF_FILESET, n == 1 ? v[0].info.id : 0,
	    clock_now(), &t, x->f));
	tally_note(x, t.behind);
	TRY(count_unsent(x, v, n));
	for (size_t i = 0; i < n; i++) {
		struct row_tally *r = &v[i].tally;
		int64_t live = 0;

		for (size_t k = tally_first(&t, v[i].info.id);
		     k < t.n && t.v[k].id == v[i].info.id; k++) {
			live += t.v[k].live;
			r->success += t.v[k].success;
			r->valid += t.v[k].valid;
			r->failed += t.v[k].failed;
		}
		r->in_progress = live > r->unsent ? live - r->unsent : 0;
	}
	return OK;
}

/* All file sets that match, in order; *n may be more than the limit. */
static enum err
read_files(
    struct cmd_ctx *x, const struct file_choice *c, struct file_view **out, size_t *n)
{
	const struct triggers t = triggers_of(x->cf, x->db, NULL);
	struct row_file_info *info = NULL;
	struct file_view *v;
	size_t all, nno_work;
	char **no_work;

	TRY(db_query(x->db, x->a, x->f, &info, &all, FILE_INFOS));
	TRY(trigger_list(
	    &t, x->a, TRIGGER_NO_WORK_AVAILABLE, &no_work, &nno_work, x->f));
	v = NEWN(x->a, struct file_view, all + 1);
	*n = 0;
	for (size_t i = 0; i < all; i++) {
		v[*n] = file_view_of(
		    x, &info[i], NULL, trigger_in(no_work, nno_work, info[i].name));
		*n += file_chosen(c, &v[*n]);
	}
	if (c->sort == BY_UNSENT)
		TRY(count_unsent(x, v, *n));
	sort_files(v, *n, c->sort);
	*out = v;
	return OK;
}

static enum err
app_must_exist(struct cmd_ctx *x, const char *name)
{
	const struct app *app;
	struct catalog *c;

	if (name == NULL)
		return OK;
	TRY(tools_catalog(x, &c));
	return tools_app(x, c, name, &app);
}

static enum err
file_list_run(struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct file_choice c;
	struct row_ledger *sums;
	struct file_view *v;
	struct listing *l;
	size_t n, shown, nsums;

	(void)args, (void)nargs;
	TRY(choose_files(x, opts, &c));
	TRY(ctx_db(x));
	TRY(app_must_exist(x, c.app));
	TRY(read_files(x, &c, &v, &n));
	shown = n < c.limit ? n : c.limit;
	TRY(count_of_files(x, v, shown));
	TRY(ledger_of_files(x->db, x->a, &sums, &nsums, x->f));
	join_ledger(v, shown, sums, nsums);
	if (n > 0 || x->format != FORMAT_TABLE) {
		l = listing_begin(x, file_list_columns);
		for (size_t i = 0; i < shown; i++)
			put_file_row(l, &v[i]);
		listing_end(l);
	}
	if (shown < n && x->format == FORMAT_TABLE)
		fprintf(stderr, "%zu of %zu are shown; --limit NUMBER shows more\n",
		    shown, n);
	if (n > 0)
		return OK;
	if (c.app != NULL || c.name != NULL || c.states != 0 || c.held != 0)
		return ctx_not_found(x, "no file matches; locus file list shows all");
	return x->format == FORMAT_TABLE ?
	           ctx_not_found(
		       x, "the project has no large files; locus file add adds some") :
	           OK;
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
	    "(exhausted, and no workunit is open). --state active means ADVERTISED, dry DRAINING\n"
	    "or EXHAUSTED, done DEAD.",
	.opts = file_list_options,
	.opts_size = sizeof(struct file_list_opts),
	.columns = file_list_columns,
	.run = file_list_run };
