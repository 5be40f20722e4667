/* SPDX-License-Identifier: Apache-2.0 */
/* What a daemon does with workunits that it cannot handle; rules/daemon/transition.c
 * says when. */
#include "daemons/queue.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "model/trouble.h"
#include "lib/banned.h"

enum {
	WAKE_MOST = DB_LIST_MAX, /* workunits whose time has come, per step */
	PLACES = 8               /* in the queue, from which a sample is taken */
};

static bool has_queue(const struct daemon_queue *s)
{
	return s->how == ASIDE_VALIDATOR || s->how == ASIDE_ASSIMILATOR;
}

void queue_start(
    struct daemon_ctx *x, struct daemon_queue *s, const char *name, enum aside_how how)
{
	struct trouble *notes = NULL;
	size_t n = 0;

	*s = (struct daemon_queue){ .id = { name, 0, { x->mod_n, x->mod_i } },
		.how = how };
	s->troubled = true; /* an earlier process may have left some */
	paused_list(&x->a, x->conf, &notes, &n);
	for (size_t i = 0; has_queue(s) && i < n; i++)
		if (strcmp(notes[i].daemon, x->name) == 0) {
			s->shown = true;
			s->pause = (struct queue_pause){ .paused = true,
				.since = notes[i].at };
		}
}

/* --- the note that locus status, metrics and doctor show --- */

static void show_pause(
    struct daemon_ctx *x, struct daemon_queue *s, int64_t since, const char *text)
{
	struct trouble t = { arena_strdup(&x->a, x->name), since,
		arena_strdup(&x->a, text) };
	struct fail f = { 0 };

	s->shown = true;
	if (paused_write(&x->a, x->conf, &t, &f) != OK)
		log_fail("writing the pause that locus status shows", &f);
}

static void hide_pause(struct daemon_ctx *x, struct daemon_queue *s)
{
	struct fail f = { 0 };

	if (s->shown && paused_clear(&x->a, x->conf, x->name, &f) != OK)
		log_fail("clearing the pause that locus status shows", &f);
	s->shown = false;
}

/* --- back into the queue --- */

struct waking {
	struct daemon_queue *s;
	const int64_t *ids;
	size_t n;
	int64_t next_time;
};

static enum err tx_wake(struct daemon_ctx *x, void *arg)
{
	const struct waking *w = arg;

	if (w->s->how == ASIDE_ASSIMILATOR)
		TRY(workunits_assimilate_again(x->db, w->ids, w->n, &x->fail));
	else
		TRY(workunits_touch(x->db, w->ids, w->n, x->now, &x->fail));
	return wu_troubles_set_next(
	    x->db, w->ids, w->n, w->s->id.name, w->next_time, &x->fail);
}

/* What failed while the daemon paused is not to blame, and is tried at once. */
static enum err wake_all(struct daemon_ctx *x, struct daemon_queue *s)
{
	struct waking w = { .s = s };
	int64_t *ids = NULL;

	do {
		TRY(wu_troubles_since(x->db, &x->a, &s->id, s->pause.since, WAKE_MOST,
		    &ids, &w.n, &x->fail));
		w.ids = ids;
		if (w.n > 0)
			TRY(daemon_transaction(x, tx_wake, &w));
	} while (w.n == WAKE_MOST && !daemon_stopping(x));
	return OK;
}

/* The assimilator puts those back whose time has come, all of a second once. */
static enum err wake_due(struct daemon_ctx *x, struct daemon_queue *s)
{
	struct waking w = { .s = s, .next_time = x->now + ASIDE_MOST_S };
	int64_t *ids = NULL;

	if (s->how != ASIDE_ASSIMILATOR || !s->troubled || x->dry_run ||
	    s->woken_at == x->now)
		return OK;
	TRY(wu_troubles_due(
	    x->db, &x->a, &s->id, x->now, WAKE_MOST, &ids, &w.n, &x->fail));
	if (w.n < WAKE_MOST)
		s->woken_at = x->now;
	w.ids = ids;
	return w.n == 0 ? OK : daemon_transaction(x, tx_wake, &w);
}

/* --- what a step works on --- */

static int wu_order(const void *a, const void *b)
{
	const struct workunit *x = a, *y = b;

	return (x->id > y->id) - (x->id < y->id);
}

