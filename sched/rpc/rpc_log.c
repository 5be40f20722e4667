/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the log line of an RPC: who asked for what, what was sent, and why not more;
 * and runs parts of steps so that lines and statements count as those of a request.
 */
#include "sched/rpc/rpc_log.h"

#include <string.h>
#include "db/db.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "model/decision.h"
#include "model/metrics.h"
#include "sched/rpc/rpc.h"
#include "lib/banned.h"

/* Messages to a client from the scheduler itself, beside the decision's. */

void rpc_note(struct rpc *x, bool notice, const char *text)
{
	PUSH(x->a, x->notes, x->nnotes, x->notes_cap) = (struct dec_message){
		.notice = notice, .text = arena_strdup(x->a, text)
	};
}

/*
 * Does the reply carry the decision's number? If work was wanted and none is sent, the
 * volunteer can ask the administrator why.
 */
static bool has_number(const struct decision *d)
{
	return d->nsends == 0 && d->why != WHY_NONE && d->why != WHY_DONT_SEND;
}

void rpc_complete_decision(struct rpc *x, double delay_s)
{
	struct decision *d = x->dec;
	struct dec_message *all = NEWN(
	    x->a, struct dec_message, x->nnotes + REFUSE_HINTS_MAX + d->nmessages + 1);
	size_t n = x->nnotes;

	if (n > 0)
		memcpy(all, x->notes, n * sizeof(*all));
	n += refuse_hints(x->a, x->conf, x->req, x->now, all + n);
	if (d->nmessages > 0)
		memcpy(all + n, d->messages, d->nmessages * sizeof(*all));
	n += d->nmessages;
	if (has_number(d))
		all[n++].text = arena_printf(x->a, DECISION_MESSAGE "%08llx: %s",
		    (unsigned long long)x->seed & 0xffffffff, reason_code(d->why));
	d->messages = all;
	d->nmessages = n;
	if (d->request_delay < delay_s)
		d->request_delay = delay_s;
	d->send_code_sign_key = true; /* render decides which clients need it */
	d->down = x->snap->down;
	d->ndown = x->snap->ndown;
}

enum { RETRY_S = 60 };

struct counting {
	struct counts *c;
	const struct rpc *x;
	struct fail *f;
};

/* A series that the file has no room for, or with too long a name, is left out; the
 * others still count. */
static enum err counts_add(struct counting *k, const char *series, uint64_t by)
{
	enum err e = by == 0 ? OK : counters_add(&k->c->counters, series, by, k->f);

	if (e != E_BADREQ)
		return e;
	if (!k->c->full)
		log_fail("a metric is not counted", k->f);
	k->c->full = true;
	return OK;
}

/* value: of the metric's only label; "" if it has none. */
static enum err add_metric(
    struct counting *k, enum metric m, const char *value, uint64_t by)
{
	return by == 0 ? OK : counts_add(k, metric_series(k->x->a, m, &value), by);
}

static enum err add_to_histogram(struct counting *k, enum metric m, double value)
{
	TRY(counts_add(k, metric_bucket_series(k->x->a, m, value), 1));
	if (value > 0)
		TRY(counts_add(k, metric_sum_series(k->x->a, m),
		    (uint64_t)(value * METRIC_SUM_SCALE)));
	return OK;
}

static enum err add_sends(struct counting *k)
{
	const struct decision *d = k->x->dec;
	uint64_t sent = 0, saved = 0;

	for (size_t i = 0; i < d->nsends; i++) {
		const char *const labels[] = { d->sends[i].app->name,
			send_how_name(d->sends[i].how) };

		TRY(counts_add(k, metric_series(k->x->a, METRIC_JOBS_SENT, labels), 1));
		sent += (uint64_t)d->sends[i].bytes_needed;
		saved += (uint64_t)d->sends[i].bytes_saved;
	}
	TRY(add_metric(k, METRIC_INPUT_SENT, "", sent));
	return add_metric(k, METRIC_INPUT_SAVED, "", saved);
}

static bool report_is_foreign(const struct decision *d, size_t i);

/* Number of reports of results that went to another account's host. */
static uint64_t foreign_reports(const struct decision *d, size_t n)
{
	uint64_t foreign = 0;

	for (size_t i = 0; i < n; i++)
		foreign += report_is_foreign(d, i);
	return foreign;
}

static enum err add_decision(struct counting *k)
{
	const struct decision *d = k->x->dec;

	TRY(add_sends(k));
	if (d->nsends == 0 && d->why != WHY_NONE && d->why != WHY_DONT_SEND)
		TRY(add_metric(k, METRIC_REFUSED, reason_code(d->why), 1));
	for (int why = WHY_NONE + 1; why < WHY__MAX; why++)
		TRY(add_metric(
		    k, METRIC_LEFT_OUT, reason_code((enum reason)why), d->counts[why]));
	if (d->reports != NULL)
		TRY(add_metric(k, METRIC_DOUBLE_SENDS, "",
		    foreign_reports(d, k->x->req->nreports)));
	return OK;
}

