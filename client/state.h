/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All that a host knows, as rows; kept in client_state.json so that a killed client
 * goes on where it was. A file, a workunit or a version that nothing refers to any more
 * is dropped when the state is saved.
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
	int32_t slot;  /* -1 = none */
	int64_t pid;   /* of the running application, 0 = none */
	bool ready;    /* to be reported */
	bool acked;    /* the server has the report: forget the task */
	char *message; /* what went wrong, for stderr_out */
};

struct state {
	char *master_url, *authenticator, *project_name, *host_cpid, *venue;
	char **schedulers;
	size_t nschedulers;
	int64_t hostid, rpc_seqno, userid;
	int32_t nrpc_failures, nmaster_failures, nempty_replies;
	int64_t min_rpc_time, next_rpc_time, work_backoff_until;
	bool contacted;
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

/* E_NOTFOUND: no state yet. */
enum err state_load(struct arena *, const char *path, struct state **, struct fail *);
/*
 * Writes what is still of use and reads it back into a fresh arena: *st is replaced,
 * the old rows are gone.
 */
enum err state_save(struct arena *, const char *path, struct state **, struct fail *);

struct cfile *state_file(const struct state *, const char *name); /* NULL if unknown */
struct rp_workunit *state_workunit(const struct state *, const char *name);
struct ctask *state_task(const struct state *, const char *name);
struct rp_app_version *state_version(
    const struct state *, const char *app_name, const struct rp_result *);
/* The version that runs a task; NULL if it is not known. */
struct rp_app_version *task_version(const struct state *, const struct ctask *);

#endif
