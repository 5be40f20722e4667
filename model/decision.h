/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to one RPC, as plain data: commit writes it, render prints it and
 * explain shows it. */
#ifndef MODEL_DECISION_H
#define MODEL_DECISION_H

#include <stdbool.h>
#include "model/conf.h"
#include "model/job_limits.h"
#include "model/plan_class.h"
#include "model/request.h"
#include "model/rows.h"
#include "model/catalog.h"

/* Reason codes, from reasons.def. */

enum reason {
#define REASON(code, text) WHY_##code,
#include "model/reasons.def"
#undef REASON
	WHY__MAX
};

const char *reason_code(enum reason);       /* "USER_ONCE" */
const char *reason_text(enum reason);       /* for messages */
enum reason reason_named(const char *code); /* WHY__MAX if unknown */

/*
 * All rows that one decision may use, read before it; the scheduler, replay and explain
 * share one loader. Plain data. Add new members to proto/trace.def, too.
 */

/* the small tables; live as long as the process and are reloaded when they change */
struct catalog {
	struct app *apps;
	size_t napps;
	struct platform *platforms;
	size_t nplatforms;
	/* with deprecated versions only if workunits may be bound to them */
	struct app_version *versions;
	size_t nversions;
	/* Benchmarks of the newest hosts, FLOP/s of one CPU; 0 = too few hosts. */
	double fpops_median, fpops_p95;
	bool no_filesets; /* the project has no large files, and no host is told of them
	                   */
	/* From plan_class_spec.xml; NULL = the project has no such file. */
	const struct plan_classes *classes;
	/* From config_aux.xml; NULL = no limits. */
	const struct job_limits *limits;
};
/* Sets the percentiles of n benchmarks; sorts v and ignores zeros. */
void catalog_benchmarks(struct catalog *, double *v, size_t n);
/*
 * The master switch (locality.md 1.1 (L4)): true if the project, or one of its apps,
 * schedules by locality. Otherwise jobs that need large files are found by the search,
 * and files play no other part: no host is told to delete any, no trigger is raised or
 * waited for, the working set is not read.
 */
bool catalog_locality(const struct catalog *, const struct conf *);
const struct app *catalog_app(const struct catalog *, int64_t id); /* NULL if absent */
/* True if no new task of the app is sent: the admin has deprecated it, or drains it. */
bool app_is_held_back(const struct app *);
const struct app *catalog_app_named(const struct catalog *, const char *);
const struct platform *catalog_platform(const struct catalog *, int64_t id);
const struct platform *catalog_platform_named(const struct catalog *, const char *);

/* Derived state of a file (locality.md 2); only the last two allow a delete order. */
enum file_state { FILE_ADVERTISED, FILE_DRAINING, FILE_EXHAUSTED, FILE_DEAD };

/*
 * Position in the index of unsent results: file sets first, by id, then plain shards.
 */
struct place {
	int64_t ready, id; /* 0, 0 = none */
};

/* A search for candidates beyond the first ones. It goes once around its part of the
 * index, starting where the host's last search ended. */
struct snap_search {
	bool left;          /* some candidates were not read */
	bool held_left;     /* next to read: more jobs of files that the host holds */
	bool new_files_out; /* files missing on the host were not searched */
	/* by index in the catalogue: apps whose plain jobs were not read */
	bool *unread;
	bool began, wrapped;
	struct place from;
	struct place before,
	    at; /* how far the index was read, without and with the last slice */
	size_t rows;
};

/* What is known of a file set of which the host holds files, before its row is read. */
enum held_is {
	HELD_UNKNOWN,
	HELD_READY,  /* it has unsent results */
	HELD_DRAINS, /* it has none, but may get some */
	HELD_CLOSED, /* nothing for this host: an admin paused or drains it */
};
struct held_set {
	int64_t id;
	const char *name; /* "" = unknown; stays until the next such read */
	size_t held,
	    files; /* of its files, the host holds so many; files 0 = unknown */
	enum held_is is;
};
struct held_choice {
	int64_t *now;
	size_t n; /* file sets to read at once */
	int64_t *later;
	size_t nlater; /* further sets with work, to read if those do not suffice */
	bool cut; /* there are too many sets: some that may have work are in neither */
};

