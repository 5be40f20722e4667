/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/sched/contention.h"

#include <stddef.h>
#include "lib/arena.h"
#include "lib/banned.h"

enum { CONTENDED_S = 10, LEAST = 8, MOST = 64 };

static bool
is_contended(const struct contended_set *set, int64_t now)
{
	return set->fileset_id != 0 && now >= set->since &&
	       now - set->since < CONTENDED_S;
}

void
contention_lost(struct contention *h, int64_t fileset_id, int64_t now)
{
	struct contended_set *at = &h->sets[0];

	for (size_t i = 0; i < N(h->sets); i++) {
		if (h->sets[i].fileset_id == fileset_id) {
			at = &h->sets[i];
			break;
		}
		if (h->sets[i].since < at->since)
			at = &h->sets[i]; /* the oldest gives way */
	}
	if (at->fileset_id != fileset_id || !is_contended(at, now))
		*at = (struct contended_set){ .fileset_id = fileset_id };
	at->since = now;
	at->losses += at->losses < MOST;
}

bool
contention_is(const struct contention *h, int64_t fileset_id, int64_t now)
{
	for (size_t i = 0; i < N(h->sets); i++)
		if (h->sets[i].fileset_id == fileset_id &&
		    is_contended(&h->sets[i], now))
			return true;
	return false;
}

int64_t
contention_skip(
    const struct contention *h, int64_t fileset_id, int64_t now, struct rng *rng)
{
	for (size_t i = 0; i < N(h->sets); i++) {
		const struct contended_set *set = &h->sets[i];
		int64_t window = LEAST * (int64_t)set->losses;

		if (set->fileset_id == fileset_id && is_contended(set, now))
			return (int64_t)rng_below(
			    rng, (uint64_t)(window < MOST ? window : MOST));
	}
	return 0;
}
