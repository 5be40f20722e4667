/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What one RPC is answered: plain data that commit writes, render prints, explain
 * shows.
 */
#ifndef MODEL_DECISION_H
#define MODEL_DECISION_H

#include "model/reasons.h"
#include "model/request.h"
#include "model/snapshot.h"
#include "model/speed.h"

enum report_action { REPORT_ACK_ONLY, REPORT_STORE };
struct dec_report { /* aligned with request.reports */
	enum report_action action;
	bool ack;
	int32_t expect_state, expect_outcome; /* what the update must still find */
	int32_t outcome, validate_state;      /* new values */
	int32_t exit_status;
	double cpu_time, elapsed_time; /* made plausible (protocol.md 3.5) */
	int64_t result_id, workunitid;
	const char *note; /* "late", "unknown", "already received", ... for the log */
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
/* Of an app with adaptive replication: is the job's workunit given more results? */
enum replication {
	REPLICATION_FIXED, /* that is not the question: the workunit says how many */
	REPLICATION_ALONE, /* no: the version has proved right on this host */
	REPLICATION_UNTRUSTED, /* yes, it has not */
	REPLICATION_SPOT_CHECK /* yes, it has, but is looked at now and then */
};

struct dec_send {
	enum send_how how;
	const struct job *job;
	const struct app *app;
	const struct app_version
	    *version;           /* NULL: the client's own (anonymous platform) */
	int32_t client_version; /* index into request.app_versions, -1 = none */
	int64_t app_version_id; /* of version, or of the client's own program
	                           (model/resource.h) */
	size_t resource;        /* index into request.resources */
	double usage;           /* instances of that resource */
	double avg_ncpus;
	double gpu_ram_bytes;   /* of the resource, 0 = not said */
	double memory_bound;    /* bytes: the plan class's figure or the workunit's */
	const char *cmdline;    /* arguments of the plan class, NULL or "" = none */
	double projected_flops; /* for <flops> and the estimate */
	enum speed_source speed_source; /* where that is from */
	double peak_flops;              /* of all that it uses: result.flops_estimate */
	double runtime_s;               /* estimated, availability counted */
	int64_t deadline; /* as sent; stored with the grace period added */
	int64_t bytes_needed, bytes_saved; /* of large files */
	int64_t once; /* userid, -hostid, or 0 = no once rule; a new host has no id
	                 yet: for its -hostid the commit puts the id it inserted */
	bool expect_in_progress; /* a resend: the row is the host's already */
	/* What the workunit is bound to from then on, if it is not bound to something
	 * else meanwhile; 0 = its app does not ask for that. */
	int32_t bind_hr_class;
	int64_t bind_version_id;
	enum replication replication;
	int32_t consecutive_valid; /* of the version on this host, if that counted */
	int32_t raise_to; /* the workunit's target_nresults and min_quorum, 0 = leave */
};

const char *send_how_name(enum send_how);       /* "held" */
const char *replication_name(enum replication); /* "ALONE"; "" for FIXED */
const char *file_state_name(enum file_state);   /* "DRAINING" */

struct dec_move {                /* a result in progress becomes this host's */
	int64_t result_id, from; /* host */
};

struct dec_delete {
	const char *name;
	int64_t file_id;
	int64_t bytes;
	enum file_state state; /* why: of the liveliest set that the file is in */
	bool for_space;
};

struct dec_message {
	bool notice; /* else priority low */
	char *text;  /* < 1024 bytes */
};

/*
 * A host that wanted work and gets none is told in its last message, of priority low,
 * which decision that was: "Decision 89abcdef: DISK".  The number is rpc= of the log,
 * the word the code of the decisive reason.
 */
#define DECISION_MESSAGE "Decision "

struct dec_file { /* how each considered file set ended: explain and files_no_work */
	const struct snap_file *file;
	enum file_state state;
	enum reason why; /* decisive reason when nothing of it was sent */
	size_t sent, refused;
	bool spent;        /* nothing is left of it that this account could get */
	bool awaited;      /* has jobs that are left to those who wait for them */
	bool mark_no_work; /* create files_no_work/F after the commit */
};

struct dec_skip {
	const struct job *job;
	enum reason why;
};

struct dec_baseline { /* what a job would cost if files held did not matter */
	size_t drawn, fit;
	int64_t mean_bytes; /* that the host lacks of the files of one that fits */
};

struct decision {
	struct dec_report *reports; /* request.nreports */
	struct dec_send *sends;
	size_t nsends;
	const char **aborts; /* result names: <result_abort> */
	size_t naborts;
	const char **aborts_if_not_started;
	size_t naborts_if_not_started;
	struct dec_move *moves;
	size_t nmoves;
	const struct job *
	    *expire; /* lost, cannot be resent: deadline set to the past */
	size_t nexpire;
	struct dec_delete *deletes;
	size_t ndeletes;
	struct dec_message *messages;
	size_t nmessages;
	struct dec_file *files; /* snapshot.nfiles */
	int64_t *want; /* filesets to raise need_work for and to wait for; then decide
	                  again */
	size_t nwant;
	int64_t want_after; /* results up to this id were looked at in vain */
	bool more; /* the next slice of candidates is to be read; then decide again */
	bool more_nci; /* the same of those in snapshot.nci */
	/* By place in the catalogue: no job of the app can be sent with this request.
	 */
	const bool *apps_refused;
	struct place cursor, nci_cursor; /* where the host's next searches begin */
	double request_delay;            /* s, 0 = none */
	bool work_wanted; /* the request asked for work and may get some */
	enum reason why;  /* decisive reason when work was wanted and none is sent */
	enum reason rest; /* why no more was tried, NONE = all was */
	size_t counts[WHY__MAX]; /* candidates left out, per reason */
	struct dec_skip *skips;  /* the first of them, at most 64 */
	size_t nskips;
	bool resend_seen;
	bool no_work_deadlines; /* nothing is sent, and deadlines had a part in it */
	char **no_rsc_apps;     /* resource types that no app of the project uses */
	size_t nno_rsc_apps;
	bool send_code_sign_key;
	struct snap_message *down; /* to be handed over: marked by the commit */
	size_t ndown;
	/* Logs of the client from then on, s UTC; 0 = not wanted. */
	int64_t send_time_stats_log, send_job_log;
	bool send_global_prefs, store_global_prefs;
	struct dec_baseline baseline;
};

#endif
