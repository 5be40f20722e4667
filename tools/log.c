/* SPDX-License-Identifier: Apache-2.0 */
/* locus log: the lines of all of the project's logs, merged by time. */
#include "tools/log.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/gzip.h"
#include "lib/log_reader.h"
#include "lib/text.h"
#include "tools/catalog.h"
#include "lib/human.h"
#include "tools/print/print.h"
#include "tools/service.h"
#include "lib/banned.h"

/* Only Apache has to be told; it finishes the requests that it has. */
static const char *tell_apache(struct arena *a, const struct conf *cf)
{
	const char *pid;

	if (!cf->private_servers)
		return "";
	pid = arena_printf(a, "%s/apache.pid", socket_dir(a, cf));
	return arena_printf(a,
	    "\tsharedscripts\n"
	    "\tpostrotate\n"
	    "\t\ttest ! -s %s || kill -USR1 $(cat %s) || :\n"
	    "\tendscript\n",
	    pid, pid);
}

/*
 * The services notice that a log file has another name and open a new one, so they are
 * not told of a rotation. They may write a few lines to the old file until then, hence
 * delaycompress.
 */
char *log_rotation_text(
    struct arena *a, const struct conf *cf, const char *name, const char *account)
{
	return arena_printf(a,
	    "# Written by locus create %s; see %s.\n"
	    "%s/*.log {\n"
	    "%s"
	    "\tweekly\n"
	    "\tmaxsize 100M\n"
	    "\trotate 8\n"
	    "\tmissingok\n"
	    "\tnotifempty\n"
	    "\tcompress\n"
	    "\tdelaycompress\n"
	    "\tnocreate\n"
	    "%s"
	    "}\n",
	    name, account == NULL ? "locus(7)" : "locus-install(7)", cf->log_dir,
	    account == NULL ? "" : arena_printf(a, "\tsu %s adm\n", account),
	    tell_apache(a, cf));
}

enum {
	FILES_MOST = 10000,
	LINES_SHOWN = 100,
	LOOK_MS = 250,
	TERMS_MOST = 200,
	LINE_KEPT = 4096
};
enum { DAY_S = 86400 };

struct log_opts {
	bool follow;
	int64_t host, lines;
	const char *job, *file, *since, *level;
};
#define OFF(member) FIELD_OF(struct log_opts, member)

static const struct field log_options[] = {
	{ "follow", OFF(follow), NULL,
	    "Goes on with new lines as they are written, also through rotation, until ^C.",
	    .letter = 'f' },
	{ "host", OFF(host), "ID", "Only lines about this host." },
	{ "job", OFF(job), "NAME|ID",
	    "Only lines about this workunit and its results, or this result." },
	{ "file", OFF(file), "NAME", "Only lines that name this file." },
	{ "since", OFF(since), "TIME",
	    "Lines of this last time: 90s, 30m, 1h, 2d; default: the last 100 of one day." },
	{ "level", OFF(level), "LEVEL",
	    "Only lines of this level or worse: error, warning, info, debug." },
	{ "lines", OFF(lines), "NUMBER",
	    "Only the last lines, so many; default with --since: all.",
	    .max = 1000000 },
	{ 0 },
};

static const struct print_column log_columns[] = {
	{ "time", NULL, PRINT_TIME, NULL },
	{ "log", NULL, PRINT_TEXT, "the file, without .log" },
	{ "level", NULL, PRINT_TEXT, "error, warning, info or debug" },
	{ "message", NULL, PRINT_TEXT,
	    "without time, program and level, if it has them" },
	{ 0 },
};

struct source { /* a log file */
	int64_t mtime;
	char *name; /* without directory and ending */
	char *path;
	struct log_reader *reader;
	const struct log_entry *next; /* NULL = at the end for now */
};
struct kept { /* a line that may be printed, while only the last ones are wanted */
	int64_t time;
	enum log_level level;
	const char *source;
	char *message, *line;
};
struct log_view {
	struct cmd_ctx *x;
	const char *const *daemons; /* names of logs; none = all */
	size_t ndaemons;
	struct source *v;
	size_t n, cap;
	char *terms[TERMS_MOST]; /* a line must have one of them */
	size_t nterms;
	char *file; /* and this, unless NULL */
	enum log_level most;
	int64_t since;
	struct print *list;
	struct kept *ring; /* NULL = lines are printed at once */
	size_t ring_n, ring_max;
	uint64_t seen;
	bool prints; /* false while the ring is filled */
};

