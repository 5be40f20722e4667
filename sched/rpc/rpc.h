/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context of the RPC being served, and its states (steps.def).
 *
 * Every way back is bounded. decide asks for more candidates (at most conf's
 * search_rows in all) and for a wait (once). commit may lose jobs to other requests:
 * the RPC decides again without them RPC_ROUNDS times, then without new work; from the
 * second round on candidates are locked as they are read, so that none can be lost.
 * E_RETRY resumes RPC_RETRIES times, and only as long as the time limit of db for this
 * request (DB_REPLY) has not passed.
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
#include "model/path.h"
#include "model/request.h"
#include "proto/reply.h"
#include "rules/sched/limits.h"
#include "rules/sched/supply.h"
#include "sched/rpc/in_flight.h"
#include "sched/rpc/refuse.h"

enum {
	RPC_RETRIES = 5,
	RPC_ROUNDS = 3,
	RPC_LOOK_MS = 100, /* between two looks for awaited work */
};

enum rpc_step {
#define STEP(name, takes, resume, successors, what) RPC_##name,
#include "sched/rpc/steps.def"
#undef STEP
	RPC_served /* the end */
};

enum rpc_waited {
	WAIT_NOT_YET,
	WAIT_NO_PLACE, /* too many wait already, or no trigger could be raised */
	WAIT_IN_VAIN,
	WAIT_BROUGHT, /* it ended because results had been made */
};

/*
 * All that is kept of a request while it waits for work; when the wait is over, the
 * request starts again with the same clock and seed.
 */
struct rpc_wait {
	struct arena *a; /* owns this and the lists; set by the caller */
	_Atomic int64_t
	    *places; /* requests of this process that wait; NULL: uncounted */
	int64_t now; /* as in struct rpc */
	uint64_t seed;
	double start;
	int64_t since_ms, until_ms; /* monotonic clock */
	int64_t *sets; /* ids of the file sets wanted, and their names; "" = unknown */
	char **names;
	size_t n;
	int64_t after;         /* results up to this id were tried without success */
	int64_t brought;       /* file set with a new result; 0 = none */
	enum rpc_waited ended; /* WAIT_NOT_YET while it waits */
	int64_t waited_ms;
};

enum rpc_tx {
	TX_NONE,
	TX_OPEN, /* with candidates locked; the commit goes on in it */
};

struct rpc {
	/* set by the caller */
	struct arena *a; /* owns everything below except what is process lifetime */
	const struct conf *conf;   /* process lifetime */
	struct db *db;             /* process lifetime; NULL: there is no connection */
	const struct catalog *cat; /* process lifetime */
	const struct reply_keys *keys; /* process lifetime */
	const char *const *texts;      /* process lifetime; see reply_in */
	struct contention *contention; /* process lifetime; NULL: none is known */
	struct in_flight
	    *in_flight; /* process lifetime; NULL: no other request is here */
	/* process lifetime: when jobs were last drawn for statistics; NULL: not kept */
	int64_t *drawn_at;
	struct doorbells *doorbells; /* process lifetime; NULL: nobody is rung */
	struct rpc_wait *waiting;    /* where a wait is kept; NULL: in a */
	const char *peer;            /* address of the client, "" = unknown */
	const char *in;              /* request body */
	size_t in_n;
	bool head;        /* in is only its first part: see rpc_head_passes */
	int64_t now;      /* s UTC, read once */
	uint64_t seed;    /* for every random draw of this RPC; logged */
	bool probe;       /* with dry: for a new host without an account (probe.h) */
	bool dry;         /* only find out the reply: no commit, no trigger, no wait */
	bool drained;     /* the project gives no work out (db/project.h) */
	int64_t only_job; /* dry: this result is the only candidate; 0 = all */
	int64_t as_host;  /* dry: act for this host, whoever asks; 0 = no */

	/* set by the steps */
	struct request *req;
	struct user *user;         /* the account */
	struct host *host;         /* as stored; NULL = a new host */
	struct snap_glance glance; /* at host, for the first load */
	/* what the step reads for all that are at it; NULL: there is no such host */
	struct row_host_account *asking;
	struct held_sets *held;    /* the sets of the files that the host holds */
	bool held_afresh;          /* they are read whatever is remembered */
	struct supply_rows *lasts; /* pairs NULL: not asked yet */
	bool weak_auth, host_id_changed, detach, twin;
	int64_t predecessor; /* as in the snapshot */
	bool clone;          /* of another host: its cross-project id tells nothing */
	/* s until the account may have another host: this new one gets no row; 0 = it
	 * may now */
	int64_t host_wait_s;
	enum situation refused; /* after authentication: reports are still taken */
	struct snapshot *snap;
	struct supply *supply; /* what candidates of snap are read by */
	/* snap->havs as they are stored: a new day begins in the snapshot only */
	const struct host_app_version *stored_havs;
	bool havs_read;
	bool hosts_read; /* snap->account_full is known */
	struct decision *dec;
	const struct decision *digest_of; /* files_digest counts the files after it */
	int64_t files_digest;
	struct reply_in reply;
	bool trickles_stored;

