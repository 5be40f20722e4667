/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The large files behind the file sets of a snapshot, each once, however many sets it
 * is in: what one job of a reply brings, the others need not bring again.
 */
#ifndef RULES_SCHED_LARGE_H
#define RULES_SCHED_LARGE_H

#include "lib/arena.h"
#include "model/decision.h"
#include "model/snapshot.h"

struct large {
	const struct snap_member *file; /* as a member of some set */
	bool there;                     /* on the host, or brought by this reply */
	bool has_others, elsewhere;     /* said of any of its memberships */
	/* For delete.c: */
	size_t nsets, known; /* sets that it is in, and those among them of which the
	                        snapshot knows the state */
	bool reported;       /* the host says that it is whole there */
	bool paused;         /* some set of it is held back by the admin */
	bool awaits;         /* results of some set of it may come again */
	bool spared;         /* the last one of a file that may be needed */
	bool busy;           /* a job in progress on the host needs it */
	bool goes;           /* it will be ordered deleted, if no job comes to use it */
	enum file_state state; /* of the liveliest set that it is in */
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
/* The files of a set that is in the snapshot: *n of them. */
const struct large_use *larges_of_set(
    const struct larges *, int64_t fileset_id, size_t *n);
/* Bytes of the set that the host must still fetch; 0 for a set that is not there. */
int64_t larges_missing(const struct larges *, int64_t fileset_id);
/* From here on the host has the set. */
void larges_bring(struct larges *, int64_t fileset_id);
/*
 * bytes_needed and bytes_saved of sends[0 .. n), in the order in which they were
 * decided: a file is charged to the first job that needs it.  lost: jobs that others
 * got, which bring nothing; NULL = none.
 */
void larges_charge(struct larges *, struct dec_send *sends, size_t n, const bool *lost);

/* Bytes that an order to delete it frees at once; 0 where none is due. */
double large_freed(const struct large *);
/* The same of a set's files: they would stay for a job of it. */
double larges_freed(const struct larges *, int64_t fileset_id);
/* A job of this set is sent: its files stay. */
void larges_stay(struct larges *, int64_t fileset_id);

#endif
