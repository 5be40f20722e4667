/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The policies that a host may follow: what each remembers, which tasks it runs, which
 * project it asks for work and for how much. After every event a shell does
 *
 *	cw_accrue(w, dt); w->now = now;
 *	policy->account(w);
 *	rr_simulate(w, a, &rr);
 *	policy->order(w, policy, a, &rr, &list);
 *	enforce(w, policy, a, &list, &todo);        start and stop as todo says
 *	enforce_done(w, &rr);
 *	contact_next(w, policy, a, &rr, &c);        at most one RPC, as c says
 *
 * and does so again at the earlier of todo.recheck_at and c.recheck_at if nothing
 * happens before. For a policy with needs_low_water, rr_predict() may take the place
 * of rr_simulate(); a shell that does so simulates after all before it stops a task
 *that loses work, and if the next look would be later than rr_outlook_holds() says.
 */
#ifndef RULES_CLIENT_POLICY_H
#define RULES_CLIENT_POLICY_H

#include <math.h>
#include "lib/arena.h"
#include "lib/rng.h"
#include "rules/client/rr_sim.h"
#include "rules/client/world.h"

/* --- task choice --- */

struct run_item {
	uint32_t task; /* index into tasks */
	bool edf;      /* chosen because of its deadline */
};
struct run_list { /* by descending priority; longer than the instances can take */
	struct run_item *item;
	size_t n;
};

/* --- work fetch --- */

struct work_ask {
	int32_t project; /* -1: no project */
	/* instance-seconds wanted; 0 = none of this resource. */
	double secs[CW_RSC_MOST];
	double inst[CW_RSC_MOST]; /* idle instances */
	/* estimated_delay: all instances are busy for this long. */
	double delay_s[CW_RSC_MOST];
	const char *why; /* a few words for the log */
};

enum backoff_law {    /* delay after n failures in a row (client.md 1.2) */
	BACKOFF_NOW,  /* 60 s * 2^n, at most 4 h, uniform in its upper half */
	BACKOFF_2003, /* uniform from 60 s to e^n s, at most 4 h */
	BACKOFF_2002  /* 100 s * 2^n */
};
struct policy {
	const char *name, *about; /* about: one line for the manual and --help */
	/* Parameters of rules that several policies share. */
	double half_life_s; /* of REC */
	/* How long a planned task counts as run; 0 = one time slice. */
	double bump_s;
	double backoff_min_s; /* per project and resource */
	/* Minimum between work requests unless an instance is idle. */
	double ask_every_s;
	/* A result is reported after this time at the latest; 0 = no limit. */
	double report_after_s;
	/* And at the latest this long before its deadline, but not before a quarter of
	 * the time that was left has passed. */
	double report_before_s;
	/* It waits longer for company: for half of that time, and, if it has time, for
	 * up to two hours; see contact.c. */
	bool patient;
	enum backoff_law backoff;
	/* Until it has lasted for so long, a time slice on a CPU may be ended. */
	double slice_gives_way_s;
	/* Departures from the descriptions; locus-client-policies(7) lists each of
	 * them. */
	bool deadline_cap;      /* ask for no more than can be done in time */
	bool reserve_instances; /* see choose_reserved() */
	bool miss_limit;        /* see fetch_able() */
	bool fair_fetch;        /* rec: see held_back() and fetch_when_full() */
	/* Tasks that would miss their deadlines run first; otherwise the project's
	 * tasks with the earliest deadlines do, as many as would miss. */
	bool edf_by_task;
	bool stay_urgent; /* a task once in danger stays urgent for a time slice */
	/* Of what the simulation predicts while no task would miss, fetch() needs to
	 * know only when the buffer falls below its low-water mark: see rr_predict().
	 */
	bool needs_low_water;
	/* Ask a project that has no runnable tasks ("Work fetch and GPUs"). */
	bool starved_rule;
	bool sessions;                      /* RPC sessions (client.md 1.1) */
	bool victim_least_since_checkpoint; /* enforcement according to client.md 2.5 */
	/* debt1: the short-term debt has mean 0 instead of minimum 0. */
	bool mean_debt;
	/* debtR: the offsets of 2009 instead of those of client.md 3. */
	bool drifting_debt;
	/* Adds used[] since accounted_at to the accounts and clears it. */
	void (*account)(struct client_world *, const struct policy *);
	/* Lists the tasks to run, by priority. */
	void (*order)(const struct client_world *, const struct policy *,
	    struct arena *, const struct rr_sim *, struct run_list *);
	/* Chooses a project to ask for work, and the amount; ask->project is -1 if none
	 * is to be asked now. Lowers *recheck_at if the mere passing of time would
	 * change the answer. */
	void (*fetch)(const struct client_world *, const struct policy *,
	    struct arena *, const struct rr_sim *, struct work_ask *ask,
	    double *recheck_at);
	/* Decides what to ask of a project that is contacted for another reason. */
	void (*piggyback)(const struct client_world *, const struct policy *,
	    struct arena *, const struct rr_sim *, size_t project, struct work_ask *);
};
/* --- policy.c: the table --- */
extern const struct policy *const policies[]; /* the default first; NULL-terminated */
/* Their variants, "NAME:VARIANT". */
extern const struct policy *const policy_variants[];
const struct policy *policy_find(const char *name); /* NULL if there is none */