static enum wu_queue queue_due_wus(const struct daemon_queue *s)
{
	return s->how == ASIDE_VALIDATOR ? QUEUE_TO_VALIDATE : QUEUE_TO_ASSIMILATE;
}

/* The two ends of the queue; *first 0 = it is empty. */
static enum err queue_ends(struct daemon_ctx *x, const struct daemon_queue *s,
    enum wu_queue q, int64_t *first, int64_t *last)
{
	struct workunit *wu = NULL;
	size_t n = 0;

	*first = 0;
	TRY(workunits_sampled(x->db, &x->a,
	    &(const struct wu_sample){ q, &s->id, 0, true, 1 }, &wu, &n, &x->fail));
	if (n == 0)
		return OK;
	*first = wu[0].id;
	return workunits_queue_end(x->db, &x->a, q, s->id.appid, last, &x->fail);
}

/*
 * Adds workunits from PLACES of the queue to *v, sorted by id, each once. Bad
 * workunits often lie together, so only a sample tells them from a bad daemon; each
 * place is in a part of the queue of its own, which no bad luck leaves out.
 */
static enum err queue_sample(struct daemon_ctx *x, const struct daemon_queue *s,
    bool tried, size_t most, struct workunit **v, size_t *n)
{
	enum wu_queue q = queue_due_wus(s);
	int64_t first, last = 0;
	size_t cap = 0, each = most / PLACES > 0 ? most / PLACES : 1, kept = 0;

	TRY(queue_ends(x, s, q, &first, &last));
	for (int i = 0; first != 0 && i < PLACES && *n < most; i++) {
		int64_t part = last >= first ? (last - first) / PLACES : 0;
		int64_t from = first + i * part +
		               (int64_t)rng_below(&x->rng, (uint64_t)part + 1);
		const struct wu_sample here = { q, &s->id, i + 1 < PLACES ? from : 0,
			tried, each };
		struct workunit *wu = NULL;
		size_t got = 0;

		TRY(workunits_sampled(x->db, &x->a, &here, &wu, &got, &x->fail));
		for (size_t k = 0; k < got && *n < most; k++)
			PUSH(&x->a, *v, *n, cap) = wu[k];
	}
	if (*n > 0)
		qsort(*v, *n, sizeof(**v), wu_order);
	for (size_t i = 0; i < *n; i++)
		if (kept == 0 || (*v)[kept - 1].id != (*v)[i].id)
			(*v)[kept++] = (*v)[i];
	*n = kept;
	return OK;
}

/*
 * Those that the daemon has not tried yet. Bad ones may lie before them, so what is
 * known to be behind is passed over, for a second.
 */
static enum err queue_untried(struct daemon_ctx *x, struct daemon_queue *s, size_t max,
    struct workunit **wu, size_t *n)
{
	struct wu_sample from = { queue_due_wus(s), &s->id, s->from, false, max };

	if (s->from_at != x->now)
		from.from = 0;
	s->from_at = x->now;
	TRY(workunits_sampled(x->db, &x->a, &from, wu, n, &x->fail));
	if (*n == 0 && from.from > 0) {
		from.from = 0;
		TRY(workunits_sampled(x->db, &x->a, &from, wu, n, &x->fail));
	}
	s->from = *n > 0 ? (*wu)[0].id : 0;
	return OK;
}

/*
 * The queue: those that have not failed yet, and from time to time all, for what has
 * failed may cost any time.
 */
static enum err queue_all(struct daemon_ctx *x, struct daemon_queue *s, size_t max,
    struct workunit **wu, size_t *n)
{
	struct wu_sample all = { queue_due_wus(s), &s->id, 0, true, s->retry.most };
	int64_t now_ms = clock_mono_ms();
	struct workunit *v = NULL;
	size_t nv = 0;

	if (!s->troubled || x->dry_run)
		return (s->how == ASIDE_VALIDATOR ? workunits_to_validate :
						    workunits_to_assimilate)(
		    x->db, &x->a, s->id.part, s->id.appid, max, wu, n, &x->fail);
	TRY(queue_untried(x, s, max, wu, n));
	if (*n > 0 && now_ms < s->retry.next_ms)
		return OK;
	all.max = all.max < 1 ? 1 : all.max < max ? all.max : max;
	TRY(workunits_sampled(x->db, &x->a, &all, &v, &nv, &x->fail));
	if (nv == 0)
		return OK;
	s->retry_ms = now_ms;
	*wu = v;
	*n = nv;
	return OK;
}

