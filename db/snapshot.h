/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the snapshot's results: those in progress on the host and those that it
 * reports (performance.md 1 (R2, R3)). */
#ifndef DB_SNAPSHOT_H
#define DB_SNAPSHOT_H

#include "db/entity.h"
#include "model/decision.h"

struct request_prefetch {              /* of one request */
	const struct request *rq;      /* set by the caller */
	struct row_host_account *host; /* NULL: none, or not read */
	bool jobs_read, versions_read, files_read;
	struct job *jobs; /* in progress on the host */
	size_t njobs;
	struct host_app_version *versions;
	size_t nversions;
	struct row_set_file *files; /* that the host holds, with their sets */
	size_t nfiles;
};

/*
 * Reads for at most DB_LIST_MAX requests; requests without a host id are skipped.  On
 * failure, what was read so far can be used.
 */
enum err prefetch_read(
    struct db *, struct arena *, struct request_prefetch *, size_t n, struct fail *);

/* Is this request's part about this host?  NULL is about none. */
bool prefetch_is_of(const struct request_prefetch *, int64_t hostid);

#endif
