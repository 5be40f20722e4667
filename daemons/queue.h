/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A daemon's dealings with workunits that it cannot handle. Each is put aside in the
 * database, with the reason, the number of tries and the time of the next one, and
 * leaves the daemon's queue, so that any number of them delays nobody. When nothing at
 * all succeeds, the daemon pauses and tries a few from time to time
 * (scheduling.md 4.9).
 */
#ifndef DAEMONS_QUEUE_H
#define DAEMONS_QUEUE_H

#include "daemons/loop.h"
#include "db/workunit.h"
#include "rules/daemon/transition.h"

struct queue_troubles {
	struct row_wu_trouble *v;
	size_t n;
};
struct daemon_queue {
	struct wu_queue_id id;
	enum aside_how how;
	bool troubled;    /* some workunits may be put aside */
	int64_t asked_at; /* s UTC: of the step in which this was last asked */
	bool shown;       /* run/NAME.paused exists */
	struct queue_pause pause;
	enum pause_turn turn;         /* of this step */
	struct queue_troubles before; /* what this step's queue had before it */
	struct retry_share retry;
	int64_t
	    retry_ms; /* when this step with such workunits began; 0 = it has none */
	int64_t from, from_at; /* where those begin that it has not tried; s UTC */
	int64_t woken_at; /* s UTC: of the step in which none was left to put back */
};

/* name: of the daemon in the database. Takes a pause over from an earlier process. */
void queue_start(
    struct daemon_ctx *, struct daemon_queue *, const char *name, enum aside_how);

/*
 * Lists what the daemon may work on in this step, at most max workunits: its queue, a
 * sample of it, or nothing while it pauses. For validator and assimilator.
 */
enum err queue_due(struct daemon_ctx *, struct daemon_queue *, size_t max,
    struct workunit **, size_t *n);
/* May it go on with this step, as neither too much has failed by now nor what had
 * failed before takes too long? */
bool queue_may_go_on(const struct daemon_ctx *, const struct daemon_queue *);

/* A workunit that could not be handled. */
struct queue_failure {
	const struct workunit *wu;
	const char *why, *detail; /* detail may be NULL */
	int64_t next_time;        /* when to try again; 0 = as aside_pause_s() says */
	bool left; /* it has left the queue already, or does so in the same unit */
};
struct queue_outcomes { /* of a chunk */
	const struct queue_failure *bad;
	size_t nbad;
	const int64_t *good; /* ids, ascending */
	size_t ngood;
};
/*
 * Puts the failures aside and forgets the troubles of those that were handled. All
 * outcomes of a chunk are told at once, so that one success counts. In a dry run does
 * nothing.
 */
enum err queue_tried(
    struct daemon_ctx *, struct daemon_queue *, const struct queue_outcomes *);
/*
 * As queue_tried(), after unit(x, arg), which stores what was handled, in the same
 * transaction.
 */
enum err queue_store(struct daemon_ctx *, struct daemon_queue *,
    enum err (*unit)(struct daemon_ctx *, void *), void *arg,
    const struct queue_outcomes *);
/*
 * Is the workunit to blame for the error e, which is in x->fail? Then logs it, sets
 * v->why and *blamed, and the caller passes v to queue_tried(). What is not its fault
 * is returned (no database, a full disk), or left to the next step (lost races).
 */
enum err queue_blame(
    struct daemon_ctx *, struct queue_failure *v, enum err e, bool *blamed);
/* Logs and shows that the workunit is to blame, as v->why says. */
void queue_accuse(struct daemon_ctx *, const struct queue_failure *v, enum err e);
/* Takes those out of n workunits that are put aside and stay in the queue. */
enum err queue_drop_aside(
    struct daemon_ctx *, struct daemon_queue *, struct workunit *, size_t *n);
/*
 * Ends a step. broken: why the handler does not work at all, NULL = it does; then the
 * step ends with E_SYS.
 */
enum err queue_step_ends(
    struct daemon_ctx *, struct daemon_queue *, const char *broken);

/* How a daemon handles workunits. */
struct queue_calls {
	size_t most; /* workunits of a chunk */
	enum err (*some)(struct daemon_ctx *, struct workunit *const *, size_t);
	enum err (*each)(struct daemon_ctx *, struct workunit *);
	bool tells; /* they call queue_tried() themselves */
};
/*
 * Calls some(x, chunk, m) for chunks of at most `most` workunits, ordered by id, until
 * it is time to stop. If a chunk fails, one workunit may be to blame, so each(x, wu)
 * is called for every workunit of it, and those that fail are put aside. *done counts
 * both, as both have left the queue.
 */
enum err queue_chunks(struct daemon_ctx *, struct daemon_queue *,
    const struct queue_calls *, struct workunit *, size_t n, size_t *done);

#endif