/* --- enforce.c --- */
struct stop_item {
	uint32_t task;
	/* Suspend it in memory; otherwise it quits and loses what is not saved. */
	bool keep;
};
struct enforced {
	uint32_t *start;
	int32_t *device; /* per start: the first coprocessor instance; -1 on the CPU */
	size_t nstart;
	struct stop_item *stop; /* to be carried out first */
	size_t nstop;
	double recheck_at;  /* end of a time slice; INFINITY: none */
	bool at_checkpoint; /* call again as soon as a running task checkpoints */
};
/* Decides which tasks to start and stop now to follow the list (client.md 2.5, 4.4). */
void enforce(const struct client_world *, const struct policy *, struct arena *,
    const struct run_list *, struct enforced *);

/* Call when the decision has been carried out, with the simulation behind the list:
 * records the time of the choice and which running tasks are in danger. */
void enforce_done(struct client_world *, const struct rr_sim *);

/* --- choose.c: packing --- */
/* CPU tasks that could run, those with the least memory per CPU first. */
struct packing;
/* Returns NULL if memory is no limit: whatever runs, everything fits. */
struct packing *packing_of(const struct client_world *, struct arena *);
/* Would the task leave more CPUs idle, of cpus and with ram bytes left, than other
 * tasks would? The first task to be placed may always do so; otherwise no task that
 * needs almost all memory would ever run. */
bool packing_leaves_idle(
    const struct packing *, double ram, double cpus, uint32_t task);
/* The task has been placed. */
void packing_take(struct packing *, uint32_t task);

/* --- contact.c --- */
enum contact_why {
	CONTACT_NONE,
	CONTACT_MASTER, /* fetch the master file */
	CONTACT_INIT,
	CONTACT_USER,      /* at the user's request */
	CONTACT_REQUESTED, /* at the project's request */
	CONTACT_RESULTS,   /* results are due */
	CONTACT_WORK
};
struct contact {
	enum contact_why why;
	int32_t project; /* -1: none */
	struct work_ask ask;
	/* When contact may become due without an event; INFINITY: never. */
	double recheck_at;
	bool idle; /* instances of all that is asked for are idle */
};
/* Decides which project to contact now, if any, and what to ask (client.md 1.3, 1.4,
 * 4.5). */
void contact_next(const struct client_world *, const struct policy *, struct arena *,
    const struct rr_sim *, struct contact *);
const char *contact_words(enum contact_why);

struct reply_facts {
	double request_delay_s, next_rpc_delay_s; /* 0 = none */
	uint32_t ntasks[CW_RSC_MOST];             /* received, per resource */
	bool no_apps[CW_RSC_MOST];
	bool latency_limited; /* deadlines kept the project from sending work */
	bool project_down;
	bool in_vain; /* no host id, or none of the reports was acked: back off */
};
/* Bookkeeping after a reply: back-offs, failures, delays. The shell has already
 * removed reported tasks from rpc.nready and added new tasks to the world. Pass the
 * project's own rng. */
void contact_replied(struct client_world *, const struct policy *,
    const struct contact *, const struct reply_facts *, struct rng *);
/* No scheduler answered, or its answer was not a reply. */
void contact_failed(
    struct client_world *, const struct policy *, size_t project, struct rng *);