/* What the daemon tries now: its queue, or most workunits of a sample. */
static enum err queue_now(struct daemon_ctx *x, struct daemon_queue *s, size_t max,
    size_t most, struct workunit **wu, size_t *n)
{
	if (s->turn == TURN_ALL)
		return queue_all(x, s, max, wu, n);
	TRY(queue_sample(x, s, false, most, wu, n));
	return *n > 0 ? OK : queue_sample(x, s, true, most, wu, n);
}

/* Reads which of the workunits have failed before, unless none has. */
static enum err read_troubles(struct daemon_ctx *x, const struct daemon_queue *s,
    const int64_t *ids, size_t n, struct queue_troubles *t)
{
	*t = (struct queue_troubles){ 0 };
	if (!s->troubled || n == 0)
		return OK;
	return wu_troubles_of_stage(
	    x->db, &x->a, ids, n, s->id.name, &t->v, &t->n, &x->fail);
}

/* Ids of n workunits. */
static int64_t *ids_of(struct arena *a, const struct workunit *wu, size_t n)
{
	int64_t *ids = NEWN(a, int64_t, n + 1);

	for (size_t i = 0; i < n; i++)
		ids[i] = wu[i].id;
	return ids;
}

enum err queue_due(struct daemon_ctx *x, struct daemon_queue *s, size_t max,
    struct workunit **wu, size_t *n)
{
	size_t most;

	*wu = NULL;
	*n = 0;
	s->before = (struct queue_troubles){ 0 };
	if (s->retry_ms > 0)
		retry_took(&s->retry, clock_mono_ms() - s->retry_ms, clock_mono_ms());
	s->retry_ms = 0;
	s->turn = pause_turn(&s->pause, x->now, &most);
	if (s->turn == TURN_WAIT)
		return OK;
	if (s->asked_at == 0) { /* does an earlier process's trouble go on? */
		s->asked_at = x->now;
		TRY(wu_trouble_any(x->db, &x->a, &s->id, &s->troubled, &x->fail));
	}
	TRY(wake_due(x, s));
	TRY(queue_now(x, s, max, most, wu, n));
	if (s->turn == TURN_ALL && s->retry_ms == 0)
		return OK;
	return read_troubles(x, s, ids_of(&x->a, *wu, *n), *n, &s->before);
}

bool queue_may_go_on(const struct daemon_ctx *x, const struct daemon_queue *s)
{
	size_t most;

	if (s->retry_ms > 0 && clock_mono_ms() - s->retry_ms > RETRY_STEP_MS)
		return false;
	return s->turn != TURN_ALL || !has_queue(s) ||
	       pause_turn(&s->pause, x->now, &most) == TURN_ALL;
}

/* --- what became of it --- */

struct storing {
	const struct daemon_queue *s;
	enum err (*unit)(struct daemon_ctx *, void *); /* NULL = none */
	void *arg;
	const struct queue_outcomes *o;
	struct queue_troubles before;
	struct wu_aside *aside;
	size_t again;    /* of those put aside, how many had failed before */
	int64_t *mended; /* ids of those handled that had failed before */
	size_t nmended;
	int64_t cleared;
};

static int64_t tries_before(const struct queue_troubles *t, int64_t id)
{
	for (size_t i = 0; i < t->n; i++)
		if (t->v[i].workunitid == id)
			return t->v[i].tries;
	return 0;
}

/* Forgets the troubles of those that were handled. */
static enum err clear_mended(struct daemon_ctx *x, struct storing *t)
{
	for (size_t i = 0; i < t->nmended; i += DB_LIST_MAX) {
		size_t part = t->nmended - i < DB_LIST_MAX ? t->nmended - i :
		                                             DB_LIST_MAX;
		int64_t cleared;

		TRY(wu_troubles_clear(
		    x->db, t->mended + i, part, t->s->id.name, &cleared, &x->fail));
		t->cleared += cleared;
	}
	return OK;
}

