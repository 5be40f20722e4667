/* SPDX-License-Identifier: Apache-2.0 */
#include "daemons/lease_keeper.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include "db/node.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum {
	MS = 1000,
	SLICE_MS = 100,
	STANDBY_LOOK_MS = 1000, /* how often a standby looks for the lease */
	LOOK_MOST_MS = 5000,
	SEEN_MS = 10000 /* how often node_service is written */
};

struct lease_keeper {
	struct keeper_terms terms;
	struct node node;
	char *lock_dir;
	pthread_mutex_t lock; /* over the connection and what follows */
	struct db *db;
	struct lease_watch watch;
	bool registered, noted;
	int64_t seen_ms;
	enum keeper_state shown;    /* as last written to node_service */
	char why[KEEPER_TEXT_MOST]; /* why there is no lease */
	/* Read without the lock. */
	_Atomic int64_t token;    /* 0 = not held */
	_Atomic int64_t until_ms; /* known to be held until then, monotonic */
	atomic_bool drained, stop, wake;
	pthread_t thread;
	bool threaded;
};

enum err keeper_open(struct arena *life, const struct keeper_terms *t,
    struct lease_keeper **out, struct fail *f)
{
	struct lease_keeper *k = NEW(life, struct lease_keeper);

	k->terms = *t;
	k->lock_dir = project_path(life, t->conf, t->conf->run_dir);
	pthread_mutex_init(&k->lock, NULL);
	snprintf(k->why, sizeof(k->why), "the lease was not read yet");
	*out = k;
	return node_here(life, t->conf, &k->node, f);
}

/* The lock of its name tells whether an instance of this machine still runs. */
static bool service_runs_here(void *ctx, const char *service)
{
	const struct lease_keeper *k = ctx;
	char path[4400];

	snprintf(path, sizeof(path), "%s/%s.lock", k->lock_dir, service);
	return fs_locked(path);
}

static int64_t new_token(void)
{
	int64_t token;

	random_bytes(&token, sizeof(token));
	token &= INT64_MAX;
	return token == 0 ? 1 : token;
}

/*
 * The lease counts from before the statement was sent, so its end comes here before the
 * database's clock lets another instance take it.
 */
static void keeper_held(struct lease_keeper *k, int64_t token, int64_t asked_ms)
{
	k->until_ms = asked_ms + k->terms.conf->daemon_lease * MS;
	k->token = token;
	k->why[0] = '\0';
}

static enum err keeper_take(struct lease_keeper *k, struct fail *f)
{
	const struct lease_claim claim = { .name = k->terms.lease,
		.me = { k->node.name, k->terms.service, k->node.place },
		.token = new_token(),
		.term_s = k->terms.conf->daemon_lease,
		.runs = service_runs_here,
		.ctx = k };
	int64_t asked_ms = clock_mono_ms();
	bool taken;

	TRY(lease_take(k->db, &claim, &k->watch, &taken, f));
	if (taken)
		keeper_held(k, claim.token, asked_ms);
	else
		snprintf(k->why, sizeof(k->why), "%s has the lease %s",
		    k->watch.holder[0] == '\0' ? "another instance" : k->watch.holder,
		    k->terms.lease);
	return OK;
}

/* Called by a guard, too, so without the lock. */
static void keeper_lost(struct lease_keeper *k)
{
	k->token = 0;
	k->until_ms = 0;
}

static enum err keeper_renew(struct lease_keeper *k, int64_t token, struct fail *f)
{
	int64_t asked_ms = clock_mono_ms();
	bool held;
	enum err e = lease_renew(k->db, k->terms.lease, token, &held, f);

	if (e != OK)
		return e;
	if (held) {
		if (k->token == token)
			keeper_held(k, token, asked_ms);
		return OK;
	}
	keeper_lost(k);
	k->watch = (struct lease_watch){ 0 };
	return keeper_take(k, f); /* learns who has it */
}

static enum keeper_state keeper_now(struct lease_keeper *k)
{
	if (k->drained && !k->terms.one_pass)
		return KEEPER_DRAINED;
	if (k->terms.lease == NULL)
		return KEEPER_WORKS;
	return k->token != 0 && clock_mono_ms() < k->until_ms ? KEEPER_WORKS :
	                                                        KEEPER_STANDBY;
}

static enum err keeper_note(struct lease_keeper *k, struct fail *f)
{
	static const char *const names[] = { "works", "standby", "drained" };
	enum keeper_state s = keeper_now(k);
	int64_t now_ms = clock_mono_ms();

	if (k->noted && s == k->shown && now_ms - k->seen_ms < SEEN_MS)
		return OK;
	TRY(node_service_seen(
	    k->db, k->node.name, k->terms.service, names[s], !k->noted, f));
	k->noted = true;
	k->shown = s;
	k->seen_ms = now_ms;
	return OK;
}

static enum err keeper_connect(struct lease_keeper *k, struct fail *f)
{
	if (k->db == NULL)
		return db_open(k->terms.conf, DB_REPLY, &k->db, f);
	db_request(k->db);
	return db_ready(k->db, f);
}

