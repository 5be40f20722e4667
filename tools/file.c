/* SPDX-License-Identifier: Apache-2.0 */
/* locus file list: the large files, their states and the progress of their work. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "model/decision.h"
#include "model/rows.h"
#include "rules/sched/decide.h"
#include "rules/sched/large.h"
#include "tools/catalog.h"
#include "tools/census.h"
#include "tools/terminal.h"
#include "tools/file_view.h"
#include "lib/human.h"
#include "tools/print/print.h"
#include "tools/stuck.h"
#include "tools/work_pick.h"
#include "tools/work_list.h"
#include "lib/banned.h"

enum { TABLE_ROWS = 100 };

/* Builds the view of one row and the counts of its results; no_work: no more work can
 * be made (no_work_available). */
static struct file_view file_view_of(struct cmd_ctx *x,
    const struct row_file_info *info, const struct row_tally *tally, bool no_work)
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

/* "paused", "draining", "" */
static const char *file_view_held_back(const struct file_view *v)
{
	static const char *const names[] = {
		[FILESET_PAUSED] = "paused", [FILESET_DRAINING] = "draining"
	};
	int32_t at = v->info.paused;

	return at > FILESET_OPEN && at < (int32_t)N(names) ? names[at] : "";
}

struct file_list_opts {
	const char *app, *name, *sort;
	struct text_list states;
	int64_t limit;
};
#define OFF(member) FIELD_OF(struct file_list_opts, member)

static const struct field file_list_options[] = {
	{ "state", OFF(states), "STATE",
	    "Only those in this state; paused and draining choose those held back. May be repeated." },
	{ "app", OFF(app), "APP", "Only those of this app." },
	{ "name", OFF(name), "PATTERN",
	    "Only names that match, where * and ? stand for other characters." },
	{ "sort", OFF(sort), "name|size|unsent|hosts",
	    "In this order; all but names begin with the largest. Default: name." },
	{ "limit", OFF(limit), "NUMBER",
	    "At most so many; default: 100 in a table, otherwise all." },
	{ 0 },
};

static const struct print_column file_list_columns[] = {
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "nfiles", "FILES", PRINT_NUMBER, "of the set; 1: a single file" },
	{ "size", "SIZE", PRINT_BYTES, "of all of them" },
	{ "app", "APP", PRINT_TEXT, NULL },
	{ "state", "STATE", PRINT_TEXT, "ADVERTISED, DRAINING, EXHAUSTED or DEAD" },
	{ "held_back", "HELD", PRINT_TEXT, "paused or draining: by the admin" },
	{ "unsent", "UNSENT", PRINT_NUMBER, "its results that are unsent" },
	{ "in_progress", "IN PROGRESS", PRINT_NUMBER, NULL },
	{ "done", "DONE", PRINT_NUMBER, NULL },
	{ "valid", NULL, PRINT_NUMBER, NULL },
	{ "failed", "FAILED", PRINT_NUMBER, NULL },
	{ "holders", "HOLDERS", PRINT_NUMBER, "hosts that hold the whole set" },
	{ "demand", "DEMAND", PRINT_NUMBER,
	    "requests for work that had to be made first" },
	{ "demand_met", NULL, PRINT_NUMBER, "waits that new work ended" },
	{ "demand_last", NULL, PRINT_TIME, "last such request" },
	{ "gen_next", "MADE", PRINT_NUMBER, "parts of which work was made" },
	{ "gen_parts", "PARTS", PRINT_NUMBER, "0: the built-in generator makes none" },
	{ "jobs_sent", NULL, PRINT_NUMBER, NULL },
	{ "hits", NULL, PRINT_NUMBER, "of these, to hosts that held it" },
	{ "bytes_needed", NULL, PRINT_BYTES, "sent for them" },
	{ "bytes_saved", NULL, PRINT_BYTES, "held already" },
	{ 0 },
};

static int pair_compare_id(const void *key, const void *item)
{
	int64_t id = *(const int64_t *)key, at = ((const struct row_pair *)item)->a;

	return (id > at) - (id < at);
}

