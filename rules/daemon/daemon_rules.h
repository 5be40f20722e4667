/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the daemons decide: pure functions from rows to plain changes (scheduling.md 4).
 */
#ifndef RULES_DAEMON_DAEMON_RULES_H
#define RULES_DAEMON_DAEMON_RULES_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/conf.h"
#include "model/fleet.h"
#include "model/rows.h"

/* The transitioner's changes to one result; only differences are written. */
struct result_change {
	int64_t id;
	bool time_out;     /* IN_PROGRESS -> OVER / NO_REPLY */
	bool too_late;     /* validate_state -> TOO_LATE */
	bool didnt_need;   /* UNSENT -> OVER / DIDNT_NEED */
	bool no_check;     /* validate_state -> NO_CHECK */
	bool delete_files; /* file_delete_state -> READY */
};
struct wu_change {
	struct result_change *results; /* in the order of the results given */
	size_t nresults;
	int32_t spawn; /* number of new results to create */
	/* Name suffix of the first of them: highest existing one + 1. */
	int32_t first_suffix;
	int32_t priority;   /* of the new results */
	bool need_validate; /* set need_validate (never cleared here) */
	bool uncommit;      /* reset hr_class and app_version_id to 0 */
	int32_t error_mask; /* new value */
	bool assimilate;    /* assimilate_state INIT -> READY */
	bool delete_input;  /* file_delete_state INIT -> READY */
	int64_t next_at;    /* transition_time, TRANSITION_NEVER = none */
};
/* Decides what should happen to a workunit now, in the steps of scheduling.md 4.3 (1 to
 * 11). results: all results of the workunit, by increasing id. */
struct wu_change transition(struct arena *, const struct conf *,
    const struct workunit *, const struct result *, size_t n, int64_t now);

/*
 * How work_tally counts a workunit, in its columns tally and tally_*: cleared, then
 * each of its results added, then the code of its state set (model/tally.h).
 */
void tally_clear(struct workunit *);
void tally_result(struct workunit *, const struct result *);
void tally_code(struct workunit *);

/* What another try changes about one result. */
struct result_retry {
	bool forget;  /* OVER / COULDNT_SEND -> DIDNT_NEED */
	bool judge;   /* validate_state NO_CHECK -> INIT */
	bool lost;    /* a success whose output is deleted -> VALIDATE_ERROR, INVALID */
	bool retract; /* validate_state -> INVALID: it is not believed any more */
};
struct wu_retry {
	bool again; /* daemons that have put it aside try it again now */
	/* It is open again: error_mask and canonical_resultid -> 0. */
	bool reopen;
	bool judge; /* of a reopened one: the results that are left make a quorum */
	/* New limits of a reopened workunit. */
	int32_t max_error_results, max_total_results, max_success_results;
	struct result_retry *results; /* in the order of the results given */
};
struct retry_how {
	int64_t now;
	int32_t tries; /* results that a reopened workunit may have in addition, > 0 */
	bool daemons_only; /* a failed workunit stays failed */
	bool aside;        /* a daemon has put this one aside */
	/* retract(): what this host returned, or hosts with these versions, since then.
	 */
	int64_t host; /* 0 = the versions */
	const int64_t *versions;
	size_t nversions;
	int64_t since; /* s UTC */
};
/*
 * Decides what another try of a workunit changes (scheduling.md 4.5); nothing at all if
 * neither again nor reopen is set. An open workunit whose failures would soon end it
 * is reopened, too: they no longer count. A workunit with a canonical result is
 * reopened only if that is not valid, or lacks the majority of its quorum. results: all
 * results of the workunit, by increasing id.
 */
struct wu_retry retry(struct arena *, const struct workunit *, const struct result *,
    size_t n, const struct retry_how *);

/*
 * Decides what changes if what a host or a version returned is not believed any more
 * (scheduling.md 4.5): its successes become invalid. The workunit is opened again
 * unless another canonical result still has its quorum. What others returned stays
 * valid.
 */
