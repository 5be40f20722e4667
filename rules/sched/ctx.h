/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One decision in the making: what every rule of rules/sched looks at and adds to. Only
 * decide() makes one.  One section per file.
 */
#ifndef RULES_SCHED_CTX_H
#define RULES_SCHED_CTX_H

#include "rules/sched/decide.h"
#include "model/plan_class.h"
#include "rules/sched/edf.h"
#include "rules/sched/estimate.h"
#include "rules/sched/fileset.h"
#include "rules/sched/large.h"
#include "rules/sched/serving.h"
#include "rules/sched/work_req.h"
#include "rules/say.h"
#include "rules/sets.h"

struct queue {          /* what a resource has to do before a new job */
	double delay_s; /* until an instance is free, as the client says */
	bool simulated; /* the client lists all tasks of this resource: */
	struct edf edf; /* they, and what this reply adds */
};

struct ctx {
	struct arena *a;
	const struct conf *conf;
	const struct request *req;
	const struct snapshot *snap;
	int64_t now;
	struct rng *rng;
	struct decision *d;

	struct machine m;
	struct work_req work;
	bool *has_apps;       /* per resource: some app may use it, or none at all */
	struct queue *queues; /* per resource */
	double *in_progress;  /* per resource: jobs on the host and in this reply */
	double *of_app;       /* the same per app of the catalogue, then per resource */
	double disk;          /* bytes left for jobs */
	struct larges larges;
	size_t most_sends; /* of this reply, SIZE_MAX = no limit */
	struct ids lost, user_wus;
	struct names held; /* names of files that the host reports as present */

	struct choice *choices; /* versions chosen so far in this request */
	size_t nchoices, choices_cap;
	bool locality;       /* see catalog_locality */
	bool no_app_version; /* the locality search is over (locality.md 1.1 (L17)) */
	bool job_refused;    /* a new job was left out for reasons of its own, or a
	                        file was not looked at: others may fit */
	bool nci_refused;    /* the same of an app that uses almost no CPU */
	bool
	    *app_refused; /* by place in the catalogue: no job of the app can be sent */
	struct serving serving;
	bool could_not_wait; /* a file drains, but no place to wait was free, or
	                        what was made went to others */
	bool more_to_come;   /* of their files: no new one is tried beside these jobs */
	bool reports_cut;    /* some reports are left for the next request */
	double lack_disk,
	    lack_ram;             /* least extra bytes that would have let a job fit */
	double need_bw;           /* least bandwidth that a job needed, bytes/s */
	double late_availability; /* of the last processor that would be late */
	size_t sends_cap, skips_cap, deletes_cap, messages_cap, expire_cap;
	size_t aborts_cap, unstarted_cap, moves_cap;
};

/* --- decision.c --- */
/* Notes a candidate that was left out. */
void decision_skip(struct ctx *, const struct job *, enum reason);
/* The reply is at least this many seconds before the next request. */
void decision_delay(struct ctx *, double s);
/* A message for the client (notice: shown to the user); what a client would lose is
 * cut. */
void decision_message(struct ctx *, bool notice, struct say *);
/* The same of three parts. */
void decision_say(
    struct ctx *, bool notice, const char *before, const char *name, const char *after);

/* --- candidate.c --- */
/*
 * Sends the job if everything allows it; file: its file set, NULL for a plain job or
 * one that is not in the snapshot.  Returns why not, WHY_NONE if it is sent.
 */
enum reason candidate_try(
    struct ctx *, enum send_how, const struct job *, const struct snap_file *file);

/* --- version.c --- */
struct pick { /* an app version, and what a job uses with it */
	const struct app *app;
	const struct app_version *version; /* NULL: the client's own */
	int32_t client_version;            /* index into request.app_versions, -1 */
	int64_t app_version_id;            /* as in dec_send */
	struct class_use use;
	size_t resource;
	double usage; /* instances of the resource */
	struct speed speed;
	double peak_flops;
	double score; /* for the choice: speed with noise */
};
struct choice { /* remembered answer: jobs that ask for the same get the same */
	const struct app *app;
	int64_t pinned_version_id;
	int32_t pinned_num;
	bool need_64bit, resend;
	bool reliable;         /* the version must have proved so on this host */
	const struct job *job; /* that it was made for */
	bool of_job;           /* some plan class looked at the job itself */
	enum reason why;       /* NONE: there are picks */
	struct pick *picks;    /* the best first, at most three of a resource */
	size_t npicks, picks_cap;
};
/*
 * The best versions of the job's app for this host (scheduling.md 2.11;
 * protocol.md 3.12), or why there is none.  resend: the job is the host's already, no
 * quota is charged.
 */
struct choice version_choose(struct ctx *, const struct job *, bool resend);
/* Can this pick be used after what was sent since: is its resource still wanted, is its
 * quota left? */
bool version_still(const struct ctx *, const struct choice *, const struct pick *);
/* Is a choice refused for what the job asks for, so that another job of the app may
 * have one? */
bool version_of_job(const struct choice *);
/* Resource types of the request that no version of the project uses (protocol.md 2.2).
 */
void version_no_rsc_apps(struct ctx *);
/* Is the version for one of the client's platforms? */
bool version_for_platforms(const struct ctx *, const struct app_version *);
/* Has the project a version at all that this client, as old as it is, could get? */
bool version_any_for_client(const struct ctx *);
/* Is the job in such a hurry that it is for reliable hosts? */
bool version_hurry(const struct conf *, const struct job *);
/* Memory in bytes that a job needs with this pick. */
double version_memory(const struct job *, const struct pick *);

