/* SPDX-License-Identifier: Apache-2.0 */
/* locus work retry: another chance for workunits that failed or were put aside. */
#include "tools/work_retry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/id_walk.h"
#include "db/stmts.h"
#include "db/workunit.h"
#include "db/wu_updates.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "rules/daemon/daemon_rules.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "lib/human.h"
#include "tools/upload_expire.h"
#include "tools/limit_raise.h"
#include "tools/print/print.h"
#include "tools/program.h"
#include "tools/upstream.h"
#include "tools/version.h"
#include "tools/work_pick.h"
#include "lib/banned.h"

/* Compares the command lines of daemons by tools/same_work.def. */

enum absent { NONE, ALL };

static const struct work {
	const char *program, *part;
	enum absent absent;
} works[] = {
#define WORK(program, part, absent) { program, part, absent },
#define HALF(program, option, opposite)
#include "tools/same_work.def"
#undef WORK
#undef HALF
};

static const struct half {
	const char *program, *option, *opposite;
} halves[] = {
#define WORK(program, part, absent)
#define HALF(program, option, opposite) { program, option, opposite },
#include "tools/same_work.def"
#undef WORK
#undef HALF
};

static const struct work *work_of(const struct daemon_work *d)
{
	for (size_t i = 0; i < N(works); i++)
		if (strcmp(works[i].program, d->argv[0]) == 0)
			return &works[i];
	return NULL;
}

/* "--no-lease", "-no_lease" and "--no_lease" are one option. */
static bool names_option(const char *word, const char *name)
{
	if (word[0] != '-')
		return false;
	word += word[1] == '-' ? 2 : 1;
	for (; *word != '\0' && *name != '\0'; word++, name++)
		if ((*word == '-' ? '_' : *word) != *name)
			return false;
	return *word == *name;
}

/* Returns the words from the option on, as the last one counts; NULL if it is not
 * given. */
static char **option_of(const struct daemon_work *d, const char *name)
{
	char **found = NULL;

	for (char **p = d->argv + 1; *p != NULL; p++)
		if (names_option(*p, name))
			found = p;
	return found;
}

static const char *value_of_option(const struct daemon_work *d, const char *name)
{
	char **p = option_of(d, name);

	return p == NULL ? NULL : p[1];
}

static bool shares_parts(const struct work *w, const char *x, const char *y)
{
	if (w->part == NULL)
		return true;
	if (x == NULL || y == NULL)
		return w->absent == ALL;
	return strcmp(x, y) == 0;
}

static bool are_halves(const struct daemon_work *x, const struct daemon_work *y)
{
	for (size_t i = 0; i < N(halves); i++) {
		const struct half *h = &halves[i];

		if (strcmp(h->program, x->argv[0]) == 0 &&
		    ((option_of(x, h->option) != NULL &&
			 option_of(y, h->opposite) != NULL) ||
			(option_of(x, h->opposite) != NULL &&
			    option_of(y, h->option) != NULL)))
			return true;
	}
	return false;
}

struct share { /* ids with id % n = i */
	int64_t n, i;
};

static struct share share_of(const struct daemon_work *d)
{
	struct share all = { 1, 0 }, s;
	char **p = option_of(d, "mod");

	if (p == NULL || p[1] == NULL || p[2] == NULL ||
	    !text_i64(p[1], 1, INT32_MAX, &s.n) || !text_i64(p[2], 0, s.n - 1, &s.i))
		return all;
	return s;
}

static int64_t gcd(int64_t x, int64_t y)
{
	while (y != 0) {
		int64_t rest = x % y;

		x = y;
		y = rest;
	}
	return x;
}

/* Is there an id in both shares? By the Chinese remainder theorem. */
static bool shares_meet(struct share x, struct share y)
{
	return (x.i - y.i) % gcd(x.n, y.n) == 0;
}

char *same_work(
    struct arena *a, const struct daemon_work *x, const struct daemon_work *y)
{
	const struct work *w = work_of(x);
	const char *px, *py;

