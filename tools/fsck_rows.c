/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the checks of rows: each statement of the table of checks, slice by slice. */
#include "tools/fsck_rows.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "db/id_walk.h"
#include "db/inspect.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "proto/plan_class.h"
#include "tools/catalog.h"
#include "tools/dir_cure.h"
#include "tools/fsck.h"
#include "lib/human.h"
#include "tools/terminal.h"
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

struct fault_list fault_list_begin(struct cmd_ctx *x)
{
	return (struct fault_list){ .x = x, .l = print_list(x, fault_columns) };
}

void fault_put(struct fault_list *all, const char *place, int line,
    enum fault_level level, const char *fmt, ...)
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

enum err fault_list_end(struct fault_list *all, const char *where)
{
	print_end(all->l);
	if (all->errors == 0)
		return OK;
	return FAIL(all->x->f, E_CONFIG, "%zu error%s in %s", all->errors,
	    all->errors == 1 ? "" : "s", where);
}

/* Output of locus fsck: each finding, and the number of findings at the end. */

enum { LISTED_MOST = 100 };

static const struct fsck_words checks[FSCK__MAX] = {
#define ERROR true
#define WARN  false
#define ROWS(code, severity, when, of, stmt, ago, repair, noun, text, cure)            \
	{ #code, noun, text, cure, severity },
#define DISK(code, severity, noun, text, cure) { #code, noun, text, cure, severity },
#include "tools/fsck_checks.def"
#undef ROWS
#undef DISK
#undef ERROR
#undef WARN
};

const struct fsck_words *fsck_words(enum fsck_code code)
{
	return &checks[code];
}

char *fsck_cure(struct arena *a, const struct cmd_ctx *x, const struct fsck_finding *f)
{
	const struct word words[] = {
		{ "{name}", text_shell_word(a, f->name) },
		{ "{more}", text_shell_word(a, f->more) },
		{ "{id}", arena_printf(a, "%lld", (long long)f->id) },
	};
	const char *cure = f->cure != NULL ?
	                       f->cure :
	                       words_fill(a, checks[f->code].cure, words, N(words));

	if (strcmp(cure, "RESTORE") == 0)
		return restore_cure(a, &x->owner, f->path, "644");
	if (strncmp(cure, "locus ", 6) == 0)
		return locus_command(a, x->cf, cure + 6);
	if (strncmp(cure, "rm ", 3) == 0)
		return owner_command(a, &x->owner, cure);
	return arena_strdup(a, cure);
}

void fsck_found(struct fsck *k, enum fsck_code code, const char *name, const char *more,
    bool repaired)
{
	fsck_report_finding(
	    k, &(const struct fsck_finding){
		   .code = code, .name = name, .more = more, .repaired = repaired });
}

void fsck_report_finding(struct fsck *k, const struct fsck_finding *f)
{
	const char *name = f->name, *more = f->more;
	enum fsck_code code = f->code;
	bool repaired = f->repaired;
	struct arena line = { 0 };
	const char *cure = fsck_cure(&line, k->x, f);

	k->repaired += repaired;
	k->found[code] += !repaired;
	k->listed[code]++;
	print_object(k->print, NULL, "code", checks[code].code, "severity",
	    checks[code].error ? "error" : "warning", "what", checks[code].noun, "name",
	    name, "text", checks[code].text, "more", more, "cure", cure, "repaired",
	    repaired);
	if (k->listed[code] <= LISTED_MOST)
		print_line(k->print, NULL, "%s %s %s: %s%s%s%s; %s", checks[code].code,
		    checks[code].noun, human_text(&line, name), checks[code].text,
		    more[0] == '\0' ? "" : " (", human_text(&line, more),
		    more[0] == '\0' ? "" : ")",
		    repaired ? "repaired" : human_text(&line, cure));
	arena_free(&line);
}

int64_t fsck_end(struct fsck *k)
{
	int64_t sums[2] = { 0 }; /* warnings, errors */

	print_close(k->print);
	for (size_t i = 0; i < FSCK__MAX; i++) {
		sums[checks[i].error] += k->found[i];
		if (k->listed[i] > LISTED_MOST)
			print_line(k->print, NULL, "%s: %lld more are not listed",
			    checks[i].code, (long long)(k->listed[i] - LISTED_MOST));
	}
	print_put(k->print, "clean", print_of_flag(sums[1] == 0), "errors", sums[1],
	    "warnings", sums[0], "repaired", k->repaired);
	print_line(k->print, NULL,
	    "%s: %d checks, %lld errors, %lld warnings, %lld repaired",
	    sums[1] == 0 ? "clean" : "not clean", (int)FSCK__MAX, (long long)sums[1],
	    (long long)sums[0], (long long)k->repaired);
	print_end(k->print);
	return sums[1];
}

/*
 * Versions with an unusable plan class are never sent, and nothing else reports that.
 */

static void fsck_version_found(
    struct fsck *k, const struct app_version *v, const char *app, const char *platform)
{
	struct arena *a = &k->round;
	const char *number = arena_printf(
	    a, "%d.%02d", v->version_num / 100, v->version_num % 100);

	fsck_report_finding(k,
	    &(const struct fsck_finding){ .code = FSCK_VERSION_CLASS,
		.name = arena_printf(a, "%s %s %s", app, number, platform),
		.more = v->plan_class,
		.cure = arena_printf(a,
		    "locus version deprecate %s %s %s  # or add the class to plan_class_spec.xml",
		    app, number,
		    text_shell_word(
			a, arena_printf(a, "%s:%s", platform, v->plan_class))) });
}

enum err fsck_classes(struct fsck *k)
{
	const char *path = project_path(k->x->a, k->x->cf, PLAN_CLASS_FILE);
	struct plan_classes *all;
	struct catalog *c;
	struct pc_remark *r;
	struct fail f = { 0 };
	size_t n;

	TRY(tools_catalog(k->x, &c));
	arena_reset(&k->round);
	/* Reports unusable classes; a file that is not XML is one finding. */
	enum err e = plan_classes_load(&k->round, path, &all, &r, &n, &f);

	if (e != OK)
		fsck_found(k, FSCK_SPEC_CLASS, "of any name", f.detail, false);
	for (size_t i = 0; i < n; i++)
		if (r[i].lost)
			fsck_found(k, FSCK_SPEC_CLASS, r[i].class,
			    arena_printf(
				&k->round, "line %d: %s", r[i].line, r[i].text),
			    false);
	for (size_t i = 0; i < c->nversions; i++) {
		const struct app_version *v = &c->versions[i];
		const struct app *app = catalog_app(c, v->appid);
		const struct platform *pl = catalog_platform(c, v->platformid);

		if (v->deprecated || v->plan_class[0] == '\0' ||
		    plan_class_named(all, v->plan_class) != NULL)
			continue;
		fsck_version_found(
		    k, v, app == NULL ? "?" : app->name, pl == NULL ? "?" : pl->name);
	}
	arena_reset(&k->round);
	return OK;
}

enum {
	SLICE = 20000,
	CAUSES_MOST = 10000,
	SOON =
	    -60, /* ago: what daemons mark as due during a statement is due by then */
};

enum when { ALWAYS, RUNNING, ONCE_USER, ONCE_HOST };
struct row_check {
	enum fsck_code code;
	enum when when;
	enum id_table of;
	enum stmt_id find; /* has the arguments and rows of FSCK_RESULT_STATE */
	enum stmt_id
	    repair; /* has the arguments of REPAIR_RESULT_COPY; SQL__MAX = none */
	int64_t ago;
};

/* Stands for "no repair" in SQL_LIKE(). */
enum { SQL_NONE = SQL__MAX, nargs_NONE = nargs_REPAIR_RESULT_COPY };
typedef args_REPAIR_RESULT_COPY args_NONE;
typedef answer_REPAIR_RESULT_COPY answer_NONE;

static const struct row_check row_checks[] = {
#define ROWS(code, severity, when, of, stmt, ago, repair, noun, text, cure)            \
	{ FSCK_##code, when, IDS_##of, SQL_LIKE(stmt, FSCK_RESULT_STATE),              \
		SQL_LIKE(repair, REPAIR_RESULT_COPY), ago },
#define DISK(...)
#include "tools/fsck_checks.def"
#undef ROWS
#undef DISK
};

static bool check_applies(const struct fsck *k, enum when when)
{
	const struct conf *cf = k->x->cf;

	switch (when) {
	case ALWAYS:
		return true;
	case RUNNING:
		return k->running;
	case ONCE_USER:
		return cf->one_result_per_user_per_wu;
	case ONCE_HOST: /* one per account implies one per host */
		return cf->one_result_per_host_per_wu &&
		       !cf->one_result_per_user_per_wu;
	}
	return false;
}

static enum err repair_row(struct fsck *k, const struct row_check *c,
    const struct row_finding *row, bool *done)
{
	int64_t affected = 0;
	enum err e = OK;

	bool credit = c->code >= FSCK_HOST_CREDIT && c->code <= FSCK_TEAM_CREDIT;

	if ((credit ? k->repair_credit : k->repair) && c->repair != SQL__MAX)
		e = db_exec_like(k->x->db, k->x->f, &affected, c->repair,
		    REPAIR_RESULT_COPY, .id = row->id, .other = row->other);
	*done = affected > 0;
	return e;
}

/* Is it only what a result in an impossible state has led to? One cause, one cure. */
static bool is_explained(
    struct fsck *k, enum fsck_code code, const struct row_finding *row)
{
	bool cause = code >= FSCK_RESULT_STATE && code <= FSCK_RESULT_JUDGED,
	     led_to = code == FSCK_WU_CANONICAL || code == FSCK_WU_QUORUM ||
	              code == FSCK_WU_TALLY;

	for (size_t i = 0; i < k->ncauses; i++)
		if ((cause && k->causes[i].result == row->id) ||
		    (led_to && k->causes[i].workunit == row->id))
			return true;
	if (cause && k->ncauses < CAUSES_MOST)
		PUSH(k->x->a, k->causes, k->ncauses,
		    k->cap_causes) = (struct fsck_cause){ row->id, row->other };
	return false;
}

/*
 * The time is that of the statement: the project may be at work, and what its daemons
 * have marked as due since fsck started is in order.
 */
static enum err check_slice(
    struct fsck *k, const struct row_check *c, int64_t from, int64_t to)
{
	struct row_finding *rows = NULL;
	size_t n = 0;
	bool done;

	arena_reset(&k->round);
	TRY(db_query_like(k->x->db, &k->round, k->x->f, &rows, &n, c->find,
	    FSCK_RESULT_STATE, .from = from, .to = to, .at = clock_now() - c->ago));
	for (size_t i = 0; i < n; i++) {
		if (is_explained(k, c->code, &rows[i]))
			continue;
		TRY(repair_row(k, c, &rows[i], &done));
		fsck_report_finding(k, &(const struct fsck_finding){ .code = c->code,
					   .name = rows[i].name,
					   .more = rows[i].more,
					   .id = rows[i].id,
					   .repaired = done });
	}
	return OK;
}

/* The ends of a table's slices; orphans of the last one may have any higher id. */
struct slices {
	int64_t *to;
	size_t n, cap;
};

static enum err slices_read(struct fsck *k, enum id_table of, struct slices *v)
{
	for (int64_t from = IDS_BEGIN, to = from; to < IDS_END; from = to) {
		TRY(ids_ahead(k->x->db, of, from, SLICE, &to, k->x->f));
		PUSH(k->x->a, v->to, v->n, v->cap) = to;
	}
	return OK;
}

static enum err run_check(struct fsck *k, const struct row_check *c,
    const struct slices *v, struct progress *bar, int64_t *done)
{
	for (size_t i = 0; i < v->n; i++) {
		TRY(check_slice(k, c, i > 0 ? v->to[i - 1] : IDS_BEGIN, v->to[i]));
		progress_set(bar, ++*done);
	}
	return OK;
}

enum err fsck_rows(struct fsck *k)
{
	struct slices slices[IDS__MAX] = { 0 };
	int64_t total = 0, done = 0;
	struct progress bar;
	enum err e = OK;

	for (size_t t = 0; t < IDS__MAX; t++)
		TRY(slices_read(k, (enum id_table)t, &slices[t]));
	for (size_t i = 0; i < N(row_checks); i++)
		if (check_applies(k, row_checks[i].when))
			total += (int64_t)slices[row_checks[i].of].n;
	bar = progress_begin("checking rows", total);
	for (size_t i = 0; i < N(row_checks) && e == OK; i++)
		if (check_applies(k, row_checks[i].when))
			e = run_check(
			    k, &row_checks[i], &slices[row_checks[i].of], &bar, &done);
	progress_end(&bar);
	return e;
}