/* Copies the ledger's sums, sorted by id, to their files. */
static void join_ledger(
    struct file_view *v, size_t n, const struct row_ledger *sums, size_t nsums)
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

static enum err choose_file_state(
    struct cmd_ctx *x, const char *name, struct file_choice *c)
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

static enum err choose_files(
    struct cmd_ctx *x, const struct file_list_opts *o, struct file_choice *c)
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

static bool file_chosen(const struct file_choice *c, const struct file_view *v)
{
	return (c->app == NULL || strcmp(c->app, v->info.app) == 0) &&
	       (c->name == NULL || work_pick_glob(c->name, v->info.name)) &&
	       ((c->states == 0 && c->held == 0) || (c->states >> v->state & 1) != 0 ||
		   (c->held >> v->info.paused & 1) != 0);
}

/* The larger first, then by name, which is the order that the rows have. */
static int larger_first(
    double a, double b, const struct file_view *x, const struct file_view *y)
{
	if (a != b)
		return a > b ? -1 : 1;
	return strcmp(x->info.name, y->info.name);
}

static int compare_size(const void *a, const void *b)
{
	const struct file_view *x = a, *y = b;

	return larger_first(x->info.size, y->info.size, x, y);
}

static int compare_unsent(const void *a, const void *b)
{
	const struct file_view *x = a, *y = b;

	return larger_first((double)x->tally.unsent, (double)y->tally.unsent, x, y);
}

static int compare_hosts(const void *a, const void *b)
{
	const struct file_view *x = a, *y = b;

	return larger_first((double)x->info.holders, (double)y->info.holders, x, y);
}

