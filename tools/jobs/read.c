/* SPDX-License-Identifier: Apache-2.0 */
/* Parses files of jobs: tables with tabs and a header, or a JSON object per line. */
#include <jansson.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/proc.h"
#include "model/fleet.h"
#include "tools/jobs/jobs.h"
#include "lib/banned.h"

enum { PROBLEMS_SHOWN = 1000, BLOCK = 1 << 20, COLUMNS_MOST = 64 };
static const size_t file_most = (size_t)4 << 30;

static const struct field job_fields[] = {
#define JOB(name, type, least, most, help)                                             \
	{ #name, FIELD_OF(struct job_row, name), .min = least, .max = most },
#include "tools/jobs/jobs.def"
#undef JOB
	{ 0 },
};

void job_row_init(struct job_row *row)
{
	*row = (struct job_row){ 0 };
	for (const struct field *c = job_fields; c->name != NULL; c++)
		if (c->type == FIELD_I64 || c->type == FIELD_F64)
			field_put_whole(c, row, -1);
}

void job_problem(struct job_problems *p, int64_t line, const char *fmt, ...)
{
	char text[sizeof(p->last)];
	va_list ap;

	p->n++;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	if (strcmp(text, p->last) == 0) {
		p->same++;
		return;
	}
	job_problems_end(p);
	memcpy(p->last, text, sizeof(text));
	if (p->shown++ < PROBLEMS_SHOWN)
		fprintf(stderr, "locus: %s:%lld: %s\n", p->path, (long long)line, text);
}

void job_problems_end(struct job_problems *p)
{
	if (p->same > 0 && p->shown <= PROBLEMS_SHOWN)
		fprintf(stderr, "locus: %s: the same in %zu more line%s\n", p->path,
		    p->same, p->same == 1 ? "" : "s");
	p->same = 0;
}

/* --- the whole file --- */

static enum err read_standard_input(struct cmd_ctx *x, char **text, size_t *n)
{
	struct buf b = buf_new(x->a);
	char *block = arena_alloc(x->a, BLOCK);
	ssize_t got;

	while ((got = read(STDIN_FILENO, block, BLOCK)) > 0) {
		buf_put(&b, block, (size_t)got);
		if (b.n > file_most)
			return FAIL(x->f, E_BADREQ,
			    "standard input has more than 4 GB; divide it");
	}
	if (got < 0)
		return FAIL_ERRNO(x->f, "reading standard input");
	*text = b.p;
	*n = b.n;
	return OK;
}

/* Returns the column; NULL, with a problem, if there is none of that name. */
static const struct field *column_find(
    struct job_problems *p, int64_t line, const char *name)
{
	const char *near;
	const struct field *c = field_find(job_fields, name, false, &near);

	if (c == NULL && near != NULL)
		job_problem(
		    p, line, "there is no column %.60s; did you mean %s?", name, near);
	else if (c == NULL)
		job_problem(p, line,
		    "there is no column %.60s; locus help work add lists them", name);
	return c;
}

/* Is the line one without a job: blank, or a comment? */
static bool line_empty(const char *p, size_t n)
{
	size_t blank = 0;

	while (blank < n && text_white(p[blank]))
		blank++;
	return blank == n || *p == '#';
}

/* Steps to the next line that is not empty; *p and *n are the line, without its end. */
static bool step_line(struct job_file *jf, const char **p, size_t *n)
{
	while (*jf->at != '\0') {
		const char *end = strchr(jf->at, '\n');

		*p = jf->at;
		*n = end == NULL ? strlen(jf->at) : (size_t)(end - jf->at);
		jf->at += *n + (end != NULL);
		jf->line++;
		if (*n > 0 && (*p)[*n - 1] == '\r')
			--*n;
		if (!line_empty(*p, *n))
			return true;
	}
	return false;
}

static void read_columns(
    struct cmd_ctx *x, struct job_file *jf, const char *p, size_t n)
{
	const char *end = p + n;

	jf->columns = NEWN(x->a, const struct field *, COLUMNS_MOST);
	while (p <= end && jf->ncolumns < COLUMNS_MOST) {
		size_t len = 0;
		char *name;
		const struct field *c;

		while (p + len < end && p[len] != '\t')
			len++;
		name = text_trim(arena_memdup(x->a, p, len));
		c = column_find(&jf->problems, jf->line, name);
		for (size_t i = 0; c != NULL && i < jf->ncolumns; i++)
			if (jf->columns[i] == c)
				job_problem(&jf->problems, jf->line,
				    "column %s is there twice", name);
		jf->columns[jf->ncolumns++] = c;
		p += len + 1;
	}
	if (p <= end)
		job_problem(
		    &jf->problems, jf->line, "more than %d columns", (int)COLUMNS_MOST);
}

enum err job_file_read(struct cmd_ctx *x, const char *path, struct job_file *jf)
{
	bool in = strcmp(path, "-") == 0;
	const char *p;
	size_t n, len;

	*jf = (struct job_file){ .path = in ? "standard input" : path };
	jf->problems.path = jf->path;
	TRY(in ? read_standard_input(x, &jf->text, &n) :
		 fs_read(x->a, path, file_most, &jf->text, &n, x->f));
	if (strlen(jf->text) != n)
		return FAIL(x->f, E_BADREQ, "%s: byte %zu is a NUL: this is not text",
		    jf->path, strlen(jf->text));
	jf->at = jf->text;
	if (!step_line(jf, &p, &len))
		return FAIL(x->f, E_BADREQ, "%s: there are no jobs in it", jf->path);
	jf->json = p[strspn(p, " \t")] == '{';
	if (jf->json) {
		jf->at = p;
		jf->line--;
	} else {
		read_columns(x, jf, p, len);
	}
	jf->begin = jf->at;
	jf->begin_line = jf->line;
	while (step_line(jf, &p, &len))
		jf->jobs++;
	job_file_rewind(jf);
	return OK;
}

void job_file_rewind(struct job_file *jf)
{
	jf->at = jf->begin;
	jf->line = jf->begin_line;
}

/* --- values --- */

static const char *take_field(
    struct arena *a, const struct field *c, char *text, struct job_row *row)
{
	char **words;
	struct fail f = { 0 };
	struct text_list *list = (void *)((char *)row + c->off);
	int64_t whole;
	double real;
	bool yes;

	switch (c->type) {
	case FIELD_LIST:
		if (proc_split(a, text, &words, &f) != OK)
			return "a quote is open";
		for (list->v = words; words[list->n] != NULL;)
			list->n++;
		return NULL;
	case FIELD_I64:
		if (!text_i64(text, (int64_t)c->min, (int64_t)c->max, &whole))
			return "not a whole number in its range";
		field_put_whole(c, row, whole);
		return NULL;
	case FIELD_F64:
		if (!text_f64(text, &real) || !field_within(c, real))
			return "not a number in its range";
		field_put_number(c, row, real);
		return NULL;
	case FIELD_FLAG:
		yes = strcmp(text, "1") == 0 || strcmp(text, "true") == 0;
		if (!yes && strcmp(text, "0") != 0 && strcmp(text, "false") != 0)
			return "neither true nor false";
		field_put_whole(c, row, yes);
		return NULL;
	default:
		return field_set(a, c, row, text);
	}
}

/* Stores a value that is not empty; reports why it does not fit. */
static bool take_value(struct job_file *jf, struct arena *a, const struct field *c,
    char *text, struct job_row *row)
{
	const char *why = take_field(a, c, text, row);

	if (why == NULL)
		return true;
	if (c->max > 0)
		job_problem(&jf->problems, row->line,
		    "%s: \"%.60s\" is %s, %.10g to %.10g", c->name, text, why, c->min,
		    c->max);
	else
		job_problem(
		    &jf->problems, row->line, "%s: \"%.60s\": %s", c->name, text, why);
	return false;
}

/* --- tables --- */

/* A cell, in which \t, \n and \\ stand for a tab, a newline and a backslash. */
static char *cell_text(struct arena *a, const char *p, size_t n)
{
	char *text = arena_alloc(a, n + 1), *to = text;

	for (size_t i = 0; i < n; i++) {
		char c = p[i];

		if (c == '\\' && i + 1 < n && strchr("tn\\", p[i + 1]) != NULL)
			c = "\t\n\\"[strchr("tn\\", p[++i]) - "tn\\"];
		*to++ = c;
	}
	return text;
}

static bool parse_cells(
    struct job_file *jf, struct arena *a, const char *p, size_t n, struct job_row *row)
{
	const char *end = p + n;
	bool good = true;
	size_t i = 0;

	for (; p <= end; i++) {
		size_t len = 0;
		char *text;

		while (p + len < end && p[len] != '\t')
			len++;
		text = text_trim(cell_text(a, p, len));
		p += len + 1;
		if (i < jf->ncolumns && jf->columns[i] != NULL && text[0] != '\0')
			good &= take_value(jf, a, jf->columns[i], text, row);
	}
	if (i > jf->ncolumns) {
		job_problem(&jf->problems, row->line, "%zu cells, but %zu columns", i,
		    jf->ncolumns);
		return false;
	}
	return good;
}

/* --- JSON --- */

static bool take_array(struct job_file *jf, struct arena *a, const struct field *c,
    const json_t *value, struct job_row *row)
{
	struct text_list *list = (void *)((char *)row + c->off);

	list->n = json_array_size(value);
	list->v = NEWN(a, char *, list->n + 1);
	for (size_t i = 0; i < list->n; i++) {
		const char *text = json_string_value(json_array_get(value, i));

		if (text == NULL || text[0] == '\0') {
			job_problem(&jf->problems, row->line,
			    "%s: item %zu is not a text", c->name, i + 1);
			return false;
		}
		list->v[i] = arena_strdup(a, text);
	}
	return true;
}

/* A value as the text that a table would have; NULL = it has none. */
static char *json_plain(struct arena *a, const json_t *value)
{
	if (json_is_string(value))
		return arena_strdup(a, json_string_value(value));
	if (json_is_integer(value))
		return arena_printf(a, "%lld", (long long)json_integer_value(value));
	if (json_is_real(value))
		return arena_printf(a, "%.17g", json_real_value(value));
	if (json_is_boolean(value))
		return arena_strdup(a, json_is_true(value) ? "true" : "false");
	return NULL;
}

static bool take_member(struct job_file *jf, struct arena *a, const char *key,
    const json_t *value, struct job_row *row)
{
	const struct field *c = column_find(&jf->problems, row->line, key);
	char *text;

	if (c == NULL)
		return false;
	if (json_is_null(value))
		return true;
	if (json_is_array(value) && c->type == FIELD_LIST)
		return take_array(jf, a, c, value, row);
	text = json_plain(a, value);
	if (text != NULL && text[0] == '\0')
		return true;
	if (text != NULL)
		return take_value(jf, a, c, text, row);
	job_problem(&jf->problems, row->line, "%s: neither a text nor a number", key);
	return false;
}

static bool parse_object(
    struct job_file *jf, struct arena *a, const char *p, size_t n, struct job_row *row)
{
	json_error_t error;
	json_t *object = json_loadb(p, n, JSON_REJECT_DUPLICATES, &error), *value;
	const char *key;
	bool good = true;

	if (object == NULL || !json_is_object(object)) {
		job_problem(&jf->problems, row->line, "not a JSON object: %s",
		    object == NULL ? error.text : "it begins with something else");
		json_decref(object);
		return false;
	}
	json_object_foreach(object, key, value)
	    good &= take_member(jf, a, key, value, row);
	json_decref(object);
	return good;
}

bool job_file_next(
    struct job_file *jf, struct arena *a, struct job_row *row, bool *good)
{
	const char *p;
	size_t n;

	if (!step_line(jf, &p, &n))
		return false;
	job_row_init(row);
	row->line = jf->line;
	*good = jf->json ? parse_object(jf, a, p, n, row) :
	                   parse_cells(jf, a, p, n, row);
	return true;
}
