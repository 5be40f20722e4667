/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All there is to know about the RPC being served, and its states (steps.def).
 *
 * Each way back is bounded: decide asks for more candidates (conf's search_rows in all)
 * and to wait (once); commit loses jobs to others (RPC_ROUNDS times without them, then
 * without new work; from the second on candidates are locked as they are read, so that
 * none can be lost); E_RETRY resumes (RPC_RETRIES times, and only while db begins
 * anything for this request, DB_REPLY).
 */
#ifndef SCHED_RPC_RPC_H
#define SCHED_RPC_RPC_H

#include "db/db.h"
#include "lib/arena.h"
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/rng.h"
#include "model/conf.h"
#include "model/decision.h"
#include "model/request.h"
#include "model/snapshot.h"
#include "proto/reply.h"
#include "sched/rpc/contention.h"
#include "sched/rpc/refuse.h"

enum {
	RPC_RETRIES = 5,
	RPC_ROUNDS = 3,
};

enum rpc_step {
#define STEP(name, resume, successors, what) RPC_##name,
#include "sched/rpc/steps.def"
#undef STEP
	RPC_served /* the end */
};

enum rpc_waited {
	WAIT_NOT_YET,
	WAIT_NO_PLACE, /* too many wait already, or no trigger could be made */
	WAIT_IN_VAIN,
	WAIT_BROUGHT, /* it ended as some results were there */
};

struct rpc {
	/* set by the caller */
	struct arena *a; /* owns everything below that is not process lifetime */
	const struct conf *conf;   /* process lifetime */
	struct db *db;             /* process lifetime; NULL: there is no connection */
	const struct catalog *cat; /* process lifetime */
	const struct reply_keys *keys; /* process lifetime */
	const char *const *texts;      /* process lifetime; see reply_in */
	struct contention *contention; /* process lifetime; NULL: none is known */
	/* process lifetime: when jobs were last drawn for statistics; NULL: not kept */
	int64_t *drawn_at;
	const char *peer; /* address of the client, "" = not known */
	const char *in;   /* request body */
	size_t in_n;
	int64_t now;      /* s UTC, read once */
	uint64_t seed;    /* of every draw of this RPC; logged */
	bool probe;       /* with dry: for a new host of nobody (probe.h) */
	bool dry;         /* what would be answered: no commit, no trigger, no wait */
	int64_t only_job; /* dry: this result is the only candidate; 0 = all */
	int64_t as_host;  /* dry: on behalf of this host, whoever asks; 0 = no */

	/* set by the steps */
	struct request *req;
	struct user *user;         /* who it is */
	struct host *host;         /* as stored; NULL: a new one */
	struct snap_glance glance; /* at host, for the first load */
	bool weak_auth, host_id_changed, detach;
	int64_t predecessor; /* as in the snapshot */
	bool clone;          /* of another host: its cross-project id tells nothing */
	/* s until the account may have another host: this new one gets no row; 0 = it
	 * may now */
	int64_t host_wait_s;
	enum situation refused; /* after authentication: reports are still taken */
	struct snapshot *snap;
	/* snap->havs as they are stored: a new day begins in the snapshot only */
	const struct host_app_version *stored_havs;
	bool havs_read;
	bool hosts_read; /* snap->account_full is known */
	struct decision *dec;
	struct reply_in reply;
	bool trickles_stored;

	/* where it is, and what it went through */
	enum rpc_step step;
	int retries, rounds; /* rounds: that lost jobs */
	int64_t *lost;       /* result ids that others took */
	size_t nlost, lost_cap;
	bool locking;     /* the transaction is open, with candidates locked */
	bool drew;        /* jobs for statistics */
	int64_t start_ms; /* on the monotonic clock */
	enum rpc_waited wait;
	int64_t waited_ms;

	bool recorded;        /* this RPC is recorded (recording.h) */
	struct buf recording; /* its trace, from before the commit */
	size_t recorded_lost; /* of lost, at that time */

	struct dec_message *notes; /* put before the decision's own messages */
	size_t nnotes, notes_cap;
	struct fail fail;
	struct buf out; /* the reply */
};

/*
 * Serves one RPC: runs the steps, and whatever fails, leaves a valid scheduler_reply in
 * out and logs one line.  The fields of the first group are set, the rest is zero.
 */
void rpc_run(struct rpc *);

/*
 * Who asks, by the first part of a request, of which in is set; else as for rpc_run.
 * Of each element the first one counts.  false: no account has the key, and out is what
 * the whole request would get.
 */
bool rpc_head_passes(struct rpc *);

/*
 * The steps.  OK: *next is set, to one of the step's successors.  E_RETRY: the RPC
 * resumes where the table says, unless *next was set.  Anything else ends the RPC, and
 * fail says why.
 *
 * wait raises need_work for the decision's wanted file sets and waits until a result of
 * one of them can be sent, none will ever come (no_work_available), the budget of the
 * request (locality_scheduling_wait_period, s) is used up, or the process is told to
 * stop.
 */
#define STEP(name, resume, successors, what)                                           \
	enum err rpc_##name(struct rpc *, enum rpc_step *next);
#include "sched/rpc/steps.def"
#undef STEP

/* A message for the client beside the decision's (notice: shown to the user). */
void rpc_note(struct rpc *, bool notice, const char *text);
/* Puts our own messages before the decision's and its number after them, makes its
 * delay at least delay_s, offers the key, hands over what waits for the host. */
void rpc_complete_decision(struct rpc *, double delay_s);

/* Rounds are used up: this reply brings no new work. */
static inline bool
rpc_sends_given_up(const struct rpc *x)
{
	return x->rounds > RPC_ROUNDS;
}

/*
 * In the commit's transaction, before the row of a new host is made: two copies of a
 * client's first request make one row.  Locks the account, unless the host gets no row.
 * E_RETRY with x->host set: the row is there by now.
 */
enum err rpc_still_no_host(struct rpc *);
/* Sets host_wait_s; for a new host.  Behind the account's lock it is exact. */
enum err rpc_count_new_hosts(struct rpc *);

/*
 * Begins the transaction before candidates are read, so that they can be locked.
 * Whoever is waited for comes first: the account of a new host, and the workunits of
 * what is reported.  Candidates that are locked then keep nobody waiting who has what
 * we need.
 */
enum err rpc_lock(struct rpc *);
/* Rolls that back, if it is so; nothing was written. */
void rpc_unlock(struct rpc *);

/* Parts of load: file sets and candidates; what is known of versions here, if there is
 * any job that it matters for. */
enum err rpc_load_files(struct rpc *, struct snapshot *);
enum err rpc_need_versions(struct rpc *, struct snapshot *);
bool rpc_any_candidate(const struct snapshot *);
/* Sets account_full, where the host has no job and could get one. */
enum err rpc_need_hosts(struct rpc *, struct snapshot *);

/* The preferences that follow from the texts of the account and the client. */
void rpc_prefs(struct rpc *, struct snapshot *);
/* Makes result only_job the only candidate of the snapshot.  E_NOTFOUND: it is gone. */
enum err rpc_only_job(struct rpc *);

/* The line of the log about a finished RPC. */
void rpc_log(const struct rpc *, int64_t us, uint64_t statements);

/* A part of the commit: quotas of versions; send_lost: aligned with the sends. */
enum err rpc_write_versions(struct rpc *, const bool *send_lost);
/* Further parts: a new host gets its id first; the rest is written last.  token settles
 * an uncertain COMMIT. */
enum err rpc_write_new_host(struct rpc *, int64_t token);
enum err rpc_write_host(struct rpc *, int64_t token);
/* Does rpc_write_host write the host's row and nothing else? */
bool rpc_only_host(const struct rpc *);

#endif
