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
#include "model/decision.h"
#include "proto/trace.h"
#include "rules/sched/limits.h"
#include "lib/human.h"
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

static bool is_sought(const struct search *s, const struct trace *r)
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
static bool may_be(const struct search *s, const char *p)
{
	static const char seed[] = " seed=";
	const char *at = s->rpc == NULL ? NULL : strstr(p, seed);

	return s->rpc == NULL ||
	       (at != NULL && ((uint64_t)strtoll(at + strlen(seed), NULL, 10) &
				  UINT32_MAX) == strtoull(s->rpc, NULL, 16));
}

static void look_at_frame(void *ctx, uint64_t number, const char *p, size_t n)
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

static int older(const void *a, const void *b)
{
	const struct found *x = a, *y = b;

	if (x->r->rpc.at != y->r->rpc.at)
		return x->r->rpc.at < y->r->rpc.at ? -1 : 1;
	return x->number < y->number ? -1 : x->number > y->number;
}

static enum err search_decision_logs(struct cmd_ctx *x, struct search *s)
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

static enum err search_answer(
    struct cmd_ctx *x, struct search *s, struct trace ***out, size_t *n)
{
	enum err e = search_decision_logs(x, s);

	*out = NEWN(x->a, struct trace *, s->n + 1);
	for (size_t i = 0; i < s->n; i++)
		(*out)[i] = s->v[i].r;
	*n = s->n;
	return e;
}

enum err traces_of_host(
    struct cmd_ctx *x, int64_t hostid, struct trace ***out, size_t *n)
{
	struct search s = { .a = x->a, .hostid = hostid };

	snprintf(s.needle, sizeof(s.needle), " hostid=%" PRId64 " ", hostid);
	return search_answer(x, &s, out, n);
}

enum err traces_of_job(
    struct cmd_ctx *x, int64_t result_id, struct trace ***out, size_t *n)
{
	struct search s = { .a = x->a, .result_id = result_id };

	snprintf(s.needle, sizeof(s.needle), " id=%" PRId64 " ", result_id);
	return search_answer(x, &s, out, n);
}

enum err traces_of_rpc(
    struct cmd_ctx *x, const char *rpc, struct trace ***out, size_t *n)
{
	struct search s = { .a = x->a, .rpc = rpc };

	return search_answer(x, &s, out, n);
}

char *trace_rpc_number(struct arena *a, const struct trace *r)
{
	return arena_printf(a, "%08llx", (unsigned long long)r->rpc.seed & 0xffffffff);
}

/* --- for programs --- */

static struct print_value value_of_row(const struct field *c, const char *row)
{
	switch (c->type) {
	case FIELD_TEXT:
		return print_of_text(field_text(c, row));
	case FIELD_F64:
		return print_of_real(field_number(c, row));
	case FIELD_FLAG:
		return print_of_flag(field_whole(c, row) != 0);
	default:
		return print_of_number(field_whole(c, row));
	}
}

static void trace_row(struct print *p, const struct row_shape *s, const char *row)
{
	for (size_t i = 0; i < s->ncols; i++)
		print_put(p, s->cols[i].name, value_of_row(&s->cols[i], row));
}

void trace_members(struct print *p, const struct trace *r)
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

/*
 * Prints a decision as a funnel: one line per reason, in the order in which the rules
 * look, with the number of jobs that it removed and that were left.
 */

enum { REASON_WIDTH = 52 };

/* Reasons checked before a version is chosen, and after; all others belong to the
 * choice of a version. */
static const enum reason before[] = { WHY_LOST_RACE, WHY_WU_ERROR, WHY_WU_DONE,
	WHY_ID_ORDER, WHY_USER_ONCE, WHY_HOST_ONCE };
static const enum reason after[] = { WHY_MEM, WHY_DISK, WHY_BANDWIDTH, WHY_DEADLINE };

static int funnel_place(enum reason why)
{
	for (size_t i = 0; i < N(before); i++)
		if (before[i] == why)
			return (int)i;
	for (size_t i = 0; i < N(after); i++)
		if (after[i] == why)
			return (int)(N(before) + WHY__MAX + i);
	return (int)N(before) + (int)why;
}

static void put_reason(
    const char *what, int64_t left, int64_t removed, const char *code, bool decisive)
{
	printf("  %-*s %9lld %9lld  %s%s\n", REASON_WIDTH, what, (long long)left,
	    (long long)removed, code, decisive ? "   <- this stopped it" : "");
}

static const char *reason_words(const char *code)
{
	enum reason why = reason_named(code);

	return why == WHY__MAX ? code : reason_text(why);
}

/* Returns the next count to print and advances *last to its place; NULL if there is
 * none. */
static const struct trace_count *next_count(const struct trace *r, int *last)
{
	const struct trace_count *best = NULL;
	int place = 0;

	for (size_t i = 0; i < r->ncounts; i++) {
		int at = funnel_place(reason_named(r->counts[i].why));

		if (r->counts[i].jobs > 0 && at > *last &&
		    (best == NULL || at < place)) {
			best = &r->counts[i];
			place = at;
		}
	}
	*last = best == NULL ? *last : place;
	return best;
}

