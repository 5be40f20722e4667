/* SPDX-License-Identifier: Apache-2.0 */
/* locus work list: workunits chosen by state, app, file, batch, host, age and errors.
 */
#include "tools/work_list.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/stmts.h"
#include "db/work_list.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "model/rows.h"
#include "tools/catalog.h"
#include "lib/human.h"
#include "tools/limit_raise.h"
#include "tools/print/print.h"
#include "tools/terminal.h"
#include "tools/census.h"
#include "tools/work_pick.h"
#include "lib/banned.h"

static const struct {
	int64_t bit;
	const char *name;
} reasons[] = {
	{ WU_ERROR_COULDNT_SEND, "couldnt_send" },
	{ WU_ERROR_TOO_MANY_ERRORS, "too_many_errors" },
	{ WU_ERROR_TOO_MANY_SUCCESS, "too_many_successes" },
	{ WU_ERROR_TOO_MANY_TOTAL, "too_many_results" },
	{ WU_ERROR_CANCELLED, "cancelled" },
	{ WU_ERROR_NO_CANONICAL, "no_canonical" },
};

char *work_reasons(struct arena *a, int64_t mask)
{
	struct buf b = buf_new(a);

	buf_puts(&b, "");
	for (size_t i = 0; i < N(reasons); i++)
		if (mask & reasons[i].bit)
			buf_printf(&b, "%s%s", b.n > 0 ? ", " : "", reasons[i].name);
	return arena_strdup(a, b.n == 0 ? "" : b.p);
}

int64_t work_reason_named(const char *name)
{
	for (size_t i = 0; i < N(reasons); i++)
		if (strcmp(reasons[i].name, name) == 0)
			return reasons[i].bit;
	return 0;
}

/* --- exit statuses --- */

static const struct exit_known {
	int64_t status;
	const char *words;
	unsigned cure; /* enum exit_cure */
	const char *note;
} exits[] = {
#define CURE_RAISE(limit)               CURE_RAISE_FIRST + RAISED_##limit
#define EXIT(status, words, cure, note) { status, words, CURE_##cure, note },
#include "tools/exit_status.def"
#undef EXIT
#undef CURE_RAISE
};

static const struct exit_known *exit_find(int64_t status)
{
	for (size_t i = 0; i < N(exits); i++)
		if (exits[i].status == status)
			return &exits[i];
	return NULL;
}

void work_counts_show(struct print *p, const struct row_wu_counts *w)
{
	print_object(p, "workunits", "total", w->total, "open", w->open, "to_validate",
	    w->to_validate, "with_canonical", w->with_canonical, "assimilated",
	    w->assimilated, "failed", w->failed, "cancelled", w->cancelled);
	print_line(p, "workunits",
	    "%lld: %lld open, %lld valid (%lld assimilated), %lld failed, %lld cancelled",
	    (long long)w->total, (long long)w->open, (long long)w->with_canonical,
	    (long long)w->assimilated, (long long)w->failed, (long long)w->cancelled);
}

char *exit_words(struct arena *a, int64_t status)
{
	const struct exit_known *k = exit_find(status);
	char hex[24] = "";

	/* Windows numbers its faults as 32 bits of which the highest is set. */
	if (status <= -1000000)
		snprintf(hex, sizeof(hex), "0x%08" PRIx32 "%s", (uint32_t)status,
		    k == NULL ? "" : ", ");
	if (k == NULL && hex[0] == '\0')
		return arena_printf(a, "%" PRId64, status);
	return arena_printf(
	    a, "%" PRId64 " (%s%s)", status, hex, k == NULL ? "" : k->words);
}

char *end_words(struct arena *a, const struct result *r, int64_t file_error)
{
	const struct exit_known *k = exit_find(file_error);

	if (r->outcome != OUTCOME_CLIENT_ERROR || r->exit_status != 0)
		return exit_words(a, r->exit_status);
	if (file_error == 0)
		return arena_strdup(a, "0, but its client calls it a failure");
	if (k == NULL)
		return arena_printf(
		    a, "0, but a file of it failed with error %" PRId64, file_error);
	return arena_printf(a, "0, but %s (%" PRId64 ")", k->words, file_error);
}

enum exit_cure exit_cure(int64_t status, const char **note)
{
	const struct exit_known *k = exit_find(status);

	*note = k == NULL ? "" : k->note;
	return k == NULL ? CURE_NONE : (enum exit_cure)k->cure;
}

