/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files supply*.c only. Each stage has a reader, which names the
 * stage's queries and takes their rows. A reader has three functions: begin, which
 * the stage calls with its arguments, next and take.
 */
#ifndef RULES_SCHED_SUPPLY_OWN_H
#define RULES_SCHED_SUPPLY_OWN_H

#include "rules/sched/prefs.h"
#include "rules/sched/supply.h"
#include "rules/sched/work_req.h"

struct supply_goal { /* what the candidates are needed for */
	struct serving apps;
	struct work_req work;
	size_t need; /* this many candidates of a resource are always enough */
};

/* Reads jobs of file sets in slices. */
struct supply_files {
	/* indexes into snapshot.files: the first set, the current set */
	size_t from, at;
	size_t most, got;
	enum {
		FILES_CHOOSE, /* choose the next set */
		FILES_HELD,   /* read further sets of held files */
		/* find the account's last job before reading the first slice */
		FILES_LAST,
		/* find the place behind the jobs to leave to other requests */
		FILES_SKIP,
		FILES_SLICE,
		FILES_LAST_OF_NONE, /* as FILES_LAST, after an empty first slice */
		FILES_PASSED_OVER,  /* read jobs before the account's last one */
		FILES_RELEASED      /* find which of these jobs may be offered again */
	} state;
	bool held; /* read them if those in the snapshot do not suffice */
	bool lock, find_last, full;
	int64_t skip, after;
	size_t asked, cap;
	size_t npassed; /* rows that FILES_PASSED_OVER read */
};

/* Reads plain jobs of some apps, each app from a random shard on. */
struct supply_plain {
	bool *apps; /* by catalogue index: apps still to be read */
	/* two choices; apps of the first one are read first */
	const enum app_choice *choices;
	size_t first, i; /* the current app is (first + i) modulo the number of apps */
	size_t most, from; /* limit and initial length of snapshot.plain */
	size_t resource;   /* index of the resource that the jobs are for */
	enum { PLAIN_CHOOSE, PLAIN_FROM_SHARD, PLAIN_AROUND } state;
	bool lock;
	int64_t start;        /* the first shard read, as in result.ready */
	size_t before, asked; /* length of snapshot.plain before the current app */
};

/* Finds file sets with unsent jobs by a walk over their ids from a seeded start. */
struct supply_search {
	struct rng rng;
	bool old;        /* find only sets with old work */
	bool only_ready; /* stop if no unsent job needs a file */
	size_t want, n;
	int64_t *ids;
	enum {
		SEARCH_LASTS,
		SEARCH_NEXT,
		SEARCH_START,
		SEARCH_MAKEABLE,
		SEARCH_OLDEST,
		SEARCH_SETS,
		SEARCH_DONE
	} state;
	int64_t start, at; /* the first and the current place of the walk */
	size_t step;
	bool wrapped;
	int64_t starts[2]; /* where to look for sets that may get work */
	size_t turn, seen;
};

struct supply_picks {
	char **names;
	size_t nnames, at, part, round;
	size_t want, n;
	int64_t *ids;
	enum { PICKS_NAMES, PICKS_NAMED, PICKS_SETS, PICKS_DONE } state;
};

struct supply_once {
	const int64_t *ids; /* workunit ids */
	size_t n, at;
};

struct supply_draw {
	size_t i;
	int64_t fileset_id;
	enum { DRAW_LASTS, DRAW_NEXT, DRAW_JOB, DRAW_MEMBERS, DRAW_DONE } state;
};

struct supply_only {
	enum { ONLY_JOB, ONLY_SET, ONLY_LAST, ONLY_RELEASED, ONLY_DONE } state;
	struct job *job;
	int64_t last_id;
};

struct walk_segment {
	int64_t first, last; /* range of result.ready */
	enum { SEGMENT_HELD, SEGMENT_PLAIN, SEGMENT_OTHER } kind;
};
/* Reads one slice of a walk around the index of unsent jobs. */
struct supply_walk {
	bool nci;
	struct snap_search *cursor;
	const bool *apps;       /* by catalogue index: apps whose plain jobs are read */
	struct walk_segment *v; /* in walk order */
	size_t n, cap, at, from; /* from: the segment where the walk began */
	size_t rows_before;
	enum {
		WALK_SEGMENT,
		WALK_SAME,    /* the rest of the cursor's file set or shard */
		WALK_BETWEEN, /* the rest of the segment */
		WALK_SETS,
		WALK_LAST_IDS,
		WALK_RELEASED
	} state;
	int64_t whole;    /* from this result.ready on, all jobs are read */
	struct job *jobs; /* rows of the current segment */
	size_t njobs, most;
	/* sets of these jobs; sets whose last ids are unknown */
	int64_t *sets, *unread;
	size_t nsets, nunread, unread_at, part, old_nfiles;
	size_t taken_cap; /* capacity of snapshot.user_wus */
};

