/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files supply*.c share.  A reader names the queries of a stage and takes
 * their rows; it has a begin, which the stage calls with its arguments, a next and a
 * take.
 */
#ifndef RULES_SCHED_SUPPLY_OWN_H
#define RULES_SCHED_SUPPLY_OWN_H

#include "rules/sched/serving.h"
#include "rules/sched/supply.h"
#include "rules/sched/work_req.h"

/* Candidates read for each job that is wanted: most may not fit (performance.md 1
 * (R5)). */
enum { CANDIDATES_PER_JOB = 4 };

struct supply_goal { /* what candidates are read for */
	struct serving apps;
	struct work_req work;
	size_t need; /* candidates of a resource that are enough in any case */
};

/* Jobs of file sets, in slices. */
struct supply_files {
	size_t from, at; /* of snapshot.files: the first, and the one being read */
	size_t most, got;
	enum {
		FILES_CHOOSE, /* the next set */
		FILES_LAST,   /* the account's last job, before the first slice */
		FILES_SKIP,   /* jobs left to other requests */
		FILES_SLICE,
		FILES_LAST_OF_NONE, /* as FILES_LAST, as the first slice is empty */
		FILES_PASSED_OVER,  /* jobs before the account's last one */
		FILES_RELEASED      /* which of them are offered again */
	} state;
	bool lock, find_last, full;
	int64_t skip, after;
	size_t slice, asked, cap;
	size_t npassed; /* rows of FILES_PASSED_OVER */
};

/* Plain jobs of some apps, each from a random shard on. */
struct supply_plain {
	bool *apps; /* by place in the catalogue: those not read yet */
	const enum app_choice *choices; /* two: apps of the first one go first */
	size_t first, i;                /* the app is (first + i) modulo their number */
	size_t most, from; /* of snapshot.plain: its limit, where this began */
	size_t resource;   /* that they are for */
	enum { PLAIN_CHOOSE, PLAIN_FROM_SHARD, PLAIN_AROUND } state;
	bool lock;
	int64_t start;        /* shard, as result.ready */
	size_t before, asked; /* plain jobs before this app */
};

/* File sets with unsent jobs, by a walk over their ids from a seeded start on. */
struct supply_search {
	struct rng rng;
	bool old;        /* only those with old work */
	bool only_ready; /* no others if no job needs a file */
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
	int64_t start, at; /* of the walk */
	size_t step;
	bool wrapped;
	int64_t starts[2]; /* of the look for sets that may get work */
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
	const int64_t *ids; /* of workunits */
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
	int64_t first, last; /* of result.ready */
	enum { SEGMENT_HELD, SEGMENT_PLAIN, SEGMENT_OTHER } kind;
};
/* A slice of a walk around the index of unsent jobs. */
struct supply_walk {
	bool nci;
	struct snap_search *cursor;
	const bool *apps;        /* by place in the catalogue: whose plain jobs */
	struct walk_segment *v;  /* in the order of the walk */
	size_t n, cap, at, from; /* from: where the walk began */
	size_t rows_before;
	enum {
		WALK_SEGMENT,
		WALK_SAME,    /* the rest of the file set, or shard, of the cursor */
		WALK_BETWEEN, /* the rest of the segment */
		WALK_SETS,
		WALK_LAST_IDS,
		WALK_RELEASED
	} state;
	int64_t whole;    /* result.ready from which on all jobs are read */
	struct job *jobs; /* rows of this segment */
	size_t njobs, most;
	int64_t *sets, *unread; /* of jobs; whose last ids are not known */
	size_t nsets, nunread, unread_at, part, old_nfiles;
	size_t taken_cap; /* of snapshot.user_wus */
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
	size_t round; /* of the stage: how often it began; begin may skip some */
	bool begun;   /* the reader is at work */
	struct supply_query query;
	bool pending;
	bool locked, unlock;
	bool until_enough; /* else all that there are, up to the limit; nothing is
	                      locked or left to others */
	struct rng rng;
	size_t from;      /* where in snapshot.files the last stage's sets begin */
	bool left_before; /* search.left without the apps of the stage nci */
	bool *plain_apps; /* of the resource at hand */
	bool more;        /* the decision asks for more candidates, */
	bool first_more;  /* for the first time */
	const bool *app_refused; /* by place in the catalogue, by the decision */

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

/* --- supply_stages.c --- */
/* Sets up the reader of a stage for the next round; false: there is none. */
#define STAGE(name, passes, reader, why) bool supply_begin_##name(struct supply *);
#include "model/supply_stages.def"
#undef STAGE

/* --- supply_enough.c --- */
/* Is work of this resource asked for, and could some app give it? */
bool supply_asks(const struct supply *, size_t resource);
/* Were so many candidates read that the reply can be filled from them, though most may
 * not fit? */
bool supply_enough_for(const struct supply *, size_t resource);
bool supply_enough(const struct supply *); /* for all resources */
/* The same of the plain jobs that were read for a resource. */
bool supply_enough_plain(const struct supply *);

/* --- supply_ask.c --- */
/* How many first jobs of the set (of an app: minus its id) are left to other requests.
 */
int64_t supply_skip(const struct supply *, int64_t fileset_id);
/* Are its jobs to be locked as they are read? */
bool supply_locks(const struct supply *, int64_t fileset_id);
/*
 * A locked read gave nothing, so it is read again without locking: the owner of a lock
 * may give the job up.  The transaction is not needed if it has no candidate: a result
 * may be locked whose workunit another one has, who waits for the result.
 */
void supply_unlock(struct supply *);
/* The query for the ends of the index.  What it answers is taken from its one row. */
void supply_ask_lasts(struct supply_query *);
void supply_take_lasts(struct supply *, const struct supply_rows *);
/* The query for file sets, whose ids are known. */
void supply_ask_sets(
    struct supply_query *, const int64_t *ids, size_t n, enum set_origin);

/* --- readers: begin, next (false: it is done), take --- */
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

/* Jobs of snapshot.files from index `from` on, at most `most` of them. */
void supply_files_begin(struct supply *, size_t from, size_t most);
/*
 * At most `most` more plain jobs of the apps that are marked (by place in the
 * catalogue), of those apps that the account wants, or does not want.  The mark is
 * taken from apps that were read.
 */
void supply_plain_begin(struct supply *, bool *apps, size_t most, bool wanted);
/* At most `want` file sets that the snapshot lacks.  few: none if no unsent job needs a
 * file. */
void supply_search_begin(struct supply *, struct rng, size_t want);
void supply_few_begin(struct supply *, struct rng, size_t want);
/* File sets whose oldest unsent job was made before the time-out. */
void supply_old_begin(struct supply *, struct rng);
void supply_picks_begin(struct supply *, size_t want);
void supply_once_begin(struct supply *, const int64_t *workunitids, size_t n);
void supply_draw_begin(struct supply *);
/* The next slice: of files and plain jobs, or of apps that use almost no CPU. */
void supply_walk_begin(struct supply *, bool nci, const bool *apps);

#endif