/* --- which lines --- */

static bool word_char(char c)
{
	return text_alnum(c) || c == '.' || c == '-';
}

/* Is the term in the line as a whole word, or the beginning of a name of a result or an
 * output file, which go on with "_"? */
static bool has_term(const char *line, const char *term)
{
	size_t n = strlen(term);

	for (const char *at = line; (at = strstr(at, term)) != NULL; at++)
		if (!word_char(at[n]) &&
		    (at == line || !(word_char(at[-1]) || at[-1] == '_')))
			return true;
	return false;
}

static bool line_wanted(const struct log_view *v, const struct log_entry *e)
{
	bool found = v->nterms == 0;

	if (e->level > v->most || (e->time > 0 && e->time < v->since))
		return false;
	for (size_t i = 0; i < v->nterms && !found; i++)
		found = has_term(e->line, v->terms[i]);
	return found && (v->file == NULL || has_term(e->line, v->file));
}

static void term(struct log_view *v, char *text)
{
	if (v->nterms < TERMS_MOST)
		v->terms[v->nterms++] = text;
}

static void result_terms(struct log_view *v, const struct result *r)
{
	struct arena *a = v->x->a;

	term(v, arena_printf(a, "RESULT#%" PRId64, r->id));
	term(v, arena_printf(a, "result=%" PRId64, r->id));
	term(v, r->name);
}

/* Logs name jobs by name or by id, so both are looked for. */
static enum err job_terms(struct log_view *v, const char *job)
{
	struct cmd_ctx *x = v->x;
	struct workunit *wu = NULL;
	struct result *r, *all;
	int64_t id;
	size_t n;
	enum err e = ctx_db_report(x);

	if (e != OK)
		return e;
	e = result_by_name(x->db, x->a, job, &r, x->f);
	if (e == OK) {
		result_terms(v, r);
		return OK;
	}
	if (e == E_NOTFOUND)
		e = workunit_by_name(x->db, x->a, job, &wu, x->f);
	if (e == E_NOTFOUND && text_i64(job, 1, INT64_MAX, &id))
		e = workunit_by_id(x->db, x->a, id, &wu, x->f);
	if (e == E_NOTFOUND && !text_i64(job, 1, INT64_MAX, &id)) {
		fprintf(stderr,
		    "there is no workunit or result %.200s, perhaps it was purged: looking for its name\n",
		    job);
		term(v, arena_strdup(x->a, job));
		return OK;
	}
	if (e == E_NOTFOUND)
		return ctx_not_found(x,
		    "there is no workunit with the id %s; locus work list lists them",
		    job);
	if (e == OK)
		e = results_of_workunit(x->db, x->a, wu->id, &all, &n, x->f);
	if (e != OK)
		return e;
	term(v, arena_printf(x->a, "WU#%" PRId64, wu->id));
	term(v, wu->name);
	for (size_t i = 0; i < n; i++)
		result_terms(v, &all[i]);
	return OK;
}

/* --- which files --- */

/* The name of a log file without its ending; NULL if it is none. Rotated files are
 * called "x.log.1", "x.log-20261120" or "x.log.2.gz". */
static char *log_name(struct arena *a, const char *file, bool *rotated)
{
	const char *end = strstr(file, ".log");

	if (end == NULL || end == file)
		return NULL;
	*rotated = end[4] != '\0';
	if (*rotated && end[4] != '.' && end[4] != '-')
		return NULL;
	return arena_memdup(a, file, (size_t)(end - file));
}

/* Logs of requests have a line for each; they are shown if they are asked for. */
static bool log_wanted(const struct log_view *v, const char *name)
{
	for (size_t i = 0; i < v->ndaemons; i++) {
		size_t n = strlen(v->daemons[i]);

		if (strncmp(name, v->daemons[i], n) == 0 && !text_alnum(name[n]) &&
		    name[n] != '_')
			return true;
	}
	return v->ndaemons == 0 && strstr(name, "access") == NULL;
}

static bool is_open(const struct log_view *v, const char *path)
{
	for (size_t i = 0; i < v->n; i++)
		if (strcmp(v->v[i].path, path) == 0)
			return true;
	return false;
}

/* Is a rotated file older than the lines wanted (compression keeps the time of the last
 * line), or there also as it was before a compression that runs? */
