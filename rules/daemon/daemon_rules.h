/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemons decide: pure functions from rows to plain changes (scheduling.md 4).
 */
#ifndef RULES_DAEMON_DAEMON_RULES_H
#define RULES_DAEMON_DAEMON_RULES_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/conf.h"
#include "model/rows.h"

/* One result's changes by the transitioner; only what differs is written. */
struct result_change {
	int64_t id;
	bool time_out;     /* IN_PROGRESS -> OVER / NO_REPLY */
	bool too_late;     /* validate_state -> TOO_LATE */
	bool didnt_need;   /* UNSENT -> OVER / DIDNT_NEED */
	bool no_check;     /* validate_state -> NO_CHECK */
	bool delete_files; /* file_delete_state -> READY */
};
struct wu_change {
	struct result_change *results; /* aligned with the results given */
	size_t nresults;
	int32_t spawn;        /* new results to make */
	int32_t first_suffix; /* of the first of them: highest existing + 1 */
	int32_t priority;     /* of the new results */
	bool need_validate;   /* set it (never cleared here) */
	bool uncommit;        /* hr_class and app_version_id back to 0 */
	int32_t error_mask;   /* new value */
	bool assimilate;      /* assimilate_state INIT -> READY */
	bool delete_input;    /* file_delete_state INIT -> READY */
	int64_t next_at;      /* transition_time, TRANSITION_NEVER = none */
};
/* scheduling.md 4.3 (1 to 11).  results: all of the workunit, by increasing id. */
struct wu_change transition(struct arena *, const struct conf *,
    const struct workunit *, const struct result *, size_t n, int64_t now);

/* What becomes of a workunit if all of its results that are not over succeed and agree.
 */
enum prospect {
	PROSPECT_GOOD,
	PROSPECT_ENDED, /* it is over, or the transitioner is not to see to it */
	PROSPECT_FAILS, /* the transitioner ends it: too many results */
	PROSPECT_NONE /* nothing ever happens: it waits for results that nobody makes */
};
/* results: all of the workunit's; alive: those that are not over or are successes, but
 * for the INVALID. */
enum prospect quorum_prospect(const struct workunit *, int64_t results, int64_t alive);

/* The validator's view of one success (scheduling.md 4.4). */
enum match {
	MATCH_SAME,
	MATCH_DIFFERENT,
	MATCH_BAD /* cannot be judged: missing or unreadable file */,
	MATCH_LATER /* transient */,
	MATCH_HOPELESS /* bad, and so will be whatever that host makes */
};
struct validate_change {
	int32_t *validate_state;    /* new state per result; -1 = leave */
	bool *validate_error;       /* outcome -> VALIDATE_ERROR as well */
	bool *hopeless;             /* and its version on its host is at fault */
	int64_t canonical_resultid; /* 0 = none found */
	bool too_many_success;      /* error_mask bit 4 */
	int32_t target_nresults;    /* new value, 0 = leave */
	bool retry_later;           /* a transient failure: transition at retry_at */
	int64_t retry_at;           /* set by the caller, validate_again_at() */
	bool transition_now;
};
/*
 * results: the workunit's OVER/SUCCESS results not INVALID, by id, n of them.  init[i]
 * says whether result i can be judged; same(ctx, i, j) compares two of them (asked for
 * pairs once).
 */
struct validate_change validate(struct arena *, const struct workunit *,
    const struct result *, size_t n, const enum match *init,
    enum match (*same)(void *ctx, size_t i, size_t j), void *ctx);

/*
 * When to judge again what cannot be judged now: after as long again as its newest
 * result has waited, a minute at least, six hours at most (scheduling.md 4.4).
 */
int64_t validate_again_at(const struct result *, size_t n, int64_t now);

/*
 * One more sample of a running mean: a plain mean of the first 20, then 1 % of each new
 * one, which counts for 10 times the mean at most (scheduling.md 4.6).  A sample that
 * is not above 0 teaches nothing.
 */
void statistics_add(double *n, double *avg, double x);
/*
 * A result became VALID or INVALID: elapsed time per estimated FLOP, peak FLOP per
 * estimated FLOP, turnaround in s; the daily quota, and how many in a row were valid
 * where others confirmed it.  hopeless: the version is to get no more than one job a
 * day on that host, and has had today's.
 */
void statistics_judged(const struct conf *, struct host_app_version *,
    const struct result *, const struct workunit *, bool hopeless);
/* Peak FLOP that the result could have used, per estimated one; 0 = not known. */
double statistics_pfc(const struct result *, const struct workunit *);

/* The built-in range generator: part i of n of [0, total): [from, to), sizes differ by
 * at most 1. */
void range_part(int64_t total, int32_t n, int32_t i, int64_t *from, int64_t *to);

/* Working set (locality.md 1.1 (L13 to L15)): what to put in and what to take out. */
struct ws_file { /* one row per fileset of the app */
	int64_t fileset_id;
	char *name;
	bool in_set, reported_empty; /* in files_no_work */
	bool no_work_available, has_unsent, has_open_wu, paused;
	int32_t holders;    /* hosts that hold it */
	int64_t dropped_at; /* when it last left the set, 0 = never */
};
struct ws_change {
	const char **add, **drop, **clear_no_work; /* names */
	size_t nadd, ndrop, nclear;
	size_t
	    size; /* max(1, ceil(active_hosts / holders_wanted)) capped by live files */
	bool running_dry;
};
struct ws_change working_set(struct arena *, const struct ws_file *, size_t n,
    int64_t active_hosts, int64_t holders_wanted, int64_t now, int64_t wait_period_s);

/* Work that is left of some files, and its pace, for a forecast. */
struct drain_file {
	int32_t paused; /* as in fileset: 1 held back, 2 draining */
	bool no_work;   /* nothing more can be made of it */
	int64_t unsent; /* results */
	int64_t parts;  /* workunits that can still be made, of so many results: */
	int64_t results;
	int64_t jobs;        /* sent in the day before and today so far */
	int64_t create_time; /* of the file */
};
struct drain {
	int64_t files, unsent, makeable, jobs;
	int64_t since; /* when the first of the files came; 0 = there is none */
};
/* Counts one file in.  What is held back is not left, what drains gets no more. */
void drain_count(struct drain *, const struct drain_file *);
/* The period in which the jobs were sent, s: the day before and today so far; shorter
 * if the files are younger. */
int64_t drain_period_s(const struct drain *, int64_t now);
/*
 * When all will be sent if it goes on like this: s from now, 0 = nothing is left, -1 =
 * never, as nothing was sent.
 */
int64_t drain_s(const struct drain *, int64_t now);

#endif