	if (w == NULL || w != work_of(y) || are_halves(x, y) ||
	    option_of(x, "no_lease") != NULL || option_of(y, "no_lease") != NULL ||
	    !shares_meet(share_of(x), share_of(y)))
		return NULL;
	px = w->part == NULL ? NULL : value_of_option(x, w->part);
	py = w->part == NULL ? NULL : value_of_option(y, w->part);
	if (!shares_parts(w, px, py))
		return NULL;
	if (px == NULL)
		px = py;
	return px == NULL ? arena_strdup(a, w->program) :
	                    arena_printf(a, "%s of %s %s", w->program, w->part, px);
}

/* --- config.xml --- */

/* Splits a command as it is run. A program of the project does no work that we know. */
static enum err work_read(struct arena *a, const struct conf *cf,
    const struct new_daemon *p, struct daemon_work *d, struct fail *f)
{
	struct upstream u;
	char **argv, *program, *ours;

	*d = (struct daemon_work){ .name = p->name };
	TRY(proc_split(a, p->cmd, &argv, f));
	u = upstream_command(a, argv);
	if (u.theirs)
		argv = u.argv;
	if (argv == NULL)
		return OK;
	program = program_find(a, u.theirs ? NULL : cf, argv[0]);
	ours = program_find(a, NULL, text_base_name(argv[0]));
	if (program == NULL || ours == NULL || strcmp(program, ours) != 0)
		return OK;
	argv[0] = arena_strdup(a, text_base_name(argv[0]));
	d->argv = argv;
	return OK;
}

/* Commands that cannot be split are reported elsewhere. */
static size_t works_read(
    struct arena *a, const struct conf *cf, struct daemon_work *list)
{
	size_t n = 0;

	for (size_t i = 0; i < cf->ndaemons; i++) {
		const struct new_daemon d = { cf->daemons[i].name, cf->daemons[i].cmd };
		struct fail none = { 0 };

		if (!cf->daemons[i].disabled &&
		    work_read(a, cf, &d, &list[n], &none) == OK && list[n].argv != NULL)
			n++;
	}
	return n;
}

void same_work_says(struct arena *a, const struct conf *cf, char ***lines, size_t *n)
{
	struct daemon_work *list = NEWN(a, struct daemon_work, cf->ndaemons + 1);
	size_t k = works_read(a, cf, list), cap = 0;
	char *what;

	*lines = NULL;
	*n = 0;
	for (size_t i = 0; i < k; i++)
		for (size_t j = 0; j < i; j++) {
			what = same_work(a, &list[j], &list[i]);
			if (what != NULL)
				PUSH(a, *lines, *n, cap) = arena_printf(a,
				    "the daemons %s and %s do the same work (%s): remove one from <daemons>, or let them share it with --mod 2 0 and --mod 2 1",
				    list[j].name, list[i].name, what);
		}
}

enum err same_work_refuse(struct arena *a, const struct conf *cf,
    const struct new_daemon *p, size_t n, struct fail *f)
{
	struct daemon_work *list = NEWN(a, struct daemon_work, cf->ndaemons + n + 1);
	size_t k = works_read(a, cf, list);
	char *what;

	for (size_t i = 0; i < n; i++) {
		TRY(work_read(a, cf, &p[i], &list[k], f));
		if (list[k].argv == NULL)
			continue;
		for (size_t j = 0; j < k; j++)
			if ((what = same_work(a, &list[j], &list[k])) != NULL)
				return FAIL(f, E_CONFIG,
				    "the daemon %s would do the work of %s (%s), so nothing was created; leave it out, or let them share the work with --mod 2 0 and --mod 2 1",
				    list[k].name, list[j].name, what);
		k++;
	}
	return OK;
}

enum { TRIES_DEFAULT = 4, TRIES_MOST = 1000, NAMED_MOST = 5 };

struct retry_opts {
	struct work_pick_opts pick;
	const int64_t *tries, *host;
	const char *version, *since;
	struct text_list raise;
	bool daemons, dry_run;
};