/* Returns the number of considered jobs that were neither sent nor left out one by one,
 * because of decision.rest. */
static int64_t not_tried(const struct trace *r)
{
	int64_t n = r->decision.jobs - (r->decision.sends - r->decision.resends);

	for (size_t i = 0; i < r->ncounts; i++)
		n -= r->counts[i].jobs;
	return n > 0 ? n : 0;
}

static void print_funnel(const struct trace *r)
{
	const struct trace_decision *d = &r->decision;
	int64_t left = d->jobs, rest_n = not_tried(r);
	const char *rest = d->rest, *none = reason_code(WHY_NONE);
	const struct trace_count *c;
	bool marked = strcmp(d->why, none) == 0;
	int last = -1;

	if (rest[0] == '\0' || strcmp(rest, none) == 0)
		rest = marked ? reason_code(WHY_NOT_WANTED) : d->why;
	printf("%-*s %11s %9s\n", REASON_WIDTH, "", "jobs left", "removed");
	printf("%-*s %11lld\n", REASON_WIDTH, "unsent jobs that were looked at",
	    (long long)left);
	while ((c = next_count(r, &last)) != NULL) {
		bool decisive = strcmp(c->why, d->why) == 0;
		int64_t n = c->jobs;

		if (strcmp(c->why, rest) == 0) {
			n += rest_n;
			rest_n = 0;
		}
		left -= n;
		put_reason(reason_words(c->why), left, n, c->why, decisive);
		marked |= decisive;
	}
	if (rest_n > 0 || !marked)
		put_reason(reason_words(rest), left - rest_n, rest_n, rest,
		    strcmp(rest, d->why) == 0);
	if (!marked && strcmp(rest, d->why) != 0)
		put_reason(reason_words(d->why), 0, 0, d->why, true);
	printf(
	    "%-*s %11lld\n", REASON_WIDTH, "sent", (long long)(d->sends - d->resends));
}

static void print_asked(const struct trace *r)
{
	for (size_t i = 0; i < r->nasked; i++) {
		const struct trace_asked *q = &r->asked[i];

		printf("%-12s  %.0f s and %g idle of %g %s\n", i == 0 ? "asked" : "",
		    q->secs, q->instances, q->present, q->resource);
	}
	printf(
	    "%-12s  %lld files held, %lld tasks in progress, %lld reports (%lld acknowledged)\n",
	    "had", (long long)r->decision.held_files,
	    (long long)r->decision.in_progress, (long long)r->decision.reports,
	    (long long)r->decision.acked);
}

static const char *or_code(const char *text, const char *code)
{
	return text == NULL ? code : text;
}

/* Which queries were made for candidates, and why. */
static void print_queries(struct cmd_ctx *x, const struct trace *r)
{
	const char *stage = "";

	for (size_t i = 0; i < r->snap.nqueries; i++) {
		const struct snap_query *q = &r->snap.queries[i];
		const char *of = q->subject == 0 ?
		                     "" :
		                     arena_printf(x->a, ", %s %lld",
					 q->subject > 0 ? "file set" : "app",
					 llabs((long long)q->subject));

		if (strcmp(stage, q->stage) != 0)
			printf("%-12s  %s%s%s\n", i == 0 ? "looked for" : "",
			    or_code(supply_stage_text(q->stage), q->stage),
			    q->resource[0] == '\0' ? "" : ": ", q->resource);
		stage = q->stage;
		printf("%-12s    %s%s: %lld", "",
		    or_code(supply_kind_text(q->query), q->query), of,
		    (long long)q->rows);
		if (q->most > 0)
			printf(" of at most %lld", (long long)q->most);
		if (q->times > 1)
			printf(", by %lld queries", (long long)q->times);
		printf("%s  %s\n", q->lock ? ", locked" : "", q->query);
	}
}

static void print_considered(struct cmd_ctx *x, const struct trace *r)
{
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct trace_file *f = &r->files[i];

		printf("%-12s  %s (%s, %s, %s): %lld jobs, %lld sent  %s\n",
		    i == 0 ? "files" : "", f->name, f->how,
		    human_bytes(x->a, (double)f->bytes), f->state, (long long)f->jobs,
		    (long long)f->sent, f->sent > 0 ? "" : f->why);
	}
}

char *trace_replication(struct arena *a, const struct trace_sent *s)
{
	if (strcmp(s->replication, replication_name(REPLICATION_ALONE)) == 0)
		return arena_printf(a, "sent alone: trusted (consecutive_valid %d)",
		    s->consecutive_valid);
	if (strcmp(s->replication, replication_name(REPLICATION_UNTRUSTED)) == 0)
		return arena_printf(a,
		    "replicated to %d: not trusted (consecutive_valid %d of %d)",
		    s->raised_to, s->consecutive_valid, PROVED_IN_A_ROW);
	if (strcmp(s->replication, replication_name(REPLICATION_SPOT_CHECK)) == 0)
		return arena_printf(a,
		    "replicated to %d: trusted, and checked by chance (one in %d)",
		    s->raised_to, s->consecutive_valid);
	return arena_strdup(a, "");
}

