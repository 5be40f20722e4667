/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The index of unsent jobs in memory: answers the queries of supply as the database
 * does, so that tests need none.
 */
#ifndef TEST_SUPPLY_STORE_H
#define TEST_SUPPLY_STORE_H

#include "lib/buf.h"
#include "rules/sched/supply.h"

struct stored {
	struct job job;
	int64_t ready;
	bool locked; /* by another request */
};
struct supply_store {
	struct arena *a;
	struct snapshot *snap; /* to which file sets are added */
	struct stored *jobs;   /* by ready, then id */
	size_t njobs, cap;
	struct supply_pair *lasts; /* by file set: the account's last job */
	size_t nlasts, lasts_cap;
	char **names; /* of the working set: the ids of file sets */
	size_t nnames, names_cap;
	int64_t last_fileset;
};

/* The job's place in the index follows from its file set, or its app and workunit. */
void store_add(struct supply_store *, const struct job *, bool locked);
/*
 * Words of a letter and numbers: S2:30 is 30 jobs of file set 2, with ids from 2001 on;
 * X2:5 the first five of them are locked by others; l2:3 the account got the third one;
 * P1:9 nine plain jobs of app 1, with ids from 100001 on; W2 file set 2 is in the
 * working set.
 */
void store_fill(struct supply_store *, const char *spec);
/*
 * Runs the queries of supply until there is enough, a line for each in b:
 *
 *	held AFTER_LAST 2 8/8
 *
 * is the stage, the kind, the subject (file set, or minus the app) and the rows read
 * and asked for; "lock" and "unlock" stand before a query that asks for that.
 * locked: the transaction is open, before and after.
 */
void store_serve(
    const struct supply_store *, struct supply *, bool *locked, struct buf *b);

#endif
