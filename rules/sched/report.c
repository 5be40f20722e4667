/* SPDX-License-Identifier: Apache-2.0 */
/* Decides about each reported result: the table of protocol.md 3.5. */
#include "rules/sched/ctx.h"

#include <stdlib.h>
#include "model/rows.h"
#include "lib/banned.h"

struct seen { /* id of a reported result, and its index in the request */
	int64_t id;
	size_t at;
};

static int compare_seen(const void *a, const void *b)
{
	const struct seen *x = a, *y = b;

	if (x->id != y->id)
		return (x->id > y->id) - (x->id < y->id);
	return (x->at > y->at) - (x->at < y->at);
}

/* Marks all but the first report of a result that the request lists twice. */
static bool *find_repeated_reports(struct ctx *c, size_t n)
{
	bool *again = NEWN(c->a, bool, n + 1);
	struct seen *s = NEWN(c->a, struct seen, n + 1);
	size_t found = 0;

	for (size_t i = 0; i < n; i++)
		if (c->snap->reports[i].found)
			s[found++] = (struct seen){ c->snap->reports[i].result.id, i };
	qsort(s, found, sizeof(*s), compare_seen);
	for (size_t i = 1; i < found; i++)
		again[s[i].at] = s[i].id == s[i - 1].id;
	return again;
}

/* NULL: the report is stored; else why it is only acknowledged. */
static const char *why_not_stored(struct ctx *c, const struct snap_report *s)
{
	const struct result *r = &s->result;
	bool late = r->outcome == OUTCOME_NO_REPLY ||
	            r->outcome == OUTCOME_CLIENT_DETACHED;

	if (!s->found)
		return "unknown";
	if (r->server_state == RESULT_OVER && !late) {
		/* The reply to the first report was lost, possibly with jobs. */
		if (r->outcome == OUTCOME_SUCCESS)
			c->d->resend_seen = true;
		return "already over";
	}
	if (r->server_state != RESULT_OVER && r->server_state != RESULT_IN_PROGRESS)
		return "not sent";
	/*
	 * BOINC's servers set received_time also when they give up the results of a
	 * detached host.
	 */
	if (r->received_time != 0 && r->outcome != OUTCOME_CLIENT_DETACHED)
		return "already received";
	if (r->hostid != c->snap->host.id && !s->same_user_host)
		return REPORT_FOREIGN;
	return NULL;
}

/* Makes times plausible as in protocol.md 3.5, in that order. */
static void make_times_plausible(struct ctx *c, const struct rq_report *q,
    const struct result *r, struct dec_report *d)
{
	bool sequential = q->plan_class == NULL || q->plan_class[0] == '\0';
	double cpu = q->cpu_time > 0 ? q->cpu_time : 0, elapsed = q->elapsed_time;
	double turnaround = (double)(c->now - r->sent_time);
	int32_t ncpus = c->snap->host.p_ncpus;

	if (sequential && elapsed < cpu)
		elapsed = cpu;
	if (!(elapsed >= 0))
		elapsed = 0;
	if (elapsed == 0)
		elapsed = cpu;
	if (r->sent_time > 0 && turnaround >= 0 && elapsed > turnaround)
		elapsed = turnaround;
	if (cpu > elapsed * (ncpus > 1 ? ncpus : 1))
		cpu = elapsed * (ncpus > 1 ? ncpus : 1);
	d->cpu_time = cpu;
	d->elapsed_time = elapsed;
}

/*
 * A refused upload leaves state and exit status like those of a success; only the file
 * tells (protocol.md 13.5.1).
 */
static bool outputs_refused(const struct rq_report *q)
{
	for (size_t i = 0; i < q->nfiles; i++)
		if (q->files[i].upload_failed)
			return true;
	return false;
}

static bool report_is_success(const struct rq_report *q)
{
	return q->state == CLIENT_UPLOADED && q->exit_status == 0 &&
	       !outputs_refused(q);
}

/*
 * A failure reported by a copied client does not settle the task of its original, which
 * may still succeed. NULL: the report is stored; else why it is only acknowledged. If
 * nobody knows yet whether the original still runs, the task becomes this host's:
 * either the original takes it back, or it is a task that this host has lost.
 */
static const char *why_not_final(
    struct ctx *c, const struct rq_report *q, const struct snap_report *s)
{
	const struct result *r = &s->result;

	if (report_is_success(q) || !s->same_user_host || s->owner_seen == 0)
		return NULL;
	if (!owner_is_us(c, r->hostid, s->owner_seen))
		return "a copy's failure";
	if (!c->snap->host_id_changed)
		return NULL;
	if (r->server_state == RESULT_IN_PROGRESS)
		PUSH(c->a, c->d->moves, c->d->nmoves,
		    c->moves_cap) = (struct dec_move){ r->id, r->hostid };
	return "maybe a copy's failure";
}

static struct dec_report report_store(
    struct ctx *c, const struct rq_report *q, const struct snap_report *s)
{
	const struct result *r = &s->result;
	bool success = report_is_success(q);
	struct dec_report d = { .action = REPORT_STORE, .ack = true };

	d.expect_state = r->server_state;
	d.expect_outcome = r->outcome;
	d.outcome = success ? OUTCOME_SUCCESS : OUTCOME_CLIENT_ERROR;
	d.validate_state = success ? VALIDATE_INIT : VALIDATE_INVALID;
	d.exit_status = q->exit_status;
	d.result_id = r->id;
	d.workunitid = r->workunitid;
	if (r->server_state == RESULT_OVER)
		d.note = "late";
	else if (r->hostid != c->snap->host.id)
		d.note = "by another host of the user";
	else
		d.note = success ? "success" : "error";
	make_times_plausible(c, q, r, &d);
	return d;
}

/*
 * A host that was away may report tens of thousands. So many are stored in one
 * transaction that even a slow, busy machine has finished before the client gives up;
 * the client reports the others again, at once.
 */
enum { REPORTS_AT_ONCE = 2000 };

/* The smaller of two options, 0 meaning no limit, but never more than a slice. */
static size_t report_limit(const struct conf *cf, size_t n)
{
	if (n > REPORTS_AT_ONCE)
		n = REPORTS_AT_ONCE;
	if (cf->report_max > 0 && (size_t)cf->report_max < n)
		n = (size_t)cf->report_max;
	if (cf->max_results_accepted > 0 && (size_t)cf->max_results_accepted < n)
		n = (size_t)cf->max_results_accepted;
	return n;
}

void report_all(struct ctx *c)
{
	const struct request *rq = c->req;
	size_t most = report_limit(c->conf, rq->nreports);
	struct dec_report *d = NEWN(c->a, struct dec_report, rq->nreports + 1);
	bool *again = find_repeated_reports(c, most);

	c->d->reports = d;
	c->reports_cut = most < rq->nreports;
	for (size_t i = 0; i < rq->nreports; i++) {
		const struct snap_report *s;
		const char *why = "left for the next request";

		if (i >= most) {
			d[i] = (struct dec_report){ .note = why };
			continue;
		}
		s = &c->snap->reports[i];
		why = again[i] ? "twice in one request" : why_not_stored(c, s);
		if (why == NULL)
			why = why_not_final(c, &rq->reports[i], s);
		if (why == NULL)
			d[i] = report_store(c, &rq->reports[i], s);
		else
			d[i] = (struct dec_report){ .ack = true,
				.note = why,
				.result_id = s->found ? s->result.id : 0,
				.workunitid = s->found ? s->result.workunitid : 0 };
	}
}