static void print_sent(struct cmd_ctx *x, const struct trace *r)
{
	for (size_t i = 0; i < r->nsent; i++) {
		const struct trace_sent *s = &r->sent[i];
		const char *replication = trace_replication(x->a, s);

		printf(
		    "%-12s  %s (%s): %s %d%s%s on %g %s, %s at %.3g GFLOPS (%s); %s to load, %s saved%s%s\n",
		    i == 0 ? "tasks" : "", s->name, s->how, s->app, s->version_num,
		    s->plan_class[0] == '\0' ? "" : " ", s->plan_class, s->usage,
		    s->resource, human_span(x->a, (int64_t)s->runtime_s),
		    s->flops / 1e9, speed_source_text(speed_source_named(s->speed)),
		    human_bytes(x->a, (double)s->bytes_needed),
		    human_bytes(x->a, (double)s->bytes_saved),
		    replication[0] == '\0' ? "" : "; ", replication);
	}
	if ((int64_t)r->nsent < r->decision.sends)
		printf("%-12s  and %lld more\n", "",
		    (long long)r->decision.sends - (long long)r->nsent);
	for (size_t i = 0; i < r->nleft; i++)
		printf("%-12s  %s: %s\n", i == 0 ? "left out" : "", r->left[i].name,
		    r->left[i].why);
}

static void print_told(struct cmd_ctx *x, const struct trace *r)
{
	for (size_t i = 0; i < r->nmessages; i++)
		printf("%-12s  %s%s\n", i == 0 ? "told" : "",
		    human_text(x->a, r->messages[i].text),
		    r->messages[i].notice ? "  (notice)" : "");
	for (size_t i = 0; i < r->ndeletes; i++)
		printf("%-12s  %s (%s, %s%s)\n", i == 0 ? "to delete" : "",
		    r->deletes[i].name, human_bytes(x->a, (double)r->deletes[i].bytes),
		    r->deletes[i].state,
		    r->deletes[i].for_space ? ", to make room" : "");
	if (r->decision.delay_s > 0)
		printf("%-12s  not before %s\n", "to ask again",
		    human_span(x->a, (int64_t)r->decision.delay_s));
}

static void print_asker(struct cmd_ctx *x, const struct trace *r, int64_t now)
{
	const struct trace_decision *d = &r->decision;
	char at[21];

	printf("host %lld \"%s\"%s  user %lld  request %lld (rpc %s) %s ago, %s\n",
	    (long long)r->rpc.hostid, human_text(x->a, r->rpc.host_name),
	    d->host_new ? ", new" : "", (long long)r->rpc.userid,
	    (long long)r->rpc.seqno, trace_rpc_number(x->a, r),
	    human_span(x->a, now - r->rpc.at), clock_text(r->rpc.at, at));
}

static void trace_print(struct cmd_ctx *x, const struct trace *r, int64_t now)
{
	const struct trace_decision *d = &r->decision;

	print_asker(x, r, now);
	print_asked(r);
	if (r->rpc.refused[0] != '\0') {
		printf("%-12s  %s%s%s   <- this stopped it\n", "refused",
		    r->rpc.refused, r->rpc.refused_for[0] == '\0' ? "" : ": ",
		    r->rpc.refused_for);
		if (r->rpc.userid == 0)
			printf(
			    "%-12s  only the request said that it was this host\n", "");
	} else if (d->work_wanted) {
		print_funnel(r);
	} else {
		bool none = strcmp(d->why, reason_code(WHY_NONE)) == 0;

		printf("%-12s  0 tasks: %s  %s%s\n", "sent",
		    none ? "no work was requested" : reason_words(d->why), d->why,
		    none ? "" : "   <- this stopped it");
	}
	print_queries(x, r);
	print_considered(x, r);
	print_sent(x, r);
	print_told(x, r);
	if (d->drawn_fit > 0)
		printf(
		    "%-12s  a job drawn regardless of the files held would have cost %s (mean of %lld)\n",
		    "in contrast", human_bytes(x->a, (double)d->drawn_bytes),
		    (long long)d->drawn_fit);
	if (d->waited_ms > 0)
		printf("%-12s  %.1f s for work made on demand\n", "waited",
		    (double)d->waited_ms / 1000);
	if (d->lost > 0)
		printf("%-12s  %lld jobs that others took meanwhile, in %lld rounds\n",
		    "lost", (long long)d->lost, (long long)d->rounds + 1);
	printf(
	    "%-12s  %s, seed %lld\n", "config", r->rpc.config, (long long)r->rpc.seed);
}

void trace_show(struct cmd_ctx *x, const struct trace *r, int64_t now)
{
	struct print *p = print_tree(x, PRINT_OBJECT);

	trace_members(p, r);
	if (x->format == FORMAT_TABLE)
		trace_print(x, r, now);
	print_end(p);
}
