/* SPDX-License-Identifier: Apache-2.0 */
/* Writer and reader of traces. All they know about a trace's content is in
 * trace.def. */
#include "proto/trace.h"

#include <stdio.h>
#include <string.h>
#include "proto/row_text.h"
#include "lib/banned.h"

static const char family[] = "locus trace ", end_line[] = "end\n";

#define ROW(kind)                                                                      \
	typedef struct trace_##kind row_##kind;                                        \
	static const struct field kind##_cols[] = {
#define VIEW(kind, type)                                                               \
	typedef type row_##kind;                                                       \
	static const struct field kind##_cols[] = {
#define COL(kind, name, type) { #name, FIELD_OF(row_##kind, name) },
#define FIELD(kind, name)     { #name, FIELD_OF(row_##kind, name) },
#define ROW_END(kind)                                                                  \
	}                                                                              \
	;                                                                              \
	static const struct row_shape line_##kind = { #kind, kind##_cols,              \
		N(kind##_cols), sizeof(row_##kind) };
#define VIEW_END(kind) ROW_END(kind)
#include "proto/trace.def"

#define ONE(kind, sections, shape, member)                                             \
	{ #kind, &shape, sections, offsetof(struct trace, member), 0, false, false },
#define LIST(kind, sections, shape, members, n)                                        \
	{ #kind, &shape, sections, offsetof(struct trace, members),                    \
		offsetof(struct trace, n), true, false },
#define CHILD(kind, shape, parent, members, n)                                         \
	{ #kind, &shape, 0, offsetof(parent, members), offsetof(parent, n), true,      \
		true },
#define MADE(kind, sections, members)                                                  \
	LIST(kind, sections, line_##kind, members, n##members)
const struct trace_kind trace_kinds[] = {
#include "proto/trace.def"
};
enum { KINDS = N(trace_kinds) };
const size_t ntrace_kinds = KINDS;

static void **rows_of(const struct trace_kind *k, const void *parent)
{
	return (void **)(uintptr_t)((const char *)parent + k->rows);
}

static size_t *count_of_rows(const struct trace_kind *k, const void *parent)
{
	return (size_t *)(uintptr_t)((const char *)parent + k->n);
}

/* --- writing --- */

static void put_kind(struct buf *b, const struct trace_kind *k, const void *parent)
{
	const char *row = k->list ? *rows_of(k, parent) :
	                            (const void *)rows_of(k, parent);
	size_t n = k->list ? *count_of_rows(k, parent) : 1;
	bool has_child = k + 1 < trace_kinds + KINDS && k[1].child;

	for (; n-- > 0; row += k->shape->size) {
		const struct trace_text *text = (const void *)row;

		row_put(b, k->name, k->shape, row);
		if (has_child)
			put_kind(b, k + 1, row);
		if (k->shape == &line_text) {
			buf_put(b, text->p, (size_t)text->bytes);
			buf_puts(b, "\n");
		}
	}
}

void trace_put(struct buf *b, const struct trace *t, unsigned sections)
{
	if (b->n == 0)
		buf_printf(b, "%s%d\n", family, TRACE_VERSION);
	for (size_t k = 0; k < KINDS; k++)
		if (trace_kinds[k].sections & sections)
			put_kind(b, &trace_kinds[k], t);
}

void trace_end(struct buf *b)
{
	buf_puts(b, end_line);
}

/* --- reading --- */

struct reader {
	struct arena *a;
	struct trace *t;
	struct fail *f;
	/* capacity of the arrays; for a child, of the array in the newest parent */
	size_t caps[KINDS];
	char *p, *end; /* the rest of the text */
};

/* Cuts off the next line; NULL if the text ends before the line does. */
static char *next_line(struct reader *r)
{
	char *line = r->p, *eol = memchr(line, '\n', (size_t)(r->end - line));

	if (eol == NULL)
		return NULL;
	*eol = '\0';
	r->p = eol + 1;
	return line;
}

/* Appends a row. */
static void *add_row(struct reader *r, size_t k, void *parent)
{
	const struct trace_kind *kind = &trace_kinds[k];
	void **rows = rows_of(kind, parent);
	size_t *n = count_of_rows(kind, parent);
	char *row;

	*rows = arena_grow(r->a, *rows, *n, &r->caps[k], kind->shape->size);
	row = (char *)*rows + kind->shape->size * (*n)++;
	row_init(row, kind->shape);
	if (k + 1 < KINDS && trace_kinds[k + 1].child)
		r->caps[k + 1] = 0;
	return row;
}

/* The last row of a list, to which children belong; NULL if the list is empty. */
static void *last_row(struct reader *r, const struct trace_kind *k)
{
	size_t n = *count_of_rows(k, r->t);

	return n == 0 ? NULL : (char *)*rows_of(k, r->t) + k->shape->size * (n - 1);
}

static enum err read_payload(struct reader *r, struct trace_text *text)
{
	size_t left = (size_t)(r->end - r->p);

	if (text->bytes < 0 || (uint64_t)text->bytes >= left ||
	    r->p[text->bytes] != '\n')
		return FAIL(r->f, E_BADREQ, "the trace is cut in a text");
	text->p = r->p;
	r->p += text->bytes;
	*r->p++ = '\0';
	return OK;
}

static enum err read_row(struct reader *r, size_t k, char *p)
{
	const struct trace_kind *kind = &trace_kinds[k];
	void *parent = kind->child ? last_row(r, kind - 1) : r->t, *row;

	if (parent == NULL)
		return FAIL(
		    r->f, E_BADREQ, "%s before its %s", kind->name, kind[-1].name);
	row = kind->list ? add_row(r, k, parent) : (void *)rows_of(kind, parent);
	for (char *word; (word = row_word(&p)) != NULL;) {
		char *value = row_value(word);

		if (value == NULL)
			return FAIL(r->f, E_BADREQ, "no = in %.60s", word);
		TRY(row_set(kind->shape, row, word, value, r->f));
	}
	return kind->shape == &line_text ? read_payload(r, row) : OK;
}

static enum err read_line(struct reader *r, char *line)
{
	const char *kind = row_word(&line);

	for (size_t k = 0; kind != NULL && k < KINDS; k++)
		if (strcmp(trace_kinds[k].name, kind) == 0)
			return read_row(r, k, line);
	return FAIL(
	    r->f, E_BADREQ, "a trace has no lines \"%.60s\"", kind == NULL ? "" : kind);
}

bool trace_is(const char *p, size_t n)
{
	static const char *const begins[] = { family, "locus recording ",
		"decision version=" };

	for (size_t i = 0; i < N(begins); i++)
		if (n >= strlen(begins[i]) &&
		    memcmp(p, begins[i], strlen(begins[i])) == 0)
			return true;
	return false;
}

static enum err read_version(struct reader *r)
{
	char head[32];
	size_t n = (size_t)(r->end - r->p);

	snprintf(head, sizeof(head), "%s%d\n", family, TRACE_VERSION);
	if (n >= strlen(head) && memcmp(r->p, head, strlen(head)) == 0) {
		r->p += strlen(head);
		return OK;
	}
	return FAIL(r->f, E_BADREQ,
	    trace_is(r->p, n) ? "it was written by another version of Locus" :
				"it is no trace of Locus");
}

enum err trace_read(
    struct arena *a, char *in, size_t n, struct trace **out, struct fail *f)
{
	struct trace *t = *out = NEW(a, struct trace);
	struct reader r = { .a = a, .t = t, .f = f, .p = in, .end = in + n };
	char *line;

	TRY(read_version(&r));
	for (size_t k = 0; k < KINDS; k++)
		if (!trace_kinds[k].list)
			row_init(rows_of(&trace_kinds[k], t), trace_kinds[k].shape);
	while ((line = next_line(&r)) != NULL && strcmp(line, "end") != 0)
		TRY(read_line(&r, line));
	if (line == NULL || r.p != r.end)
		return FAIL(f, E_BADREQ,
		    line == NULL ? "the trace is cut" : "bytes behind the trace");
	t->snap.cat = &t->cat;
	return OK;
}

char *trace_text(const struct trace *t, const char *name, size_t *n)
{
	for (size_t i = 0; i < t->ntexts; i++)
		if (strcmp(t->texts[i].name, name) == 0) {
			if (n != NULL)
				*n = (size_t)t->texts[i].bytes;
			return t->texts[i].p;
		}
	return NULL;
}

/* Makes the trace lines of a decision from the request, snapshot and decision. */

enum {                  /* lines of a kind in the decision log, at most */
	ASKED_MOST = 9, /* the CPU and eight types of coprocessor */
	FILES_MOST = 24,
	SENT_MOST = 32,
	LEFT_MOST = 16,
	DELETES_MOST = 16,
	MESSAGES_MOST = 6,
	QUERIES_MOST = 24
};

struct maker {
	struct arena *a;
	const struct trace_from *from;
	struct trace *t;
	bool cut; /* cut lists to the decision log's lengths */
	size_t effects_cap;
};

/* Allocates n rows of a kind, or as many as the log takes; evaluates to their
 * number. */
#define ROOM(m, kind, members, all, most)                                              \
	((m)->t->n##members = (m)->cut && (all) > (most) ? (most) : (all),             \
	    (m)->t->members = NEWN(                                                    \
		(m)->a, struct trace_##kind, (m)->t->n##members + 1),                  \
	    (m)->t->n##members)

/* Drops const: the text is only read, although a column is not const. */
static char *col_text(const char *s)
{
	return (char *)(uintptr_t)(s == NULL ? "" : s);
}

static char *col_reason(enum reason why)
{
	return col_text(reason_code(why));
}

/* --- the request --- */

static void make_asked(struct maker *m, const struct request *rq)
{
	struct trace *t = m->t;
	size_t n = ROOM(m, asked, asked, rq->nresources, ASKED_MOST);

	for (size_t i = 0; i < n; i++) {
		const struct rq_resource *q = &rq->resources[i];

		t->asked[i] = (struct trace_asked){ col_text(q->type), q->req_secs,
			q->req_instances, q->count };
	}
	/* An old client asks for seconds of any resource that it has. */
	if (n > 0 && !rq->has_cpu_request)
		t->asked[0].secs = rq->work_req_seconds;
	if (n > 0 && rq->has_cpu_request) {
		t->asked[0].secs = rq->cpu_req_secs;
		t->asked[0].instances = rq->cpu_req_instances;
	}
	t->rpc.hostid = rq->hostid;
	t->rpc.host_name = col_text(rq->host.domain_name);
	t->rpc.seqno = rq->rpc_seqno;
	t->rpc.client = rq->version;
	t->rpc.platform = col_text(rq->platform_name);
	t->decision.held_files = (int64_t)rq->nfiles;
	t->decision.reports = (int64_t)rq->nreports;
}

static void make_snapshot_facts(struct maker *m, const struct snapshot *s)
{
	struct trace *t = m->t;

	t->snap.queries = s->queries;
	t->snap.nqueries = m->cut && s->nqueries > QUERIES_MOST ? QUERIES_MOST :
	                                                          s->nqueries;
	t->rpc.hostid = s->host.id;
	t->rpc.host_name = col_text(s->host.domain_name);
	t->decision.host_new = s->host_new;
	t->decision.in_progress = (int64_t)s->nin_progress;
	t->decision.jobs = (int64_t)(s->nplain + s->ntargeted + s->nnci);
	for (size_t i = 0; i < s->nfiles; i++)
		t->decision.jobs += (int64_t)s->files[i].njobs;
}

/* --- candidates and file sets --- */

static const char *found_by(const struct snap_file *f)
{
	if (!f->held && f->from_working_set)
		return send_how_name(SEND_WORKING_SET);
	return send_how_name(!f->held && f->searched ? SEND_SEARCHED : SEND_HELD);
}

static void make_files(struct maker *m, const struct decision *dec)
{
	size_t all = dec->files == NULL ? 0 : m->from->snap->nfiles;
	size_t n = ROOM(m, file, files, all, FILES_MOST);

	for (size_t i = 0; i < n; i++) {
		const struct dec_file *df = &dec->files[i];
		const struct snap_file *f = df->file;

		m->t->files[i] = (struct trace_file){ .name = col_text(f->name),
			.how = col_text(found_by(f)),
			.state = col_text(file_state_name(df->state)),
			.jobs = (int64_t)f->njobs,
			.sent = (int64_t)df->sent,
			.refused = (int64_t)df->refused,
			.why = col_reason(df->why),
			.bytes = f->bytes,
			.missing = f->bytes_missing,
			.mark_no_work = df->mark_no_work };
	}
}

/* Splits the decision's counts, which add up jobs and file sets without a job to
 * try. */
static void make_counts(struct maker *m, const struct decision *dec)
{
	size_t nfiles = dec->files == NULL ? 0 : m->from->snap->nfiles, n = 0;
	size_t files[WHY__MAX] = { 0 };

	for (size_t i = 0; i < nfiles; i++) {
		const struct dec_file *f = &dec->files[i];

		if (f->sent == 0 && f->refused == 0 &&
		    files[f->why] < dec->counts[f->why])
			files[f->why]++;
	}
	m->t->counts = NEWN(m->a, struct trace_count, WHY__MAX);
	for (int why = WHY_NONE + 1; why < WHY__MAX; why++)
		if (dec->counts[why] > 0)
			m->t->counts[n++] = (struct trace_count){ col_reason(
								      (enum reason)why),
				(int64_t)(dec->counts[why] - files[why]),
				(int64_t)files[why] };
	m->t->ncounts = n;
}

/* --- the reply --- */

static void make_sent(struct maker *m, const struct decision *dec)
{
	size_t n = ROOM(m, sent, sent, dec->nsends, SENT_MOST);

	for (size_t i = 0; i < dec->nsends; i++)
		m->t->decision.resends += dec->sends[i].how == SEND_LOST;
	for (size_t i = 0; i < n; i++) {
		const struct dec_send *s = &dec->sends[i];
		const struct app_version *v = s->version;

		m->t->sent[i] = (struct trace_sent){ .id = s->job->id,
			.name = col_text(s->job->name),
			.how = col_text(send_how_name(s->how)),
			.app = col_text(s->app->name),
			.version_num = v == NULL ? 0 : v->version_num,
			.plan_class = col_text(v == NULL ? "" : v->plan_class),
			.resource = col_text(m->from->req->resources[s->resource].type),
			.usage = s->usage,
			.flops = s->projected_flops,
			.runtime_s = s->runtime_s,
			.deadline = s->deadline,
			.bytes_needed = s->bytes_needed,
			.bytes_saved = s->bytes_saved,
			.replication = col_text(replication_name(s->replication)),
			.consecutive_valid = s->consecutive_valid,
			.raised_to = s->raise_to,
			.speed = col_text(speed_source_code(s->speed_source)) };
	}
}

static void make_deletes_and_messages(struct maker *m, const struct decision *dec)
{
	size_t n = ROOM(m, delete, deletes, dec->ndeletes, DELETES_MOST);

	for (size_t i = 0; i < n; i++) {
		const struct dec_delete *d = &dec->deletes[i];

		m->t->deletes[i] = (struct trace_delete){ col_text(d->name), d->bytes,
			col_text(file_state_name(d->state)), d->for_space };
	}
	n = ROOM(m, message, messages, dec->nmessages, MESSAGES_MOST);
	for (size_t i = 0; i < n; i++)
		m->t->messages[i] = (struct trace_message){ dec->messages[i].notice,
			col_text(dec->messages[i].text) };
}

static void make_reasons(struct maker *m, const struct decision *dec)
{
	struct trace_decision *d = &m->t->decision;

	d->work_wanted = dec->work_wanted;
	d->why = col_reason(dec->why);
	d->rest = col_reason(dec->rest);
	d->sends = (int64_t)dec->nsends;
	d->aborts = (int64_t)(dec->naborts + dec->naborts_if_not_started);
	d->delay_s = dec->request_delay;
	for (size_t i = 0; i < m->from->req->nreports; i++)
		d->acked += dec->reports[i].ack;
	d->drawn = (int64_t)dec->baseline.drawn;
	d->drawn_fit = (int64_t)dec->baseline.fit;
	d->drawn_bytes = dec->baseline.mean_bytes;
	make_files(m, dec);
	make_counts(m, dec);
	size_t n = ROOM(m, left, left, dec->nskips, LEFT_MOST);

	for (size_t i = 0; i < n; i++)
		m->t->left[i] = (struct trace_left){ dec->skips[i].job->id,
			col_text(dec->skips[i].job->name),
			col_reason(dec->skips[i].why) };
	make_sent(m, dec);
	make_deletes_and_messages(m, dec);
}

/* --- what the commit writes --- */

static void make_claims(struct maker *m, const struct decision *dec)
{
	size_t n = m->t->nclaims = dec->nsends;

	m->t->claims = NEWN(m->a, struct trace_claim, n + 1);
	for (size_t i = 0; i < n; i++) {
		const struct dec_send *s = &dec->sends[i];
		bool own = s->version == NULL;

		m->t->claims[i] = (struct trace_claim){ .id = s->job->id,
			.workunitid = s->job->workunitid,
			.expect = col_text(
			    s->expect_in_progress ? "IN_PROGRESS" : "UNSENT"),
			.version_id = own ? 0 : s->version->id,
			.client_version = own ? s->client_version : 0,
			.avg_ncpus = s->avg_ncpus,
			.memory_bound = s->memory_bound,
			.gpu_ram_bytes = s->gpu_ram_bytes,
			.once = s->once };
	}
}

static void add_effect(
    struct maker *m, const char *what, const char *name, int64_t id, int64_t from)
{
	PUSH(m->a, m->t->effects, m->t->neffects,
	    m->effects_cap) = (struct trace_effect){ col_text(what), col_text(name), id,
		from };
}

static void make_effects(struct maker *m, const struct decision *d)
{
	for (size_t i = 0; i < d->nmoves; i++)
		add_effect(m, "move", "", d->moves[i].result_id, d->moves[i].from);
	for (size_t i = 0; i < d->nexpire; i++)
		add_effect(m, "expire", d->expire[i]->name, 0, 0);
	for (size_t i = 0; i < d->naborts; i++)
		add_effect(m, "abort", d->aborts[i], 0, 0);
	for (size_t i = 0; i < d->naborts_if_not_started; i++)
		add_effect(
		    m, "abort_if_not_started", d->aborts_if_not_started[i], 0, 0);
	for (size_t i = 0; i < d->nwant; i++)
		add_effect(m, "want", "", d->want[i], 0);
	for (size_t i = 0; i < d->nno_rsc_apps; i++)
		add_effect(m, "no_rsc", d->no_rsc_apps[i], 0, 0);
	if (d->resend_seen)
		add_effect(m, "resend_seen", "", 0, 0);
	if (d->send_global_prefs)
		add_effect(m, "send_global_prefs", "", 0, 0);
	if (d->store_global_prefs)
		add_effect(m, "store_global_prefs", "", 0, 0);
}

struct trace *trace_of(
    struct arena *a, const struct trace_from *from, unsigned sections)
{
	struct trace *t = NEW(a, struct trace);
	struct maker m = { a, from, t, !(sections & TRACE_COMMIT), 0 };

	t->rpc.at = from->at;
	t->rpc.seed = from->seed;
	t->rpc.userid = from->userid;
	t->rpc.config = col_text(from->conf->hash);
	t->rpc.refused = col_text(from->refused);
	t->rpc.refused_for = col_text(from->refused_for);
	t->decision.why = t->decision.rest = col_reason(WHY_NONE);
	t->decision.rounds = from->rounds;
	t->decision.lost = from->lost;
	t->decision.waited_ms = from->waited_ms;
	if (from->req != NULL)
		make_asked(&m, from->req);
	if (from->snap != NULL)
		make_snapshot_facts(&m, from->snap);
	if (from->dec == NULL)
		return t;
	make_reasons(&m, from->dec);
	if (sections & TRACE_COMMIT) {
		t->reports = from->dec->reports;
		t->nreports = from->req->nreports;
		make_claims(&m, from->dec);
		make_effects(&m, from->dec);
	}
	return t;
}