struct snap_member { /* a file of a set */
	int64_t fileset_id, file_id;
	char *name;
	int64_t bytes;
	bool held;       /* the host has it, or is downloading it */
	bool has_others; /* belongs to more sets, which are not in the snapshot */
	/*
	 * another active host holds it; read only if locality_keep_last_holder is set
	 */
	bool elsewhere;
};

struct snap_file { /* a file set that may serve this request */
	int64_t fileset_id;
	char *name;
	bool held;              /* the host has all its files */
	bool from_working_set;  /* picked for a host without work on its own files */
	bool searched;          /* found by the deterministic search */
	int64_t bytes;          /* of all its files */
	int64_t bytes_missing;  /* of the files missing on the host */
	bool no_work_available; /* the generator said that it can make no more */
	/* no_work_available was set a moment ago: last results may still appear */
	bool no_work_is_news;
	bool paused; /* paused by the admin, or its app is drained */
	bool app_drained;
	bool draining; /* draining by the admin's order: no new work, no new holders */
	int64_t demand_time; /* when a host last asked for more jobs; 0 = never */
	bool unread;         /* its results were not read: there may be some */
	bool has_unsent;     /* an unsent result exists, for this user or not */
	bool has_open_wu;    /* some workunit may still produce results */
	bool has_any_wu;     /* a workunit exists or existed; false = never generated */
	/* The largest id that the user got of this set; 0 = none. The user was
	 * passed over with other jobs up to this id and does not get them. */
	int64_t last_id;
	bool last_read; /* last_id was read; else it is 0, and no job is below it */
	/*
	 * Jobs below this id are available again: the largest id that the user got
	 * locality_skip_release ago or earlier; 0 = none.
	 */
	int64_t released_id;
	struct job *jobs; /* unsent candidates by increasing id */
	size_t njobs;
};

/*
 * True if this host gets none of its jobs for now: a draining file is for its holders
 * only.
 */
static inline bool snap_file_held_back(const struct snap_file *f)
{
	return f->paused || (f->draining && !f->held);
}

struct snap_report { /* a reported result, aligned with request.reports */
	bool found;
	struct result result;
	bool same_user_host; /* it belongs to another host of the same user */
	int64_t owner_seen;  /* last request of that host; 0 = its row is gone */
};

/* A task that the host claims to have (request.other_results); its row may be gone. */
struct snap_other {
	/*
	 * a result of this account with that name, IN_PROGRESS or NO_REPLY, or of this
	 * host, CLIENT_DETACHED
	 */
	bool found;
	int32_t server_state, outcome;        /* of the result */
	int32_t error_mask, assimilate_state; /* of its workunit */
	/*
	 * another host of the account that has it; 0 = this host, and the members below
	 * are not read
	 */
	int64_t owner;
	int64_t owner_seen; /* as in snap_report */
	int64_t result_id, appid, fileset_id;
};

/* a message for this host that was not delivered yet (msg_to_host) */
struct snap_message {
	int64_t id;
	char *xml;
};

/*
 * Facts read together with the host's row. They spare the loader statements that would
 * find nothing; no decision uses them, so they are not recorded.
 */
struct snap_glance {
	bool there;       /* the facts were read, and just now */
	int32_t has_jobs; /* a result is in progress on the host, or the host says so */
	int32_t has_aimed; /* a workunit exists that is only for certain hosts */
	char *team_name;
	bool has_last;        /* the next two members were read */
	int64_t last_ready;   /* largest result.ready; READY_SENT: nothing is unsent */
	int64_t last_fileset; /* largest id; 0 = none exists */
};

/*
 * A query that supply made (model/decision.h), for explain and replay; no decision
 * looks at it.
 */
struct snap_query {
	const char *stage, *query; /* codes */
	const char *resource; /* that plain jobs are wanted for; "" = not for one */
	int64_t subject;      /* file set, or minus the id of an app; 0 = several */
	int64_t most, rows;   /* asked for, 0 = no limit; read */
	int64_t times;        /* such queries in a row; the rows are those of all */
	bool lock;
};