/* --- fit.c --- */
struct fitting {
	double runtime_s, disk; /* wall seconds; bytes charged */
	int64_t deadline;       /* as sent */
};
/* The workunit itself and the once rules; no version is needed for these
 * (scheduling.md 2.6). */
enum reason fit_workunit(const struct ctx *, const struct job *, bool resend);
/* Is the job for some hosts in particular, targeted or broadcast? */
bool fit_aimed(const struct job *);
/* The host's class for the app, 0 = not known, -1 = the app asks for none. */
int32_t fit_hr_class(const struct ctx *, const struct app *);
/* Memory, disk, bandwidth, deadline, in this order (scheduling.md 2.6). */
enum reason fit_host(struct ctx *, const struct job *, const struct pick *,
    const struct snap_file *, bool resend, struct fitting *);
/* report_grace_period and grace_period_hours together, s. */
int64_t fit_grace_s(const struct conf *);

/* --- baseline_cost.c --- */
/* Sets d->baseline from the drawn jobs; before anything is sent, and for nothing else.
 */
void baseline_cost_measure(const struct ctx *);

/* --- workload.c --- */
void workload_begin(struct ctx *);
/* The reply has one more job, of so many wall seconds and instances. */
void workload_add(
    struct ctx *, size_t resource, double runtime_s, double usage, int64_t deadline);
/*
 * Would a job with this pick be done by then (s UTC), and no other be made later?  Jobs
 * of an app of weight -1 go to hosts that have earned credit only, and count 1.3 times
 * (scheduling.md 2.6).
 */
bool workload_meets(
    struct ctx *, const struct pick *, double runtime_s, int64_t deadline);

/* --- limits.c --- */
size_t limits_per_rpc(
    const struct conf *, const struct request *, const struct machine *);
void limits_count_in_progress(struct ctx *);
/* Usable instances of a resource, at least 1. */
double limits_instances(const struct ctx *, size_t resource);
/* Most jobs in progress of this resource, INFINITY = no limit. */
double limits_in_progress(const struct ctx *, size_t resource);
/* May one more job of this resource be sent?  NONE, RSC_NOT_WANTED or
 * IN_PROGRESS_LIMIT. */
enum reason limits_resource(const struct ctx *, size_t resource);
/* The same of one app's own limits; WHY_APP_LIMIT. */
enum reason limits_app(const struct ctx *, const struct app *, size_t resource);
/* Jobs of the app in progress, of all resources. */
double limits_app_jobs(const struct ctx *, const struct app *);
/* One more job is in progress; app may be NULL. */
void limits_count(struct ctx *, const struct app *, size_t resource);
/* May one more job be sent at all?  NONE, NOT_WANTED, RPC_LIMIT, IN_PROGRESS_LIMIT or
 * MAX_JOBS.
 */
enum reason limits_more(const struct ctx *);
/* May this request get work?  NONE, DONT_SEND or RPC_TOO_SOON; sets the delay. */
enum reason limits_gate(struct ctx *);

/* --- report.c --- */
void report_all(struct ctx *);

/* --- lost.c --- */
void lost_resend(struct ctx *);
/* The snapshot's file set of the job, NULL if it has none there. */
const struct snap_file *lost_file(const struct ctx *, const struct job *);
void lost_abort(struct ctx *);

/* --- owner.c --- */
/*
 * Is a task of another host row of the account this host's from now on, if its client
 * has it?  owner_seen: when that row's client last asked, s UTC; 0 = the row is gone.
 */
bool owner_is_us(const struct ctx *, int64_t owner, int64_t owner_seen);
/* Sets d->moves: what the client lists, and all of a row whose place this one takes. */
void owner_moves(struct ctx *);

/* --- nci.c --- */
/* Is it a job of an app that uses almost no CPU? */
bool nci_job(const struct ctx *, const struct job *);
/* Does the host have a job of the app, or does this reply hold one? */
bool nci_taken(const struct ctx *, int64_t appid);

/* --- search.c --- */
/* A new job was left out; of_job: for what it is, so that others of its app may fit. */
void search_note(struct ctx *, const struct job *, enum reason, bool of_job);
/* May jobs of some app still be sent for which none of its jobs was refused as a whole?
 */
bool search_another_app(const struct ctx *);
/* Asks for the next slice of candidates if one of them may be sent, else counts the
 * cut. */
void search_on(struct ctx *);
/* Where the host's next search begins. */
void search_keep(struct ctx *);

/* --- locality.c --- */
void locality_serve(struct ctx *);

/* --- delete.c --- */
/* Which files are to go; what they free is room for the jobs of this reply.  After the
 * states of the file sets. */
void delete_begin(struct ctx *);
void delete_orders(struct ctx *);

/* --- prefs.c --- */
void prefs_exchange(struct ctx *);
/* Messages about numbers among the account's preferences that are none. */
void prefs_say_bad(struct ctx *);
/* What the account wants of this app. */
enum app_choice prefs_app(const struct ctx *, const struct app *);
/* Value of <mod_time> in a preferences text, 0 if there is none. */
double prefs_mod_time(const char *text);

/* --- messages.c --- */
/* Finds the decisive reason, and says it with its numbers (scheduling.md 2.15). */
void messages_why(struct ctx *);

#endif