/* Counts the errors of this connection since the last request. */
static enum err add_db_errors(struct counting *k)
{
	struct row_pair v[DB_ERRORS_KEPT];
	size_t n = k->x->db == NULL ? 0 : db_take_errors(k->x->db, v);

	for (size_t i = 0; i < n; i++)
		TRY(add_metric(k, METRIC_DB_ERRORS,
		    arena_printf(k->x->a, "%lld", (long long)v[i].a),
		    (uint64_t)v[i].b));
	return OK;
}

/* What a request cost, whatever its reply. */
static enum err add_costs(struct counting *k)
{
	const struct rpc *x = k->x;

	TRY(add_to_histogram(k, METRIC_RPC_BYTES, (double)x->in_n));
	if (x->start > 0)
		TRY(add_to_histogram(k, METRIC_RPC_SECONDS, clock_now_f() - x->start));
	if (x->start > 0)
		TRY(add_to_histogram(k, METRIC_RPC_STATEMENTS, (double)x->statements));
	if (x->req != NULL)
		TRY(add_metric(k, METRIC_XML_REPAIRED, "", x->req->repairs > 0));
	TRY(add_metric(k, METRIC_DB_RETRIES, "", (uint64_t)x->retries));
	TRY(add_metric(k, METRIC_CLAIMS_LOST, "", x->nlost));
	return add_db_errors(k);
}

static enum err count_rpc(struct counts *c, const struct rpc *x, struct fail *f)
{
	bool refused = x->refused != REFUSE_NOTHING;
	struct counting k = { c, x, f };

	TRY(add_metric(&k, METRIC_RPCS, refused ? "refused" : "served", 1));
	TRY(add_costs(&k));
	if (refused)
		TRY(add_metric(&k, METRIC_RPC_REFUSED, refuse_name(x->refused), 1));
	if (!refused && x->dec != NULL)
		TRY(add_decision(&k));
	return OK;
}

static enum err counters_ready(struct counts *c, const struct rpc *x, struct fail *f)
{
	if (c->counters.file.map != NULL)
		return OK;
	return counters_open(
	    &c->counters, arena_printf(x->a, "%s/" COUNTERS_FILE, x->conf->run_dir), f);
}

static enum err count_once(struct counts *c, const struct rpc *x, struct fail *f)
{
	TRY(counters_ready(c, x, f));
	return count_rpc(c, x, f);
}

void counts_keep(struct counts *c, const struct rpc *x)
{
	struct fail f = { 0 };
	enum err e;

	if (x->conf->run_dir[0] == '\0' || x->now < c->retry_at)
		return;
	e = count_once(c, x, &f);
	if (e == E_NOTFOUND && c->counters.file.map != NULL) { /* an admin removed it */
		counts_close(c);
		e = count_once(c, x, &f);
	}
	if (e == OK) {
		c->failed = false;
		return;
	}
	if (!c->failed)
		log_fail("requests are not counted", &f);
	c->failed = true;
	c->retry_at = x->now + RETRY_S;
	counts_close(c);
}

void counts_close(struct counts *c)
{
	shared_close(&c->counters.file);
}

enum { NAMES_MAX = 1500 }; /* bytes of job names per line */

/* Appends "%s%lld"; printf would take longer than all the rest. */
static void log_put_number(struct buf *b, const char *what, int64_t n)
{
	buf_puts(b, what);
	buf_i64(b, n);
}

static void log_put_sends(struct buf *b, const struct decision *d)
{
	log_put_number(b, " sent=", (int64_t)d->nsends);
	for (size_t i = 0; i < d->nsends; i++) {
		if (b->n > NAMES_MAX) {
			buf_puts(b, ",...");
			return;
		}
		buf_printf(b, "%s%s:%s", i == 0 ? "[" : ",", d->sends[i].job->name,
		    send_how_name(d->sends[i].how));
	}
	buf_puts(b, d->nsends > 0 ? "]" : "");
}

/*
 * Appends each delete order with its reason (the file's state, or SPACE) and the bytes
 * it frees.
 */
static void log_put_deletes(struct buf *b, const struct decision *d)
{
	size_t most = b->n + NAMES_MAX;

	log_put_number(b, " deleted=", (int64_t)d->ndeletes);
	for (size_t i = 0; i < d->ndeletes; i++) {
		const struct dec_delete *del = &d->deletes[i];

		if (b->n > most) {
			buf_puts(b, ",...");
			break;
		}
		buf_printf(b, "%s%s:%s:%lld", i == 0 ? "[" : ",", del->name,
		    del->for_space ? "SPACE" : file_state_name(del->state),
		    (long long)del->bytes);
	}
	buf_puts(b, d->ndeletes > 0 ? "]" : "");
}

