/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/rpc/counts.h"

#include <string.h>
#include "db/db.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "model/metrics.h"
#include "model/decision.h"
#include "sched/rpc/rpc.h"
#include "lib/banned.h"

enum { RETRY_S = 60 };

struct counting {
	struct counts *c;
	const struct rpc *x;
	struct fail *f;
};

/* A series that the file has no room for, or with too long a name, is left out; the
 * others still count. */
static enum err
counts_add(struct counting *k, const char *series, uint64_t by)
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
static enum err
add_metric(struct counting *k, enum metric m, const char *value, uint64_t by)
{
	return by == 0 ? OK : counts_add(k, metric_series(k->x->a, m, &value), by);
}

static enum err
add_to_histogram(struct counting *k, enum metric m, double value)
{
	TRY(counts_add(k, metric_bucket_series(k->x->a, m, value), 1));
	if (value > 0)
		TRY(counts_add(k, metric_sum_series(k->x->a, m),
		    (uint64_t)(value * METRIC_SUM_SCALE)));
	return OK;
}

static enum err
add_sends(struct counting *k)
{
	const struct decision *d = k->x->dec;
	uint64_t sent = 0, saved = 0;
	enum err e = OK;

	for (size_t i = 0; i < d->nsends && e == OK; i++) {
		const char *const labels[] = { d->sends[i].app->name,
			send_how_name(d->sends[i].how) };

		e = counts_add(k, metric_series(k->x->a, METRIC_JOBS_SENT, labels), 1);
		sent += (uint64_t)d->sends[i].bytes_needed;
		saved += (uint64_t)d->sends[i].bytes_saved;
	}
	if (e == OK)
		e = add_metric(k, METRIC_INPUT_SENT, "", sent);
	return e == OK ? add_metric(k, METRIC_INPUT_SAVED, "", saved) : e;
}

/* Number of reports of results that went to another account's host. */
static uint64_t
foreign_reports(const struct decision *d, size_t n)
{
	uint64_t foreign = 0;

	for (size_t i = 0; i < n; i++)
		foreign += report_is_foreign(d, i);
	return foreign;
}

static enum err
add_decision(struct counting *k)
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
static enum err
add_db_errors(struct counting *k)
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
static enum err
add_costs(struct counting *k)
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

static enum err
count_rpc(struct counts *c, const struct rpc *x, struct fail *f)
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

static enum err
counters_ready(struct counts *c, const struct rpc *x, struct fail *f)
{
	if (c->counters.map != NULL)
		return OK;
	return counters_open(
	    &c->counters, arena_printf(x->a, "%s/" COUNTERS_FILE, x->conf->run_dir), f);
}

void
counts_keep(struct counts *c, const struct rpc *x)
{
	struct fail f = { 0 };
	enum err e;

	if (x->conf->run_dir[0] == '\0' || x->now < c->retry_at)
		return;
	e = counters_ready(c, x, &f);
	if (e == OK)
		e = count_rpc(c, x, &f);
	if (e == E_NOTFOUND && c->counters.map != NULL) { /* an admin removed it */
		counts_close(c);
		e = counters_ready(c, x, &f);
		if (e == OK)
			e = count_rpc(c, x, &f);
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

void
counts_close(struct counts *c)
{
	counters_close(&c->counters);
}