struct wu_retry retract(struct arena *, const struct workunit *, const struct result *,
    size_t n, const struct retry_how *);

/* Outcome of a workunit if all results that are not over succeed and agree. */
enum prospect {
	PROSPECT_GOOD,
	PROSPECT_ENDED, /* it is over, or the transitioner must not touch it */
	PROSPECT_FAILS, /* the transitioner will end it: too many results */
	PROSPECT_NONE   /* it is stuck: it waits for results that nobody will create */
};
/* results: number of all results of the workunit; alive: those that are not over or
 * succeeded, except INVALID ones. */
enum prospect quorum_prospect(const struct workunit *, int64_t results, int64_t alive);

/* The validator's verdict on one success, or on two (scheduling.md 4.4). */
enum match {
	MATCH_SAME,
	MATCH_DIFFERENT,
	MATCH_BAD /* cannot be judged: file missing or unreadable */,
	MATCH_LATER /* cannot be judged now; transient */,
	MATCH_HOPELESS /* bad, and so is all that its version makes on this host */
};
struct validate_change {
	int32_t *validate_state;    /* new state per result; -1 = unchanged */
	bool *validate_error;       /* also set the outcome to VALIDATE_ERROR */
	bool *hopeless;             /* also blame the app version on its host */
	int64_t canonical_resultid; /* 0 = none found */
	bool too_many_success;      /* error_mask bit 4 */
	int32_t target_nresults;    /* new value, 0 = unchanged */
	/* A transient failure: transition again at retry_at. */
	bool retry_later;
	int64_t retry_at; /* set by the caller from validate_again_at() */
	bool transition_now;
};
/* Judges a workunit's successes. results: its n results that are OVER/SUCCESS and not
 * INVALID, by id. init[i] says whether result i can be judged; same(ctx, i, j)
 * compares two results and is called once per pair. */
struct validate_change validate(struct arena *, const struct workunit *,
    const struct result *, size_t n, const enum match *init,
    enum match (*same)(void *ctx, size_t i, size_t j), void *ctx);

/* When to judge again what cannot be judged now: after as much time again as the
 * newest result has waited, but at least a minute and at most six hours
 * (scheduling.md 4.4). */
int64_t validate_again_at(const struct result *, size_t n, int64_t now);

/* Adds a sample to a running mean: the plain mean of the first 20 samples; after that a
 * new sample has a weight of 1 % and counts for at most 10 times the mean
 * (scheduling.md 4.6). Ignores samples that are not above 0. */
void statistics_add(double *n, double *avg, double x);
/*
 * Updates an app version's statistics on a host after a result became VALID or INVALID:
 * elapsed time per estimated FLOP, peak FLOP per estimated FLOP, turnaround in seconds,
 * the daily quota, and the number of consecutive valid results that others confirmed.
 * hopeless: the version gets at most one job a day on that host, and today's is used
 * up.
 */
void statistics_judged(const struct conf *, struct host_app_version *,
    const struct result *, const struct workunit *, bool hopeless);
/* Peak FLOP that the result could have used per estimated FLOP; 0 = unknown. */
double statistics_pfc(const struct result *, const struct workunit *);

/* Part i of n of [0, total) for the built-in range generator: [from, to). Sizes differ
 * by at most 1. */
void range_part(int64_t total, int32_t n, int32_t i, int64_t *from, int64_t *to);