static void log_put_reasons(struct buf *b, const struct decision *d)
{
	const char *before = " why=";

	if (d->why != WHY_NONE) {
		buf_printf(b, "%s%s", before, reason_code(d->why));
		before = ",";
	}
	for (int i = WHY_NONE + 1; i < WHY__MAX; i++) {
		if (d->counts[i] == 0)
			continue;
		buf_printf(
		    b, "%s%s:%zu", before, reason_code((enum reason)i), d->counts[i]);
		before = ",";
	}
}

static size_t count_acked(const struct request *rq, const struct decision *d)
{
	size_t n = 0;

	for (size_t i = 0; i < rq->nreports; i++)
		n += d->reports[i].ack;
	return n;
}

/* Appends text from a client as one word of the line. */
static void log_put_word(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		buf_put(b, (unsigned char)*text > ' ' ? text : "_", 1);
}

/* Is report i of a result that was sent to a host of another account? */
static bool report_is_foreign(const struct decision *d, size_t i)
{
	return d->reports[i].note != NULL &&
	       strcmp(d->reports[i].note, REPORT_FOREIGN) == 0;
}

/* Appends the results that were sent to another account: its host does not appear, the
 * result's own row has it. */
static void log_put_foreign(
    struct buf *b, const struct request *rq, const struct decision *d)
{
	size_t most = b->n + NAMES_MAX;
	const char *before = " foreign=";

	for (size_t i = 0; i < rq->nreports && b->n <= most; i++) {
		if (!report_is_foreign(d, i))
			continue;
		buf_puts(b, before);
		log_put_word(b, rq->reports[i].name);
		before = ",";
	}
}

/* Appends the work wanted for each resource: "want=100s/1.0 want=50s/0.5:NVIDIA". */
static void log_put_wants(struct buf *b, const struct request *rq)
{
	buf_printf(b, " want=%.0fs/%.1f",
	    rq->has_cpu_request ? rq->cpu_req_secs : rq->work_req_seconds,
	    rq->cpu_req_instances);
	for (size_t i = 1; i < rq->nresources; i++)
		if (rq->resources[i].req_secs > 0 ||
		    rq->resources[i].req_instances > 0) {
			buf_printf(b, " want=%.0fs/%.1f:", rq->resources[i].req_secs,
			    rq->resources[i].req_instances);
			log_put_word(b, rq->resources[i].type);
		}
}

static void log_put_request(struct buf *b, const struct rpc *x)
{
	const struct request *rq = x->req;

	log_put_number(b, " seqno=", rq->rpc_seqno);
	log_put_number(b, " client=", rq->version);
	log_put_wants(b, rq);
	log_put_number(b, " files=", (int64_t)rq->nfiles);
	if (rq->repairs > 0)
		buf_printf(b, " repaired=%u", rq->repairs);
}

void rpc_log_prefix(const struct rpc *x)
{
	log_prefix("[rpc=%08llx]", (unsigned long long)x->seed & 0xffffffff);
}

void cohort_each(struct cohort *c, enum err (*part)(struct rpc *))
{
	for (size_t i = 0; i < c->n; i++) {
		struct rpc *x = c->v[i];
		uint64_t before = db_statements(c->db);

		if (x->end != OK)
			continue;
		rpc_log_prefix(x);
		x->end = part(x);
		x->statements += db_statements(c->db) - before;
	}
	log_prefix("%s", "");
}

void rpc_log(const struct rpc *x)
{
	struct buf b = buf_new(x->a);
	bool served = x->step == RPC_served;

	buf_puts(&b, served ? "served" : "refused");
	if (x->snap != NULL) {
		log_put_number(&b, " [HOST#", x->snap->host.id);
		buf_puts(&b, x->snap->host_new ? "] new" : "]");
	}
	if (x->user != NULL)
		log_put_number(&b, " user=", x->user->id);
	if (x->req != NULL)
		log_put_request(&b, x);
	if (served) {
		log_put_number(&b, " reports=", (int64_t)x->req->nreports);
		log_put_number(&b, " acked=", (int64_t)count_acked(x->req, x->dec));
		log_put_foreign(&b, x->req, x->dec);
		if (x->dec->nmoves > 0)
			log_put_number(&b, " moved=", (int64_t)x->dec->nmoves);
		log_put_number(&b, " trickles=", (int64_t)x->req->ntrickles);
		log_put_sends(&b, x->dec);
		log_put_reasons(&b, x->dec);
		log_put_deletes(&b, x->dec);
		buf_printf(&b, " delay=%.0f lost=%zu", x->dec->request_delay, x->nlost);
	}
	if (x->refused != REFUSE_NOTHING)
		buf_printf(&b, " refused=%s", refuse_name(x->refused));
	if (x->waited_ms > 0)
		buf_printf(&b, " waited_ms=%lld", (long long)x->waited_ms);
	log_put_number(&b, " in=", (int64_t)x->in_n);
	log_put_number(&b, " out=", (int64_t)x->out.n);
	log_put_number(&b, " stmts=", (int64_t)x->statements);
	log_put_number(&b, " retries=", x->retries);
	log_put_number(&b, " us=", (int64_t)((clock_now_f() - x->start) * 1e6));
	log_info("%s", b.p);
}
