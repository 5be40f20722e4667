/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of one decision, shared by the rules of rules/sched. Only decide() creates
 * one. One section per file.
 */
#ifndef RULES_SCHED_CTX_H
#define RULES_SCHED_CTX_H

#include "lib/names.h"
#include "model/plan_class.h"
#include "rules/say.h"
#include "rules/sched/decide.h"
#include "rules/sched/workload.h"
#include "rules/sched/version.h"
#include "rules/sched/large.h"
#include "rules/sched/prefs.h"
#include "rules/sched/work_req.h"

struct queue {          /* work queued on a resource before a new job */
	double delay_s; /* until an instance is free, according to the client */
	bool simulated; /* the client lists all tasks of this resource */
	struct edf edf; /* those tasks, and the jobs of this reply */
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
	/* by resource: some app may use it; all true if no app uses any */
	bool *has_apps;
	struct queue *queues; /* by resource */
	double *in_progress;  /* by resource: jobs on the host and in this reply */
	double *of_app;       /* the same by app of the catalogue, then by resource */
	double disk;          /* bytes left for jobs */
	struct larges larges;
	size_t most_sends; /* limit for this reply, SIZE_MAX = none */
	struct ids lost, user_wus;
	const struct names *held;   /* request_held() */
	const struct names *listed; /* request_accounted() */

	struct choice *choices; /* versions chosen so far for this request */
	size_t nchoices, choices_cap;
	bool locality;       /* as from catalog_locality() */
	bool no_app_version; /* the locality search has ended (locality.md 1.1 (L17)) */
	/*
	 * a new job was left out for reasons of its own, or a file was not read: other
	 * jobs may fit
	 */
	bool job_refused;
	bool nci_refused; /* the same for an app that uses almost no CPU */
	/* by index in the catalogue: no job of the app can be sent */
	bool *app_refused;
	struct serving serving;
	/*
	 * a file drains, but there was no slot to wait in, or others took what was
	 * generated
	 */
	bool could_not_wait;
	/* more jobs of their files will come, so no new file is tried in addition */
	bool more_to_come;
	bool reports_cut; /* some reports are left for the next request */
	/* smallest number of additional bytes that would have let a job fit */
	double lack_disk, lack_ram;
	double need_bw; /* smallest bandwidth that a job needed, bytes/s */
	/* of the last processor that would have missed a deadline */
	double late_availability;
	size_t sends_cap, skips_cap, deletes_cap, messages_cap, expire_cap;
	size_t aborts_cap, unstarted_cap, moves_cap;
};

/* --- decision.c --- */
/* Records a candidate that was left out. */
void decision_skip(struct ctx *, const struct job *, enum reason);
/* Raises the delay before the next request to at least this. */
void decision_delay(struct ctx *, double s);
/*
 * Adds a message for the client (notice: shown to the user), cut to the length that
 * clients accept.
 */
void decision_message(struct ctx *, bool notice, struct say *);
/* The same, composed of three parts. */
void decision_say(
    struct ctx *, bool notice, const char *before, const char *name, const char *after);

/* --- fit.c: candidate --- */
/*
 * Sends the job if every rule allows it. file: its file set; NULL for a plain job, or a
 * set that is not in the snapshot. Returns the reason not to, WHY_NONE if the job is
 * sent.
 */
enum reason candidate_try(
    struct ctx *, enum send_how, const struct job *, const struct snap_file *file);

/* --- version.c --- */
struct pick { /* an app version, and what a job uses with it */
	const struct app *app;
	const struct app_version *version; /* NULL: the client's own version */
	int32_t client_version;            /* index into request.app_versions, or -1 */
	int64_t app_version_id;            /* as in dec_send */
	struct class_use use;
	size_t resource;
	double usage; /* instances of the resource */
	struct speed speed;
	double peak_flops;
	double score; /* for comparing versions: speed with noise */
};
struct choice { /* a remembered choice: jobs with equal demands get the same answer */
	const struct app *app;
	int64_t pinned_version_id;
	int32_t pinned_num;
	bool need_64bit, resend;
	bool reliable;         /* the version must have proved reliable on this host */
	const struct job *job; /* the job that it was made for */
	bool of_job;           /* some plan class depended on the job itself */
	enum reason why;       /* NONE: there are picks */
	struct pick *picks;    /* best first, at most three per resource */
	size_t npicks, picks_cap;
};
/*
 * Returns the best versions of the job's app for this host (scheduling.md 2.11;
 * protocol.md 3.12), or why there is none. resend: the host already has the job, so no
 * quota is charged.
 */
struct choice version_choose(struct ctx *, const struct job *, bool resend);
/*
 * Is the pick still usable after the jobs sent so far: is its resource wanted, is there
 * quota left?
 */
bool version_still(const struct ctx *, const struct choice *, const struct pick *);
/*
 * Was the choice refused because of the job's demands, so that another job of the app
 * may get one?
 */
bool version_of_job(const struct choice *);
/*
 * Lists the resource types of the request that no version of the project uses
 * (protocol.md 2.2).
 */
void version_no_rsc_apps(struct ctx *);
/* Is the version for one of the client's platforms? */
bool version_for_platforms(const struct ctx *, const struct app_version *);
/* Does the project have any version that this client is new enough for? */
bool version_any_for_client(const struct ctx *);
/* Is the job so urgent that it needs a reliable host? */
bool version_hurry(const struct conf *, const struct job *);
/* Memory, in bytes, that a job needs with this pick. */
double version_memory(const struct job *, const struct pick *);

