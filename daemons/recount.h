/* SPDX-License-Identifier: Apache-2.0 */
/*
 * After an upgrade, compares the counts of workunits with the workunits, on behalf of
 * the transitioner: until it was restarted, programs of the earlier release may have
 * moved some without counting them.
 */
#ifndef DAEMONS_RECOUNT_H
#define DAEMONS_RECOUNT_H

#include "daemons/loop.h"

struct recount {
	bool over;    /* it was not wanted, or all ids have been seen */
	int64_t from; /* the ids up to this one have been seen */
};

/* Goes on by a slice of ids.  *full: there are more. */
enum err recount_step(struct daemon_ctx *, struct recount *, bool *full);

#endif
