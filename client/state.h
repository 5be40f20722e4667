/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a host knows, as rows per project, kept in client_state.json so that a
 * killed client continues where it was. Saving the state drops files, workunits and
 * versions that nothing refers to any more. Strings of rows that were loaded are never
 * NULL; an optional string is "" or, before the first save, NULL.
 */
#ifndef CLIENT_STATE_H
#define CLIENT_STATE_H

#include <jansson.h>
#include <stddef.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/names.h"
#include "model/reply.h"
#include "model/rows.h"
#include "rules/client/world.h"

enum file_status { FS_ABSENT = 0, FS_PRESENT = 1, FS_FAILED = -1 };
struct cfile {
	struct rp_file info;
	int32_t status;    /* enum file_status */
	int32_t error;     /* BOINC error number if FS_FAILED (protocol.md 4.8) */
	int32_t failures;  /* of its transfer, in a row */
	int32_t url;       /* index of the URL to try next */
	int64_t try_after; /* s UTC */
	int64_t told_at;   /* s UTC, when a reply last mentioned it */
	bool output;       /* created here, to be uploaded */
	bool uploaded;
	bool upload_failed;
	char *md5;   /* of the file as downloaded, or as to be uploaded */
	double size; /* of an output file, bytes */
	/* Key of its file_signature; "" or NULL: the project's current key. */
	char *sign_key;
	int32_t changed; /* how often it was found changed */
};

struct ctask {
	struct rp_result r;
	int32_t state; /* CLIENT_* of model/rows.h */
	int32_t exit_status;
	int64_t received_at, started_at, ready_at; /* s UTC; started_at: first start */
	double cpu_s, elapsed_s;
	int32_t slot;            /* -1 = none */
	int64_t pid;             /* of its program, running or stopped; 0 = none */
	bool suspended;          /* by the user */
	bool paused;             /* the program is stopped, in memory */
	int64_t run_since;       /* s UTC, start of the current episode */
	double ran_s;            /* run time before that, without what was lost */
	int64_t checkpointed_at; /* s UTC; 0 = never */
	double saved_s;          /* run time at that checkpoint */
	double fraction_done;    /* as the program last reported it; 0 = not yet */
	double fraction_ran_s;   /* run time at that report */
	double endangered_at;    /* see struct cw_task */
	int32_t device;          /* first coprocessor instance */
	/* What its program, linked with the BOINC API, says and is to know: app.h. */
	bool api;              /* it has said something in this run */
	int32_t ask;           /* bits of enum app_ask that are still to be said */
	int64_t asked_at;      /* s UTC, when it was last paused or resumed */
	double reported_cpu_s; /* CPU time of the task, as it last said; 0 = not yet */
	double saved_cpu_s;    /* CPU time at its last checkpoint */
	int64_t again_at;      /* s UTC: it wants to wait until then */
	int32_t nreturns;      /* how often it ended before it was done, in a row */
	bool ready;            /* to be reported */
	bool acked;            /* the server has the report; forget the task */
	char *message;         /* error text for stderr_out */
};

struct standing {   /* a project's standing with one resource of the host */
	char *name; /* of the resource */
	double backoff_s, backoff_until;
	/* no_apps: the project has none for it; refused: by the account's
	 * preferences. */
	bool no_apps, refused;
	double std, ltd; /* see struct cw_acct */
	bool gave;
};

struct cestimate { /* what was learned about the estimates for an app version */
	char *app_name, *plan_class;
	int32_t version_num;
	struct correction learned;
};

struct cproject {
	char *master_url, *authenticator, *project_name;
	char *said_url; /* the master URL that it gives itself; NULL or "": none yet */
	char *same_as;  /* URL of another attachment to this project, which stays */
	char **schedulers;
	size_t nschedulers;
	int64_t hostid, rpc_seqno, userid;
	double attached_at;
	double share;
	bool own_share;              /* set by the user, not from the account */
	bool suspended, no_new_work; /* by the user */
	bool update_seen; /* the order "update URL" that is present was carried out */
	double dcf;
	bool no_dcf; /* the project's estimates need no correction factor */
	bool nci;    /* not CPU-intensive, whatever its apps say */
	char *code_sign_key;
	struct rp_account account;
	char *venue;       /* the host's, as this project says */
	char *preferences; /* of the account for this project, raw; NULL or "": none */
	int64_t ntrickles; /* messages of its tasks that are to be sent */
	int64_t nsucceeded, nfailed; /* tasks that ended since it was attached */
	double computed_s;           /* run time of those */
	/* The rules' facts about the project. */
	struct cw_rpc rpc;
	struct cw_acct acct;
	struct standing *standings;
	size_t nstandings;
	struct cestimate *estimates;
	size_t nestimates;
	struct rp_app *apps; /* apps of its versions */
	size_t napps;
	struct rp_app_version *versions;
	size_t nversions;
	struct rp_workunit *workunits;
	size_t nworkunits;
	struct cfile *files;
	size_t nfiles;
	struct ctask *tasks;
	size_t ntasks;
	/* Indexes of the first n rows by name; later rows are searched linearly. */
	struct rows_index {
		struct names by_name;
		size_t n;
	} file_index, workunit_index, task_index;
};

