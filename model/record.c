/* SPDX-License-Identifier: Apache-2.0 */
/* From request and decision to the record; pure. */
#include "model/record.h"

#include <string.h>
#include "lib/banned.h"

enum {
	ASKED_MOST = 9, /* the CPU and eight types of coprocessor */
	FILES_MOST = 24,
	SENT_MOST = 32,
	LEFT_MOST = 16,
	DELETES_MOST = 16,
	MESSAGES_MOST = 6
};

#define DECISION(name, type) { #name, COL_##type, offsetof(struct rec_decision, name) },
static const struct col rec_decision_cols[] = {
#include "model/record.def"
};
#define ASKED(name, type) { #name, COL_##type, offsetof(struct rec_asked, name) },
static const struct col rec_asked_cols[] = {
#include "model/record.def"
};
#define REASON_COUNT(name, type)                                                       \
	{ #name, COL_##type, offsetof(struct rec_count, name) },
static const struct col rec_count_cols[] = {
#include "model/record.def"
};
#define CONSIDERED(name, type) { #name, COL_##type, offsetof(struct rec_file, name) },
static const struct col rec_file_cols[] = {
#include "model/record.def"
};
#define SENT(name, type) { #name, COL_##type, offsetof(struct rec_sent, name) },
static const struct col rec_sent_cols[] = {
#include "model/record.def"
};
#define LEFT_OUT(name, type) { #name, COL_##type, offsetof(struct rec_left, name) },
static const struct col rec_left_cols[] = {
#include "model/record.def"
};
#define ORDERED_AWAY(name, type)                                                       \
	{ #name, COL_##type, offsetof(struct rec_delete, name) },
static const struct col rec_delete_cols[] = {
#include "model/record.def"
};
#define SAID(name, type) { #name, COL_##type, offsetof(struct rec_message, name) },
static const struct col rec_message_cols[] = {
#include "model/record.def"
};

const struct row_shape shape_rec_decision = { "decision", rec_decision_cols,
	N(rec_decision_cols), sizeof(struct rec_decision) };

#define REC_LIST(kind, member)                                                         \
	static const struct row_shape shape_rec_##kind = { #kind, rec_##kind##_cols,   \
		N(rec_##kind##_cols), sizeof(struct rec_##kind) };
#include "model/record.def"

#define REC_LIST(kind, member)                                                         \
	{ #kind, &shape_rec_##kind, offsetof(struct record, member),                   \
		offsetof(struct record, n##member) },
const struct rec_kind rec_kinds[REC_LISTS] = {
#include "model/record.def"
};

const char *
send_how_name(enum send_how how)
{
	static const char *const names[] = {
		[SEND_LOST] = "lost",
		[SEND_TARGETED] = "targeted",
		[SEND_OLD] = "old",
		[SEND_HELD] = "held",
		[SEND_WORKING_SET] = "set",
		[SEND_SEARCHED] = "searched",
		[SEND_PLAIN] = "plain",
	};

	return names[how];
}

const char *
replication_name(enum replication r)
{
	static const char *const names[] = {
		[REPLICATION_FIXED] = "",
		[REPLICATION_ALONE] = "ALONE",
		[REPLICATION_UNTRUSTED] = "UNTRUSTED",
		[REPLICATION_SPOT_CHECK] = "SPOT_CHECK",
	};

	return names[r];
}

const char *
file_state_name(enum file_state state)
{
	static const char *const names[] = {
		[FILE_ADVERTISED] = "ADVERTISED",
		[FILE_DRAINING] = "DRAINING",
		[FILE_EXHAUSTED] = "EXHAUSTED",
		[FILE_DEAD] = "DEAD",
	};

	return names[state];
}

struct record_maker {
	struct arena *a;
	const struct record_from *from;
	struct record *r;
};

static char *
record_text(const struct record_maker *m, const char *s)
{
	return arena_strdup(m->a, s == NULL ? "" : s);
}

static char *
record_reason(const struct record_maker *m, enum reason why)
{
	return arena_strdup(m->a, reason_code(why));
}

static size_t
record_cap(size_t n, size_t most)
{
	return n < most ? n : most;
}

/* --- what was asked --- */

static void
record_asked(struct record_maker *m, const struct request *rq)
{
	struct record *r = m->r;

	r->nasked = record_cap(rq->nresources, ASKED_MOST);
	r->asked = NEWN(m->a, struct rec_asked, r->nasked + 1);
	for (size_t i = 0; i < r->nasked; i++) {
		const struct rq_resource *q = &rq->resources[i];

		r->asked[i] = (struct rec_asked){ record_text(m, q->type), q->req_secs,
			q->req_instances, q->count };
	}
	/* An old client asks for seconds of whatever it has. */
	if (r->nasked > 0 && !rq->has_cpu_request)
		r->asked[0].secs = rq->work_req_seconds;
	if (r->nasked > 0 && rq->has_cpu_request) {
		r->asked[0].secs = rq->cpu_req_secs;
		r->asked[0].instances = rq->cpu_req_instances;
	}
	r->d.hostid = rq->hostid;
	r->d.host_name = record_text(m, rq->host.domain_name);
	r->d.seqno = rq->rpc_seqno;
	r->d.client = rq->version;
	r->d.platform = record_text(m, rq->platform_name);
	r->d.held_files = (int64_t)rq->nfiles;
	r->d.reports = (int64_t)rq->nreports;
}

/* --- what was considered --- */

static void
record_snapshot(struct record_maker *m, const struct snapshot *s)
{
	struct rec_decision *d = &m->r->d;

	d->hostid = s->host.id;
	d->host_new = s->host_new;
	d->host_name = record_text(m, s->host.domain_name);
	d->in_progress = (int64_t)s->nin_progress;
	d->jobs = (int64_t)(s->nplain + s->ntargeted + s->nnci);
	for (size_t i = 0; i < s->nfiles; i++)
		d->jobs += (int64_t)s->files[i].njobs;
}

static const char *
file_found_by(const struct snap_file *f)
{
	if (!f->held && f->from_working_set)
		return send_how_name(SEND_WORKING_SET);
	return send_how_name(!f->held && f->searched ? SEND_SEARCHED : SEND_HELD);
}

static void
record_files(struct record_maker *m)
{
	const struct decision *dec = m->from->dec;
	size_t n = dec->files == NULL ? 0 : m->from->snap->nfiles;
	struct record *r = m->r;

	r->nfiles = record_cap(n, FILES_MOST);
	r->files = NEWN(m->a, struct rec_file, r->nfiles + 1);
	for (size_t i = 0; i < r->nfiles; i++) {
		const struct dec_file *df = &dec->files[i];
		const struct snap_file *f = df->file;

		r->files[i] = (struct rec_file){ record_text(m, f->name),
			record_text(m, file_found_by(f)),
			record_text(m, file_state_name(df->state)), (int64_t)f->njobs,
			(int64_t)df->sent, (int64_t)df->refused,
			record_reason(m, df->why), f->bytes, f->bytes_missing };
	}
}

/* The decision counts jobs, and file sets that had no job to try, in one number. */
static void
record_counts(struct record_maker *m)
{
	const struct decision *dec = m->from->dec;
	size_t nfiles = dec->files == NULL ? 0 : m->from->snap->nfiles;
	size_t files[WHY__MAX] = { 0 };
	struct record *r = m->r;

	for (size_t i = 0; i < nfiles; i++) {
		const struct dec_file *f = &dec->files[i];

		if (f->sent == 0 && f->refused == 0 &&
		    files[f->why] < dec->counts[f->why])
			files[f->why]++;
	}
	r->counts = NEWN(m->a, struct rec_count, WHY__MAX);
	for (int why = WHY_NONE + 1; why < WHY__MAX; why++)
		if (dec->counts[why] > 0)
			r->counts[r->ncounts++] = (struct rec_count){
				record_reason(m, (enum reason)why),
				(int64_t)(dec->counts[why] - files[why]),
				(int64_t)files[why]
			};
}

static void
record_left(struct record_maker *m)
{
	const struct decision *dec = m->from->dec;
	struct record *r = m->r;

	r->nleft = record_cap(dec->nskips, LEFT_MOST);
	r->left = NEWN(m->a, struct rec_left, r->nleft + 1);
	for (size_t i = 0; i < r->nleft; i++) {
		const struct dec_skip *s = &dec->skips[i];

		r->left[i] = (struct rec_left){ s->job->id,
			record_text(m, s->job->name), record_reason(m, s->why) };
	}
}

/* --- what was answered --- */

static void
record_sent(struct record_maker *m)
{
	const struct decision *dec = m->from->dec;
	struct record *r = m->r;

	r->nsent = record_cap(dec->nsends, SENT_MOST);
	r->sent = NEWN(m->a, struct rec_sent, r->nsent + 1);
	for (size_t i = 0; i < dec->nsends; i++)
		r->d.resends += dec->sends[i].how == SEND_LOST;
	for (size_t i = 0; i < r->nsent; i++) {
		const struct dec_send *s = &dec->sends[i];
		const struct app_version *v = s->version;

		r->sent[i] = (struct rec_sent){ .id = s->job->id,
			.name = record_text(m, s->job->name),
			.how = record_text(m, send_how_name(s->how)),
			.app = record_text(m, s->app->name),
			.version_num = v == NULL ? 0 : v->version_num,
			.plan_class = record_text(m, v == NULL ? "" : v->plan_class),
			.resource = record_text(
			    m, m->from->req->resources[s->resource].type),
			.usage = s->usage,
			.flops = s->projected_flops,
			.runtime_s = s->runtime_s,
			.deadline = s->deadline,
			.bytes_needed = s->bytes_needed,
			.bytes_saved = s->bytes_saved,
			.replication = record_text(m, replication_name(s->replication)),
			.consecutive_valid = s->consecutive_valid,
			.raised_to = s->raise_to,
			.speed = record_text(m, speed_source_code(s->speed_source)) };
	}
}

static void
record_told(struct record_maker *m)
{
	const struct decision *dec = m->from->dec;
	struct record *r = m->r;

	r->ndeletes = record_cap(dec->ndeletes, DELETES_MOST);
	r->deletes = NEWN(m->a, struct rec_delete, r->ndeletes + 1);
	for (size_t i = 0; i < r->ndeletes; i++) {
		const struct dec_delete *d = &dec->deletes[i];

		r->deletes[i] = (struct rec_delete){ record_text(m, d->name), d->bytes,
			record_text(m, file_state_name(d->state)), d->for_space };
	}
	r->nmessages = record_cap(dec->nmessages, MESSAGES_MOST);
	r->messages = NEWN(m->a, struct rec_message, r->nmessages + 1);
	for (size_t i = 0; i < r->nmessages; i++)
		r->messages[i] = (struct rec_message){ dec->messages[i].notice,
			record_text(m, dec->messages[i].text) };
}

static void
record_decision(struct record_maker *m)
{
	const struct decision *dec = m->from->dec;
	struct rec_decision *d = &m->r->d;

	d->work_wanted = dec->work_wanted;
	d->why = record_reason(m, dec->why);
	d->rest = record_reason(m, dec->rest);
	d->sends = (int64_t)dec->nsends;
	d->aborts = (int64_t)(dec->naborts + dec->naborts_if_not_started);
	d->delay_s = dec->request_delay;
	for (size_t i = 0; i < m->from->req->nreports; i++)
		d->acked += dec->reports[i].ack;
	d->drawn = (int64_t)dec->baseline.drawn;
	d->drawn_fit = (int64_t)dec->baseline.fit;
	d->drawn_bytes = dec->baseline.mean_bytes;
	record_files(m);
	record_counts(m);
	record_left(m);
	record_sent(m);
	record_told(m);
}

struct record *
record_of(struct arena *a, const struct record_from *from)
{
	struct record *r = NEW(a, struct record);
	struct record_maker m = { a, from, r };

	r->d = (struct rec_decision){ .version = RECORD_VERSION,
		.at = from->at,
		.seed = from->seed,
		.userid = from->userid,
		.host_name = record_text(&m, ""),
		.platform = record_text(&m, ""),
		.config = record_text(&m, from->conf->hash),
		.refused = record_text(&m, from->refused),
		.refused_for = record_text(&m, from->refused_for),
		.why = record_reason(&m, WHY_NONE),
		.rest = record_reason(&m, WHY_NONE),
		.rounds = from->rounds,
		.lost = from->lost,
		.waited_ms = from->waited_ms };
	if (from->req != NULL)
		record_asked(&m, from->req);
	if (from->snap != NULL)
		record_snapshot(&m, from->snap);
	if (from->dec != NULL)
		record_decision(&m);
	return r;
}