/* --- results --- */

const char *result_words(const struct result *r)
{
	static const char *const over[] = {
		[OUTCOME_INIT] = "over",
		[OUTCOME_SUCCESS] = "success",
		[OUTCOME_COULDNT_SEND] = "could not be sent",
		[OUTCOME_CLIENT_ERROR] = "failed",
		[OUTCOME_NO_REPLY] = "no reply",
		[OUTCOME_DIDNT_NEED] = "not needed",
		[OUTCOME_VALIDATE_ERROR] = "not checkable",
		[OUTCOME_CLIENT_DETACHED] = "detached",
	};

	switch (r->server_state) {
	case RESULT_INACTIVE:
		return "inactive";
	case RESULT_UNSENT:
		return "unsent";
	case RESULT_IN_PROGRESS:
		return "in progress";
	default:
		return r->outcome >= 0 && r->outcome < (int32_t)N(over) ?
		           over[r->outcome] :
		           "over";
	}
}

static char *not_judged(struct arena *a, const struct workunit *wu, int64_t successes)
{
	if (wu->need_validate)
		return arena_strdup(a, "not judged: the validator has yet to look");
	if (successes < wu->min_quorum)
		return arena_printf(a,
		    "not judged: the quorum needs %d successes, there are %" PRId64,
		    wu->min_quorum, successes);
	return arena_strdup(a, "not judged");
}

char *verdict_words(struct arena *a, const struct workunit *wu, const struct result *r,
    int64_t successes)
{
	if (r->server_state != RESULT_OVER)
		return arena_strdup(a, "");
	if (r->outcome == OUTCOME_VALIDATE_ERROR)
		return arena_strdup(a,
		    "error: the validator cannot use its output files; its log says why");
	if (r->outcome != OUTCOME_SUCCESS)
		return arena_strdup(a, "");
	switch (r->validate_state) {
	case VALIDATE_VALID:
		if (r->id == wu->canonical_resultid)
			return arena_printf(a,
			    "valid: canonical, chosen from a quorum of %d",
			    wu->min_quorum);
		return arena_printf(a, "valid: agrees with canonical result %" PRId64,
		    wu->canonical_resultid);
	case VALIDATE_INVALID:
		return arena_printf(a,
		    wu->canonical_resultid > 0 ?
			"invalid: differs from canonical result %" PRId64 :
			"invalid: rejected by the validator, without canonical result (%" PRId64
			")",
		    wu->canonical_resultid);
	case VALIDATE_INCONCLUSIVE:
		return arena_printf(a,
		    "inconclusive: %" PRId64 " successes, of which no %d agree",
		    successes, wu->min_quorum);
	case VALIDATE_NO_CHECK:
		return arena_strdup(
		    a, "not checked: the quorum was decided without it");
	case VALIDATE_TOO_LATE:
		return arena_strdup(a,
		    "too late: its files, or those of the canonical result, were deleted before it was reported");
	default:
		return not_judged(a, wu, successes);
	}
}

enum { TABLE_ROWS = 100, SETS_PAGE = 10000, COUNTS_MANY = 20000 };

struct work_list_opts {
	struct text_list states;
	const char *app, *file, *batch, *name, *older, *newer, *reason, *exit, *by;
	int64_t host, limit;
};
#define OFF(member) FIELD_OF(struct work_list_opts, member)

static const struct field work_list_options[] = {
	{ "state", OFF(states), "STATE",
	    "Only workunits in this state; may be repeated. open: any of the first four; valid: assimilated ones too." },
	{ "app", OFF(app), "APP", "Only workunits of this app." },
	{ "file", OFF(file), "NAME", "Only those of this large file or set of files." },
	{ "batch", OFF(batch), "N|NAME",
	    "Only those of this batch; 0: those without one." },
	{ "host", OFF(host), "ID", "Only those of which this host got a result." },
	{ "name", OFF(name), "PATTERN",
	    "Only names that match, where * and ? stand for other characters." },
	{ "older", OFF(older), "TIME",
	    "Only those made longer ago than this: 90s, 30m, 1h, 2d, 1w." },
	{ "newer", OFF(newer), "TIME", "Only those made since then." },
	{ "reason", OFF(reason), "REASON",
	    "Only those that failed for this reason, such as too_many_errors." },
	{ "exit-status", OFF(exit), "NUMBER",
	    "Only those with a result that failed with this exit status." },
	{ "by", OFF(by), "app|batch|file|state",
	    "Counts them instead, a line for each app, batch, file or state." },
	{ "limit", OFF(limit), "NUMBER",
	    "At most so many; default: 100 in a table, otherwise all." },
	{ 0 },
};