struct mode { /* what the user allows; see enum mode_kind */
	int32_t lasting, brief;
	double brief_until; /* s UTC: brief applies before then */
};

struct state {
	char *host_cpid;
	int64_t clock; /* s UTC, the time of the last look at the clock */
	int64_t benchmarked_at;
	double p_fpops, p_iops;
	struct cw_fractions fractions; /* as of fractions_at; 0 = never measured */
	double fractions_at;
	struct cw_gaps gaps; /* without a network */
	/* The newest global preferences: the content of the element, the master URL of
	 * the project that sent them, and the host's venue there; NULL or "": none. */
	char *preferences, *preferences_from, *preferences_venue;
	bool full_workload; /* a project wants to know all tasks of the host */
	/* See struct client_world. */
	double accounted_at, asked_at, scheduled_at;
	bool in_session;
	struct mode run_mode, gpu_mode, network_mode;
	/* What the network carried since then, s UTC, if its user limits it. */
	double traffic_since, traffic_bytes;
	/* Sorted by master URL, so that the order is reproducible. */
	struct cproject *projects;
	size_t nprojects;
};

/* Loads a state. E_NOTFOUND: there is none yet. E_BADREQ: the file is not a state.
 * Accepts a state from the time when a host had only one project, too. */
enum err state_load(struct arena *, const char *path, struct state **, struct fail *);
/* Writes what is still needed and copies it into a fresh arena, as a load would read
 * it: replaces *st, frees the old rows, and returns in *dropped (in the scratch arena)
 * the files that went with them. On failure nothing changes. */
struct dropped {
	const char *master_url, *name;
};
enum err state_save(struct arena *, const char *path, struct state **,
    struct arena *scratch, struct dropped **, size_t *ndropped, struct fail *);
/* Takes note of the time. If the clock was set back, moves all times of the state back
 * by as much, so that nothing waits for ever. */
void state_clock(struct state *, int64_t now);

struct cproject *state_project(const struct state *, const char *master_url);
/* Adds a project with defaults, in its place among the others. */
struct cproject *state_add(struct arena *, struct state *, const char *master_url);
/* Removes the project with all its rows. */
void state_remove(struct state *, const char *master_url);
/* Returns the project's standing with the resource; creates it if there is none yet. */
struct standing *state_standing(
    struct arena *, struct cproject *, const char *resource);

/* The following functions return NULL if there is no such row. */
struct cfile *state_file(const struct cproject *, const char *name);
/* Does the file belong to a version? Then it must be signed (protocol.md 13.6.3). */
bool state_is_app_file(const struct cproject *, const char *name);
/* Does the project want to know that the host has the file (client.md 6)? */
bool file_listed(const struct cfile *);
/* Is the file's sticky lifetime over (client.md 6)? */
bool file_expired(const struct cfile *, int64_t now);
struct rp_app *state_app(const struct cproject *, const char *name);
struct rp_workunit *state_workunit(const struct cproject *, const char *name);
struct ctask *state_task(const struct cproject *, const char *name);
/* Looks a version up by app, platform, number and plan class. */
struct rp_app_version *state_version(
    const struct cproject *, const char *app_name, const struct rp_result *);
/* Returns the version that runs the task. */
struct rp_app_version *task_version(const struct cproject *, const struct ctask *);
/* Returns the task's app; never NULL: an unknown app is an ordinary one. */
const struct rp_app *task_app(const struct cproject *, const struct ctask *);
/* Returns which row that the result refers to is missing, in words; NULL if none. */
const char *state_lacks(const struct cproject *, const struct rp_result *);
/* Returns a flag per file: needed by a task that is not finished, as input or by its
 * version. */
bool *state_wanted(struct arena *, const struct cproject *);
/* Adds new rows to the indexes by name; call it right after adding rows, so that
 * lookups stay fast. The arena is the rows'. */
void state_index(struct arena *, struct cproject *);
/* state_drop_rows() leaves out rows that nothing refers to any more, state_drop_files()
 * files that nobody needs. Both copy the rows; the old ones stay as they are. */
struct dropped;
void state_drop_rows(struct cproject *, struct arena *);
void state_drop_files(
    struct cproject *, struct arena *, struct dropped *, size_t *ndropped);

#endif