static bool is_passed_over(const struct log_view *v, const char *path)
{
	size_t stem = (size_t)(strrchr(path, '.') - path);

	return fs_mtime(path) < v->since ||
	       (unpack_named(path) && fs_exists(arena_memdup(v->x->a, path, stem)));
}

static int by_mtime(const void *a, const void *b)
{
	const struct source *x = a, *y = b;

	return (x->mtime > y->mtime) - (x->mtime < y->mtime);
}

/* Opens the logs that are not open yet; while following, those that have come
 * meanwhile. */
static enum err open_logs(struct log_view *v, bool first)
{
	struct cmd_ctx *x = v->x;
	char **files;
	size_t n;
	bool rotated;

	TRY(fs_list(x->a, x->cf->log_dir, FILES_MOST, &files, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		char *name = log_name(x->a, files[i], &rotated), *path;
		struct log_reader *r;

		if (name == NULL || (rotated && !first) || !log_wanted(v, name))
			continue;
		path = arena_printf(x->a, "%s/%s", x->cf->log_dir, files[i]);
		if (is_open(v, path) || (rotated && is_passed_over(v, path)))
			continue;
		r = log_reader_open(x->a, path, first ? v->since : 0);
		if (r == NULL && first)
			fprintf(stderr, "cannot read %s: %m\n", path);
		if (r != NULL)
			PUSH(x->a, v->v, v->n, v->cap) = (struct source){
				fs_mtime(path), name, path, r, NULL
			};
	}
	return OK;
}

static enum err no_such_log(struct log_view *v)
{
	struct cmd_ctx *x = v->x;
	const char *best = NULL;
	size_t least = (size_t)-1, n;
	char **files;
	bool rotated;

	TRY(fs_list(x->a, x->cf->log_dir, FILES_MOST, &files, &n, x->f));
	for (size_t i = 0; i < n && v->ndaemons > 0; i++) {
		char *name = log_name(x->a, files[i], &rotated);

		if (name != NULL && near_offer(v->daemons[0], name, &least))
			best = name;
	}
	if (best != NULL)
		return ctx_not_found(x,
		    "there is no log %.100s in %s; did you mean %s?", v->daemons[0],
		    x->cf->log_dir, best);
	return ctx_not_found(
	    x, "there are no such logs in %s; locus start makes them", x->cf->log_dir);
}

/* --- output --- */

static void print_entry(struct log_view *v, const struct kept *k)
{
	enum color color = k->level == LOG_ERR  ? COLOR_BAD :
	                   k->level == LOG_WARN ? COLOR_WARN :
	                                          COLOR_NONE;
	/* One that is not of our form does not say whose it is. */
	bool own = k->message != k->line;
	struct arena a = { 0 };

	v->seen++;
	print_cells(v->list, k->time, k->source, log_level_name(k->level), k->message);
	print_line(v->list, NULL, "%s",
	    color_text(&a, color,
		arena_printf(&a, "%s%s%s", own ? "" : k->source, own ? "" : ": ",
		    human_text(&a, k->line))));
	arena_free(&a);
}

/* Prints the line, or keeps it as one of the last. */
static void show_or_keep(
    struct log_view *v, const char *source, const struct log_entry *e)
{
	struct kept k = { e->time, e->level, source, NULL, NULL }, *slot;
	size_t skip = (size_t)(e->message - e->line), n = strlen(e->line);

