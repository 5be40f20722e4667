/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one scheduler RPC is answered.  No I/O, no clock, no globals: same arguments,
 * same decision.
 */
#ifndef RULES_SCHED_DECIDE_H
#define RULES_SCHED_DECIDE_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/conf.h"
#include "model/decision.h"
#include "model/request.h"
#include "model/snapshot.h"

/*
 * Order of service (locality.md 3): reports, lost results, targeted jobs, old
 * work, held files, held files that drain (want), working set, deterministic search,
 * plain jobs; then delete orders, delay, messages.  now in s UTC. *rng is consumed; ids
 * in snapshot rows must be final.  lost: result ids that an earlier commit lost to
 * others; they are left out with WHY_LOST_RACE.
 *
 * decision.want and decision.more ask for something instead: wait for the generator, or
 * read the next slice of candidates into the snapshot (at most search_rows in all), and
 * decide again.
 */
struct decision *decide(struct arena *, const struct conf *, const struct request *,
    const struct snapshot *, int64_t now, struct rng *, const int64_t *lost,
    size_t nlost);

/* Does the request ask for work at all (scheduling.md 2.3)?  Load skips the candidates
 * otherwise. */
bool decide_wants_work(const struct conf *, const struct request *);

/* Does the host keep a job of the app beside those that it reports now? */
bool decide_app_on_host(const struct request *, const struct snapshot *, int64_t appid);

/*
 * Order in which the file sets held are tried (locality.md 1.1 (L6)): seeded shuffle,
 * or increasing name with locality_scheduling_sorted_order; what is held in part
 * follows, that first which lacks the fewest bytes.
 */
void locality_order(struct arena *, const struct conf *, struct rng *,
    struct snap_file *files, size_t n);

/* The client's version, major * 10000 + minor * 100 + release, that a row or an option
 * names; old ones hold major * 100 + minor (protocol.md 5.8). */
int64_t version_full(int64_t);

/*
 * Does work that is unsent for longer than locality_scheduling_send_timeout go to the
 * host before that of the files that it holds?  Only if it has a fast link, as such
 * work mostly brings it a new file (locality.md 1.2 (2)).
 */
bool locality_takes_old(
    const struct conf *, const struct request *, const struct snapshot *);

#endif