static enum err tx_store(struct daemon_ctx *x, void *arg)
{
	struct storing *t = arg;
	const struct queue_outcomes *o = t->o;

	t->cleared = 0;
	if (t->unit != NULL)
		TRY(t->unit(x, t->arg));
	if (o->nbad > 0)
		TRY(workunits_put_aside(x->db, &x->a, &t->s->id, t->s->how, t->aside,
		    o->nbad, x->now, &x->fail));
	return clear_mended(x, t);
}

/* Sets what is stored of the failures. */
static void set_aside(struct daemon_ctx *x, struct storing *t)
{
	const struct queue_outcomes *o = t->o;

	t->aside = NEWN(&x->a, struct wu_aside, o->nbad + 1);
	for (size_t i = 0; i < o->nbad; i++) {
		const struct queue_failure *v = &o->bad[i];
		int64_t tries = tries_before(&t->before, v->wu->id);

		t->again += tries > 0;
		t->aside[i] = (struct wu_aside){ .wu = v->wu,
			.reason = v->why,
			.detail = v->detail,
			.left = v->left,
			.next_time = v->next_time != 0 ?
			                 v->next_time :
			                 x->now + aside_pause_s(tries + 1) };
	}
}

/* Stages with a queue have read this when they read the queue. */
static enum err troubles_before(struct daemon_ctx *x, struct storing *t)
{
	const struct queue_outcomes *o = t->o;
	int64_t *ids = NEWN(&x->a, int64_t, o->nbad + o->ngood + 1);
	size_t n = 0;

	t->before = t->s->before;
	if (has_queue(t->s))
		return OK;
	for (size_t i = 0; i < o->nbad; i++)
		ids[n++] = o->bad[i].wu->id;
	for (size_t i = 0; i < o->ngood; i++)
		ids[n++] = o->good[i];
	return read_troubles(x, t->s, ids, n, &t->before);
}

static enum err take_news(
    struct daemon_ctx *x, struct daemon_queue *s, enum pause_news news, const char *why)
{
	if (news == PAUSE_BEGINS) {
		const char *text = arena_printf(&x->a,
		    "the last %lld workunits all failed, the last because %s; a few are tried every minute, and all when one succeeds",
		    (long long)s->pause.streak, why);
		log_err("paused: %s", text);
		show_pause(x, s, s->pause.since, text);
	}
	if (news != PAUSE_ENDS)
		return OK;
	log_info(
	    "no longer paused, after %lld s", (long long)(x->now - s->pause.since));
	hide_pause(x, s);
	return wake_all(x, s);
}

enum err queue_store(struct daemon_ctx *x, struct daemon_queue *s,
    enum err (*unit)(struct daemon_ctx *, void *), void *arg,
    const struct queue_outcomes *o)
{
	struct storing t = { .s = s, .unit = unit, .arg = arg, .o = o };
	enum pause_news news;

	if (x->dry_run)
		return OK;
	TRY(troubles_before(x, &t));
	set_aside(x, &t);
	t.mended = NEWN(&x->a, int64_t, o->ngood + 1);
	for (size_t i = 0; i < o->ngood; i++)
		if (tries_before(&t.before, o->good[i]) > 0)
			t.mended[t.nmended++] = o->good[i];
	if (unit != NULL || o->nbad > 0 || t.nmended > 0)
		TRY(daemon_transaction(x, tx_store, &t));
	if (o->nbad > 0) {
		s->troubled = true;
	} else if (s->troubled && (t.cleared > 0 || s->asked_at != x->now)) {
		/* Other instances clear some: asked once in a step. */
		s->asked_at = x->now;
		TRY(wu_trouble_any(x->db, &x->a, &s->id, &s->troubled, &x->fail));
	}
	x->aside = s->troubled;
	if (!has_queue(s))
		return OK;
	news = pause_tried(
	    &s->pause, s->turn, x->now, o->ngood, o->nbad - t.again, t.again);
	return take_news(x, s, news, o->nbad > 0 ? o->bad[o->nbad - 1].why : "");
}

enum err queue_tried(
    struct daemon_ctx *x, struct daemon_queue *s, const struct queue_outcomes *o)
{
	return queue_store(x, s, NULL, NULL, o);
}