static const struct print_column work_list_columns[] = {
	{ "id", "ID", PRINT_NUMBER, NULL },
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "app", "APP", PRINT_TEXT, NULL },
	{ "file", "FILE", PRINT_TEXT, "its large file or set of files" },
	{ "batch", "BATCH", PRINT_NUMBER, "0: none" },
	{ "state", "STATE", PRINT_TEXT,
	    "waiting, unsent, in_progress, to_validate, valid, assimilated, failed or cancelled" },
	{ "reason", "REASON", PRINT_TEXT, "why it failed" },
	{ "created", "CREATED", PRINT_TIME, NULL },
	{ "priority", NULL, PRINT_NUMBER, NULL },
	{ "unsent", "UNSENT", PRINT_NUMBER, "its results that are unsent" },
	{ "in_progress", "IN PROGRESS", PRINT_NUMBER, NULL },
	{ "success", "SUCCESS", PRINT_NUMBER, NULL },
	{ "valid", "VALID", PRINT_NUMBER, NULL },
	{ "failed", "FAILED", PRINT_NUMBER, "failed, lost or not usable" },
	{ 0 },
};
static const struct print_column counts_columns[] = {
	{ "key", "", PRINT_TEXT, NULL },
	{ "total", "TOTAL", PRINT_NUMBER, NULL },
	{ "waiting", "WAITING", PRINT_NUMBER, NULL },
	{ "unsent", "UNSENT", PRINT_NUMBER, NULL },
	{ "in_progress", "IN PROGRESS", PRINT_NUMBER, NULL },
	{ "to_validate", "TO VALIDATE", PRINT_NUMBER, NULL },
	{ "valid", "VALID", PRINT_NUMBER, NULL },
	{ "assimilated", "ASSIMILATED", PRINT_NUMBER, NULL },
	{ "failed", "FAILED", PRINT_NUMBER, NULL },
	{ "cancelled", "CANCELLED", PRINT_NUMBER, NULL },
	{ 0 },
};
static const struct print_column state_columns[] = {
	{ "state", "STATE", PRINT_TEXT, NULL },
	{ "total", "WORKUNITS", PRINT_NUMBER, NULL },
	{ 0 },
};

struct work_view {
	struct cmd_ctx *x;
	struct catalog *cat;
	struct work_filter w;
	struct work_cursor c;
	struct progress bar;
	int64_t limit;
	bool cut; /* there are more than limit */
};

/* --- the choice --- */

static enum err choose_words(
    struct cmd_ctx *x, const struct work_list_opts *o, struct work_filter *w)
{
	unsigned bits;

	for (size_t i = 0; i < o->states.n; i++) {
		TRY(work_states_named(x, o->states.v[i], &bits));
		w->states |= bits;
	}
	w->failed = w->states != 0 &&
	            (w->states & ~(1 << PICK_FAILED | 1 << PICK_CANCELLED)) == 0;
	w->to_validate = w->states == 1 << PICK_TO_VALIDATE;
	if (o->reason != NULL && (w->mask = work_reason_named(o->reason)) == 0)
		return ctx_usage(x, "--reason %.40s: it must be one of %s", o->reason,
		    work_reasons(x->a, -1));
	w->has_exit = o->exit != NULL;
	if (w->has_exit && !text_i64(o->exit, INT32_MIN, INT32_MAX, &w->exit_status))
		return ctx_usage(x,
		    "--exit-status %.40s: it must be a number such as 1 or -1073741819",
		    o->exit);
	if (o->name != NULL)
		w->name = work_like(x->a, o->name);
	w->hostid = o->host;
	return OK;
}

static enum err choose_times(
    struct cmd_ctx *x, const struct work_list_opts *o, struct work_filter *w)
{
	int64_t s, now = clock_now();

	if (o->older != NULL) {
		if (!human_span_parse(o->older, &s))
			return ctx_usage(x,
			    "--older %.40s: must be a duration such as 30m or 2d",
			    o->older);
		w->made_to = now - s;
	}
	if (o->newer != NULL) {
		if (!human_span_parse(o->newer, &s))
			return ctx_usage(x,
			    "--newer %.40s: must be a duration such as 30m or 2d",
			    o->newer);
		w->made_from = now - s;
	}
	return OK;
}

