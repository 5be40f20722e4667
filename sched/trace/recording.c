/* SPDX-License-Identifier: Apache-2.0 */
/* Writes struct rpc as the trace that sched/trace/replay.c reads. */
#include "sched/trace/recording.h"

#include <stdio.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/text.h"
#include "proto/plan_class.h"
#include "proto/template_check.h"
#include "proto/trace.h"
#include "sched/rpc/rpc.h"
#include "lib/banned.h"

enum { COUNT_EVERY = 64, NAMES_MAX = 1 << 20 };

struct dump_file {
	const char *name, *p;
	size_t n;
};

/* Counts the bytes only every COUNT_EVERY RPCs, because other processes write to the
 * directory and admins remove files. */
static enum err count_held(
    struct dump_dir *d, const struct rpc *x, const char *dir, struct fail *f)
{
	char **names;
	size_t n;

	if (d->until_count-- > 0)
		return OK;
	d->until_count = 0; /* if this fails, count again next time */
	TRY(fs_mkdirs(dir, 0700, f));
	TRY(fs_list(x->a, dir, NAMES_MAX, &names, &n, f));
	d->held_bytes = 0;
	for (size_t i = 0; i < n; i++) {
		int64_t bytes = fs_size(arena_printf(x->a, "%s/%s", dir, names[i]));

		d->held_bytes += bytes > 0 ? bytes : 0;
	}
	d->until_count = COUNT_EVERY;
	return OK;
}

static bool has_room(
    struct dump_dir *d, const struct rpc *x, const char *dir, int64_t bytes)
{
	const struct conf *cf = x->conf;
	int64_t left = fs_free_bytes(dir);
	bool room = d->held_bytes + bytes <= cf->debug_req_reply_max_bytes &&
	            left - bytes >= cf->upload_min_free_bytes;

	if (!room && !d->full)
		log_warn(
		    "debug_req_reply_max_bytes: no more is kept: %s holds %lld bytes, %lld are free; remove what is not needed",
		    dir, (long long)d->held_bytes, (long long)left);
	d->full = !room;
	return room;
}

/* Writes all files, or none on failure. */
static enum err write_dump(const struct rpc *x, const char *dir,
    const struct dump_file *v, size_t n, struct fail *f)
{
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(x->a, "%s/%s", dir, v[i].name);

		if (fs_write(path, v[i].p, v[i].n, 0600, f) == OK)
			continue;
		while (i-- > 0)
			fs_unlink(arena_printf(x->a, "%s/%s", dir, v[i].name), NULL);
		return f->code;
	}
	return OK;
}

static enum err dump_if_room(struct dump_dir *d, const struct rpc *x, const char *dir,
    const struct dump_file *v, size_t n, struct fail *f)
{
	int64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += (int64_t)v[i].n;
	TRY(count_held(d, x, dir, f));
	if (!has_room(d, x, dir, bytes))
		return OK;
	d->held_bytes += bytes;
	return write_dump(x, dir, v, n, f);
}

static void dump_request_reply(struct dump_dir *d, const struct rpc *x)
{
	const char *stem;
	uint64_t random;
	struct fail f = { 0 };
	enum err e;

	random_bytes(&random, sizeof(random));
	stem = arena_printf(x->a, "%lld-%08llx-%016llx", (long long)x->now,
	    (unsigned long long)(x->seed & 0xffffffff), (unsigned long long)random);
	/* The request comes first, so that no reply is without its request. */
	e = dump_if_room(d, x, x->conf->debug_req_reply_dir,
	    (struct dump_file[]){
		{ arena_printf(x->a, "%s.request.xml", stem), x->in, x->in_n },
		{ arena_printf(x->a, "%s.reply.xml", stem), x->out.p, x->out.n } },
	    2, &f);
	if (e != OK && !d->failed)
		log_fail("debug_req_reply_dir", &f);
	d->failed = e != OK;
}

static enum err recording_end(struct rpc *x, struct fail *f);

static void dump_recording(struct dump_dir *d, struct rpc *x)
{
	const char *name = arena_printf(x->a, "%lld-%lld-%08llx.recording",
	    (long long)x->snap->host.id, (long long)x->req->rpc_seqno,
	    (unsigned long long)x->seed & 0xffffffff);
	struct fail f = { 0 };
	enum err e = recording_end(x, &f);

	if (e == OK)
		e = dump_if_room(d, x, project_path(x->a, x->conf, "recordings"),
		    &(struct dump_file){ name, x->recording.p, x->recording.n }, 1, &f);
	if (e != OK && !d->failed)
		log_fail("this request is not recorded", &f);
	d->failed = e != OK;
}

