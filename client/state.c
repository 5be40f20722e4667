/* SPDX-License-Identifier: Apache-2.0 */
/* Loads and saves the host's rows as JSON. */
#include "client/state.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "client/client.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/field.h"
#include "lib/fs.h"
#include "lib/json_text.h"
#include "lib/log.h"
#include "lib/banned.h"

/*
 * Rows <-> JSON by tables of fields. Projects send names as bytes of no declared
 * encoding, but JSON is UTF-8: each byte becomes the character with its number, and is
 * restored when loaded.
 */

/* Converts bytes to UTF-8; most texts need no conversion. */
static json_t *text_to_json(struct arena *a, const char *s)
{
	size_t n = strlen(s), k = 0;
	char *text;

	for (size_t i = 0; i < n; i++)
		k += (unsigned char)s[i] >= 128;
	if (k == 0)
		return json_stringn_nocheck(s, n);
	text = arena_alloc(a, n + k);
	k = 0;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)s[i];

		if (c < 128) {
			text[k++] = (char)c;
			continue;
		}
		text[k++] = (char)(0xc0 | c >> 6);
		text[k++] = (char)(0x80 | (c & 0x3f));
	}
	return json_stringn_nocheck(text, k);
}

/* Converts UTF-8 back to bytes. A character beyond a byte can only come from an
 * editor, and becomes "?". */
static char *text_from_json(struct arena *a, const json_t *v)
{
	char *s = arena_strdup(a, json_string_value(v)), *to = s;

	for (const char *p = s; *p != '\0';) {
		unsigned char c = (unsigned char)*p++;

		if (c >= 0xc4)
			c = '?';
		else if (c >= 0xc2)
			c = (unsigned char)(c << 6 | (*p & 0x3f));
		*to++ = (char)c;
		while ((*p & 0xc0) == 0x80)
			p++;
	}
	*to = '\0';
	return s;
}

static json_t *fields_save(struct arena *a, const struct field *f, const void *row);

static json_t *save_rows(struct arena *a, const struct field *f, const void *row)
{
	json_t *list = json_array();
	const char *const *at = (const void *)((const char *)row + f->off);
	const size_t *n = (const void *)((const char *)row + f->n_off);

	for (size_t i = 0; i < *n; i++) {
		const void *item = *at + i * f->size;

		json_array_append_new(list,
		    f->child != NULL ? fields_save(a, f->child, item) :
				       text_to_json(a, *(const char *const *)item));
	}
	return list;
}

static json_t *save_value(struct arena *a, const struct field *f, const void *row)
{
	switch (f->type) {
	case FIELD_TEXT:
		return text_to_json(a, field_text(f, row));
	case FIELD_ROWS:
		return save_rows(a, f, row);
	case FIELD_ROW:
		return fields_save(a, f->child, (const char *)row + f->off);
	default:
		return json_number_of(f, row);
	}
}

/*
 * Returns a new object with all fields that differ from their defaults; most fields of
 * most rows do not. Strings may hold any bytes. The arena is scratch space.
 */
static json_t *fields_save(struct arena *a, const struct field *f, const void *row)
{
	json_t *o = json_object();

	for (; f->name != NULL; f++) {
		bool whole = f->type == FIELD_ROW || f->type == FIELD_ROWS;
		json_t *v = whole || !field_is_zero(f, row) ? save_value(a, f, row) :
		                                              NULL;

		if (v != NULL)
			json_object_set_new_nocheck(o, f->name, v);
	}
	return o;
}

static void fields_load(
    struct arena *a, const struct field *f, const json_t *o, void *row);

static void load_rows(
    struct arena *a, const struct field *f, const json_t *list, void *row)
{
	size_t n = json_array_size(list);
	char *rows = arena_alloc(a, mul_or_die(f->size, n + 1));