/* Finds the app, file and host that are named, which must exist. */
static enum err choose_rows(struct work_view *v, const struct work_list_opts *o)
{
	struct cmd_ctx *x = v->x;
	const struct app *app;
	struct host *host;

	TRY(tools_catalog(x, &v->cat));
	if (o->app != NULL) {
		TRY(tools_app(x, v->cat, o->app, &app));
		v->w.appid = app->id;
	}
	if (o->batch != NULL)
		TRY(work_batch_named(x, o->batch, &v->w.batch));
	if (o->host != 0)
		TRY(tools_host(x, o->host, &host));
	return o->file == NULL ? OK : work_fileset_named(x, o->file, &v->w.fileset_id);
}

/* --- the list --- */

static enum err list_piece(
    struct work_view *v, struct arena *a, struct print *l, int64_t *left)
{
	struct row_work *rows;
	struct row_tally *tallies;
	size_t n;

	TRY(work_next(v->x->db, a, &v->c, &rows, &n, v->x->f));
	if ((int64_t)n > *left) {
		n = (size_t)*left;
		v->cut = true;
	}
	TRY(work_tallies(v->x->db, a, rows, n, &tallies, v->x->f));
	if (n > 0)
		progress_end(&v->bar);
	for (size_t i = 0; i < n; i++) {
		const struct row_work *w = &rows[i];
		const struct row_tally *t = &tallies[i];
		const struct app *app = catalog_app(v->cat, w->appid);

		print_cells(l, w->id, w->name, app == NULL ? "" : app->name, w->file,
		    w->batch, work_pick_state_name((enum work_pick_state)w->state),
		    work_reasons(a, w->mask), w->create_time, w->priority, t->unsent,
		    t->in_progress, t->success, t->valid, t->failed);
	}
	*left -= (int64_t)n;
	progress_set(&v->bar, work_looked(&v->c));
	return OK;
}

static enum err list_all(struct work_view *v)
{
	struct print *l = print_list(v->x, work_list_columns);
	int64_t left = v->limit;
	struct arena a = { 0 };
	enum err e = OK;
	size_t n;

	while (e == OK && left > 0 && !work_over(&v->c)) {
		e = list_piece(v, &a, l, &left);
		arena_reset(&a);
	}
	arena_free(&a);
	progress_end(&v->bar);
	n = print_end(l);
	if (e != OK)
		return e;
	if (n == 0)
		return ctx_not_found(
		    v->x, "no workunit matches; locus work list --by state counts all");
	if ((v->cut || (left == 0 && !work_over(&v->c))) &&
	    v->x->format == FORMAT_TABLE)
		fprintf(stderr,
		    "only the newest %zu are shown; --limit NUMBER shows more, --by state counts all\n",
		    n);
	return OK;
}

/* --- counts --- */

struct work_sum {
	int64_t key, n[PICK_STATES];
};
struct work_sums {
	struct work_sum *v;
	size_t n, cap, merged;
};

static int compare_sums(const void *x, const void *y)
{
	int64_t a = ((const struct work_sum *)x)->key,
		b = ((const struct work_sum *)y)->key;

	return (a > b) - (a < b);
}

/* Adds up the sums of the same key. */
static void merge_sums(struct work_sums *s)
{
	size_t kept = 0;

	qsort(s->v, s->n, sizeof(*s->v), compare_sums);
	for (size_t i = 0; i < s->n; i++)
		if (kept > 0 && s->v[kept - 1].key == s->v[i].key)
			for (int k = 0; k < PICK_STATES; k++)
				s->v[kept - 1].n[k] += s->v[i].n[k];
		else
			s->v[kept++] = s->v[i];
	s->n = s->merged = kept;
}

enum by { BY_NOTHING, BY_APP, BY_BATCH, BY_FILE, BY_STATE };

static int64_t key_of(const struct row_work_count *r, enum by by)
{
	switch (by) {
	case BY_APP:
		return r->appid;
	case BY_BATCH:
		return r->batch;
	case BY_FILE:
		return r->fileset_id;
	default:
		return 0;
	}
}

static enum err count_all(struct work_view *v, enum by by, struct work_sums *s)
{
	struct arena a = { 0 };
	enum err e = OK;