static enum err keeper_act(struct lease_keeper *k, struct fail *f)
{
	int64_t token = k->token;
	bool drained;

	TRY(keeper_connect(k, f));
	if (!k->registered)
		TRY(node_register(k->db, &k->node, f));
	k->registered = true;
	TRY(node_is_drained(k->db, k->node.name, &drained, f));
	k->drained = drained;
	if (k->terms.lease != NULL && token != 0)
		TRY(keeper_renew(k, token, f));
	else if (k->terms.lease != NULL && (!drained || k->terms.one_pass))
		TRY(keeper_take(k, f));
	return keeper_note(k, f);
}

enum err keeper_turn(struct lease_keeper *k, struct fail *f)
{
	enum err e;

	pthread_mutex_lock(&k->lock);
	e = keeper_act(k, f);
	if (e != OK && k->token == 0)
		snprintf(k->why, sizeof(k->why), "the lease cannot be taken: %.240s",
		    f->detail);
	pthread_mutex_unlock(&k->lock);
	return e;
}

bool keeper_holder_lives(struct lease_keeper *k)
{
	return k->watch.alive;
}

/*
 * A third of the term, so that two renewals may fail before the lease ends; not longer
 * than draining may take.
 */
static int64_t keeper_pause_ms(const struct lease_keeper *k, enum err e)
{
	int64_t third = k->terms.conf->daemon_lease * MS / 3;

	if (e != OK || (k->terms.lease != NULL && k->token == 0) ||
	    third < STANDBY_LOOK_MS)
		return STANDBY_LOOK_MS;
	return third < LOOK_MOST_MS ? third : LOOK_MOST_MS;
}

static void *keeper_run(void *arg)
{
	struct lease_keeper *k = arg;

	for (enum err e = OK; !k->stop;) {
		struct fail f = { 0 };
		int64_t end_ms = clock_mono_ms() + keeper_pause_ms(k, e);

		while (!k->stop && !k->wake && clock_mono_ms() < end_ms)
			clock_nap_ms(SLICE_MS);
		k->wake = false;
		if (!k->stop)
			e = keeper_turn(k, &f);
	}
	return NULL;
}

enum err keeper_start(struct lease_keeper *k, struct fail *f)
{
	sigset_t all, was;
	int code;

	sigfillset(&all); /* signals are for the thread that does the work */
	pthread_sigmask(SIG_SETMASK, &all, &was);
	code = pthread_create(&k->thread, NULL, keeper_run, k);
	pthread_sigmask(SIG_SETMASK, &was, NULL);
	k->threaded = code == 0;
	return code == 0 ? OK :
	                   FAIL(f, E_SYS, "cannot start a thread: %s", strerror(code));
}

enum keeper_state keeper_state(struct lease_keeper *k, char *text)
{
	enum keeper_state s = keeper_now(k);

	text[0] = '\0';
	if (s == KEEPER_DRAINED)
		snprintf(text, KEEPER_TEXT_MOST, "node %s is drained", k->node.name);
	if (s != KEEPER_STANDBY)
		return s;
	/* The thread may hold the lock as long as the database keeps it waiting. */
	if (pthread_mutex_trylock(&k->lock) != 0) {
		snprintf(
		    text, KEEPER_TEXT_MOST, "waits for the lease %s", k->terms.lease);
		return s;
	}
	snprintf(text, KEEPER_TEXT_MOST, "%s",
	    k->why[0] != '\0' ? k->why : "the lease could not be renewed in time");
	pthread_mutex_unlock(&k->lock);
	return s;
}

bool keeper_may_work(struct lease_keeper *k)
{
	return keeper_now(k) == KEEPER_WORKS;
}

enum err keeper_guard(struct lease_keeper *k, struct db *db, struct fail *f)
{
	int64_t token = k->token;
	bool held = false;
	enum err e;

	if (k->terms.lease == NULL)
		return OK;
	e = token == 0 ? OK : lease_renew(db, k->terms.lease, token, &held, f);
	if (e != OK || held)
		return e;
	if (k->token == token)
		keeper_lost(k);
	return FAIL(f, E_RACE, "another instance has the lease %s: nothing is written",
	    k->terms.lease);
}

static void release_locked(struct lease_keeper *k)
{
	int64_t token = k->token;
	struct fail f = { 0 };

	/* If the database is not available, the lease expires by itself. */
	if (token != 0 && keeper_connect(k, &f) == OK)
		lease_release(k->db, k->terms.lease, token, &f);
	keeper_lost(k);
}

void keeper_release(struct lease_keeper *k)
{
	pthread_mutex_lock(&k->lock);
	release_locked(k);
	pthread_mutex_unlock(&k->lock);
	k->wake = true;
}

void keeper_close(struct lease_keeper *k, bool release)
{
	struct fail f = { 0 };

	if (k == NULL)
		return;
	k->stop = true;
	if (k->threaded)
		pthread_join(k->thread, NULL);
	if (release)
		release_locked(k);
	if (release && k->noted && keeper_connect(k, &f) == OK)
		node_service_ended(k->db, k->node.name, k->terms.service, &f);
	db_close(k->db);
	pthread_mutex_destroy(&k->lock);
}
