/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Shared by the files commit*.c: what requests write in one transaction, of which each
 * is a member. commit.c runs the transaction, commit_rows.c makes its rows.
 */
#ifndef SCHED_RPC_COMMIT_H
#define SCHED_RPC_COMMIT_H

#include "db/wu_updates.h"
#include "sched/rpc/rpc.h"

/* A change of one result. Of the same result, a move comes before what rests on it. */
enum op_kind { OP_MOVE, OP_REPORT, OP_ACK, OP_SEND, OP_RESEND, OP_EXPIRE, OP__MAX };
struct op {
	int64_t result_id; /* 0 = the acknowledgement of an unknown name */
	enum op_kind kind;
	size_t i; /* of the decision's reports, sends, ... */
};

struct version_change {                     /* a host_app_version */
	const struct host_app_version *was; /* as read; NULL = a new row */
	struct host_app_version becomes;
};

struct member { /* a request in the transaction */
	struct rpc *x;
	struct op *ops; /* by id of the result */
	size_t nops;
	struct version_change *versions;
	size_t nversions;
	bool *send_lost; /* one per send of the decision */
	size_t nsends_lost;
	int64_t token; /* resolves an uncertain COMMIT */
	bool left;     /* it writes nothing: what it rests on has changed */
};

struct touch { /* a workunit for the transitioner to visit by then */
	int64_t workunitid, at;
	int32_t hr_class; /* what a sent job binds it to, 0 = nothing */
	int64_t version_id;
	int32_t raise_to; /* target_nresults after a sent job, 0 = unchanged */
};

struct commit {
	struct arena *a;
	struct db *db;
	struct fail *fail;
	struct member *v; /* by host id */
	size_t n;
	struct touch *touches; /* by workunit */
	size_t ntouches;
	/* In one message, in which each change proves what it expects by its count;
	 * otherwise the rows are locked and read back first. */
	bool unseen;
};

/* Draws the token, and collects the results to write by id, each change once. */
void commit_collect(struct member *);
/* Collects the workunits to touch, by id, each once with the earliest time. */
void commit_touches(struct commit *);
/* Collects the statistics of versions that change if these jobs are not lost. */
void commit_versions(struct member *);

/* Marks job i of the decision as lost, once. */
void commit_lose(struct member *, size_t i);
/* Does sending this job bind a workunit that was free before, or replicate it? */
bool commit_binds(const struct dec_send *);
/* Completes the once rule by host with the id that a new host has only now. */
void commit_once(struct member *);

/*
 * Write, each in the transaction and in this order; a member that left writes nothing.
 *
 * The account of a new host is locked, its row inserted; the jobs of a detached host
 * are ended.
 */
enum err commit_write_new(struct member *);
/*
 * Workunits in ascending order of ids. If another request has bound one differently,
 * the jobs of a lone member are lost; otherwise E_RETRY.
 */
enum err commit_write_workunits(struct commit *);
enum err commit_write_results(struct commit *);
enum err commit_write_versions(struct commit *);
/* Hosts, and what depends on them: files, messages, logs, accounts. */
enum err commit_write_hosts(struct commit *);
/* Would commit_write_hosts() write only the host's row for this request? */
bool commit_only_host(struct rpc *);

#endif