#define FIELD(name) FIELD_OF(struct retry_opts, name)
static const struct field retry_options[] = {
	WORK_PICK_OPTIONS(struct retry_opts),
	{ "tries", FIELD(tries), "N",
	    "Results that a failed workunit may have in addition; default 4.", .min = 1,
	    .max = TRIES_MOST },
	{ "host", FIELD(host), "ID",
	    "Instead of failed workunits: makes invalid what this host returned, and has it computed anew.",
	    .min = 1 },
	{ "version", FIELD(version), "VERSION",
	    "With --app alone: makes invalid what hosts computed with this version, such as 1.02, and has it computed anew." },
	{ "since", FIELD(since), "TIME",
	    "With --host or --version: only what was returned in this last time, such as 2d or 1w; default: all." },
	{ "raise", FIELD(raise), "LIMIT=N",
	    "Raises a limit, such as rsc_disk_bound=2e9." },
	{ "daemons", FIELD(daemons), NULL,
	    "Only makes daemons try again; failed workunits stay failed." },
	DRY_RUN_OPTION(struct retry_opts),
	{ 0 },
};

static const struct print_column retry_columns[] = {
	{ "matched", "workunits that match", PRINT_NUMBER, "workunits that match" },
	{ "reopened", "open again", PRINT_NUMBER,
	    "workunits that had failed, were near it, or lost a result that they rested on, and are open again" },
	{ "again", "tried by daemons again", PRINT_NUMBER,
	    "others that wait for a daemon, which tries them again now" },
	{ "nothing", "nothing to retry", PRINT_NUMBER, "those that need no other try" },
	{ "inputs_gone", "inputs are deleted", PRINT_NUMBER,
	    "workunits that stay as they are because their input files are deleted" },
	{ "invalidated", "results made invalid", PRINT_NUMBER,
	    "with --host and --version" },
	{ "raised", "limits raised", PRINT_NUMBER,
	    "workunits whose limits --raise has raised" },
	{ 0 },
};

struct retry_counts {
	int64_t matched, reopened, again, nothing, inputs_gone, invalidated, raised;
};

struct retry_order {
	const struct retry_opts *o;
	struct retry_how how;
	struct limit_raise raise;
};

struct retrying { /* the workunits of one transaction */
	struct arena *a;
	const struct retry_opts *o;
	struct retry_how how;
	const struct limit_raise *raise;
	const int64_t *ids; /* ascending */
	size_t n;
	struct retry_counts did;
	int64_t *again, *raised;
	int64_t *aside; /* those that a daemon has put aside */
	size_t naside;
	struct wu_updates *updates;
	struct moved_result {
		const struct result *was;
		struct result to;
	} * moved;
	size_t nagain, nmoved, cap_moved;
	const char *missing; /* an input file that is gone */
};

/* Is it about results that are not believed any more? */
static bool distrusts(const struct retry_how *how)
{
	return how->host != 0 || how->nversions > 0;
}

static int moved_order(const void *a, const void *b)
{
	const struct moved_result *x = a, *y = b;

	return (x->was->id > y->was->id) - (x->was->id < y->was->id);
}

/* Are the input files still there that the file deleter may have removed? */
static enum err inputs_there(struct cmd_ctx *x, struct retrying *k,
    const struct workunit *wu, const char **doc, bool *there)
{
	struct blob_file *files;
	char *xml;
	size_t n;

	*there = true;
	*doc = NULL;
	if (wu->file_delete_state == FILE_DELETE_INIT)
		return OK;
	TRY(workunit_xml_doc(x->db, k->a, wu->id, &xml, x->f));
	*doc = xml;
	TRY(blob_files(k->a, xml, &files, &n, x->f));
	for (size_t i = 0; i < n; i++)
		if (!fs_exists(download_path(k->a, x->cf, files[i].name))) {
			*there = false;
			k->missing = arena_printf(x->a, "%s: input file %s is deleted",
			    wu->name, files[i].name);
			return OK;
		}
	return OK;
}

static void move_result(
    struct retrying *k, const struct result *r, const struct result_retry *c)
{
	struct result to = *r;

	if (c->forget)
		to.outcome = OUTCOME_DIDNT_NEED;
	if (c->judge)
		to.validate_state = VALIDATE_INIT;
	if (c->retract)
		to.validate_state = VALIDATE_INVALID;
	if (c->lost) {
		to.outcome = OUTCOME_VALIDATE_ERROR;
		to.validate_state = VALIDATE_INVALID;
	}
	if (c->forget || c->judge || c->lost || c->retract)
		PUSH(k->a, k->moved, k->nmoved,
		    k->cap_moved) = (struct moved_result){ r, to };
}