	while (e == OK && !work_over(&v->c)) {
		struct row_work_count *rows;
		size_t n = 0;

		arena_reset(&a);
		e = work_next_counts(v->x->db, &a, &v->c, &rows, &n, v->x->f);
		for (size_t i = 0; e == OK && i < n; i++) {
			struct work_sum one = { .key = key_of(&rows[i], by) };

			one.n[rows[i].state] = rows[i].n;
			PUSH(v->x->a, s->v, s->n, s->cap) = one;
		}
		if (s->n > 2 * s->merged + COUNTS_MANY)
			merge_sums(s);
		progress_set(&v->bar, work_looked(&v->c));
	}
	progress_end(&v->bar);
	arena_free(&a);
	if (s->n > 0)
		merge_sums(s);
	return e;
}

static bool chooses_by_words(const struct work_filter *w)
{
	return w->states != 0 || w->hostid != 0 || w->made_from != 0 ||
	       w->made_to != INT64_MAX || w->mask != 0 || w->name != NULL ||
	       w->has_exit;
}

/*
 * Whether all workunits are counted (*id = 0), or all of one app, batch or file set,
 * which must be what they are counted by.
 */
static bool chooses_one(
    const struct work_filter *w, enum by by, enum tally_kind *kind, int64_t *id)
{
	const struct {
		enum by by;
		enum tally_kind kind;
		bool chosen;
		int64_t id;
	} of[] = { { BY_APP, TALLY_OF_APP, w->appid != 0, w->appid },
		{ BY_BATCH, TALLY_OF_BATCH, w->batch != -1, w->batch },
		{ BY_FILE, TALLY_OF_FILESET, w->fileset_id != -1, w->fileset_id } };
	size_t chosen = 0;
	bool same = true;

	*id = 0;
	*kind = TALLY_OF_APP;
	for (size_t i = 0; i < N(of); i++)
		if (of[i].by == by)
			*kind = of[i].kind;
	for (size_t i = 0; i < N(of); i++) {
		if (!of[i].chosen)
			continue;
		chosen++;
		same = of[i].id > 0 && (by == BY_STATE || by == of[i].by);
		*kind = of[i].kind;
		*id = of[i].id;
	}
	return !chooses_by_words(w) && chosen <= 1 && same;
}

/* Takes the sums from the counts that are kept. */
static enum err read_sums(struct cmd_ctx *x, enum by by, enum tally_kind kind,
    int64_t id, struct work_sums *s)
{
	struct tally_states *v;
	size_t n;

	TRY(tally_states_read(x, kind, id, &v, &n));
	for (size_t i = 0; i < n; i++) {
		struct work_sum one = { .key = by == BY_STATE ? 0 : v[i].id };

		memcpy(one.n, v[i].n, sizeof(one.n));
		PUSH(x->a, s->v, s->n, s->cap) = one;
	}
	if (s->n > 0)
		merge_sums(s);
	return OK;
}

static int compare_set_id(const void *key, const void *item)
{
	int64_t id = *(const int64_t *)key,
		at = ((const struct row_set_named *)item)->id;

	return (id > at) - (id < at);
}

/* All file sets, in the order of their ids. */
static enum err read_set_names(
    struct cmd_ctx *x, struct row_set_named **out, size_t *nout)
{
	struct row_set_named *page = NULL;
	size_t n, cap = 0;

	*out = NULL;
	*nout = 0;
	do {
		TRY(db_query(x->db, x->a, x->f, &page, &n, FILESETS_AFTER,
		    .after = *nout == 0 ? 0 : (*out)[*nout - 1].id, .max = SETS_PAGE));
		for (size_t i = 0; i < n; i++)
			PUSH(x->a, *out, *nout, cap) = page[i];
	} while (n == SETS_PAGE);
	return OK;
}

struct key_names { /* of file sets, if those are the keys */
	struct row_set_named *sets;
	size_t nsets;
};

static const char *key_name(
    const struct work_view *v, const struct key_names *k, enum by by, int64_t key)
{
	const struct row_set_named *set;
	const struct app *app;

	if (by == BY_APP) {
		app = catalog_app(v->cat, key);
		return app == NULL ? arena_printf(v->x->a, "app %lld", (long long)key) :
		                     app->name;
	}
	if (by == BY_BATCH)
		return key == 0 ? "(none)" :
		                  arena_printf(v->x->a, "%lld", (long long)key);
	set = k->nsets == 0 ?
	          NULL :
	          bsearch(&key, k->sets, k->nsets, sizeof(*k->sets), compare_set_id);
	return set == NULL ? "(none)" : set->name;
}