struct supply {
	struct arena *a;
	struct supply_in in;
	struct contention contention;
	bool wants; /* the request asks for work and may get some */
	struct supply_goal goal;
	int64_t once;

	unsigned passes;
	enum supply_stage stage;
	/* how many times the stage began; a begin function may skip rounds */
	size_t round;
	bool begun; /* the stage's reader has begun */
	struct supply_query query;
	bool pending;
	bool locked, unlock;
	/* stop at enough candidates; else read all up to the limit, without locking
	 * or skipping any */
	bool until_enough;
	struct rng rng;
	/* index in snapshot.files of the first set that the last stage added */
	size_t from;
	bool left_before; /* search.left as it was before the stage nci */
	bool *plain_apps; /* apps for the current resource */
	bool more;        /* the decision asks for more candidates ... */
	bool first_more;  /* ... for the first time */
	/* by catalogue index: apps that the decision refused */
	const bool *app_refused;

	size_t held_read; /* of in.held, so many are in the snapshot */
	struct supply_files files;
	struct supply_plain plain;
	struct supply_search search;
	struct supply_picks picks;
	struct supply_once once_rule;
	struct supply_draw draw;
	struct supply_only only;
	struct supply_walk walk;
	bool targeted_asked;
};

/* --- supply.c: supply stages --- */
/* Sets up the stage's reader for the next round; false if there is no further round. */
#define STAGE(name, passes, reader, why) bool supply_begin_##name(struct supply *);
#include "model/supply_stages.def"
#undef STAGE

/* --- supply_ask.c: supply enough --- */
/* True if the request wants work for this resource and some app can supply it. */
bool supply_asks(const struct supply *, size_t resource);
/* True if the candidates suffice to fill the reply for this resource, even if most
 * do not fit. */
bool supply_enough_for(const struct supply *, size_t resource);
/* as supply_enough_for(), for all resources */
bool supply_enough(const struct supply *);
/* Number of candidates to read until there are enough, for the resource that lacks
 * most. */
size_t supply_missing(const struct supply *);
/* As supply_enough_for(), counting only the plain jobs read for the current
 * resource. */
bool supply_enough_plain(const struct supply *);

/* --- supply_ask.c --- */
/* Number of the first jobs of a file set (or of an app: minus its id) to leave to
 * other requests. */
int64_t supply_skip(const struct supply *, int64_t fileset_id);
/* True if the jobs of the set, or app, are locked as they are read. */
bool supply_locks(const struct supply *, int64_t fileset_id);
/*
 * Prepares reading again without locks after a locked read found nothing: the owner
 * of a lock may give the job up. Rolls the transaction back if it holds no
 * candidate, because it may hold the lock of a result whose workunit is locked by
 * another transaction that waits for the result.
 */
void supply_unlock(struct supply *);
/* Query for the last ids of the index of unsent jobs and of the file sets, and its
 * answer. */
void supply_ask_lasts(struct supply_query *);
void supply_take_lasts(struct supply *, const struct supply_rows *);
/* Query for file sets by id. */
void supply_ask_sets(
    struct supply_query *, const int64_t *ids, size_t n, enum set_origin);

/* --- readers: begin, next (false when done), take --- */
#define READER(name)                                                                   \
	bool supply_##name##_next(struct supply *, struct supply_query *);             \
	void supply_##name##_take(struct supply *, const struct supply_rows *);
READER(files)
READER(plain)
READER(search)
READER(picks)
READER(once)
READER(draw)
READER(only)
READER(targeted)
READER(walk)
#undef READER

/* Reads jobs of snapshot.files[from] and the following sets, at most `most` jobs. */
void supply_files_begin(struct supply *, size_t from, size_t most);
/*
 * Reads at most `most` more plain jobs of the apps marked in `apps` (by catalogue
 * index) that the account wants, or if !wanted, of those it does not want. Unmarks
 * each app that it reads.
 */
void supply_plain_begin(struct supply *, bool *apps, size_t most, bool wanted);
/* Finds at most `want` file sets that the snapshot lacks. supply_few_begin() finds
 * none if no unsent job needs a file. */
void supply_search_begin(struct supply *, struct rng, size_t want);
void supply_few_begin(struct supply *, struct rng, size_t want);
/* Finds file sets whose oldest unsent job was created before the timeout. */
void supply_old_begin(struct supply *, struct rng);
/* Picks at most `want` file sets from the working set. */
void supply_picks_begin(struct supply *, size_t want);
/* Checks these workunits against the once rule. */
void supply_once_begin(struct supply *, const int64_t *workunitids, size_t n);
/* Draws jobs for statistics. */
void supply_draw_begin(struct supply *);
/* Reads the next slice: of file sets and plain jobs, or if nci, of apps that use
 * almost no CPU. */
void supply_walk_begin(struct supply *, bool nci, const bool *apps);

#endif