/* What the file deleter could not delete. */
static void delete_again(struct retrying *k, const struct result *r, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		struct result to = r[i];
		if (r[i].file_delete_state != FILE_DELETE_ERROR)
			continue;
		to.file_delete_state = FILE_DELETE_READY;
		PUSH(k->a, k->moved, k->nmoved,
		    k->cap_moved) = (struct moved_result){ &r[i], to };
	}
}

static int64_t count_retracted(const struct wu_retry *c, size_t n)
{
	int64_t retracted = 0;

	for (size_t i = 0; i < n; i++)
		retracted += c->results[i].retract;
	return retracted;
}

/* What is not believed becomes invalid, while others still carry the workunit. */
static void retract_only(
    struct retrying *k, const struct wu_retry *c, const struct result *r, size_t n)
{
	const struct result_retry none = { 0 };

	k->did.nothing++;
	k->did.invalidated += count_retracted(c, n);
	for (size_t i = 0; i < n && !k->o->dry_run; i++) {
		struct result_retry only = none;

		only.retract = c->results[i].retract;
		move_result(k, &r[i], &only);
	}
}

static enum err retry_one(struct cmd_ctx *x, struct retrying *k,
    const struct workunit *wu, const struct result *r, size_t n)
{
	struct retry_how how = k->how;
	struct workunit to = *wu;
	const char *doc;
	struct wu_retry c;
	bool there;

	for (size_t i = 0; i < k->naside; i++)
		how.aside |= k->aside[i] == wu->id;
	c = distrusts(&how) ? retract(k->a, wu, r, n, &how) :
	                      retry(k->a, wu, r, n, &how);
	if (distrusts(&how) && c.again) {
		retract_only(k, &c, r, n);
		return OK;
	}
	if (!c.again && !c.reopen) {
		k->did.nothing++;
		return OK;
	}
	if (c.again) {
		k->did.again++;
		k->again[k->nagain++] = wu->id;
		delete_again(k, r, n);
		return OK;
	}
	TRY(inputs_there(x, k, wu, &doc, &there));
	k->did.inputs_gone += !there;
	k->did.reopened += there;
	k->did.invalidated += there ? count_retracted(&c, n) : 0;
	if (!there || k->o->dry_run)
		return OK;
	/* It had given them up; other workunits have kept them. */
	if (!wu->inputs_counted && doc != NULL)
		TRY(inputs_count_there(x, k->a, &doc, 1));
	to.inputs_counted |= doc != NULL;
	to.max_error_results = c.max_error_results;
	to.max_total_results = c.max_total_results;
	to.max_success_results = c.max_success_results;
	to.need_validate = c.judge;
	for (size_t i = 0; i < n; i++)
		move_result(k, &r[i], &c.results[i]);
	return workunit_reopen(x->db, &to, k->how.now, x->f);
}

static enum err retry_save(struct cmd_ctx *x, struct retrying *k)
{
	if (k->o->dry_run)
		return OK;
	TRY(limit_raise_save(x, k->raise, k->raised, (size_t)k->did.raised));
	TRY(workunits_try_again(x->db, k->again, k->nagain, x->f));
	if (k->naside > 0) {
		TRY(workunits_touch(x->db, k->aside, k->naside, k->how.now, x->f));
		TRY(wu_troubles_retry(x->db, k->aside, k->naside, x->f));
	}
	if (k->nmoved == 0)
		return OK;
	qsort(k->moved, k->nmoved, sizeof(*k->moved), moved_order);
	for (size_t i = 0; i < k->nmoved; i++)
		result_move(k->updates, k->moved[i].was, &k->moved[i].to);
	return wu_updates_save(x->db, k->updates, x->f);
}

static enum err retry_in_tx(struct cmd_ctx *x, void *arg)
{
	struct retrying *k = arg;
	struct workunit *wu = NULL;
	struct result *r = NULL;
	size_t n = 0, nr = 0, from = 0, end;
	enum err e;

