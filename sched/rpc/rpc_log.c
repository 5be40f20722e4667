/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Writes the log line of an RPC: who asked for what, what was sent, and why not more.
 */
#include "sched/rpc/rpc.h"

#include <string.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "model/decision.h"
#include "lib/banned.h"

enum { NAMES_MAX = 1500 }; /* bytes of job names per line */

/* Appends "%s%lld"; printf would take longer than all the rest. */
static void
log_put_number(struct buf *b, const char *what, int64_t n)
{
	buf_puts(b, what);
	buf_i64(b, n);
}

static void
log_put_sends(struct buf *b, const struct decision *d)
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
static void
log_put_deletes(struct buf *b, const struct decision *d)
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

static void
log_put_reasons(struct buf *b, const struct decision *d)
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

static size_t
count_acked(const struct request *rq, const struct decision *d)
{
	size_t n = 0;

	for (size_t i = 0; i < rq->nreports; i++)
		n += d->reports[i].ack;
	return n;
}

/* Appends text from a client as one word of the line. */
static void
log_put_word(struct buf *b, const char *text)
{
	for (; *text != '\0'; text++)
		buf_put(b, (unsigned char)*text > ' ' ? text : "_", 1);
}

bool
report_is_foreign(const struct decision *d, size_t i)
{
	return d->reports[i].note != NULL &&
	       strcmp(d->reports[i].note, REPORT_FOREIGN) == 0;
}

/* Appends the results that were sent to another account: its host does not appear, the
 * result's own row has it. */
static void
log_put_foreign(struct buf *b, const struct request *rq, const struct decision *d)
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
static void
log_put_wants(struct buf *b, const struct request *rq)
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

static void
log_put_request(struct buf *b, const struct rpc *x)
{
	const struct request *rq = x->req;

	log_put_number(b, " seqno=", rq->rpc_seqno);
	log_put_number(b, " client=", rq->version);
	log_put_wants(b, rq);
	log_put_number(b, " files=", (int64_t)rq->nfiles);
	if (rq->repairs > 0)
		buf_printf(b, " repaired=%u", rq->repairs);
}

void
rpc_log(const struct rpc *x)
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