void queue_accuse(struct daemon_ctx *x, const struct queue_failure *v, enum err e)
{
	const struct workunit *wu = v->wu;

	log_err("[WU#%lld] %s: put aside, %s: %s", (long long)wu->id, wu->name,
	    err_name(e), v->why);
	daemon_trouble(x, "[WU#%lld] %s: %s", (long long)wu->id, wu->name, v->why);
}

enum err queue_blame(
    struct daemon_ctx *x, struct queue_failure *v, enum err e, bool *blamed)
{
	const struct workunit *wu = v->wu;
	struct fail f = { 0 };

	*blamed = false;
	v->why = arena_strdup(&x->a, x->fail.detail);
	if (e == E_DISK_FULL || db_ready(x->db, &f) != OK)
		return FAIL(&x->fail, e, "%s", v->why);
	if (e == E_RACE || e == E_RETRY) { /* it is still due in the next step */
		log_debug("[WU#%lld] %s: left to the next pass: %s", (long long)wu->id,
		    wu->name, v->why);
		return OK;
	}
	*blamed = true;
	queue_accuse(x, v, e);
	return OK;
}

enum err queue_drop_aside(
    struct daemon_ctx *x, struct daemon_queue *s, struct workunit *wu, size_t *n)
{
	struct queue_troubles t;
	size_t kept = 0;

	TRY(read_troubles(x, s, ids_of(&x->a, wu, *n), *n, &t));
	for (size_t i = 0; i < *n; i++) {
		bool aside = false;
		for (size_t k = 0; k < t.n; k++)
			aside |= t.v[k].workunitid == wu[i].id &&
			         t.v[k].next_time > x->now;
		if (!aside)
			wu[kept++] = wu[i];
	}
	*n = kept;
	return OK;
}

enum err queue_step_ends(
    struct daemon_ctx *x, struct daemon_queue *s, const char *broken)
{
	if (broken != NULL) {
		if (!s->shown)
			show_pause(x, s, x->now, broken);
		return FAIL(&x->fail, E_SYS, "%s", broken);
	}
	if (s->shown && !s->pause.paused)
		hide_pause(x, s);
	return OK;
}

/* --- batches --- */

/* Handles the workunits of a chunk one by one. */
static enum err queue_each(struct daemon_ctx *x, struct daemon_queue *s,
    const struct queue_calls *c, struct workunit *const *wu, size_t n, size_t *done)
{
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK && !daemon_stopping(x); i++) {
		struct queue_failure bad = { .wu = wu[i] };
		bool blamed = false, good;
		if (!queue_may_go_on(x, s))
			break;
		e = c->each(x, wu[i]);
		good = e == OK;
		if (!good)
			e = queue_blame(x, &bad, e, &blamed);
		*done += good || blamed;
		if (e == OK && (blamed || (good && !c->tells)))
			e = queue_tried(x, s,
			    &(const struct queue_outcomes){
				&bad, blamed, &wu[i]->id, good });
	}
	return e;
}

static int by_workunit_id(const void *a, const void *b)
{
	const struct workunit *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

enum err queue_chunks(struct daemon_ctx *x, struct daemon_queue *s,
    const struct queue_calls *c, struct workunit *wu, size_t n, size_t *done)
{
	struct workunit **chunk = NEWN(&x->a, struct workunit *, c->most);
	int64_t *ids = NEWN(&x->a, int64_t, c->most);

	for (size_t from = 0, end;
	     from < n && !daemon_stopping(x) && queue_may_go_on(x, s); from = end) {
		size_t nchunk = 0;
		for (end = from; end < n && nchunk < c->most; end++)
			chunk[nchunk++] = &wu[end];
		qsort(chunk, nchunk, sizeof(*chunk), by_workunit_id);
		if (c->some(x, chunk, nchunk) != OK) {
			TRY(queue_each(x, s, c, chunk, nchunk, done));
			continue;
		}
		*done += nchunk;
		for (size_t i = 0; i < nchunk; i++)
			ids[i] = chunk[i]->id;
		if (!c->tells)
			TRY(queue_tried(x, s,
			    &(const struct queue_outcomes){ NULL, 0, ids, nchunk }));
	}
	return OK;
}