	k->did = (struct retry_counts){ 0 };
	k->again = NEWN(k->a, int64_t, k->n + 1);
	k->raised = NEWN(k->a, int64_t, k->n + 1);
	k->updates = wu_updates_new(k->a);
	k->nagain = k->nmoved = k->cap_moved = 0;
	k->moved = NULL;
	TRY(workunits_lock(x->db, k->a, k->ids, k->n, &wu, &n, x->f));
	TRY(results_of_workunits(x->db, k->a, k->ids, k->n, &r, &nr, x->f));
	TRY(wu_troubled(x->db, k->a, k->ids, k->n, &k->aside, &k->naside, x->f));
	for (size_t i = 0; i < n; i++, from = end) {
		while (from < nr && r[from].workunitid < wu[i].id)
			from++;
		for (end = from; end < nr && r[end].workunitid == wu[i].id; end++)
			;
		if (limit_raise_lacks(k->raise, &wu[i]))
			k->raised[k->did.raised++] = wu[i].id;
		e = retry_one(x, k, &wu[i], r + from, end - from);
		if (e != OK)
			return e == E_RACE || e == E_NOTFOUND ? E_RETRY : e;
	}
	e = retry_save(x, k);
	return e == E_RACE ? E_RETRY : e;
}

static int picked_order(const void *a, const void *b)
{
	const struct work_picked *x = a, *y = b;

	return (x->wu.id > y->wu.id) - (x->wu.id < y->wu.id);
}

static enum err retry_some(struct cmd_ctx *x, struct arena *a,
    const struct retry_order *order, struct work_picked *v, size_t n,
    struct retry_counts *c)
{
	int64_t *ids = NEWN(a, int64_t, n + 1);

	if (n > 0)
		qsort(v, n, sizeof(*v), picked_order);
	for (size_t i = 0; i < n; i++)
		ids[i] = v[i].wu.id;
	c->matched += (int64_t)n;
	for (size_t i = 0; i < n; i += DB_LIST_MAX) {
		struct retrying k = { .a = a,
			.o = order->o,
			.how = order->how,
			.raise = &order->raise,
			.ids = ids + i,
			.n = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX };

		TRY(tools_transaction(x, retry_in_tx, &k));
		c->reopened += k.did.reopened;
		c->again += k.did.again;
		c->nothing += k.did.nothing;
		c->inputs_gone += k.did.inputs_gone;
		c->invalidated += k.did.invalidated;
		c->raised += k.did.raised;
		if (k.missing != NULL && c->inputs_gone <= NAMED_MOST)
			fprintf(stderr, "locus: %s\n", k.missing);
	}
	return OK;
}

static enum err retry_all(
    struct cmd_ctx *x, const struct retry_order *order, struct retry_counts *c)
{
	const struct work_pick_opts *pick = &order->o->pick;
	struct progress bar = progress_begin("retrying workunits", 0);
	struct arena a = { 0 };
	struct work_pick p;
	bool more = true;
	/* Cancelled workunits only if they are named as such: nobody wants a batch back
	 * that he cancelled because an app had other workunits to retry. */
	enum err e = work_pick_begin(x, pick,
	    pick->state != NULL ? (unsigned)PICK_ALL_STATES :
				  (unsigned)PICK_ALL_STATES & ~(1u << PICK_CANCELLED),
	    &p);

	while (e == OK && more) {
		struct work_picked *v = NULL;
		size_t n = 0;

		arena_reset(&a);
		e = work_pick_step(x, &a, &p, &v, &n, &more);
		if (e == OK)
			e = retry_some(x, &a, order, v, n, c);
		progress_set(&bar, p.seen);
	}
	progress_end(&bar);
	arena_free(&a);
	return e;
}

enum { RETURNED_PAGE = 1000, RETURNED_SLICE = 20000 };

/* The workunits of a page of results, each once. */
static struct work_picked *picked_of_results(
    struct arena *a, const struct row_pair *rows, size_t n, size_t *nv)
{
	struct work_picked *v = NEWN(a, struct work_picked, n + 1);
	size_t kept = 0;