	for (size_t i = 0; i < n; i++) {
		const json_t *item = json_array_get(list, i);
		void *to = rows + i * f->size;

		if (f->child != NULL)
			fields_load(a, f->child, item, to);
		else
			*(char **)to = text_from_json(a, item);
	}
	*(char **)(void *)((char *)row + f->off) = rows;
	*(size_t *)(void *)((char *)row + f->n_off) = n;
}

/* Complexity: one line per type. */
static void load_value(
    struct arena *a, const struct field *f, const json_t *v, void *row)
{
	void *at = (char *)row + f->off;

	if (f->type == FIELD_ROW)
		fields_load(a, f->child, v, at);
	else if (f->type == FIELD_ROWS && json_is_array(v))
		load_rows(a, f, v, row);
	else if (f->type == FIELD_TEXT && json_is_string(v))
		*(char **)at = text_from_json(a, v);
	else if (f->type == FIELD_F64 && json_is_number(v))
		field_put_number(f, row, json_number_value(v));
	else if (f->type == FIELD_FLAG && json_is_boolean(v))
		field_put_whole(f, row, json_is_true(v));
	else if ((f->type == FIELD_I32 || f->type == FIELD_I64) && json_is_integer(v))
		field_put_whole(f, row, json_integer_value(v));
}

/*
 * Loads a row. Members that are absent, of the wrong type or too large leave a field as
 * it was, except that strings become "", never NULL. All text is copied into the arena.
 */
static void fields_load(
    struct arena *a, const struct field *f, const json_t *o, void *row)
{
	for (; f->name != NULL; f++) {
		const json_t *v = json_object_get(o, f->name);

		if (f->type == FIELD_TEXT)
			*(char **)(void *)((char *)row + f->off) = arena_strdup(
			    a, NULL);
		if (v != NULL || f->type == FIELD_ROW)
			load_value(a, f, v, row);
	}
}

/* --- a copy equal to saving and loading --- */

static void fields_copy(
    struct arena *a, const struct field *f, const void *from, void *to);

static void copy_rows(
    struct arena *a, const struct field *f, const void *from, void *to)
{
	const char *const *rows = (const void *)((const char *)from + f->off);
	size_t n = *(const size_t *)(const void *)((const char *)from + f->n_off);
	char *copies = arena_alloc(a, mul_or_die(f->size, n + 1));

	for (size_t i = 0; i < n; i++) {
		const void *item = *rows + i * f->size;
		void *copy = copies + i * f->size;

		if (f->child != NULL)
			fields_copy(a, f->child, item, copy);
		else
			*(char **)copy = arena_strdup(a, *(const char *const *)item);
	}
	*(char **)(void *)((char *)to + f->off) = copies;
	*(size_t *)(void *)((char *)to + f->n_off) = n;
}

/*
 * Copies a row exactly as fields_save() and fields_load() would; *to must be all zero.
 */
static void fields_copy(
    struct arena *a, const struct field *f, const void *from, void *to)
{
	for (; f->name != NULL; f++) {
		char *at = (char *)to + f->off;
		double x;

		switch (f->type) {
		case FIELD_TEXT:
			*(char **)(void *)at = arena_strdup(a, field_text(f, from));
			break;
		case FIELD_F64: /* JSON has no other numbers */
			x = field_number(f, from);
			field_put_number(f, to, isfinite(x) ? x : 0);
			break;
		case FIELD_ROWS:
			copy_rows(a, f, from, to);
			break;
		case FIELD_ROW:
			fields_copy(a, f->child, (const char *)from + f->off, at);
			break;
		default:
			field_copy(f, to, from);
		}
	}
}

enum { STATE_MAX = 256 << 20 };