/* The master file was fetched (nurls > 0; nnew of the URLs are new), or not (nurls
 * 0). */
void contact_master(struct client_world *, const struct policy *, size_t project,
    int32_t nurls, int32_t nnew, struct rng *);
/* Counts a task that has been waiting since at, finished and uploaded, to be
 * reported. */
void contact_ready(struct cw_rpc *, double at, double deadline, bool report_now);
/* A task failed: the project backs off, longer with each failure in a row (client.md
 * 1.3). */
void contact_task_failed(
    struct client_world *, const struct policy *, size_t project, struct rng *);
/* A task finished: clears the back-offs (client.md 3), and its project may go on in its
 * turn. Its project, rsc, use and run_since count. */
void contact_task_done(struct client_world *, const struct cw_task *);

/* --- world.c: estimate --- */
struct run_facts {
	double static_s;           /* fpops_est / flops, without correction */
	double elapsed_s;          /* run time so far */
	double fraction_done;      /* 0: unknown */
	double fraction_elapsed_s; /* run time when fraction_done was reported */
	bool exact;                /* fraction_done is exact */
	bool no_dcf;
};
/* Returns the remaining run time in seconds, >= 0 (client.md 4.6). */
double estimate_remaining_s(const struct run_facts *, double dcf);
/* Returns the duration correction factor after a task took elapsed_s (client.md
 * 4.6). */
double estimate_dcf(double dcf, double static_s, double elapsed_s);

/* --- what the host learned about estimates, per app version --- */
/* Learns from a task that took elapsed_s: the mean of the first ten, then of about the
 * last ten. */
void estimate_learn(struct correction *, double static_s, double elapsed_s);
/* Returns the factor; 1 while it is unknown. */
double estimate_factor(const struct correction *);
/* Returns the mean factor of n app versions, by the tasks seen; 1 while it is unknown.
 */
double estimate_mean_factor(const struct correction *const *, size_t n);

/* A factor this far from 1 is not plausible: such a project is asked for 1 s only. */
static inline bool estimate_trusted(double dcf)
{
	return dcf >= 0.02 && dcf <= 80;
}
/* Updates the averages after off_s seconds off and on_s seconds on, during which tasks
 * could run if active. Exponential averages with a time constant of 10 days; a gap of
 * more than 14 days is ignored (client.md 4.7). */
void estimate_fractions(struct cw_fractions *, double off_s, double on_s, bool active);

/* Takes note of dt seconds in which tasks could run, with or without a network. */
void estimate_gaps(struct cw_gaps *, double dt, bool connected);
/* Returns how much work a host should hold, in seconds, so that few gaps leave it idle:
 * their mean and 2.5 standard deviations, at most ten days. Of two gaps, the deviation
 * is taken to be at least the mean. */
double estimate_gap_buffer_s(const struct cw_gaps *);

/* --- fetch.c: backoff --- */
struct backoff {
	double min_s, max_s;
};
/* 60 s to 4 h and 120 s to 6 h, as in every stock client (client.md 1.2). */
extern const struct backoff backoff_rpc, backoff_transfer;
/* Returns the delay in seconds after the n-th failure in a row, n >= 1: min(max, min *
 * 2^n), with the exponent capped at 10, times a random number from 0.5 to 1 (client.md
 * 1.2; "RPC policy": random exponential back-off). */
double backoff_s(const struct backoff *, int n, struct rng *);
/* The same for RPCs, by one of three historical laws; the bounds apply to BACKOFF_NOW
 * and BACKOFF_2003. */
double backoff_by_law_s(enum backoff_law, const struct backoff *, int n, struct rng *);

/* --- shared by policies: fetch.c --- */
/*
 * May the project be asked for this resource now? Back-offs count unless
 * ignore_backoff. With miss_limit, not while more of its tasks than there are
 * instances would miss their deadlines, unless an instance is idle (as upstream in
 * 2007).
 */
bool fetch_able(const struct client_world *, const struct policy *,
    const struct rr_sim *, size_t project, size_t rsc, bool ignore_backoff);
/* The project has tasks that could run but do not, although an instance is idle: some
 * limit or the memory holds them back, and further tasks would only wait. Those that
 * run would last for the low-water mark. */
bool fetch_held_back(
    const struct client_world *, const struct rr_sim *, size_t project, size_t rsc);