	for (size_t i = 0; i < n; i++)
		v[i].wu.id = rows[i].b;
	if (n > 0)
		qsort(v, n, sizeof(*v), picked_order);
	for (size_t i = 0; i < n; i++)
		if (i == 0 || v[i].wu.id != v[kept - 1].wu.id)
			v[kept++] = v[i];
	*nv = kept;
	return v;
}

static bool picks_any(const struct work_pick_opts *p)
{
	return p->name != NULL || p->file != NULL || p->batch != NULL ||
	       p->app != NULL || p->state != NULL || p->ids.n > 0;
}

/* Reads some results that are not believed any more, of ids above *after, and how far
 * it got: IDS_END at last. */
static enum err returned_read(struct cmd_ctx *x, struct arena *a,
    const struct retry_how *how, int64_t *after, struct row_pair **rows, size_t *n)
{
	int64_t from = *after;

	*rows = NULL;
	*n = 0;
	if (how->host == 0) {
		TRY(ids_ahead(x->db, IDS_RESULTS, from, RETURNED_SLICE, after, x->f));
		return db_query(x->db, a, x->f, rows, n, VERSIONS_RETURNED,
		    .since = how->since, .from = from, .to = *after,
		    .ids = db_ids(how->versions, how->nversions));
	}
	TRY(db_query(x->db, a, x->f, rows, n, HOST_RETURNED, .hostid = how->host,
	    .since = how->since, .after = from, .max = RETURNED_PAGE));
	*after = *n < RETURNED_PAGE ? IDS_END : (*rows)[*n - 1].a;
	return OK;
}

/* What a host or a version returned. */
static enum err retry_returned(
    struct cmd_ctx *x, const struct retry_order *order, struct retry_counts *c)
{
	const struct retry_how *how = &order->how;
	struct progress bar = progress_begin("retrying workunits", 0);
	struct arena a = { 0 };
	int64_t after = 0, seen = 0;
	enum err e = OK;

	while (e == OK && after != IDS_END) {
		struct row_pair *rows;
		size_t n, nv;

		arena_reset(&a);
		e = returned_read(x, &a, how, &after, &rows, &n);
		if (e == OK && n > 0) {
			struct work_picked *v = picked_of_results(&a, rows, n, &nv);

			e = retry_some(x, &a, order, v, nv, c);
		}
		progress_set(&bar, seen += (int64_t)n);
	}
	progress_end(&bar);
	arena_free(&a);
	if (e == OK && !order->o->dry_run && c->invalidated > 0 && how->host != 0)
		e = db_exec(x->db, x->f, NULL, HOST_DISTRUSTED, .id = how->host);
	return e;
}

/* Are whose results are not believed and nothing else named? */
static enum err check_alone(struct cmd_ctx *x, const struct retry_opts *o)
{
	struct work_pick_opts others = o->pick;

	if (o->version != NULL)
		others.app = NULL;
	if ((o->host != NULL || o->version != NULL) && o->raise.n > 0)
		return ctx_usage(x,
		    "--raise goes with what chooses workunits, not with --host and --version");
	if (o->host != NULL && (picks_any(&others) || o->version != NULL || o->daemons))
		return ctx_usage(x,
		    "--host stands alone: it retries all that the host returned, since a time with --since");
	if (o->version != NULL &&
	    (picks_any(&others) || o->pick.app == NULL || o->daemons))
		return ctx_usage(x,
		    "--version VERSION goes with --app APP alone: it retries all that was computed with it, since a time with --since");
	return OK;
}

/* Reads --host, --version and --since. */
static enum err read_distrust(
    struct cmd_ctx *x, const struct retry_opts *o, struct retry_how *how)
{
	struct version_builds b;
	struct host *h;
	int64_t span;

	if (o->host == NULL && o->version == NULL)
		return o->since == NULL ?
		           OK :
		           ctx_usage(x,
			       "--since TIME belongs to --host ID and --version VERSION");
	how->host = o->host == NULL ? 0 : *o->host;
	TRY(check_alone(x, o));
	if (o->since != NULL && (!human_span_parse(o->since, &span) || span == 0))
		return ctx_usage(
		    x, "--since %.40s: must be a time, such as 2d or 12h", o->since);
	how->since = o->since == NULL ? 0 : how->now - span;
	TRY(ctx_db(x));
	if (o->host != NULL)
		return tools_host(x, how->host, &h);
	TRY(version_builds_find(x, o->pick.app, o->version, &b));
	how->versions = b.ids;
	how->nversions = b.n;
	return OK;
}