#define ROWS_OF(T, name)                                                               \
#name, .type = FIELD_ROWS, .off = offsetof(struct T, name),                    \
	       .n_off = offsetof(struct T, n##name)
#define STRINGS(T, name)                                                               \
	{                                                                              \
		ROWS_OF(T, name), .size = sizeof(char *)                               \
	}
#define ROWS(T, name, R, table)                                                        \
	{                                                                              \
		ROWS_OF(T, name), .size = sizeof(struct R), .child = table             \
	}
#define EMBEDDED(T, name, table)                                                       \
	{                                                                              \
#name, .type = FIELD_ROW, .off = offsetof(struct T, name),             \
		       .child = table                                                  \
	}
#define END                                                                            \
	{                                                                              \
		0                                                                      \
	}

#include "client/state_fields.def"

static const double SHARE = 100; /* of a project that gives none */

struct cproject *state_project(const struct state *st, const char *master_url)
{
	for (size_t i = 0; i < st->nprojects; i++)
		if (strcmp(st->projects[i].master_url, master_url) == 0)
			return &st->projects[i];
	return NULL;
}

static int by_url(const void *a, const void *b)
{
	const struct cproject *p = a, *q = b;

	return strcmp(p->master_url, q->master_url);
}

struct cproject *state_add(struct arena *a, struct state *st, const char *master_url)
{
	struct cproject *all = NEWN(a, struct cproject, st->nprojects + 1);

	if (st->nprojects > 0)
		memcpy(all, st->projects, st->nprojects * sizeof(*all));
	all[st->nprojects] = (struct cproject){ .share = SHARE, .dcf = 1 };
	all[st->nprojects].master_url = arena_strdup(a, master_url);
	st->projects = all;
	st->nprojects++;
	qsort(all, st->nprojects, sizeof(*all), by_url);
	return state_project(st, master_url);
}

void state_remove(struct state *st, const char *master_url)
{
	size_t n = 0;

	for (size_t i = 0; i < st->nprojects; i++)
		if (strcmp(st->projects[i].master_url, master_url) != 0)
			st->projects[n++] = st->projects[i];
	st->nprojects = n;
}

struct standing *state_standing(
    struct arena *a, struct cproject *p, const char *resource)
{
	struct standing *all;

	for (size_t i = 0; i < p->nstandings; i++)
		if (strcmp(p->standings[i].name, resource) == 0)
			return &p->standings[i];
	all = NEWN(a, struct standing, p->nstandings + 1);
	if (p->nstandings > 0)
		memcpy(all, p->standings, p->nstandings * sizeof(*all));
	p->standings = all;
	all[p->nstandings].name = arena_strdup(a, resource);
	return &all[p->nstandings++];
}

/* --- what is dropped --- */

/* *st is a copy already, but still refers to the original projects. */
static void drop_unused(
    struct state *st, struct arena *a, struct dropped **dropped, size_t *ndropped)
{
	size_t nfiles = 0;

	*ndropped = 0;
	st->projects = arena_memdup(
	    a, st->projects, mul_or_die(sizeof(*st->projects), st->nprojects));
	for (size_t i = 0; i < st->nprojects; i++)
		nfiles += st->projects[i].nfiles;
	*dropped = NEWN(a, struct dropped, nfiles + 1);
	for (size_t i = 0; i < st->nprojects; i++) {
		state_drop_rows(&st->projects[i], a);
		state_drop_files(&st->projects[i], a, *dropped, ndropped);
	}
}

/* --- the file --- */

static double in_range_or(double x, double least, double most, double otherwise)
{
	return x >= least && x <= most ? x : otherwise;
}

/* Resets numbers that manual editing spoiled. */
static void check_numbers(struct cproject *p)
{
	p->share = in_range_or(p->share, 0, 1e12, SHARE);
	p->dcf = in_range_or(p->dcf, 0.01, 100, 1);
	for (size_t i = 0; i < p->nestimates; i++) {
		struct correction *c = &p->estimates[i].learned;

		if (c->ntasks < 0 || in_range_or(c->factor, 0.01, 100, 0) <= 0)
			*c = (struct correction){ 0 };
	}
	if (p->rpc.nrpc_failures < 0 || p->rpc.nmaster_failures < 0 ||
	    p->rpc.ntask_failures < 0)
		p->rpc = (struct cw_rpc){ 0 };
}

static bool is_part(double x)
{
	return x > 0 && x <= 1;
}

/* A file of another kind, or one edited by hand, must not crash the client later. */
static enum err check_project_rows(
    struct arena *a, struct cproject *p, const char *path, struct fail *f)
{
	size_t n = 0;

	if (p->master_url == NULL || p->master_url[0] == '\0' ||
	    p->authenticator[0] == '\0')
		return FAIL(f, E_BADREQ,
		    "%s is not the state of a host: master_url or authenticator of a project is missing",
		    path);
	state_index(a, p);
	for (size_t i = 0; i < p->ntasks; i++)
		if (state_lacks(p, &p->tasks[i].r) == NULL)
			p->tasks[n++] = p->tasks[i];
	if (n < p->ntasks)
		p->task_index = (struct rows_index){ 0 };
	p->ntasks = n;
	state_index(a, p);
	check_numbers(p);
	return OK;
}

static enum err check_state(
    struct arena *a, struct state *st, const char *path, struct fail *f)
{
	if (st->host_cpid == NULL || st->host_cpid[0] == '\0')
		return FAIL(f, E_BADREQ,
		    "%s is not the state of a host: host_cpid is missing", path);
	if (!is_part(st->fractions.on) || !is_part(st->fractions.active) ||
	    !is_part(st->fractions.gpu_active))
		st->fractions_at = 0;
	if (!(st->gaps.mean_s >= 0 && st->gaps.square_s2 >= 0 && st->gaps.open_s >= 0 &&
		st->gaps.ngaps >= 0))
		st->gaps = (struct cw_gaps){ 0 };
	for (size_t i = 0; i < st->nprojects; i++)
		TRY(check_project_rows(a, &st->projects[i], path, f));
	if (st->nprojects > 1)
		qsort(st->projects, st->nprojects, sizeof(*st->projects), by_url);
	for (size_t i = 1; i < st->nprojects; i++)
		if (by_url(&st->projects[i - 1], &st->projects[i]) == 0)
			return FAIL(f, E_BADREQ,
			    "%s is not the state of a host: %s appears twice", path,
			    st->projects[i].master_url);
	return OK;
}

static enum err state_from_text(struct arena *a, const char *path, const char *text,
    size_t n, struct state **st, struct fail *f)
{
	json_error_t why;
	json_t *o = json_loadb(text, n, 0, &why);

	if (o == NULL)
		return FAIL(f, E_BADREQ, "%s:%d: %s", path, why.line, why.text);
	*st = NEW(a, struct state);
	fields_load(a, state_fields, o, *st);
	json_decref(o);
	return check_state(a, *st, path, f);
}

enum err state_load(
    struct arena *a, const char *path, struct state **st, struct fail *f)
{
	struct arena file = { 0 };
	char *text;
	size_t n;
	enum err e = fs_read(&file, path, STATE_MAX, &text, &n, f);

	if (e == OK)
		e = state_from_text(a, path, text, n, st, f);
	arena_free(&file);
	return e;
}

static int append_to_buf(const char *text, size_t n, void *out)
{
	buf_put(out, text, n);
	return 0;
}

enum err state_save(struct arena *a, const char *path, struct state **st,
    struct arena *scratch, struct dropped **dropped, size_t *ndropped, struct fail *f)
{
	struct buf text = buf_new(scratch);
	struct arena fresh = { 0 };
	struct state less = **st, *kept;
	json_t *o;
	enum err e = OK;

	drop_unused(&less, scratch, dropped, ndropped);
	o = fields_save(scratch, state_fields, &less);
	if (json_dump_callback(o, append_to_buf, &text, JSON_INDENT(1)) != 0)
		e = FAIL(f, E_SYS, "%s: cannot encode the state as JSON", path);
	json_decref(o);
	kept = NEW(&fresh, struct state);
	if (e == OK) {
		fields_copy(&fresh, state_fields, &less, kept);
		e = check_state(&fresh, kept, path, f);
	}
	if (e == OK)
		e = fs_write(path, text.p, text.n, 0600, f);
	if (e != OK) {
		arena_free(&fresh);
		return e;
	}
	arena_free(a);
	*a = fresh;
	*st = kept;
	return OK;
}

/* --- the clock --- */

static void shift_back_i64(int64_t *t, int64_t by)
{
	if (*t > by)
		*t -= by;
}

static void shift_back_f64(double *t, int64_t by)
{
	if (*t > (double)by)
		*t -= (double)by;
}

static void shift_project_back(struct cproject *p, int64_t by)
{
	double *times[] = { &p->attached_at, &p->rpc.min_rpc_time,
		&p->rpc.next_rpc_time, &p->rpc.spaced_until,
		&p->rpc.latency_limited_until, &p->rpc.last_contact };

	for (size_t i = 0; i < N(times); i++)
		shift_back_f64(times[i], by);
	for (size_t i = 0; i < p->nstandings; i++)
		shift_back_f64(&p->standings[i].backoff_until, by);
	for (size_t i = 0; i < p->nfiles; i++) {
		shift_back_i64(&p->files[i].try_after, by);
		shift_back_i64(&p->files[i].told_at, by);
	}
	for (size_t i = 0; i < p->ntasks; i++) {
		shift_back_i64(&p->tasks[i].received_at, by);
		shift_back_i64(&p->tasks[i].started_at, by);
		shift_back_i64(&p->tasks[i].ready_at, by);
		shift_back_i64(&p->tasks[i].run_since, by);
		shift_back_i64(&p->tasks[i].checkpointed_at, by);
		shift_back_i64(&p->tasks[i].asked_at, by);
		shift_back_i64(&p->tasks[i].again_at, by);
		shift_back_f64(&p->tasks[i].endangered_at, by);
	}
}

void state_clock(struct state *st, int64_t now)
{
	int64_t by = st->clock - now;

	st->clock = now;
	if (by <= 0)
		return;
	shift_back_i64(&st->benchmarked_at, by);
	shift_back_f64(&st->fractions_at, by);
	shift_back_f64(&st->accounted_at, by);
	shift_back_f64(&st->asked_at, by);
	shift_back_f64(&st->scheduled_at, by);
	shift_back_f64(&st->traffic_since, by);
	for (size_t i = 0; i < st->nprojects; i++)
		shift_project_back(&st->projects[i], by);
}

/* When the state is saved, and the files that go then. */

enum { SAVE_RETRY_MS = 10000, ACCOUNTS_S = 60 };

/* Changed accounts alone, which change whenever a task runs, are saved only once a
 * minute. */
bool client_save(struct client *c)
{
	struct dropped *dropped;
	size_t n;

	bool late = c->now >= c->saved_at + ACCOUNTS_S ||
	            c->now < c->saved_at; /* the clock was set back */

	if (!c->changed && !(c->accounts_changed && late))
		return true;
	if (clock_mono_ms() < c->save_after_ms)
		return false;
	c->state->clock = c->now;
	if (state_save(&c->keep, c->state_path, &c->state, &c->scratch, &dropped, &n,
		&c->fail) != OK) {
		log_fail("state", &c->fail);
		c->save_after_ms = clock_mono_ms() + SAVE_RETRY_MS;
		return false;
	}
	c->changed = c->accounts_changed = false;
	c->saved_at = c->now;
	for (size_t i = 0; i < n; i++) {
		const struct cproject *p = state_project(
		    c->state, dropped[i].master_url);

		if (p != NULL)
			transfer_remove(c, p, dropped[i].name);
	}
	return true;
}
