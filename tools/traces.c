/* SPDX-License-Identifier: Apache-2.0 */
/* Merges the ring files of all processes, and converts traces to JSON. */
#include "tools/traces.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/ring.h"
#include "proto/trace.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { FILES_MOST = 4096 };

struct found {
	uint64_t number;
	struct trace *r;
};

struct search {
	struct arena *a;
	int64_t hostid, result_id; /* one of them is sought; 0 = it is not */
	const char *rpc;           /* or this; NULL = it is not */
	char needle[40];
	struct found *v;
	size_t n, cap, unknown; /* unknown: of another version of Locus */
};

static bool
is_sought(const struct search *s, const struct trace *r)
{
	bool any = s->result_id == 0 && r->rpc.hostid == s->hostid;

	if (s->rpc != NULL)
		return strcmp(trace_rpc_number(s->a, r), s->rpc) == 0;

	for (size_t i = 0; i < r->nsent && s->result_id != 0; i++)
		any = any || r->sent[i].id == s->result_id;
	for (size_t i = 0; i < r->nleft && s->result_id != 0; i++)
		any = any || r->left[i].id == s->result_id;
	return any;
}

/* Whether the low 32 bits of its seed are the number sought, if one is. */
static bool
may_be(const struct search *s, const char *p)
{
	static const char seed[] = " seed=";
	const char *at = s->rpc == NULL ? NULL : strstr(p, seed);

	return s->rpc == NULL ||
	       (at != NULL && ((uint64_t)strtoll(at + strlen(seed), NULL, 10) &
				  UINT32_MAX) == strtoull(s->rpc, NULL, 16));
}

static void
look_at_frame(void *ctx, uint64_t number, const char *p, size_t n)
{
	struct search *s = ctx;
	struct fail f = { 0 };
	struct trace *r;

	/* Most are of other hosts; the text tells without parsing. */
	if (strstr(p, s->needle) == NULL || !may_be(s, p))
		return;
	if (trace_read(s->a, arena_memdup(s->a, p, n), n, &r, &f) != OK)
		s->unknown++;
	else if (is_sought(s, r))
		PUSH(s->a, s->v, s->n, s->cap) = (struct found){ number, r };
}

static int
older(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->r->rpc.at != y->r->rpc.at)
		return x->r->rpc.at < y->r->rpc.at ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static enum err
search_decision_logs(struct cmd_ctx *x, struct search *s)
{
	const char *dir = arena_printf(x->a, "%s/decisions", x->cf->run_dir);
	size_t nfiles = 0;
	char **files = NULL;
	enum err e = fs_list(x->a, dir, FILES_MOST, &files, &nfiles, x->f);

	if (e == E_NOTFOUND)
		e = OK;
	for (size_t i = 0; e == OK && i < nfiles; i++) {
		const char *path = arena_printf(x->a, "%s/%s", dir, files[i]);

		e = ring_read(path, look_at_frame, s, x->f);
		if (e == E_BADREQ || e == E_NOTFOUND) /* just created, or removed */
			e = OK;
	}
	if (s->n > 0)
		qsort(s->v, s->n, sizeof(*s->v), older);
	if (s->unknown > 0)
		fprintf(stderr,
		    "locus: %zu more decisions were written by another version of Locus; they are not shown\n",
		    s->unknown);
	return e;
}

static enum err
search_answer(struct cmd_ctx *x, struct search *s, struct trace ***out, size_t *n)
{
	enum err e = search_decision_logs(x, s);

	*out = NEWN(x->a, struct trace *, s->n + 1);
	for (size_t i = 0; i < s->n; i++)
		(*out)[i] = s->v[i].r;
	*n = s->n;
	return e;
}

enum err
traces_of_host(struct cmd_ctx *x, int64_t hostid, struct trace ***out, size_t *n)
{
	struct search s = { .a = x->a, .hostid = hostid };

	snprintf(s.needle, sizeof(s.needle), " hostid=%" PRId64 " ", hostid);
	return search_answer(x, &s, out, n);
}

enum err
traces_of_job(struct cmd_ctx *x, int64_t result_id, struct trace ***out, size_t *n)
{
	struct search s = { .a = x->a, .result_id = result_id };

	snprintf(s.needle, sizeof(s.needle), " id=%" PRId64 " ", result_id);
	return search_answer(x, &s, out, n);
}

enum err
traces_of_rpc(struct cmd_ctx *x, const char *rpc, struct trace ***out, size_t *n)
{
	struct search s = { .a = x->a, .rpc = rpc };

	return search_answer(x, &s, out, n);
}

char *
trace_rpc_number(struct arena *a, const struct trace *r)
{
	return arena_printf(a, "%08llx", (unsigned long long)r->rpc.seed & 0xffffffff);
}

/* --- for programs --- */

static struct print_value
value_of_row(const struct col *c, const char *row)
{
	const void *at = row + c->off;

	switch (c->type) {
	case COL_i32:
		return print_of_number(*(const int32_t *)at);
	case COL_i64:
		return print_of_number(*(const int64_t *)at);
	case COL_f64:
		return print_of_real(*(const double *)at);
	case COL_bool:
		return print_of_flag(*(const bool *)at);
	default:
		return print_of_text(*(char *const *)at);
	}
}

static void
trace_row(struct print *p, const struct row_shape *s, const char *row)
{
	for (size_t i = 0; i < s->ncols; i++)
		print_put(p, s->cols[i].name, value_of_row(&s->cols[i], row));
}

void
trace_members(struct print *p, const struct trace *r)
{
	struct arena a = { 0 };

	print_put(p, "version", TRACE_VERSION);
	for (size_t i = 0; i < ntrace_kinds; i++) {
		const struct trace_kind *k = &trace_kinds[i];
		const char *rows = (const char *)r + k->rows;
		size_t n;

		if (!(k->sections & TRACE_REASONS))
			continue;
		if (!k->list) {
			trace_row(p, k->shape, rows);
			continue;
		}
		rows = *(const char *const *)(const void *)rows;
		n = *(const size_t *)(const void *)((const char *)r + k->n);
		print_open(p, k->name, PRINT_ARRAY);
		for (size_t j = 0; j < n; j++) {
			print_open(p, NULL, PRINT_OBJECT);
			trace_row(p, k->shape, rows + j * k->shape->size);
			print_close(p);
		}
		print_close(p);
	}
	print_put(p, "time", print_time(r->rpc.at), "rpc", trace_rpc_number(&a, r));
	arena_free(&a);
}