/* The working set (locality.md 1.1 (L13 to L15)): what to add and what to remove. */
struct ws_file { /* one row per file set of the app */
	int64_t fileset_id;
	char *name;
	bool in_set, reported_empty; /* reported_empty: in files_no_work */
	bool no_work_available, has_unsent, has_open_wu, paused;
	int32_t holders; /* number of hosts that hold it */
	/* Its place in what the project's own chooser wants, from 1; 0 = it has not
	 * named it, or there is no chooser. */
	size_t place;
	int64_t dropped_at; /* when it last left the set, 0 = never */
};
struct ws_change {
	const char **add, **drop, **clear_no_work; /* names */
	size_t nadd, ndrop, nclear;
	/* max(1, ceil(active_hosts / holders_wanted)), at most the number of live files
	 */
	size_t size;
	bool running_dry;
};
/* May the file be in the set? It must have work, or may get some on demand. */
bool ws_may_be_in(const struct ws_file *, int64_t now, int64_t wait_period_s);
/* How many files the set should have: max(1, ceil(active_hosts / holders_wanted)). */
size_t ws_size(int64_t active_hosts, int64_t holders_wanted);
struct ws_change working_set(struct arena *, const struct ws_file *, size_t n,
    int64_t active_hosts, int64_t holders_wanted, int64_t now, int64_t wait_period_s);

/* The work left in some files and the rate at which it is sent, for a forecast. */
struct drain_file {
	int32_t paused; /* as in fileset: 1 paused, 2 draining */
	bool no_work;   /* no more work can be created from it */
	int64_t unsent; /* results */
	/* Workunits that can still be created; results: number of results of each. */
	int64_t parts;
	int64_t results;
	int64_t jobs;        /* sent yesterday and today */
	int64_t create_time; /* of the file */
};
struct drain {
	int64_t files, unsent, makeable, jobs;
	int64_t since; /* when the first of the files was created; 0 = no file */
	bool stuck;    /* no host can get some of it */
};
/* Counts one file in. A paused file has no work left; a draining one gets no more. */
void drain_count(struct drain *, const struct drain_file *);
/* Returns the period in which the jobs were sent, in seconds: yesterday and today so
 * far; shorter if the files are younger. */
int64_t drain_period_s(const struct drain *, int64_t now);
/* Returns the seconds until all work is sent at the present rate; 0 = nothing is left,
 * -1 = never, because nothing was sent, or no host can get some of it. */
int64_t drain_s(const struct drain *, int64_t now);

/* --- judge.c: suspect --- */
/*
 * Does the host stand out? It does if at least half of ten or more results failed, or
 * were not confirmed, and its share is four times that of all other hosts together.
 * all: the host's results and those of all others.
 */
enum suspicion host_suspicion(
    const struct host_ends *host, const struct host_ends *all);

/* Whose fault a kind of failure is, as far as successes elsewhere tell. */
enum blame { BLAME_NOBODY, BLAME_HOST, BLAME_VERSION };
struct blame_facts {
	int64_t n;                  /* such failures */
	bool one_host, one_version; /* all of them on one host, of one version */
	int64_t host_success, others_success; /* of that host and others, of the app */
	int64_t version_success, versions_success; /* of that version and others */
};
/* A host or a version is to blame if it fails more than it succeeds, while ten results
 * of others succeeded. */
enum blame failure_blame(const struct blame_facts *);

/* --- files.c: retire --- */
/* Between the last look that finds a set unneeded and its removal; meanwhile it is
 * drained, so that what was being made becomes visible. */
enum { RETIRE_SETTLE_S = 600 };
struct retire_set {             /* what is known of a file set */
	bool has_workunit;      /* a workunit of it is in the database */
	bool no_work_available; /* its generator has said so */
	int32_t paused;         /* FILESET_OPEN ... */
	int32_t gen_parts, gen_next;
	int64_t idle_since; /* s UTC since which nothing needs it; 0 = something does */
};
enum retire_step {
	RETIRE_NONE,
	RETIRE_IDLE,   /* idle_since becomes now */
	RETIRE_NEEDED, /* idle_since becomes 0 */
	RETIRE_DRAIN,  /* it is drained, so that nobody makes work of it any more */
	RETIRE_REMOVE
};
/* Pure. retain_s: how long a set stays that nothing needs. */
enum retire_step retire(const struct retire_set *, int64_t retain_s, int64_t now);

#endif