/* --- fit.c --- */
struct fitting {
	double runtime_s, disk; /* wall seconds; bytes charged */
	int64_t deadline;       /* as sent */
};
/*
 * Checks the workunit itself and the once rules, which need no version (scheduling.md
 * 2.6).
 */
enum reason fit_workunit(const struct ctx *, const struct job *, bool resend);
/* Checks memory, disk, bandwidth and deadline, in this order (scheduling.md 2.6). */
enum reason fit_host(struct ctx *, const struct job *, const struct pick *,
    const struct snap_file *, bool resend, struct fitting *);

/* --- decide.c: baseline cost --- */

/* --- workload.c --- */
void workload_begin(struct ctx *);
/* Adds a job of this reply: wall seconds and instances. */
void workload_add(
    struct ctx *, size_t resource, double runtime_s, double usage, int64_t deadline);
/*
 * Would a job with this pick meet the deadline (s UTC) without delaying another one
 * beyond its own? Jobs of an app with weight -1 go only to hosts that have earned
 * credit, and count 1.3 times (scheduling.md 2.6).
 */
bool workload_meets(
    struct ctx *, const struct pick *, double runtime_s, int64_t deadline);

/* --- limits.c --- */
size_t limits_per_rpc(
    const struct conf *, const struct request *, const struct machine *);
void limits_count_in_progress(struct ctx *);
/* Usable instances of a resource, at least 1. */
double limits_instances(const struct ctx *, size_t resource);
/* Maximum number of jobs in progress on this resource, INFINITY = no limit. */
double limits_in_progress(const struct ctx *, size_t resource);
/*
 * May another job of this resource be sent? NONE, RSC_NOT_WANTED or IN_PROGRESS_LIMIT.
 */
enum reason limits_resource(const struct ctx *, size_t resource);
/* The same for an app's own limits: NONE or APP_LIMIT. */
enum reason limits_app(const struct ctx *, const struct app *, size_t resource);
/* Jobs of the app in progress, on all resources. */
double limits_app_jobs(const struct ctx *, const struct app *);
/* Counts one more job in progress; app may be NULL. */
void limits_count(struct ctx *, const struct app *, size_t resource);
/*
 * May another job be sent at all? NONE, NOT_WANTED, RPC_LIMIT, IN_PROGRESS_LIMIT or
 * MAX_JOBS.
 */
enum reason limits_more(const struct ctx *);
/* May this request get work? NONE, DONT_SEND, RPC_TOO_SOON or ACCOUNT_LIMIT. */
enum reason limits_gate(struct ctx *);

/* --- report.c --- */
void report_all(struct ctx *);

/* --- delete.c: lost --- */
/* Names of the jobs that the request lists or reports. */
void lost_resend(struct ctx *);
/* The job's file set in the snapshot; NULL if it has none there. */
const struct snap_file *lost_file(const struct ctx *, const struct job *);
void lost_abort(struct ctx *);

/* --- fit.c: owner --- */
/*
 * Does a task of another host row of the account belong to this host from now on, if
 * its client has it? owner_seen: last request of that row's client, s UTC; 0 = the row
 * is gone.
 */
bool owner_is_us(const struct ctx *, int64_t owner, int64_t owner_seen);
/*
 * Sets d->moves: tasks that the client lists, and all tasks of a row that this host
 * replaces.
 */
void owner_moves(struct ctx *);

/* --- limits.c: nci --- */
/* Is it a job of an app that uses almost no CPU? */
bool nci_job(const struct ctx *, const struct job *);
/* Does the host, or this reply, have a job of the app? */
bool nci_taken(const struct ctx *, int64_t appid);

/* --- search.c --- */
/*
 * Notes that a new job was left out; of_job: because of its own demands, so that other
 * jobs of its app may fit.
 */
void search_note(struct ctx *, const struct job *, enum reason, bool of_job);
/*
 * Is there an app, none of whose jobs was refused as a whole, that may still get jobs?
 */
bool search_another_app(const struct ctx *);
/*
 * Asks for the next slice of candidates if one of them may be sent; counts a search
 * that reached its limit.
 */
void search_on(struct ctx *);
/* Sets the positions where the host's next searches begin. */
void search_keep(struct ctx *);

/* --- locality.c --- */
void locality_serve(struct ctx *);

/* --- delete.c --- */
/*
 * Decides which files are to be deleted; the space that they free is available to the
 * jobs of this reply. Runs after the states of the file sets are known.
 */
void delete_begin(struct ctx *);
void delete_orders(struct ctx *);

/* --- prefs.c --- */
void prefs_exchange(struct ctx *);
/* Adds messages about invalid numbers in the account's preferences. */
void prefs_say_bad(struct ctx *);
/* Does the account want jobs of this app? */
enum app_choice prefs_app(const struct ctx *, const struct app *);
/* Value of <mod_time> in a preferences text, 0 if absent. */
double prefs_mod_time(const char *text);

/* --- events.c: messages --- */
/* Finds the decisive reason and reports it with its numbers (scheduling.md 2.15). */
void messages_why(struct ctx *);

#endif
