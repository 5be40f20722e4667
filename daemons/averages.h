/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lets recent average credit decay where nothing is granted, on behalf of the
 * transitioner, the daemon that every project runs (scheduling.md 4.7).
 */
#ifndef DAEMONS_AVERAGES_H
#define DAEMONS_AVERAGES_H

#include "daemons/loop.h"

struct averages {
	int64_t begun_at; /* when the last pass over all rows began; 0 = none has */
	int32_t table; /* of the pass: enum averages_of; after the last, it is over */
	int64_t after; /* the pass has come to this id */
};

/*
 * Continues the pass over hosts, accounts and teams, some batches at a time; a new one
 * begins every hour.  Only averages that are older than a day are updated. *full: more
 * is due at once.
 */
enum err averages_step(struct daemon_ctx *, struct averages *, bool *full);

#endif