void rpc_dump_write(struct rpc_dump *d, struct rpc *x)
{
	if (x->conf->debug_req_reply_dir[0] != '\0')
		dump_request_reply(&d->copies, x);
	if (x->recorded && x->recording.n > 0 && x->step == RPC_served)
		dump_recording(&d->recordings, x);
}

enum { UNTIL_MAX = 64, CONFIG_MAX = 16 << 20 };

void recording_begin(struct rpc *x)
{
	char *path = arena_printf(
	    x->a, "%s/recording/%lld", x->conf->run_dir, (long long)x->snap->host.id);
	struct fail f = { 0 };
	char *text;
	int64_t until;

	x->recorded = false;
	if (x->dry || x->snap->host.id == 0 || !fs_exists(path) ||
	    fs_read(x->a, path, UNTIL_MAX, &text, NULL, &f) != OK)
		return;
	text[strcspn(text, "\n")] = '\0';
	x->recorded = text_i64(text, 0, INT64_MAX, &until) && x->now < until;
}

static char *old_signature(const struct rpc *x)
{
	const struct reply_keys *k = x->keys;
	const char *has = x->req->code_sign_key, *sig = NULL;

	if (has != NULL && k->code_sign_public != NULL &&
	    !text_same_words(has, k->code_sign_public))
		sig = k->old_key_signature(k->ctx, has, x->req->version);
	return arena_strdup(x->a, sig);
}

void recording_rows(struct rpc *x)
{
	struct trace *t;

	if (!x->recorded)
		return;
	t = trace_of(x->a,
	    &(struct trace_from){ .conf = x->conf,
		.req = x->req,
		.snap = x->snap,
		.at = x->now,
		.seed = (int64_t)x->seed,
		.userid = x->user->id,
		.refused = x->refused == REFUSE_NOTHING ? "" :
	                                                  refuse_name(x->refused) },
	    TRACE_SNAPSHOT);
	t->reply = (struct trace_reply){ .code_sign_public = x->keys->code_sign_public,
		.old_signature = old_signature(x),
		.trickles_stored = x->req->ntrickles > 0,
		.no_sends = rpc_sends_given_up(x),
		.others_read = x->snap->others != NULL };
	t->snap = *x->snap;
	t->cat = *x->snap->cat;
	t->snap.user.authenticator = t->snap.user.passwd_hash = NULL;
	t->snap.user.old_keys_of = t->snap.user.old_weak_key = NULL;
	t->nothers = t->reply.others_read ? x->req->nother_results : 0;
	t->nreported = t->nresults = x->req->nreports;
	t->results = NEWN(x->a, struct result, t->nresults + 1);
	for (size_t i = 0; i < t->nresults; i++)
		t->results[i] = x->snap->reports[i].result;
	t->notes = x->notes;
	t->nnotes = x->nnotes;
	t->lost = x->without;
	t->nlost = x->nwithout;
	x->recorded_lost = x->nlost;
	x->recording = buf_new(x->a);
	trace_put(&x->recording, t, TRACE_SNAPSHOT);
}

static void record_text(struct trace *t, const char *name, const char *p, size_t n)
{
	t->texts[t->ntexts++] = (struct trace_text){ .name = (char *)(uintptr_t)name,
		.bytes = (int64_t)n,
		.p = (char *)(uintptr_t)p };
}

static enum err record_file(
    const struct rpc *x, struct trace *t, const char *name, struct fail *f)
{
	char *path = project_path(x->a, x->conf, name), *text;
	size_t n;

	if (!fs_exists(path))
		return OK;
	TRY(fs_read(x->a, path, CONFIG_MAX, &text, &n, f));
	record_text(t, name, text, n);
	return OK;
}

/* Called for a served RPC: completes x->recording with its texts and lost claims. */
static enum err recording_end(struct rpc *x, struct fail *f)
{
	enum { TEXTS = 5 + PROJECT_TEXTS };
	struct trace *t = NEW(x->a, struct trace);
	char *config;