	/* where it is, and what it went through; step and ended: by the runner */
	enum rpc_step step;
	bool ended;         /* out is the reply */
	enum rpc_step next; /* set by the step, to one of its successors */
	/* after E_RETRY: as the table says, unless the step sets another */
	enum rpc_step resume;
	enum err end;        /* of the step */
	int retries, rounds; /* rounds: that lost jobs */
	int64_t *lost;       /* result ids that others took */
	size_t nlost, lost_cap;
	/* ids that the decision left out: those lost, and those in flight elsewhere */
	int64_t *without;
	size_t nwithout;
	struct chosen_jobs chosen; /* what in_flight knows of this RPC */
	enum rpc_tx tx;
	bool drew;           /* jobs for statistics */
	double start;        /* s UTC */
	uint64_t statements; /* run for this RPC */
	enum rpc_waited wait;
	int64_t waited_ms;

	bool recorded;        /* this RPC is recorded (recording.h) */
	struct buf recording; /* its trace, from before the commit */
	size_t recorded_lost; /* nlost at that time */

	struct dec_message *notes; /* put before the decision's own messages */
	size_t nnotes, notes_cap;
	struct fail fail;
	struct buf out; /* the reply */
};

/* Begins an RPC. The caller sets the fields of the first group; the rest must be zero.
 */
void rpc_begin(struct rpc *);
/*
 * Goes on with a request whose wait has ended (w->ended); otherwise set up as for
 * rpc_begin().
 */
void rpc_resume(struct rpc *, const struct rpc_wait *w);
/*
 * Serves at most DB_LIST_MAX RPCs that have begun and share a connection and an arena:
 * runs the steps and, whatever fails, leaves a valid scheduler_reply in out and logs
 * one line for each. Calls over(ctx, x) for each as soon as it is over, or at step
 * look and to be parked; over NULL: requests wait in here.
 */
void rpc_run(
    struct rpc *const *, size_t n, void (*over)(void *ctx, struct rpc *), void *ctx);
/*
 * Looks once whether the waits are over, and sets `ended` where they are. One query
 * serves them all. Of those that want the same file set, the first few in v go on
 * first. Failures of the database prolong the waits.
 */
void waits_look(struct db *, const struct conf *, struct rpc_wait *const *v, size_t n);
/* Wakes the daemons for which a committed RPC has made work. */
void rpc_ring(const struct rpc *);
/* Ends a wait for which nobody waits any more. */
void wait_give_up(struct rpc_wait *);
/* Ends only the waits that are out of time; for when there is no database. */
void waits_end_late(struct rpc_wait *const *v, size_t n);

/*
 * Authenticates by the first part of a request, in `in`; otherwise set up as for
 * rpc_begin(). Of repeated elements the first counts. Returns false if no account has
 * the key; out is then the reply that the whole request would get.
 */
bool rpc_head_passes(struct rpc *);

struct cohort { /* requests that are at the same step */
	struct rpc **v;
	size_t n;
	struct db *db;
	struct arena *a;
	struct fail fail; /* of what was to be done for all */
};
/* Runs part of a step for each request for which nothing of it has failed. */
void cohort_each(struct cohort *, enum err (*part)(struct rpc *));

/*
 * The steps. OK: x->next is set, to one of the step's successors. E_RETRY: the RPC
 * goes on at x->resume. Anything else ends the RPC, and fail says why. A step that
 * takes a cohort returns OK if x->end says so of each; after an error of what it did
 * for all, it runs again for each half.
 *
 * wait raises need_work for the decision's wanted file sets. look waits until a result
 * of one of them can be sent, none will ever come (no_work_available), the budget of
 * the request (locality_scheduling_wait_period, s) is used up, or the process is told
 * to stop; a service parks the request instead.
 */
#define STEP_each                                   struct rpc *
#define STEP_one                                    struct rpc *
#define STEP_all                                    struct cohort *
#define STEP(name, takes, resume, successors, what) enum err rpc_##name(STEP_##takes);
#include "sched/rpc/steps.def"
#undef STEP

/* Adds a message for the client beside the decision's (notice: shown to the user). */
void rpc_note(struct rpc *, bool notice, const char *text);
/*
 * Completes the decision: puts our own messages before its messages and its number
 * after them, raises its delay to at least delay_s, offers the key, and delivers the
 * messages that wait for the host.
 */
void rpc_complete_decision(struct rpc *, double delay_s);

/* Have all rounds lost their jobs? Then the reply contains no new work. */
static inline bool rpc_sends_given_up(const struct rpc *x)
{
	return x->rounds > RPC_ROUNDS;
}

/*
 * Called in the commit's transaction before a new host is inserted, so that two copies
 * of a client's first request make one row. Locks the account, unless the host gets no
 * row. E_RETRY with x->host set: the row exists by now.
 */
enum err rpc_still_no_host(struct rpc *);
/* Sets host_wait_s for a new host; exact under the account's lock. */
enum err rpc_count_new_hosts(struct rpc *);

/* Rolls the transaction of the step lock back, if it is open; nothing was written. */
void rpc_roll_back(struct rpc *);

/* Derives the preferences from the texts of the account and the client. */
void rpc_prefs(struct rpc *, struct snapshot *);
/* Marks the lines of the log that follow as those of this RPC. */
void rpc_log_prefix(const struct rpc *);
/* The line of the log about a finished RPC. */
void rpc_log(const struct rpc *);

#endif
