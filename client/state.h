/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a host knows, as rows; kept in client_state.json so that a killed client
 * goes on where it was. A file, a workunit or a version that nothing refers to any more
 * is dropped when the state is saved.  What was read from a file has no string that is
 * NULL; where there may be none it is "" or, before the first save, NULL.
 */
#ifndef CLIENT_STATE_H
#define CLIENT_STATE_H

#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/reply.h"
#include "model/states.h"

enum file_status { FS_ABSENT = 0, FS_PRESENT = 1, FS_FAILED = -1 };
struct cfile {
	struct rp_file info;
	int32_t status;    /* enum file_status */
	int32_t error;     /* BOINC error number when FS_FAILED (wire.md 4.8) */
	int32_t failures;  /* of its transfer, in a row */
	int32_t url;       /* the one to try next */
	int64_t try_after; /* s UTC */
	bool output;       /* made here, to be uploaded */
	bool uploaded;
	bool upload_failed;
	char *md5;   /* outputs: of the file as uploaded */
	double size; /* outputs: bytes */
};

struct ctask {
	struct rp_result r;
	int32_t state; /* CLIENT_* of model/states.h */
	int32_t exit_status;
	int64_t received_at, started_at, ready_at;
	double cpu_s, elapsed_s;
	int32_t slot;                /* -1 = none */
	int64_t pid;                 /* of the running application, 0 = none */
	bool paused;                 /* the application is stopped, in memory */
	int64_t paused_at, paused_s; /* since when; how long before that */
	bool ready;                  /* to be reported */
	bool acked;                  /* the server has the report: forget the task */
	char *message;               /* what went wrong, for stderr_out */
};

struct state {
	char *master_url, *authenticator, *project_name, *host_cpid, *venue;
	char **schedulers;
	size_t nschedulers;
	int64_t hostid, rpc_seqno, userid;
	int32_t nrpc_failures, nmaster_failures;
	int32_t nempty_replies; /* without the work hoped for, in a row */
	int32_t nvain_replies;  /* without the id or acks hoped for, in a row */
	int32_t ntask_failures; /* in a row */
	int64_t min_rpc_time, next_rpc_time, work_backoff_until;
	bool contacted;
	int64_t clock; /* s UTC, when it was last looked at */
	char *code_sign_key;
	struct rp_app_version *versions;
	size_t nversions;
	struct rp_workunit *workunits;
	size_t nworkunits;
	struct cfile *files;
	size_t nfiles;
	struct ctask *tasks;
	size_t ntasks;
	int64_t benchmarked_at;
	double p_fpops, p_iops;
};

/* E_NOTFOUND: no state yet.  E_BADREQ: it is not a state. */
enum err state_load(struct arena *, const char *path, struct state **, struct fail *);
/*
 * Writes what is still of use and reads it back into a fresh arena: *st is replaced,
 * the old rows are gone, and *dropped (of the scratch arena) names the files that went
 * with them.  If it fails all is as before.
 */
enum err state_save(struct arena *, const char *path, struct state **,
    struct arena *scratch, char ***dropped, size_t *ndropped, struct fail *);
/*
 * Takes the time.  If it is behind what was seen before, the clock was set back, and
 * all times of the state go back by as much, so that nothing waits for ever.
 */
void state_clock(struct state *, int64_t now);

struct cfile *state_file(const struct state *, const char *name); /* NULL if unknown */
struct rp_workunit *state_workunit(const struct state *, const char *name);
struct ctask *state_task(const struct state *, const char *name);
/* By platform, number and plan class. */
struct rp_app_version *state_version(
    const struct state *, const char *app_name, const struct rp_result *);
/* The version that runs a task; NULL if it is not known. */
struct rp_app_version *task_version(const struct state *, const struct ctask *);
/* What of all that the result refers to is not known, in words; NULL if nothing. */
const char *state_lacks(const struct state *, const struct rp_result *);
/* Does a task that is not finished need this file as input or of its version? */
bool state_wants(const struct state *, const char *file_name);

#endif