	t->dropped = x->lost + x->recorded_lost;
	t->ndropped = x->nlost - x->recorded_lost;
	t->texts = NEWN(x->a, struct trace_text, TEXTS);
	TRY(fs_read(x->a, x->conf->path, CONFIG_MAX, &config, NULL, f));
	conf_mask_secrets(x->a, config);
	record_text(t, "request", x->in, x->in_n);
	record_text(t, "config.xml", config, strlen(config));
	TRY(record_file(x, t, PLAN_CLASS_FILE, f));
	TRY(record_file(x, t, JOB_LIMITS_FILE, f));
	for (int i = 0; i < PROJECT_TEXTS && x->texts != NULL; i++)
		if (x->texts[i] != NULL)
			record_text(t, project_text_file((enum project_text)i),
			    x->texts[i], strlen(x->texts[i]));
	record_text(t, "reply", x->out.p, x->out.n);
	trace_put(&x->recording, t, TRACE_OUTCOME);
	trace_end(&x->recording);
	return OK;
}

enum { RETRY_S = 60 };

void decision_log_format(struct buf *b, const struct rpc *x)
{
	bool served = x->step == RPC_served;
	bool refused = x->refused != REFUSE_NOTHING;
	const struct trace *t = trace_of(x->a,
	    &(struct trace_from){ .conf = x->conf,
		.req = x->req,
		.snap = x->snap,
		.dec = served ? x->dec : NULL,
		.at = x->now,
		.seed = (int64_t)x->seed,
		.rounds = x->rounds,
		.lost = (int64_t)x->nlost,
		.waited_ms = x->waited_ms,
		.userid = x->user == NULL ? 0 : x->user->id,
		.refused = refused ? refuse_name(x->refused) : "",
		.refused_for = served ? "" : x->fail.detail },
	    TRACE_REASONS);

	trace_put(b, t, TRACE_REASONS);
	trace_end(b);
}

/* Logs the first failure only, and retries after a while. */
static void pause_after_failure(
    struct decision_log *g, const struct rpc *x, const struct fail *f)
{
	if (!g->failed)
		log_fail("this decision is not recorded", f);
	g->failed = true;
	g->retry_at = x->now + RETRY_S;
	shared_close(&g->ring.file);
}

static bool ring_ready(struct decision_log *g, const struct rpc *x)
{
	const struct conf *cf = x->conf;
	const char *dir = arena_printf(x->a, "%s/decisions", cf->run_dir);
	struct fail f = { 0 };

	if (g->ring.file.bytes != 0 && g->size == cf->decision_ring_bytes &&
	    g->count == cf->decision_rings && strcmp(g->dir, dir) == 0)
		return true;
	shared_close(&g->ring.file);
	if (x->now < g->retry_at && x->now >= g->retry_at - RETRY_S)
		return false;
	g->size = cf->decision_ring_bytes;
	g->count = cf->decision_rings;
	snprintf(g->dir, sizeof(g->dir), "%s", dir);
	if (ring_open(&g->ring, dir, g->count, (size_t)g->size, &f) == OK)
		return true;
	pause_after_failure(g, x, &f);
	return false;
}

static void put_frame(struct decision_log *g, const struct rpc *x, const struct buf *b)
{
	struct fail f = { 0 };
	enum err e;

	if (!ring_ready(g, x))
		return;
	e = ring_put(&g->ring, b->p, b->n, &f);
	if (e == E_NOTFOUND) { /* an admin removed the file: create a new one */
		shared_close(&g->ring.file);
		if (!ring_ready(g, x))
			return;
		e = ring_put(&g->ring, b->p, b->n, &f);
	}
	if (e == OK)
		g->failed = false;
	else
		pause_after_failure(g, x, &f);
}

void decision_log_begin(struct decision_log *g)
{
	*g = (struct decision_log){ 0 };
	pthread_mutex_init(&g->lock, NULL);
}

void decision_log_write(struct decision_log *g, const struct rpc *x)
{
	struct buf b = buf_new(x->a);

	if (x->req == NULL || x->conf->decision_rings == 0)
		return;
	decision_log_format(&b, x);
	pthread_mutex_lock(&g->lock);
	put_frame(g, x, &b);
	pthread_mutex_unlock(&g->lock);
}

void decision_log_close(struct decision_log *g)
{
	shared_close(&g->ring.file);
	pthread_mutex_destroy(&g->lock);
}
