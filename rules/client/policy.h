/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies a host may follow: what each remembers, which tasks it runs, whom it
 * asks for work and for how much.  A shell does, after every event:
 *
 *	cw_accrue(w, dt); w->now = now;
 *	policy->account(w);
 *	rr_simulate(w, a, &rr);
 *	policy->order(w, policy, a, &rr, &list);
 *	enforce(w, policy, a, &list, &todo);        start and stop as todo says
 *	enforce_done(w, &rr);
 *	contact_next(w, policy, a, &rr, &c);        at most one RPC as c says
 *
 * and again at the earlier of todo.recheck_at and c.recheck_at, if nothing happens
 *before.
 */
#ifndef RULES_CLIENT_POLICY_H
#define RULES_CLIENT_POLICY_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "rules/client/rr_sim.h"
#include "rules/client/world.h"

/* --- task choice --- */

struct run_item {
	uint32_t task; /* index into tasks */
	bool edf;      /* chosen because of its deadline */
};
struct run_list { /* the most wanted first; longer than the instances can take */
	struct run_item *item;
	size_t n;
};

/* --- work fetch --- */

struct work_ask {
	int32_t project;          /* -1: nobody */
	double secs[CW_RSC_MOST]; /* instance-seconds wanted; 0 = none of this type */
	double inst[CW_RSC_MOST]; /* instances that are idle */
	double delay_s[CW_RSC_MOST]; /* estimated_delay: all are busy for so long */
	const char *why;             /* a few words for the log */
};

enum backoff_law {    /* after n failures in a row (client.md 1.2) */
	BACKOFF_NOW,  /* 60 s * 2^n, at most 4 h, in its upper half */
	BACKOFF_2003, /* 60 s to e^n s, at most 4 h */
	BACKOFF_2002  /* 100 s * 2^n */
};
struct policy {
	const char *name, *about; /* about: one line for the manual and --help */
	/* Variants of one rule that several policies follow. */
	double half_life_s;     /* of REC */
	double bump_s;          /* a planned task counts as so long; 0 = a time slice */
	double backoff_min_s;   /* per project and resource */
	double ask_every_s;     /* no work is asked for sooner, idle instances aside */
	double report_after_s;  /* a result waits no longer; 0 = any time */
	double report_before_s; /* and no longer than this before its deadline */
	enum backoff_law backoff;
	/* Beyond the descriptions; locus-client-policies(7) has a row for each. */
	bool deadline_cap;  /* ask for no more than can be done in time */
	bool own_instances; /* see choose_own() */
	bool miss_limit;    /* see fetch_able() */
	bool fair_fetch;    /* rec: see held_back() and fetch_when_full() */
	/* What would miss runs first; else the first tasks of its project do, as many
	 * as would miss. */
	bool edf_by_task;
	bool stay_urgent;  /* what was in danger keeps running for a time slice */
	bool starved_rule; /* ask a project without runnable tasks ("Work fetch and
	                      GPUs") */
	bool sessions;     /* RPC sessions (client.md 1.1) */
	bool victim_least_since_checkpoint; /* enforcement as in client.md 2.5 */
	bool mean_debt;     /* debt1: short-term debt has mean 0, not minimum 0 */
	bool drifting_debt; /* debtR: offsets of 2009 instead of those of client.md 3 */
	/* Takes used[] since accounted_at into the accounts and clears it. */
	void (*account)(struct client_world *, const struct policy *);
	/* Which tasks to run, in order. */
	void (*order)(const struct client_world *, const struct policy *,
	    struct arena *, const struct rr_sim *, struct run_list *);
	/*
	 * Whom to ask for work and for how much; ask->project -1: nobody now.
	 * *recheck_at is made earlier if that changes by time alone.
	 */
	void (*fetch)(const struct client_world *, const struct policy *,
	    struct arena *, const struct rr_sim *, struct work_ask *ask,
	    double *recheck_at);
	/* What to ask a project that is contacted for another reason. */
	void (*piggyback)(const struct client_world *, const struct policy *,
	    struct arena *, const struct rr_sim *, size_t project, struct work_ask *);
};
/* --- policy.c: the table --- */
extern const struct policy *const policies[]; /* the default first; NULL ends it */
extern const struct policy *const policy_variants[]; /* of them, "NAME:VARIANT" */
const struct policy *policy_find(const char *name);  /* NULL if there is none */