/* Does --app alone choose the workunits? */
static bool picks_whole_app(const struct work_pick_opts *p)
{
	struct work_pick_opts others = *p;

	others.app = NULL;
	others.state = NULL;
	return p->app != NULL && !picks_any(&others);
}

static enum err raise_in_templates(struct cmd_ctx *x, const struct retry_order *order)
{
	const char *name = order->o->pick.app;
	const struct app *app;
	struct catalog *c;

	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, name, &app));
	return limit_raise_templates(x, &order->raise, app->name, order->o->dry_run);
}

/* Nothing was found; why. */
static enum err retry_nothing(struct cmd_ctx *x, const struct retry_order *order)
{
	const struct retry_opts *o = order->o;

	if (order->how.host != 0)
		return ctx_not_found(x,
		    "host %lld has returned nothing of that time that is still in the database",
		    (long long)order->how.host);
	if (distrusts(&order->how))
		return ctx_not_found(x,
		    "nothing of that time that was computed with version %s of %s is still in the database",
		    o->version, o->pick.app);
	return ctx_not_found(
	    x, "no workunit matches: %s", work_pick_text(x->a, &o->pick));
}

static enum err work_retry_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct retry_opts *o = opts;
	struct retry_order order = { o,
		{ .now = clock_now(),
		    .tries = o->tries == NULL ? TRIES_DEFAULT : (int32_t)*o->tries,
		    .daemons_only = o->daemons },
		{ .any = false } };
	struct retry_counts c = { 0 };

	(void)args, (void)n;
	TRY(limit_raise_read(x, &o->raise, &order.raise));
	TRY(read_distrust(x, o, &order.how));
	/* First: what the transitioner makes for the workunits has the new limits. */
	if (order.raise.any && picks_whole_app(&o->pick)) {
		TRY(ctx_alone(x));
		TRY(raise_in_templates(x, &order));
	}
	TRY(distrusts(&order.how) ? retry_returned(x, &order, &c) :
				    retry_all(x, &order, &c));
	if (c.matched == 0)
		return retry_nothing(x, &order);
	print_record(x, retry_columns, c.matched, c.reopened, c.again, c.nothing,
	    c.inputs_gone, c.invalidated, c.raised);
	return OK;
}

const struct cmd cmd_work_retry = { .name = "work retry",
	.args = "",
	.purpose = "give failed workunits another chance",
	.about =
	    "Opens failed workunits that match all of the options again: their errors so far no\n"
	    "longer count, their limits are raised so that --tries further results may be made, and\n"
	    "the transitioner makes them. Successes that were not judged are judged after all.\n"
	    "Cancelled workunits are only opened with --state cancelled. With --host, the successes\n"
	    "of a host that is not believed any more become invalid; a workunit whose canonical\n"
	    "result was among them, or whose quorum is not complete without them, is open again,\n"
	    "gets further results, and is validated and assimilated anew. What other hosts returned\n"
	    "stays valid, and credit that was granted stays. Run locus host ban ID first, or the\n"
	    "host may get the new results. --version does the same with what all hosts computed\n"
	    "with one version of an app; withdraw the version first.",
	.details =
	    "Open workunits that errors would soon end are treated alike. A workunit whose input\n"
	    "files are deleted stays failed; one that the assimilator has\n"
	    "seen as failed is handed to it again when it is done. Workunits that a daemon has put\n"
	    "aside after failures are tried again at once. --raise raises rsc_fpops_bound,\n"
	    "rsc_memory_bound, rsc_disk_bound or delay_bound of the workunits that match and are not\n"
	    "valid; with --app alone also in the templates of the app, and there max_nbytes, too.\n"
	    "Nothing is lowered.",
	.opts = retry_options,
	.opts_size = sizeof(struct retry_opts),
	.columns = retry_columns,
	.run = work_retry_run };
