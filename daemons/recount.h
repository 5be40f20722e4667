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

/*
 * After an upgrade, counts the input files of workunits (db/file.h), on behalf of
 * file_deleter: programs of the earlier release have made some without counting them,
 * and finished others without taking them off.
 */

struct count_inputs {
	bool over;    /* it was not wanted, or all ids have been seen */
	int64_t from; /* the ids up to this one have been seen */
	int64_t n;    /* workunits that were not counted rightly */
};

/* Goes on by a slice of ids, unless another instance does.  Until it is over, no input
 * file may be deleted. */
enum err count_inputs_step(struct daemon_ctx *, struct count_inputs *);

#endif