/* --- enforce.c --- */
struct stop_item {
	uint32_t task;
	bool keep; /* suspend it in memory; else it quits and loses what is not saved */
};
struct enforced {
	uint32_t *start;
	int32_t *device; /* per start: the first coprocessor instance; -1 on the CPU */
	size_t nstart;
	struct stop_item *stop; /* carried out first */
	size_t nstop;
	double recheck_at;  /* a time slice ends, a checkpoint is awaited; INFINITY */
	bool at_checkpoint; /* call again as soon as a running task has a checkpoint */
};
/* Which tasks to start and stop now to follow the list (client.md 2.5, 4.4). */
void enforce(const struct client_world *, const struct policy *, struct arena *,
    const struct run_list *, struct enforced *);

/*
 * After that was carried out, with the simulation that the list came from: when tasks
 * were last chosen, and which of those that run were in danger.
 */
void enforce_done(struct client_world *, const struct rr_sim *);

/* --- contact.c --- */
enum contact_why {
	CONTACT_NONE,
	CONTACT_MASTER, /* read the master file */
	CONTACT_INIT,
	CONTACT_USER,      /* asked for by the user */
	CONTACT_REQUESTED, /* by the project */
	CONTACT_RESULTS,   /* results to report */
	CONTACT_WORK
};
struct contact {
	enum contact_why why;
	int32_t project; /* -1: none */
	struct work_ask ask;
	double recheck_at; /* when something may be due without an event; INFINITY */
};
/* Whom to contact now, if anybody, and what to ask (client.md 1.3, 1.4, 4.5). */
void contact_next(const struct client_world *, const struct policy *, struct arena *,
    const struct rr_sim *, struct contact *);
const char *contact_words(enum contact_why);

struct reply_facts {
	double request_delay_s, next_rpc_delay_s; /* 0 = none */
	uint32_t ntasks[CW_RSC_MOST];             /* received, per resource */
	bool no_apps[CW_RSC_MOST];
	bool latency_limited; /* "no work because of deadlines" */
	bool project_down;
	bool in_vain; /* no id, or not one of the reports was acked: not again at once
	               */
};
/*
 * Bookkeeping after a contact: back-offs, failures, delays.  The shell has taken
 * reported tasks off rpc.nready and put new tasks into the world.  The rng is the
 * project's.
 */
void contact_replied(struct client_world *, const struct policy *,
    const struct contact *, const struct reply_facts *, struct rng *);
/* No scheduler answered, or what answered was no reply. */
void contact_failed(
    struct client_world *, const struct policy *, size_t project, struct rng *);
/* The master file was read (nurls > 0, how many are new) or not (nurls 0). */
void contact_master(struct client_world *, const struct policy *, size_t project,
    int32_t nurls, int32_t nnew, struct rng *);
/* A finished and uploaded task waits since at to be reported. */
void contact_ready(struct cw_rpc *, double at, double deadline, bool report_now);
/* A task failed: the project is left alone, longer with each in a row (client.md 1.3).
 */
void contact_task_failed(
    struct client_world *, const struct policy *, size_t project, struct rng *);
/* A task finished: back-offs that it clears (client.md 3). */
void contact_task_done(
    struct client_world *, const struct policy *, size_t project, int32_t rsc);

/* --- estimate.c --- */
struct run_facts {
	double static_s;           /* fpops_est / flops, uncorrected */
	double elapsed_s;          /* run time so far */
	double fraction_done;      /* 0: not known */
	double fraction_elapsed_s; /* run time when fraction_done was told */
	bool exact;                /* the fraction is exact */
	bool no_dcf;
};
/* Run time left, s >= 0 (client.md 4.6). */
double estimate_remaining_s(const struct run_facts *, double dcf);
/* The duration correction factor after a task took elapsed_s (client.md 4.6). */
double estimate_dcf(double dcf, double static_s, double elapsed_s);

/* A factor so far from 1 is not believed: such a project is asked for 1 s only. */
static inline bool
estimate_trusted(double dcf)
{
	return dcf >= 0.02 && dcf <= 80;
}
/*
 * The host was off for off_s, then on for on_s seconds in which tasks could run or not:
 * exponential averages with a time constant of 10 days; when it was off for more than
 * 14 days that says nothing (client.md 4.7).
 */