static void sort_files(struct file_view *v, size_t n, enum file_sort by)
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
static enum err count_unsent(struct cmd_ctx *x, struct file_view *v, size_t n)
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
static enum err count_of_files(struct cmd_ctx *x, struct file_view *v, size_t n)
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
static enum err read_files(
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

static enum err app_must_exist(struct cmd_ctx *x, const char *name)
{
	const struct app *app;
	struct catalog *c;

	if (name == NULL)
		return OK;
	TRY(tools_catalog(x, &c));
	return tools_app(x, c, name, &app);
}

static enum err file_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	struct file_choice c;
	struct row_ledger *sums;
	struct file_view *v;
	struct print *l;
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
		l = print_list(x, file_list_columns);
		for (size_t i = 0; i < shown; i++)
			print_cells(l, v[i].info.name, v[i].info.nfiles, v[i].info.size,
			    v[i].info.app, file_state_name(v[i].state),
			    file_view_held_back(&v[i]), v[i].tally.unsent,
			    v[i].tally.in_progress, v[i].tally.success,
			    v[i].tally.valid, v[i].tally.failed, v[i].info.holders,
			    v[i].info.demand, v[i].info.demand_met,
			    v[i].info.demand == 0 ? 0 : v[i].info.demand_time,
			    v[i].info.gen_next, v[i].info.gen_parts, v[i].sent.jobs,
			    v[i].sent.hits, v[i].sent.bytes_needed,
			    v[i].sent.bytes_saved);
		print_end(l);
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

/* locus file show: one large file or set of files, with its workunits, triggers and
 * holders. */

struct file_detail {
	struct file_view v;
	struct row_wu_counts wus;
	struct row_fileset_source source;
	struct drain left;
	struct file **files;
	struct row_text *
	    *sets; /* for each file, the names of all sets that contain it */
	size_t *nsets;
	struct row_holder *holders; /* hosts that hold all files */
	size_t nfiles, nholders;
	bool trigger[TRIGGER__MAX];
};

static enum err detail_load_files(struct cmd_ctx *x, struct file_detail *s)
{
	struct row_member *members;

	TRY(fileset_files(x->db, x->a, s->v.info.id, &members, &s->nfiles, x->f));
	s->files = NEWN(x->a, struct file *, s->nfiles + 1);
	s->sets = NEWN(x->a, struct row_text *, s->nfiles + 1);
	s->nsets = NEWN(x->a, size_t, s->nfiles + 1);
	for (size_t i = 0; i < s->nfiles; i++) {
		TRY(file_by_name(x->db, x->a, members[i].name, &s->files[i], x->f));
		TRY(db_query(x->db, x->a, x->f, &s->sets[i], &s->nsets[i], SETS_OF_FILE,
		    .file_id = members[i].file_id));
	}
	if (s->nfiles == 0)
		return OK;
	return db_query(x->db, x->a, x->f, &s->holders, &s->nholders, HOLDERS_OF_SET,
	    .fileset_id = s->v.info.id);
}

/*
 * Explains that no set has the name; a file of that name may be in sets of other names.
 */
static enum err explain_missing_set(struct cmd_ctx *x, const char *name)
{
	const char *names = "";
	struct row_text *sets = NULL;
	struct file *file;
	size_t n;
	enum err e = file_by_name(x->db, x->a, name, &file, x->f);

	if (e == OK)
		e = db_query(
		    x->db, x->a, x->f, &sets, &n, SETS_OF_FILE, .file_id = file->id);
	else if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no file %s; locus file list lists them", name);
	if (e != OK)
		return e;
	for (size_t i = 0; i < n; i++)
		names = arena_printf(x->a, "%s %s", names, sets[i].s);
	return ctx_not_found(x, "file %s has no set of its own; it is in:%s", name,
	    n == 0 ? " none" : names);
}

static enum err detail_load_ledger(struct cmd_ctx *x, struct file_detail *s)
{
	struct row_file_left *left;
	size_t n;

	TRY(ledger_of_file(x->db, x->a, s->v.info.id, &s->v.sent, x->f));
	TRY(drain_files(x, &left, &n));
	for (size_t i = 0; i < n; i++)
		if (left[i].id == s->v.info.id)
			drain_add(
			    &s->left, &left[i], s->trigger[TRIGGER_NO_WORK_AVAILABLE]);
	return stuck_work(x, &s->left.stuck);
}

static enum err detail_load(struct cmd_ctx *x, const char *name, struct file_detail *s)
{
	const struct triggers all = triggers_of(x->cf, x->db, NULL);
	struct row_file_info *row = NULL;
	struct row_tally *tally = NULL;
	struct row_wu_counts *wus = NULL;
	enum err e = db_row(x->db, x->a, x->f, &row, FILE_INFO_BY_NAME, .name = name);

	if (e == E_NOTFOUND)
		return explain_missing_set(x, name);
	if (e != OK)
		return e;
	int64_t id = row->id;
	TRY(db_row(x->db, x->a, x->f, &tally, FILE_TALLY, .fileset_id = id));
	TRY(db_row(x->db, x->a, x->f, &wus, FILE_WU_COUNTS, .fileset_id = id));
	for (enum trigger t = 0; t < TRIGGER__MAX; t++) {
		int64_t age_s = -1;

		TRY(trigger_age(&all, t, name, 0, &age_s, x->f));
		s->trigger[t] = age_s >= 0;
	}
	s->v = file_view_of(x, row, tally, s->trigger[TRIGGER_NO_WORK_AVAILABLE]);
	s->wus = *wus;
	TRY(fileset_source(x->db, x->a, id, &s->source, x->f));
	TRY(detail_load_ledger(x, s));
	return detail_load_files(x, s);
}

/* Each file, with the names of all sets that contain it. */
static void show_set_files(
    struct cmd_ctx *x, struct print *p, const struct file_detail *s)
{
	print_open(p, "files", PRINT_ARRAY);
	for (size_t i = 0; i < s->nfiles; i++) {
		const struct file *f = s->files[i];
		const char *path = download_path(x->a, x->cf, f->name), *others = "";

		print_open(p, NULL, PRINT_OBJECT);
		print_put(p, "name", f->name, "size", (int64_t)f->size, "md5",
		    f->md5sum, "path", path);
		print_open(p, "sets", PRINT_ARRAY);
		for (size_t k = 0; k < s->nsets[i]; k++) {
			const char *set = s->sets[i][k].s;

			print_put(p, NULL, set);
			if (strcmp(set, s->v.info.name) != 0)
				others = arena_printf(x->a, "%s%s%s", others,
				    others[0] == '\0' ? "\n            also in " : ", ",
				    set);
		}
		print_close(p);
		print_close(p);
		print_line(p, "file", "%s: %s (%.0f bytes), md5 %s\n            %s%s%s",
		    f->name, human_bytes(x->a, f->size), f->size, f->md5sum, path,
		    fs_exists(path) ? "" : " IS MISSING", others);
	}
	print_close(p);
}

static void show_holders(
    struct cmd_ctx *x, struct print *p, const struct file_detail *s)
{
	char since[21];

	print_line(p, "holders", "%lld", (long long)s->v.info.holders);
	print_open(p, "hosts", PRINT_ARRAY);
	for (size_t i = 0; i < s->nholders; i++) {
		const struct row_holder *h = &s->holders[i];

		clock_text(h->since, since);
		print_object(p, NULL, "id", h->id, "name", h->name, "since", since);
		print_aligned(p, "rll",
		    arena_printf(x->a, "            %lld", (long long)h->id), h->name,
		    arena_printf(x->a, "since %s", since));
	}
	print_close(p);
}

static void show_triggers_of(
    struct cmd_ctx *x, struct print *p, const struct file_detail *s)
{
	const char *raised = "";

	print_open(p, "triggers", PRINT_OBJECT);
	for (enum trigger t = 0; t < TRIGGER__MAX; t++) {
		print_put(p, trigger_name(t), s->trigger[t]);
		if (s->trigger[t])
			raised = arena_printf(x->a, "%s%s%s", raised,
			    raised[0] == '\0' ? "" : ", ", trigger_name(t));
	}
	print_close(p);
	print_line(p, "triggers", "%s", raised[0] == '\0' ? "none" : raised);
}

static void show_file(struct cmd_ctx *x, const struct file_detail *s)
{
	const struct file_view *v = &s->v;
	const struct row_file_info *f = &v->info;
	const struct row_demand demand = { f->demand, f->demand_met, f->demand_time };
	const struct row_tally *t = &v->tally;
	const char *back = file_view_held_back(v);
	struct print *p = print_tree(x, PRINT_OBJECT);

	print_put(p, "name", f->name, "app", f->app, "state", file_state_name(v->state),
	    "held_back", back, "nfiles", f->nfiles, "size", (int64_t)f->size, "unsent",
	    t->unsent, "in_progress", t->in_progress, "done", t->success, "valid",
	    t->valid, "failed", t->failed, "holders", f->holders, "gen_next",
	    f->gen_next, "gen_parts", f->gen_parts, "jobs_sent", NULL, "hits", NULL,
	    "hit_rate", NULL, "bytes_needed", NULL, "bytes_saved", NULL, "demand",
	    NULL);
	print_label(p, 11);
	print_line(p, NULL, "%s of %s is %s%s%s%s%s", f->name, f->app,
	    file_state_name(v->state), back[0] == '\0' ? "" : " and ", back,
	    f->hold_reason[0] == '\0' ? "" : ": ", f->hold_reason);
	show_set_files(x, p, s);
	if (f->gen_parts != 0)
		print_line(
		    p, "work made", "%d of %d workunits", f->gen_next, f->gen_parts);
	work_counts_show(p, &s->wus);
	print_line(p, "results",
	    "%lld unsent, %lld in progress, %lld done (%lld valid), %lld failed",
	    (long long)t->unsent, (long long)t->in_progress, (long long)t->success,
	    (long long)t->valid, (long long)t->failed);
	saved_show(x, p, &v->sent);
	drain_put(p, "work_left", &s->left, clock_now());
	print_line(p, "work", "%s", drain_text(x->a, &s->left, clock_now()));
	demand_show(x, p, &demand);
	print_put(
	    p, "generator", s->source.generator, "low_water", s->source.low_water);
	if (s->source.generator[0] != '\0')
		print_line(p, "generator", "%s", s->source.generator);
	if (s->source.low_water > 0)
		print_line(p, "low water",
		    "more jobs are made when fewer than %lld are unsent",
		    (long long)s->source.low_water);
	show_triggers_of(x, p, s);
	show_holders(x, p, s);
	print_end(p);
}

static enum err file_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct file_detail s = { 0 };
	enum err e = ctx_db(x);

	(void)opts, (void)n;
	if (e == OK)
		e = detail_load(x, args[0], &s);
	if (e != OK)
		return e;
	show_file(x, &s);
	return OK;
}

