/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which file sets of the files that a host holds are read for a request, so that its
 * cost does not depend on how many files it holds (locality.md 3).
 */
#ifndef RULES_SCHED_HELD_H
#define RULES_SCHED_HELD_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/conf.h"
#include "model/decision.h"

/*
 * Read at once: a few sets with work; what is unknown, because a file may have to be
 * deleted, those first of which most is held; if work is scarce, sets for which it may
 * be made; if there is nothing else, closed sets, so that the reply can say so. At
 * most 256. Sets with work are drawn (seeded), or taken in the order of their names
 * with locality_scheduling_sorted_order; whole ones come first.
 */
struct held_choice held_choose(struct arena *, const struct conf *, struct rng *,
    const struct held_set *, size_t n);
/* What is to be remembered of a set that was read. */
enum held_is held_is_of(const struct conf *, const struct snap_file *);

#endif