void estimate_fractions(struct cw_fractions *, double off_s, double on_s, bool active);

/* --- backoff.c --- */
struct backoff {
	double min_s, max_s;
};
/* 60 s to 4 h, and 120 s to 6 h, as in every stock client (client.md 1.2). */
extern const struct backoff backoff_rpc, backoff_transfer;
/*
 * Seconds to wait after the n-th failure in a row, n >= 1: min(max, min * 2^n), the
 * exponent capped at 10, times a random number from 0.5 to 1 (client.md 1.2; "RPC
 * policy": random exponential back-off).
 */
double backoff_s(const struct backoff *, int n, struct rng *);
/* The same by one of the laws of three eras, for RPCs; bounds as for BACKOFF_NOW. */
double backoff_by_law_s(enum backoff_law, const struct backoff *, int n, struct rng *);

/* --- shared by policies: fetch.c --- */
/*
 * May the project be asked for this resource now, back-offs aside / included?  With
 * miss_limit not while more of its tasks than there are instances would miss their
 * deadlines, unless something is idle (as upstream in 2007).
 */
bool fetch_able(const struct client_world *, const struct policy *,
    const struct rr_sim *, size_t project, size_t rsc, bool ignore_backoff);
/*
 * It has tasks that could run and do not although an instance is idle: some limit holds
 * them back, and more of them would only grow old.
 */
bool fetch_held_back(
    const struct client_world *, const struct rr_sim *, size_t project, size_t rsc);
/* Share of the project among those with able[] set; 0 if it is not among them. */
double fetch_share(const struct client_world *, const bool *able, size_t project);
/* Adds a request to ask: what is not trusted or without share gets the least. */
void fetch_ask(const struct client_world *, const struct rr_sim *, size_t project,
    size_t rsc, double secs, double inst, struct work_ask *ask);
static inline double
fetch_buffer_s(const struct client_world *w)
{
	return w->prefs.min_s + w->prefs.extra_s;
}
/* From its arrival a task of the project has so long to be done early enough;
 * INFINITY: that is not known. */
double fetch_usable_s(const struct client_world *, size_t project);
/*
 * Instance-seconds that it may have so that all is done in time if it runs at the pace
 * of its share; INFINITY if that is not known.
 */
double fetch_in_time_s(const struct client_world *, size_t project, size_t rsc);
/* What of the buffer is not taken by tasks that wait, in instance-seconds; may be < 0.
 */
double fetch_room_s(const struct client_world *, size_t rsc);
/* *at is made earlier: when the resource is saturated for no longer than s. */
void fetch_recheck(const struct client_world *, const struct rr_sim *, size_t rsc,
    double s, double *at);
/* A policy that asks only every so often waits until then (nothing being idle). */
bool fetch_too_soon(const struct client_world *, const struct policy *,
    const struct rr_sim *, double *at);

/* --- shared by policies: choose.c --- */
struct choice_how {
	double *prio; /* per project, greatest first; scratch */
	/* Each chosen task lowers its project's prio by this times its part of the
	 * host's FLOPS. */
	const double *bump;
	/* [project * nrsc + rsc]: instances that a project has before all priority;
	 * scratch, NULL = none. */
	double *base;
	bool edf_by_task, stay_urgent; /* see struct policy */
	bool slice_first; /* what runs in its time slice comes before all priority */
};
/*
 * A list by priority, coprocessors first: deadlines (earliest first, as many per
 * project as would miss), then by prio; of a project started before unstarted, then by
 * arrival (client.md 4.3).  Tasks that are not CPU-intensive stand before all.
 */
void choose_by_priority(const struct client_world *, struct arena *,
    const struct rr_sim *, const struct choice_how *, struct run_list *);
/* For choice_how.base: the whole instances in each project's share of those that could
 * run now; one less for who is over[], that is, had too much by more than a slice. */
double *choose_own(const struct client_world *, struct arena *, const struct rr_sim *,
    const bool *over);

/* --- entitle.c --- */
/*
 * acct.entitled of each project: what it is entitled to of the host's FLOPS (the sum is
 * 1, or 0 if nobody can use anything), in proportion to shares as far as it can use
 * them, what it leaves going to the others; acct.usable_mask has a bit per resource
 * that it can use. It is the one division that is as even as possible, weighted by
 * shares.
 */
void entitle(struct client_world *);

#endif