const struct cmd cmd_file_show = { .name = "file show",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show a large file: its work, triggers and holders",
	.about =
	    "Shows what locus file list shows, and the file's checksum and path, its workunits,\n"
	    "its triggers, and the hosts that hold it, at most a thousand. For a set of files it\n"
	    "also shows which other sets contain each file, and the hosts that hold all of them.",
	.tree = true,
	.run = file_show_run };

/* locus file set: where the jobs of a large file come from. */

struct file_set_opts { /* NULL = unchanged */
	const char *generator;
	const int64_t *low_water;
	bool dry_run;
};

static const struct field file_set_options[] = {
	{ "generator", FIELD_OF(struct file_set_opts, generator), "CMD",
	    "A command of the project that says which jobs to make; '' leaves it to the generator of the app." },
	{ "low-water", FIELD_OF(struct file_set_opts, low_water), "N",
	    "More jobs are made when fewer than N are unsent; 0: when a host asks for one.",
	    .max = 100000 },
	DRY_RUN_OPTION(struct file_set_opts),
	{ 0 },
};

enum { GENERATOR_MOST = 1000 };

static enum err check_own_generator(struct cmd_ctx *x, const char *command)
{
	char **words;

	if (command[0] == '\0')
		return OK;
	if (strlen(command) > GENERATOR_MOST)
		return ctx_usage(x, "--generator must be at most %d bytes long",
		    (int)GENERATOR_MOST);
	if (proc_split(x->a, command, &words, x->f) != OK || words[0] == NULL)
		return ctx_usage(
		    x, "--generator: \"%s\" cannot be split into words", command);
	return OK;
}

