/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the files commit*.c: what a request writes. */
#ifndef SCHED_RPC_COMMIT_H
#define SCHED_RPC_COMMIT_H

#include "sched/rpc/rpc.h"

enum op_kind { OP_MOVE, OP_REPORT, OP_SEND, OP_EXPIRE };
struct op {                /* a change of one result */
	int64_t result_id; /* 0 = a report of an unknown name */
	enum op_kind kind;
	size_t i; /* of the decision's reports, sends, ... */
};
struct touch { /* a workunit for the transitioner to visit by then */
	int64_t workunitid, at;
	int32_t hr_class; /* what a sent job binds it to, 0 = nothing */
	int64_t version_id;
	int32_t raise_to; /* target_nresults after a sent job, 0 = unchanged */
};

struct commit { /* what one request writes */
	struct op *ops;
	struct touch *touches;
	size_t nops, ntouches;
	bool *send_lost; /* one per send of the decision */
	size_t nsends_lost;
	bool bound_for_nothing; /* a lost job had bound or replicated its workunit */
	int64_t token;
};

/* Draws the token, and collects the rows to write, in the order of locks: workunits by
 * id, results by id. */
void commit_collect_rows(struct rpc *, struct commit *);
/*
 * Writes them inside the transaction and fills send_lost.  E_RETRY: a report must be
 * decided again.
 */
enum err commit_write_rows(struct rpc *, struct commit *);
/* Is this a repeated report or move of the same result?  Only the first counts. */
bool commit_is_repeat(const struct commit *, size_t op);
/* Returns report i as it is stored. */
struct rq_report commit_report(const struct rpc *, size_t i);
/* Returns the deadline in the database, later than that of the client. */
int64_t commit_stored_deadline(const struct conf *, int64_t deadline);
struct version_change {                     /* a host_app_version */
	const struct host_app_version *was; /* as read; NULL = a new row */
	struct host_app_version becomes;
};
struct version_change *commit_versions(struct rpc *, const bool *send_lost, size_t *n);
/* Returns the host's row as it is stored. */
const struct host *commit_host(struct rpc *);
/* Writes what depends on the host: its files, messages, logs and account. */
enum err commit_host_others(struct rpc *);

#endif
