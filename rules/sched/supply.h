/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which candidates a request gets to see (scheduling.md 2.16). From the request and
 * the rows read so far, supply names the next query or says that there are enough. The
 * caller runs each query and hands its rows over:
 *
 *	while ((q = supply_next(p, locked)) != NULL) {
 *		(run it)
 *		supply_take(p, &rows);
 *	}
 *
 * Supply puts the candidates into the snapshot.
 */
#ifndef RULES_SCHED_SUPPLY_H
#define RULES_SCHED_SUPPLY_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/decision.h"
#include "rules/sched/limits.h"

/* Candidates to read per wanted job, as most may not fit (performance.md 1 (R5)). */
enum { CANDIDATES_PER_JOB = 4 };

struct supply;
struct supply_in { /* what the first queries depend on */
	const struct conf *conf;
	const struct request *req;
	/* what was read already: host, account, reports, files held */
	struct snapshot *snap;
	int64_t now;
	uint64_t seed;    /* seeds this RPC's random draws */
	size_t nlost;     /* claims that this RPC has lost to other requests */
	bool gets_no_job; /* the host is refused */
	bool may_lock;    /* this RPC may open a transaction */
	bool in_cluster;  /* locks taken on other cluster nodes are invisible */
	bool draws;       /* draw jobs for statistics with draw_rng */
	struct rng draw_rng;
	int64_t only_job; /* the only candidate to consider; 0 = consider all */
	const struct contention *contention; /* as of now; NULL if unknown */
	/* sets of held files that have work and are not in the snapshot yet */
	const int64_t *held;
	size_t nheld;
};

/* Creates the supply of one RPC. Sorts the snapshot's file sets into the order in
 * which they are tried; drops them if no app uses locality. */
struct supply *supply_new(struct arena *, const struct supply_in *);
/*
 * Returns the next query, the same one until its rows are taken; NULL if there are
 * enough candidates. locked: a transaction that locks candidates is open. Before a
 * query with lock set, the caller opens this transaction; before one with unlock
 * set, the caller rolls it back.
 */
const struct supply_query *supply_next(struct supply *, bool locked);
/* Takes the rows of that query; they belong to the snapshot from now on. */
void supply_take(struct supply *, const struct supply_rows *);
/* True if the rows of the last query were not taken yet. */
bool supply_pending(const struct supply *);
/* Starts a further pass because the decision asks for more candidates (its fields
 * more and more_nci); supply_next() returns queries again. */
void supply_more(struct supply *, const struct decision *);

/* Key of the once rule for the jobs of this reply: a user id, or minus a host id; 0
 * if there is no such rule or no result can carry the key yet. */
int64_t supply_once_key(const struct conf *, const struct snapshot *);
/* Maximum number of candidates to read for this request: 4 x the jobs that it can
 * get (performance.md 1 (R5)), at least 4. */
size_t supply_need(
    const struct conf *, const struct request *, const struct snapshot *);

#endif