struct snapshot {
	struct snap_glance glance;
	const struct catalog *cat;
	struct user user;
	struct host host;     /* of a new host: id 0, filled from the request */
	bool host_new;        /* the commit inserts it */
	bool host_id_changed; /* the reply carries <hostid> */
	/* a row found by similarity that has nothing in progress */
	bool detach_in_progress;
	bool twin; /* the computer is attached twice: its clients' counts differ */
	bool weak_auth;
	bool has_time_stats_log,
	    has_job_log; /* stored; read only if logs are requested */
	/*
	 * As many other hosts of the account as allowed have jobs in progress; read
	 * only if this host has none and could get some.
	 */
	bool account_full;
	int64_t last_rpc_time; /* previous request of the host; 0 = none */
	/* MD5 of the user's e-mail address, hex; NULL = preferences are not stored */
	char *email_hash;
	char *team_name;                    /* "" = none */
	struct project_prefs project_prefs; /* of the account, at the host's venue */
	/*
	 * At the host's venue, for clients that sent no working preferences: the
	 * account's preferences and the client's master copy.
	 */
	struct rq_prefs account_prefs, master_prefs;
	struct host_app_version *havs;
	size_t nhavs;
	struct snap_report *reports; /* request.nreports of them */
	struct job *in_progress;     /* of this host, server_state 4, all columns */
	size_t nin_progress;
	/*
	 * Host row that this host replaces, 0 = none: the last ninherited of
	 * in_progress belong to that row until the commit.
	 */
	int64_t predecessor;
	size_t ninherited;
	/*
	 * aligned with request.other_results; NULL = not read, so that no unknown task
	 * is aborted
	 */
	struct snap_other *others;
	struct file *held_files; /* registered large files on the host */
	size_t nheld_files;
	struct snap_file *files; /* in the order in which to try them */
	size_t nfiles;
	struct snap_member *members; /* of all these sets, in no particular order */
	size_t nmembers;
	struct job *targeted; /* candidates for this host in particular */
	size_t ntargeted;
	/* of apps that use almost no CPU and of which the host has no job */
	struct job *nci;
	size_t nnci;
	struct job *plain; /* candidates without a file set */
	size_t nplain;
	/*
	 * workunits among the candidates of which this user (under the host rule, this
	 * host) already has a result
	 */
	int64_t *user_wus;
	size_t nuser_wus;
	struct snap_message *down;
	size_t ndown;
	/*
	 * On some requests: randomly drawn jobs, whatever the host holds, each of
	 * another file set, and the files of those sets (rules/sched/decide.h).
	 */
	struct job *drawn;
	size_t ndrawn;
	struct snap_member *drawn_members;
	size_t ndrawn_members;
	struct snap_search search;     /* for files and plain jobs */
	struct snap_search nci_search; /* for nci */
	bool wait_possible; /* there is budget and a slot to wait for the generator */
	bool waited;        /* this is the additional attempt after a wait */
	/* the wait ended because results of a wanted file appeared */
	bool wait_brought;
	struct snap_query *queries; /* by which candidates were read */
	size_t nqueries, queries_cap;
};

/* The snapshot's entry of a file set; NULL if there is none. Valid until a set is
 * added. */
struct snap_file *snapshot_file(const struct snapshot *, int64_t fileset_id);
/* True if there is any candidate, jobs of apps that use almost no CPU not counted. */
bool snapshot_any_candidate(const struct snapshot *);

/* What supply (rules/sched/supply.h) and the database exchange: a query and its
 * rows. Plain data. */

enum supply_kind {
#define QUERY(name, arguments, answer, text) SUPPLY_##name,
#include "model/supply_queries.def"
#undef QUERY
	SUPPLY__KINDS
};
enum supply_stage {
#define STAGE(name, passes, reader, why) STAGE_##name,
#include "model/supply_stages.def"
#undef STAGE
	STAGE__MAX
};

/* Maximum number of items in a query's list, as many as one statement takes. */
enum { SUPPLY_LIST_MAX = 64 };

/* How a file set came into the snapshot. */
enum set_origin { SET_HELD, SET_PICKED, SET_SEARCHED };

