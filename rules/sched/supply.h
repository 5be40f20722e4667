/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which candidates a request gets to see (scheduling.md 2.16): from the request and what
 * was read so far, the next query, or that there is enough.  Whoever asks runs the
 *query and hands over its rows:
 *
 *	while ((q = supply_next(p, locked)) != NULL) {
 *		(run it)
 *		supply_take(p, &rows);
 *	}
 *
 * The candidates go into the snapshot.
 */
#ifndef RULES_SCHED_SUPPLY_H
#define RULES_SCHED_SUPPLY_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/decision.h"
#include "model/supply.h"
#include "rules/sched/contention.h"

struct supply;
struct supply_in { /* what the first queries follow from */
	const struct conf *conf;
	const struct request *req;
	struct snapshot *snap; /* read so far: host, account, reports, files held */
	int64_t now;
	uint64_t seed;    /* of the RPC's draws */
	size_t nlost;     /* jobs that this RPC has lost to others */
	bool gets_no_job; /* the host is refused */
	bool may_lock;    /* this RPC may open a transaction */
	bool in_cluster;  /* locks of other nodes are not seen */
	bool draws;       /* some jobs are drawn for statistics, with draw_rng */
	struct rng draw_rng;
	int64_t only_job;                    /* the only candidate; 0 = all */
	const struct contention *contention; /* as of now; NULL: none is known */
};

/*
 * Puts the file sets of the snapshot in the order in which they are to be tried; where
 * no app goes by locality they are dropped.
 */
struct supply *supply_new(struct arena *, const struct supply_in *);
/*
 * The next query, the same one until its rows are taken; NULL: there is enough.
 * locked: the transaction in which candidates are locked is open.  The caller opens it
 * before a query with lock, and rolls it back before one with unlock.
 */
const struct supply_query *supply_next(struct supply *, bool locked);
/* The rows of that query; they belong to the snapshot from now on. */
void supply_take(struct supply *, const struct supply_rows *);
/* Is there a query whose rows were not taken? */
bool supply_pending(const struct supply *);
/* The decision asks for more candidates (its more, more_nci): there are queries again.
 */
void supply_more(struct supply *, const struct decision *);

/* The key of the once rule that this reply's jobs will carry: a user id, or minus a
 * host id; 0 = none, or nobody can have it yet. */
int64_t supply_once_key(const struct conf *, const struct snapshot *);
/*
 * How many candidates are read at most for this request: 4 x the jobs that it can get
 * (performance.md 1 (R5)), at least 4.
 */
size_t supply_need(
    const struct conf *, const struct request *, const struct snapshot *);

#endif
