/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Keeps the lease of a daemon's work (db/node.h), on a connection and a thread of its
 * own, so that a long step or command does not lose it; and notes in the database that
 * the daemon runs. A daemon works only while keeper_may_work(): its lease was renewed
 * within the lease's term, by the monotonic clock of this machine, and no admin has
 * drained the node. What it then writes is guarded by the lease's token.
 */
#ifndef DAEMONS_LEASE_KEEPER_H
#define DAEMONS_LEASE_KEEPER_H

#include <stdbool.h>
#include "db/db.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

struct lease_keeper;

enum keeper_state {
	KEEPER_WORKS,   /* has the lease, or needs none */
	KEEPER_STANDBY, /* another instance has it, or the database is unreachable */
	KEEPER_DRAINED  /* an admin has drained this node */
};

struct keeper_terms {
	const struct conf *conf;
	const char *lease;   /* name of the work; NULL: the daemon needs no lease */
	const char *service; /* name of the instance */
	bool one_pass;       /* an admin may run a single pass on a drained node */
};

enum { KEEPER_TEXT_MOST = 300 };

/* Contacts no server yet. */
enum err keeper_open(struct arena *life, const struct keeper_terms *,
    struct lease_keeper **, struct fail *);
/*
 * Takes or renews the lease once, in the caller's thread, before keeper_start(). An
 * error leaves the state as it was.
 */
enum err keeper_turn(struct lease_keeper *, struct fail *);
/* Did the present holder renew the lease while this instance waited for it? */
bool keeper_holder_lives(struct lease_keeper *);
/* Starts the thread. */
enum err keeper_start(struct lease_keeper *, struct fail *);
/*
 * The state now; text (KEEPER_TEXT_MOST bytes) receives the reason of a state in which
 * the daemon does not work, "" if it works.
 */
enum keeper_state keeper_state(struct lease_keeper *, char *text);
bool keeper_may_work(struct lease_keeper *);
/*
 * First statement of a transaction that writes: renews the lease in it. E_RACE:
 * another instance has the lease, so the transaction must be rolled back.
 */
enum err keeper_guard(struct lease_keeper *, struct db *, struct fail *);
/* Gives the lease up, between two steps; a drained node calls it. */
void keeper_release(struct lease_keeper *);
/*
 * Ends the thread and closes the connection; release: gives the lease up, too. NULL is
 * allowed.
 */
void keeper_close(struct lease_keeper *, bool release);

#endif
