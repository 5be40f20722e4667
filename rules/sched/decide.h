/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Decides the answer to one scheduler RPC. No I/O, no clock, no globals: same
 * arguments, same decision.
 */
#ifndef RULES_SCHED_DECIDE_H
#define RULES_SCHED_DECIDE_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/conf.h"
#include "model/decision.h"
#include "model/request.h"

/*
 * Estimates what hosts would have to fetch without locality: on one request in 16, some
 * jobs are drawn at random, whatever the host holds. The mean number of bytes that the
 * host lacks for those that fit it is what a job would have cost.
 */

enum { BASELINE_DRAWS = 8, BASELINE_SHARDS = 16 };

/*
 * Is this request one of the sample? Depends on host and rpc_seqno, so that a repeated
 * request gets the same answer. *rng is for the draws. Never true for a host without an
 * id: its first request holds no files in any case.
 */
bool baseline_cost_due(int64_t hostid, int64_t seqno, struct rng *rng);

/* Counts the new jobs of file sets that are sent, and the bytes that they need. */
size_t baseline_cost_jobs(const struct decision *, int64_t *bytes_needed);

/*
 * Order of service (locality.md 3): reports, lost results, targeted jobs, overdue work,
 * held files, draining held files (want), working set, deterministic search, plain
 * jobs; then delete orders, delay, messages. now in s UTC. *rng is consumed; ids in
 * snapshot rows must be final. lost: ids of results that an earlier commit lost to
 * other requests; they are left out with WHY_LOST_RACE.
 *
 * decision.want and decision.more ask the caller to do something first and then decide
 * again: to wait for the generator, or to read the next slice of candidates into the
 * snapshot (at most search_rows in all).
 */
struct decision *decide(struct arena *, const struct conf *, const struct request *,
    const struct snapshot *, int64_t now, struct rng *, const int64_t *lost,
    size_t nlost);

/*
 * The least delay in s that min_sendwork_interval demands of every reply, 0 = none
 * (scheduling.md 2.15).
 */
double decide_interval_s(const struct conf *);

/*
 * Does the request ask for work at all (scheduling.md 2.3)? If not, no candidates are
 * read.
 */
bool decide_wants_work(const struct conf *, const struct request *);

/* Does the host still have a job of the app, apart from those that it reports now? */
bool decide_app_on_host(const struct request *, const struct snapshot *, int64_t appid);

/*
 * Sorts held file sets into the order in which they are tried (locality.md 1.1 (L6)): a
 * seeded shuffle, or by name with locality_scheduling_sorted_order. Partly held sets
 * follow, by increasing number of missing bytes.
 */
void locality_order(struct arena *, const struct conf *, struct rng *,
    struct snap_file *files, size_t n);

/*
 * Converts a client version from a row or an option to major * 10000 + minor * 100 +
 * release; old values are major * 100 + minor (protocol.md 5.8).
 */
int64_t version_full(int64_t);

/*
 * May work that has been unsent for longer than locality_scheduling_send_timeout go to
 * this host before jobs of the files that it holds? Only if its link is fast, because
 * such work usually brings a new file (locality.md 1.2 (2)).
 */
bool locality_takes_old(
    const struct conf *, const struct request *, const struct snapshot *);

#endif