static enum err set_one(
    struct cmd_ctx *x, const struct file_set_opts *o, const struct fileset *s)
{
	struct set_report r = set_report_new(x);
	struct row_fileset_source was, now;

	TRY(fileset_source(x->db, x->a, s->id, &was, x->f));
	now = was;
	if (o->generator != NULL) {
		TRY(check_own_generator(x, o->generator));
		now.generator = arena_strdup(x->a, o->generator);
	}
	if (o->low_water != NULL)
		now.low_water = *o->low_water;

	if (!o->dry_run)
		TRY(fileset_source_set(x->db, &now, x->f));
	set_report_text(&r, "generator", was.generator, now.generator);
	set_report_number(&r, "low-water", was.low_water, now.low_water);
	set_report_print(&r, o->dry_run, arena_printf(x->a, "file %s", s->name));
	return OK;
}

static enum err file_set_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct file_set_opts *o = opts;
	struct fileset *s;
	enum err e;

	(void)n;
	if (o->generator == NULL && o->low_water == NULL)
		return ctx_usage(x, "nothing to change: give at least one option");
	TRY(ctx_db(x));
	e = fileset_by_name(x->db, x->a, args[0], &s, x->f);
	if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no file %s; locus file list lists them", args[0]);
	TRY(e);
	return set_one(x, o, s);
}

const struct cmd cmd_file_set = { .name = "file set",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "say where the jobs of a large file come from",
	.about =
	    "A file may have a command of its own, in place of what the work_generator of its app\n"
	    "was told: {file} and {n} stand for its name and the number of jobs that are wanted,\n"
	    "and its output is that of work_generator --command, see work_generator(8). With\n"
	    "--low-water, work_generator keeps so many jobs waiting and does not wait for a host to\n"
	    "ask, as long as the command has more. locus file show has both.",
	.details = "Takes effect within seconds.",
	.opts = file_set_options,
	.opts_size = sizeof(struct file_set_opts),
	.columns = set_columns,
	.run = file_set_run };