static void print_sum(struct print *l, const char *key, const struct work_sum *s)
{
	int64_t total = 0;

	for (int i = 0; i < PICK_STATES; i++)
		total += s->n[i];
	print_cells(l, key, total);
	for (int i = 0; i < PICK_STATES; i++)
		print_cells(l, s->n[i]);
}

static enum err find_by(struct cmd_ctx *x, const char *text, enum by *by)
{
	static const char *const names[] = { [BY_NOTHING] = "",
		[BY_APP] = "app",
		[BY_BATCH] = "batch",
		[BY_FILE] = "file",
		[BY_STATE] = "state" };

	*by = BY_NOTHING;
	if (text == NULL)
		return OK;
	for (size_t i = BY_APP; i < N(names); i++)
		if (strcmp(text, names[i]) == 0)
			*by = (enum by)i;
	return *by != BY_NOTHING ?
	           OK :
	           ctx_usage(
		       x, "--by %.40s: it must be app, batch, file or state", text);
}

static enum err print_by(struct work_view *v, enum by by, const struct work_sums *s)
{
	if (by == BY_STATE) {
		struct print *l = print_list(v->x, state_columns);

		for (int i = 0; s->n > 0 && i < PICK_STATES; i++)
			print_cells(l, work_pick_state_name((enum work_pick_state)i),
			    s->v[0].n[i]);
		print_end(l);
	} else {
		static const char *const keys[] = {
			[BY_APP] = "app", [BY_BATCH] = "batch", [BY_FILE] = "file"
		};
		static const char *const heads[] = {
			[BY_APP] = "APP", [BY_BATCH] = "BATCH", [BY_FILE] = "FILE"
		};
		struct print_column columns[N(counts_columns)];
		struct key_names k = { 0 };
		struct print *l;

		if (by == BY_FILE)
			TRY(read_set_names(v->x, &k.sets, &k.nsets));
		memcpy(columns, counts_columns, sizeof(columns));
		columns[0].key = keys[by];
		columns[0].head = heads[by];
		l = print_list(v->x, columns);
		for (size_t i = 0; i < s->n && (int64_t)i < v->limit; i++)
			print_sum(l, key_name(v, &k, by, s->v[i].key), &s->v[i]);
		print_end(l);
	}
	return s->n > 0 ? OK : ctx_not_found(v->x, "no workunit matches");
}

static enum err work_list_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct work_list_opts *o = opts;
	struct work_view v = { .x = x, .w = work_filter_any() };
	struct work_sums s = { 0 };
	enum tally_kind kind;
	enum by by;
	int64_t id;

	(void)args, (void)n;
	TRY(find_by(x, o->by, &by));
	TRY(choose_words(x, o, &v.w));
	TRY(choose_times(x, o, &v.w));
	v.limit = o->limit > 0 ? o->limit : INT64_MAX;
	if (o->limit == 0 && x->format == FORMAT_TABLE && by == BY_NOTHING)
		v.limit = TABLE_ROWS;
	TRY(ctx_db_report(x));
	TRY(choose_rows(&v, o));
	if (by != BY_NOTHING && chooses_one(&v.w, by, &kind, &id)) {
		TRY(read_sums(x, by, kind, id, &s));
		return print_by(&v, by, &s);
	}
	TRY(work_begin(x->db, x->a, &v.w, &v.c, x->f));
	v.bar = progress_begin("reading workunits", v.c.total);
	if (by == BY_NOTHING)
		return list_all(&v);
	TRY(count_all(&v, by, &s));
	return print_by(&v, by, &s);
}

const struct cmd cmd_work_list = { .name = "work list",
	.args = "",
	.purpose = "list workunits, or count them",
	.about =
	    "Lists workunits, the newest first, with their results in each state. A workunit has\n"
	    "one state: waiting (for the transitioner to make results), unsent, in_progress,\n"
	    "to_validate, valid (it has a canonical result), assimilated, failed or cancelled;\n"
	    "--state open chooses those that are not decided yet. With --by it counts them by\n"
	    "state, or by app, batch or file with a column for each state. The list is printed\n"
	    "as it is read; exit status 3: no workunit matches.",
	.opts = work_list_options,
	.opts_size = sizeof(struct work_list_opts),
	.columns = work_list_columns,
	.run = work_list_run };