/* Only the arguments of the query's kind are set (model/supply_queries.def). */
struct supply_query {
	enum supply_kind kind;
	enum supply_stage stage; /* why the query is made */
	/* for people: the file set, or minus the app id; 0 = several */
	int64_t subject;
	/* Lock rows as they are read, and skip rows that others have locked; a
	 * transaction must be open. */
	bool lock;
	bool unlock;         /* roll this transaction back before the query */
	int64_t once;        /* key of the once rule (supply_once_key()); 0 = none */
	int64_t userid;      /* the account whose last jobs are asked for */
	int64_t ready;       /* as result.ready: a file set */
	int64_t first, last; /* range of result.ready; UPTO: last is a result id */
	int64_t urgent_first, urgent_last;
	int64_t multi_first, multi_last; /* range of assignment.multi */
	int64_t after, nth;
	int64_t sent_by; /* s UTC */
	size_t most;     /* maximum of rows; SETS: of file sets to add */
	const int64_t *ids;
	size_t nids; /* at most SUPPLY_LIST_MAX; SETS: any number */
	char *const *names;
	size_t nnames;
	enum set_origin origin;
	bool open_only; /* SETS: leave out sets that the admin holds back */
};

struct supply_pair {
	int64_t id, value;
};

/* The answer; fields that the kind does not answer are 0. */
struct supply_rows {
	size_t n; /* length of the array that is set */
	struct job *jobs;
	struct supply_pair *pairs;
	int64_t *ids;
	char **names;
	struct fileset *sets;
	struct snap_member *members; /* their field held is set */
	bool found;                  /* number is valid */
	int64_t number;
};

/* The codes of kinds and stages in traces, and their texts for people. */
const char *supply_kind_name(enum supply_kind);
const char *supply_stage_name(enum supply_stage);
/* Return NULL for an unknown code. */
const char *supply_kind_text(const char *code);
const char *supply_stage_text(const char *code);

enum report_action { REPORT_ACK_ONLY, REPORT_STORE };
#define REPORT_FOREIGN "another user's" /* note of a result that was sent elsewhere */

struct dec_report { /* aligned with request.reports */
	enum report_action action;
	bool ack;
	int32_t expect_state,
	    expect_outcome; /* the update applies only to a row in this state */
	int32_t outcome, validate_state; /* new values */
	int32_t exit_status;
	double cpu_time, elapsed_time; /* as made plausible (protocol.md 3.5) */
	int64_t result_id, workunitid;
	const char *note; /* for the log: "late", "unknown", "already received", ... */
};

enum send_how {
	SEND_LOST,
	SEND_TARGETED,
	SEND_OLD, /* unsent for longer than locality_scheduling_send_timeout */
	SEND_HELD,
	SEND_WORKING_SET,
	SEND_SEARCHED,
	SEND_PLAIN
};
/* With adaptive replication: whether the job's workunit gets more results. */
enum replication {
	REPLICATION_FIXED,     /* does not apply: the workunit says how many */
	REPLICATION_ALONE,     /* no: the version is trusted on this host */
	REPLICATION_UNTRUSTED, /* yes: the version is not trusted on this host */
	/* yes: the version is trusted, but spot-checked now and then */
	REPLICATION_SPOT_CHECK
};

struct dec_send {
	enum send_how how;
	const struct job *job;
	const struct app *app;
	/* NULL: the client's own version (anonymous platform) */
	const struct app_version *version;
	int32_t client_version; /* index into request.app_versions, -1 = none */
	/* id of version, or the id of the client's own program (model/catalog.h) */
	int64_t app_version_id;
	size_t resource; /* index into request.resources */
	double usage;    /* instances of the resource */
	double avg_ncpus;
	double gpu_ram_bytes; /* of the resource, 0 = unknown */
	double memory_bound;  /* bytes: from the plan class, or the workunit's bound */
	const char *cmdline;  /* arguments from the plan class, NULL or "" = none */
	double projected_flops;         /* for <flops> and the runtime estimate */
	enum speed_source speed_source; /* source of projected_flops */
	double peak_flops; /* of everything that the job uses: result.flops_estimate */
	double runtime_s;  /* estimated wall seconds, availability included */
	int64_t deadline;  /* as sent; the stored one includes the grace period */
	int64_t bytes_needed, bytes_saved; /* bytes of large files */
	/*
	 * once rule: userid, -hostid, or 0 = none; for a new host, which has no id yet,
	 * the commit fills in the id that it inserted
	 */
	int64_t once;
	/* a resend: the row is in progress on this host already */
	bool expect_in_progress;
	/*
	 * Binds the workunit to this class or version, unless it was bound to another
	 * one meanwhile; 0 = its app does not require it.
	 */
	int32_t bind_hr_class;
	int64_t bind_version_id;
	enum replication replication;
	/* of the version on this host, if trust was checked */
	int32_t consecutive_valid;
	/* new target_nresults and min_quorum of the workunit, 0 = unchanged */
	int32_t raise_to;
};