	if (v->ring == NULL) {
		struct arena a = { 0 };

		k.line = arena_memdup(&a, e->line, n);
		k.message = k.line + skip;
		print_entry(v, &k);
		arena_free(&a);
		return;
	}
	slot = &v->ring[v->ring_n++ % v->ring_max];
	k.line = slot->line != NULL ? slot->line : arena_alloc(v->x->a, LINE_KEPT + 1);
	n = n < LINE_KEPT ? n : LINE_KEPT;
	memcpy(k.line, e->line, n);
	k.line[n] = '\0';
	k.message = k.line + (skip < n ? skip : n);
	*slot = k;
}

/* --- merging --- */

/* Reads what there is, always the oldest line of all logs first. */
static void merge(struct log_view *v)
{
	for (size_t i = 0; i < v->n; i++)
		v->v[i].next = log_reader_next(v->v[i].reader);
	for (;;) {
		struct source *best = NULL;

		for (size_t i = 0; i < v->n; i++)
			if (v->v[i].next != NULL &&
			    (best == NULL || v->v[i].next->time < best->next->time))
				best = &v->v[i];
		if (best == NULL)
			break;
		if (line_wanted(v, best->next))
			show_or_keep(v, best->name, best->next);
		best->next = log_reader_next(best->reader);
	}
	fflush(stdout);
}

static void tell_damage(const struct log_view *v)
{
	for (size_t i = 0; i < v->n; i++) {
		const char *why = log_reader_damage(v->v[i].reader);

		if (why != NULL)
			fprintf(
			    stderr, "cannot read all of %s: %s\n", v->v[i].path, why);
	}
}

static enum err follow_logs(struct log_view *v)
{
	for (int64_t i = 1;; i++) {
		clock_nap_ms(LOOK_MS);
		if (ferror(stdout))
			return OK; /* nobody reads any more */
		for (size_t k = 0; k < v->n; k++)
			log_reader_follow(v->v[k].reader);
		if (i % 4 == 0)
			TRY(open_logs(v, false));
		merge(v);
	}
}

static enum err log_settings(struct log_view *v, const struct log_opts *o)
{
	struct cmd_ctx *x = v->x;
	int64_t s = DAY_S;

	v->most = LOG_DEBUG;
	if (o->level != NULL && !log_level_named(o->level, &v->most))
		return ctx_usage(x,
		    "--level %.40s: it must be error, warning, info or debug",
		    o->level);
	if (o->since != NULL && !human_span_parse(o->since, &s))
		return ctx_usage(
		    x, "--since %.40s: must be a duration such as 30m or 2d", o->since);
	v->since = clock_now() - s;
	v->ring_max = (size_t)(o->lines > 0     ? o->lines :
			       o->since == NULL ? LINES_SHOWN :
						  0);
	if (v->ring_max > 0)
		v->ring = NEWN(x->a, struct kept, v->ring_max);
	v->file = o->file == NULL ? NULL : arena_strdup(x->a, o->file);
	return OK;
}

static enum err log_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct log_opts *o = opts;
	struct log_view v = {
		.x = x, .daemons = (const char *const *)args, .ndaemons = n
	};

	TRY(log_settings(&v, o));
	TRY(ctx_conf(x));
	if (o->job != NULL)
		TRY(job_terms(&v, o->job));
	if (o->host > 0) {
		if (o->job != NULL)
			return ctx_usage(x,
			    "--host and --job exclude each other; locus explain job says which hosts a job had");
		term(&v, arena_printf(x->a, "HOST#%" PRId64, o->host));
		term(&v, arena_printf(x->a, "host=%" PRId64, o->host));
		term(&v, arena_printf(x->a, "hostid=%" PRId64, o->host));
	}
	TRY(open_logs(&v, true));
	/* Of lines of the same second, those of the older file come first. */
	if (v.n > 1)
		qsort(v.v, v.n, sizeof(*v.v), by_mtime);

	if (v.n == 0)
		return no_such_log(&v);
	v.list = print_stream(x, log_columns);
	merge(&v);
	size_t first = v.ring_n > v.ring_max ? v.ring_n - v.ring_max : 0;

	for (size_t i = first; v.ring != NULL && i < v.ring_n; i++)
		print_entry(&v, &v.ring[i % v.ring_max]);
	v.ring = NULL;
	fflush(stdout);
	tell_damage(&v);
	if (o->follow)
		TRY(follow_logs(&v));
	print_end(v.list);
	for (size_t i = 0; i < v.n; i++)
		log_reader_close(v.v[i].reader);
	if (v.seen == 0)
		return ctx_not_found(
		    x, "no line matches; --since 7d looks further back");
	return OK;
}

const struct cmd cmd_log = { .name = "log",
	.args = "[LOG ...]",
	.max_args = -1,
	.purpose = "show the project's logs, merged by time",
	.about =
	    "Prints the lines of all logs in log_dir, or of those named, such as scheduler or\n"
	    "validator, the oldest first: those of the services, of the web server and of the\n"
	    "database server, rotated and compressed files too. Logs of requests, such as\n"
	    "access.log, are shown only if they are named. Exit status 3: no line matches.",
	.details =
	    "A job's lines are found by its name and the ids of its results. With -o json each line\n"
	    "is an object on a line of its own.",
	.opts = log_options,
	.opts_size = sizeof(struct log_opts),
	.columns = log_columns,
	.run = log_run };
