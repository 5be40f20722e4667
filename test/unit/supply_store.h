/* SPDX-License-Identifier: Apache-2.0 */
/* An index of unsent jobs in memory that answers supply's queries as the database
 * does, so that tests need no database. */
#ifndef TEST_SUPPLY_STORE_H
#define TEST_SUPPLY_STORE_H

#include "lib/buf.h"
#include "rules/sched/supply.h"

struct stored {
	struct job job;
	int64_t ready;
	bool locked; /* locked by another request */
};
struct supply_store {
	struct arena *a;
	struct snapshot *snap; /* file sets are added to it */
	struct stored *jobs;   /* sorted by ready, then id */
	size_t njobs, cap;
	struct supply_pair *lasts; /* by file set: the account's last job */
	size_t nlasts, lasts_cap;
	char **names; /* names in the working set: ids of file sets */
	size_t nnames, names_cap;
	int64_t last_fileset;
};

/* Adds a job; its place in the index follows from its file set, or from its app and
 * workunit. */
void store_add(struct supply_store *, const struct job *, bool locked);
/*
 * Adds jobs as specified in words of a letter and numbers. S2:30 = 30 jobs of file
 * set 2, with ids from 2001 on; X2:5 = others have locked the first five of them;
 * l2:3 = the account got the third one; P1:9 = nine plain jobs of app 1, with ids
 * from 100001 on; W2 = file set 2 is in the working set.
 */
void store_fill(struct supply_store *, const char *spec);
/*
 * Runs supply's queries until there are enough candidates and appends a line for each
 * query to b:
 *
 *	held AFTER_LAST 2 8/8
 *
 * names the stage, the kind, the subject (file set, or minus the app id) and the
 * numbers of rows read and asked for; "lock" and "unlock" precede a query that asks for
 * them. *locked: whether the transaction is open, before and after the call.
 */
void store_serve(
    const struct supply_store *, struct supply *, bool *locked, struct buf *b);

#endif