/* Returns how many tasks of the project can run at a time for the resource, by its own
 * limit, those of its apps, and the memory; 0 = no limit. */
int32_t fetch_limit(const struct client_world *, size_t project, size_t rsc);
/* The same by its own limit and those of its apps only. */
int32_t fetch_configured_limit(const struct client_world *, size_t project);
/* Returns the project's share among the projects set in able[]; 0 if it is not among
 * them. */
double fetch_share(const struct client_world *, const bool *able, size_t project);
/* The same for many projects: the sum is computed once. */
double fetch_sum_of_shares(const struct client_world *, const bool *able);
static inline double fetch_share_of(
    const struct client_world *w, const bool *able, double sum, size_t project)
{
	return able[project] && sum > 0 ? w->projects[project].share / sum : 0;
}
/* Adds a request to ask. A project without share, or whose estimates are not trusted,
 * is asked for the minimum. */
void fetch_ask(const struct client_world *, const struct rr_sim *, size_t project,
    size_t rsc, double secs, double inst, struct work_ask *ask);
static inline double fetch_buffer_s(const struct client_world *w)
{
	return w->prefs.min_s + w->prefs.extra_s;
}
/* Returns the time from a task's arrival in which the project can finish it with the
 * margin; INFINITY if unknown. */
double fetch_usable_s(const struct client_world *, size_t project);
/* Returns the instance-seconds that the project may hold so that all is done in time at
 * the pace of its share; INFINITY if unknown. */
double fetch_in_time_s(const struct client_world *, size_t project, size_t rsc);
/* Returns the instance-seconds of the buffer that waiting tasks leave free; may be
 * negative. */
double fetch_room_s(const struct client_world *, size_t rsc);
/* Lowers *at to the time at which the resource stays saturated for only s more
 * seconds. */
void fetch_recheck(const struct client_world *, const struct rr_sim *, size_t rsc,
    double s, double *at);
/* The policy limits how often it asks, no instance is idle, and the time has not come:
 * lowers *at to then and returns true. */
bool fetch_too_soon(const struct client_world *, const struct policy *,
    const struct rr_sim *, double *at);

/* --- shared by policies: choose.c --- */
struct choice_params {
	double *prio; /* per project, greatest first; scratch */
	/* Choosing a task lowers its project's prio by this times the task's part of
	 * the host's FLOPS. */
	const double *bump;
	/* [project * nrsc + rsc]: instances reserved for a project before priorities
	 * apply; scratch; NULL = none. */
	double *reserved;
	bool edf_by_task, stay_urgent; /* see struct policy */
	/* Running tasks within their time slice come before priorities. */
	bool slice_first;
	/* Tasks on reserved instances that are due within a time slice do not wait for
	 * the end of others'. */
	bool hurry;
	/* The list may end where more of it would change neither what runs nor whether
	 * others wait. */
	bool brief;
};
/*
 * Builds the run list by priority, coprocessors first: tasks in danger (earliest
 * deadline first, as many per project as would miss), then by prio; within a project
 * started before unstarted, then by arrival (client.md 4.3). Tasks that are not
 * CPU-intensive come before all others.
 */
void choose_by_priority(const struct client_world *, struct arena *,
    const struct rr_sim *, const struct choice_params *, struct run_list *);
/* Returns the whole instances in a part of a resource, which may be rounded down. */
static inline double choose_whole(double part)
{
	double n = part + 1e-6;

	return n < 1 ? 0 : floor(n);
}
/* Returns choice_params.reserved: the whole instances in each project's share among the
 * projects that could run now. over[] is how much each used too much, in time slices
 * of a CPU: from one on it gives up an instance, and another one for each slice of all.
 */
double *choose_reserved(const struct client_world *, struct arena *,
    const struct rr_sim *, const double *over);

/* --- choose.c: entitle --- */
/*
 * Sets acct.entitled of each project, its entitlement to the host's FLOPS: in
 * proportion to shares as far as the project can use them (acct.usable_mask has one bit
 * per resource), the surplus going to the others. The entitlements sum to 1, or to 0
 * if no project can use anything. A project of CPU tasks that may run only some of
 * them at a time is entitled to no more than these use. Weighted by shares, no
 * division is more even.
 */
void entitle(struct client_world *);

#endif
