/* SPDX-License-Identifier: Apache-2.0 */
/* The answer to one RPC, as plain data: commit writes it, render prints it and
 * explain shows it. */
#ifndef MODEL_DECISION_H
#define MODEL_DECISION_H

#include "model/reasons.h"
#include "model/request.h"
#include "model/snapshot.h"
#include "model/speed.h"

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
	/* id of version, or the id of the client's own program (model/resource.h) */
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