const char *send_how_name(enum send_how);       /* "held" */
const char *replication_name(enum replication); /* "ALONE"; "" for FIXED */
const char *file_state_name(enum file_state);   /* "DRAINING" */

struct dec_move {                /* moves a result in progress to this host */
	int64_t result_id, from; /* the host that had it */
};

struct dec_delete {
	const char *name;
	int64_t file_id;
	int64_t bytes;
	/* state of the liveliest set with this file: why it is deleted */
	enum file_state state;
	bool for_space;
};

struct dec_message {
	bool notice; /* a notice; else priority low */
	char *text;  /* < 1024 bytes */
};

/*
 * A host that wanted work and gets none is told, in its last message of priority low,
 * which decision it was: "Decision 89abcdef: DISK". The number is rpc= in the log, the
 * word is the code of the decisive reason.
 */
#define DECISION_MESSAGE "Decision "

/* outcome for each file set considered: for explain and files_no_work */
struct dec_file {
	const struct snap_file *file;
	enum file_state state;
	enum reason why; /* decisive reason if none of its jobs was sent */
	size_t sent, refused;
	bool spent; /* nothing is left of it that this account could get */
	/* some of its jobs are reserved for requests that wait for them */
	bool awaited;
	bool mark_no_work; /* create files_no_work/F after the commit */
};

struct dec_skip {
	const struct job *job;
	enum reason why;
};

struct dec_baseline { /* what a job would cost if files held were ignored */
	size_t drawn, fit;
	int64_t mean_bytes; /* mean bytes missing on the host, over the jobs that fit */
};

struct decision {
	struct dec_report *reports; /* request.nreports of them */
	struct dec_send *sends;
	size_t nsends;
	const char **aborts; /* result names: <result_abort> */
	size_t naborts;
	const char **aborts_if_not_started;
	size_t naborts_if_not_started;
	struct dec_move *moves;
	size_t nmoves;
	/*
	 * lost jobs that cannot be resent: the commit sets their deadline to the past
	 */
	const struct job **expire;
	size_t nexpire;
	struct dec_delete *deletes;
	size_t ndeletes;
	struct dec_message *messages;
	size_t nmessages;
	bool lacks_room;        /* nothing is sent, for lack of disk space */
	struct dec_file *files; /* snapshot.nfiles of them */
	/* file sets to raise need_work for and wait for; then decide again */
	int64_t *want;
	size_t nwant;
	int64_t want_after; /* the newest result id that was tried without success */
	bool more;          /* read the next slice of candidates, then decide again */
	bool more_nci;      /* the same for the candidates in snapshot.nci */
	/*
	 * By index in the catalogue: no job of the app can be sent with this request.
	 */
	const bool *apps_refused;
	struct place cursor, nci_cursor; /* where the host's next searches begin */
	double request_delay;            /* s, 0 = none */
	bool work_wanted; /* the request asked for work and may get some */
	enum reason why;  /* decisive reason if work was wanted and none is sent */
	enum reason rest; /* why no more jobs were tried, NONE = all were */
	size_t counts[WHY__MAX]; /* candidates left out, by reason */
	struct dec_skip *skips;  /* the first 64 of them at most */
	size_t nskips;
	bool resend_seen;
	bool no_work_deadlines; /* nothing is sent, partly because of deadlines */
	char **no_rsc_apps;     /* resource types that no app of the project uses */
	size_t nno_rsc_apps;
	bool send_code_sign_key;
	/* messages to the host's tasks; the commit marks them as delivered */
	struct snap_message *down;
	size_t ndown;
	/* Send the client's logs from this time on, s UTC; 0 = not wanted. */
	int64_t send_time_stats_log, send_job_log;
	bool send_global_prefs, store_global_prefs;
	struct dec_baseline baseline;
};

#endif
