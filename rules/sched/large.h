/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The large files of a snapshot's file sets, each one once, however many sets have it:
 * what one job of a reply brings, the other jobs need not bring again.
 */
#ifndef RULES_SCHED_LARGE_H
#define RULES_SCHED_LARGE_H

#include "lib/arena.h"
#include "model/conf.h"
#include "model/decision.h"

/* States of a file set, and who may get its results (locality.md 2). */

/*
 * Derives the state of a file from facts in its row (locality.md 2). Without a wait
 * period, it is never DRAINING.
 */
enum file_state fileset_state(const struct conf *, const struct snap_file *);

/* May the generator be asked for more of it? */
bool fileset_may_be_made(const struct conf *, const struct snap_file *);
/*
 * May the account get this job? It gets the results of a file by increasing id (L16),
 * so that the copies of a workunit meet soon. Results that it was passed over with are
 * for others, until enough time has passed.
 */
bool fileset_in_order(const struct snap_file *, const struct job *, int64_t last_id);

struct large {
	const struct snap_member *file; /* as a member of one of its sets */
	bool there;                     /* on the host, or brought by this reply */
	bool has_others, elsewhere;     /* true for any of its memberships */
	/* Used by delete.c: */
	/* number of its sets, and number of those whose state the snapshot knows */
	size_t nsets, known;
	bool reported;         /* the host reports it as complete */
	bool paused;           /* one of its sets is paused by the admin */
	bool awaits;           /* one of its sets may get results again */
	bool spared;           /* last copy of a file that may be needed */
	bool busy;             /* a job in progress on the host needs it */
	bool goes;             /* to be deleted, unless a job of this reply uses it */
	enum file_state state; /* state of its liveliest set */
	size_t future;         /* jobs that need it and that the host could get */
};
struct large_use { /* a set needs a file */
	int64_t fileset_id;
	struct large *large;
};
struct larges {
	struct large *v; /* by increasing file id */
	size_t n;
	struct large_use *uses; /* by increasing file set id */
	size_t nuses;
};

struct larges larges_of(struct arena *, const struct snapshot *);
/* The files of a set in the snapshot: *n of them. */
const struct large_use *larges_of_set(
    const struct larges *, int64_t fileset_id, size_t *n);
/*
 * Bytes of the set that the host must still fetch; 0 for a set that is not in the
 * snapshot.
 */
int64_t larges_missing(const struct larges *, int64_t fileset_id);
/* From now on the host has the set. */
void larges_bring(struct larges *, int64_t fileset_id);
/*
 * Sets bytes_needed and bytes_saved of sends[0 .. n) in the order of the decision: a
 * file is charged to the first job that needs it. lost: jobs that other requests took,
 * which bring nothing; NULL = none.
 */
void larges_charge(struct larges *, struct dec_send *sends, size_t n, const bool *lost);

/* Bytes that deleting the file frees at once; 0 if it is not to be deleted. */
double large_freed(const struct large *);
/* The same for the files of a set, which would stay for one of its jobs. */
double larges_freed(const struct larges *, int64_t fileset_id);
/* A job of this set is sent, so its files stay. */
void larges_stay(struct larges *, int64_t fileset_id);

#endif
