/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a host knows, as rows per project; kept in client_state.json so that a
 * killed client goes on where it was. A file, a workunit or a version that nothing
 * refers to any more is dropped when the state is saved.  What was read from a file has
 * no string that is NULL; where there may be none it is "" or, before the first save,
 * NULL.
 */
#ifndef CLIENT_STATE_H
#define CLIENT_STATE_H

#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/index.h"
#include "model/reply.h"
#include "model/states.h"
#include "rules/client/world.h"

enum file_status { FS_ABSENT = 0, FS_PRESENT = 1, FS_FAILED = -1 };
struct cfile {
	struct rp_file info;
	int32_t status;    /* enum file_status */
	int32_t error;     /* BOINC error number when FS_FAILED (protocol.md 4.8) */
	int32_t failures;  /* of its transfer, in a row */
	int32_t url;       /* the one to try next */
	int64_t try_after; /* s UTC */
	int64_t told_at;   /* s UTC, when a reply last spoke of it */
	bool output;       /* made here, to be uploaded */
	bool uploaded;
	bool upload_failed;
	char *md5;       /* of the file as it came, or as it is uploaded */
	double size;     /* outputs: bytes */
	char *sign_key;  /* of its file_signature; "" or NULL: the project's */
	int32_t changed; /* so often it was found to be not what came */
};

struct ctask {
	struct rp_result r;
	int32_t state; /* CLIENT_* of model/states.h */
	int32_t exit_status;
	int64_t received_at, started_at,
	    ready_at; /* s UTC; started: for the first time */
	double cpu_s, elapsed_s;
	int32_t slot;            /* -1 = none */
	int64_t pid;             /* of its program, running or stopped; 0 = none */
	bool paused;             /* the program is stopped, in memory */
	int64_t run_since;       /* s UTC, of the present episode */
	double ran_s;            /* before that, as far as it is not lost */
	int64_t checkpointed_at; /* s UTC; 0 = never */
	double saved_s;          /* what it had run then */
	double fraction_done;    /* as it told last; 0 = not yet */
	double fraction_ran_s;   /* what it had run then */
	double endangered_at;    /* as in struct cw_task */
	int32_t device;          /* of a coprocessor: its first instance */
	bool ready;              /* to be reported */
	bool acked;              /* the server has the report: forget the task */
	char *message;           /* what went wrong, for stderr_out */
};

struct standing {   /* of a project, with one resource of the host */
	char *name; /* of the resource */
	double backoff_s, backoff_until;
	bool no_apps, refused; /* of the project; by the account */
	double std, ltd;       /* see struct cw_acct */
	bool gave;
};

struct cproject {
	char *master_url, *authenticator, *project_name;
	char **schedulers;
	size_t nschedulers;
	int64_t hostid, rpc_seqno, userid;
	double attached_at;
	double share;
	bool own_share;   /* the user's, not the account's */
	bool update_seen; /* the order "update URL" that is there was followed */
	double dcf;
	bool no_dcf; /* the project's estimates need none */
	bool nci;    /* it is not CPU-intensive, whatever its apps */
	char *code_sign_key;
	/* What the rules know of it. */
	struct cw_rpc rpc;
	struct cw_acct acct;
	struct standing *standings;
	size_t nstandings;
	struct rp_app *apps; /* of its versions */
	size_t napps;
	struct rp_app_version *versions;
	size_t nversions;
	struct rp_workunit *workunits;
	size_t nworkunits;
	struct cfile *files;
	size_t nfiles;
	struct ctask *tasks;
	size_t ntasks;
	/* Of the first rows, by name; the rest is looked through. */
	struct rows_index {
		struct index *by_name;
		size_t n;
	} file_index, workunit_index, task_index;
};

struct state {
	char *host_cpid;
	int64_t clock; /* s UTC, when it was last looked at */
	int64_t benchmarked_at;
	double p_fpops, p_iops;
	struct cw_fractions fractions; /* as of then; 0 = never measured */
	double fractions_at;
	/* The newest global preferences: what is inside of the element, the master URL
	 * of the project that they came from, and the host's venue there; NULL or "":
	 * none. */
	char *preferences, *preferences_from, *preferences_venue;
	bool full_workload; /* some project wants to know of all tasks */
	/* As in struct client_world. */
	double accounted_at, asked_at, scheduled_at;
	bool in_session;
	struct cproject *projects; /* by master URL, so that the order is always one */
	size_t nprojects;
};

/*
 * E_NOTFOUND: no state yet.  E_BADREQ: it is not a state.  One that was written when a
 * host had one project only is taken as well.
 */
enum err state_load(struct arena *, const char *path, struct state **, struct fail *);
/*
 * Writes what is still of use and copies it into a fresh arena, as it would be read
 * back: *st is replaced, the old rows are gone, and *dropped (of the scratch arena) are
 * the files that went with them.  If it fails all is as before.
 */
struct dropped {
	const char *master_url, *name;
};
enum err state_save(struct arena *, const char *path, struct state **,
    struct arena *scratch, struct dropped **, size_t *ndropped, struct fail *);
/*
 * Takes the time.  If it is behind what was seen before, the clock was set back, and
 * all times of the state go back by as much, so that nothing waits for ever.
 */
void state_clock(struct state *, int64_t now);

struct cproject *state_project(const struct state *, const char *master_url);
/* A project without anything but defaults, in its place among the others. */
struct cproject *state_add(struct arena *, struct state *, const char *master_url);
/* Forgets it and all that is its. */
void state_remove(struct state *, const char *master_url);
/* That of the resource; made if there is none yet. */
struct standing *state_standing(
    struct arena *, struct cproject *, const char *resource);

/* Below: NULL if there is no such row. */
struct cfile *state_file(const struct cproject *, const char *name);
/* Is it a file of a version?  Then it must be signed (protocol.md 13.6.3). */
bool state_is_app_file(const struct cproject *, const char *name);
/* Does the project want to hear that the host has it (client.md 6)? */
bool file_listed(const struct cfile *);
/* Its time as a sticky file is over (client.md 6). */
bool file_expired(const struct cfile *, int64_t now);
struct rp_app *state_app(const struct cproject *, const char *name);
struct rp_workunit *state_workunit(const struct cproject *, const char *name);
struct ctask *state_task(const struct cproject *, const char *name);
/* By platform, number and plan class. */
struct rp_app_version *state_version(
    const struct cproject *, const char *app_name, const struct rp_result *);
/* The version that runs a task. */
struct rp_app_version *task_version(const struct cproject *, const struct ctask *);
/* What is known of its app; an app of which nothing is known is an ordinary one. */
const struct rp_app *task_app(const struct cproject *, const struct ctask *);
/* What of all that the result refers to is not known, in words; NULL if nothing. */
const char *state_lacks(const struct cproject *, const struct rp_result *);
/* Files that tasks which are not finished need as input or of their version, one flag
 * per file. */
bool *state_wanted(struct arena *, const struct cproject *);
/*
 * Looks up what was added since by name, too; at once, so that what follows is fast.
 * The arena is that of the rows.
 */
void state_index(struct arena *, struct cproject *);
/* Rows that nothing refers to any more, and files that nobody needs, are left out; the
 * rows are copied, the old ones stay as they are. */
struct dropped;
void state_drop_rows(struct cproject *, struct arena *);
void state_drop_files(
    struct cproject *, struct arena *, struct dropped *, size_t *ndropped);

#endif
