/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as its rules see it: resources, projects, tasks, preferences and what each
 * policy remembers of the past. A plain value: the shells (client/main.c and
 * client/sim/sim.c) fill it in; the rules read it and change only what they own (struct
 * cw_acct, struct cw_rpc). Times are seconds on the shell's clock, durations are in
 * seconds, amounts of work are in instance-seconds of a resource unless stated
 * otherwise. Sources: doc/client.md, which names the documents.
 *
 * The order of the projects does not depend on how the user lists them (the shell sorts
 * them); it breaks the ties that a rule leaves.
 */
#ifndef RULES_CLIENT_WORLD_H
#define RULES_CLIENT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CW_CPU = 0,
	CW_RSC_MOST = 4
}; /* resource 0 is the CPU, the others are coprocessors */
/* In the place of an index: no project, no task. */
enum { CW_NONE = -1 };
/* Per second that a task runs, remaining_s falls by no more: a change otherwise. */
enum { CW_REMAINING_FALLS = 2 };

struct cw_resource {
	const char *name; /* "CPU", "NVIDIA", ... */
	double ninst;     /* usable instances, > 0 */
	/* Peak of one instance; any unit, the same for all resources. */
	double flops;
	double avail; /* fraction of the time in which it may compute, 0.01 to 1 */
};

/* Fractions of time: the host is on; tasks may run while it is on; coprocessor tasks
 * may run while it is on. */
struct cw_fractions {
	double on, active, gpu_active;
};

/* Times without a network, as far as tasks could run then. */
struct cw_gaps {
	double mean_s, square_s2; /* of the gaps seen: of about the last ten */
	int32_t ngaps;
	double open_s; /* the present gap so far */
};

struct cw_prefs {
	/* Work buffer: the low-water mark; what the high-water mark adds (CI, AW). */
	double min_s, extra_s;
	double period_s; /* cpu_scheduling_period: the length of a time slice */
	/* Margin by which tasks should finish before their deadlines (client.md 4.1
	 * (row 39)). */
	double cushion_s;
	double ram_bytes;     /* available to tasks now; 0 = unlimited */
	bool leave_in_memory; /* keep preempted tasks in memory */
	/* Bounds of every back-off, for hosts that must not wait long; both 0: the
	 * bounds of client.md 1.2 and 3. */
	double backoff_min_s, backoff_most_s;
};

/* A project's turn at the CPUs: a time slice that its tasks share. */
struct cw_turn {
	double ends;
	double ended; /* CPUs whose tasks have ended since the last accounting */
	/* CPUs that it had before some of its tasks ended, and when these did. */
	double had, had_at;
};

/* What a policy remembers about a project; each policy uses its own members. */
struct cw_acct {
	double rec;              /* rec, hybrid: average FLOPS, half-life 10 days */
	double std[CW_RSC_MOST]; /* debt1, debtR: short-term debt, instance-seconds */
	double ltd[CW_RSC_MOST]; /* debt1, debtR: long-term debt, instance-seconds */
	double exp_avg_cpu;      /* classic: CPU seconds, decay e per week */
	/* window (policy_window.c) */
	/* Balance, FLOPS * s; negative: it used more than its entitlement. */
	double owed;
	/* Shortest delay bound among its tasks so far; 0 = none yet. */
	double delay_bound_s;
	/* rec, window: longest remaining time of a task so far. */
	double longest_s;
	/* Smallest working set of its CPU tasks so far; 0 = unknown. */
	double rss_bytes;
	bool gave[CW_RSC_MOST]; /* it has sent tasks for this resource */
	bool known;             /* owed has been initialised */
	struct cw_turn turn;
	/* Scratch space of account() and entitle(); the masks have one bit per
	 * resource. */
	unsigned runnable_mask, usable_mask;
	/* Entitled to no more than its limit of running tasks lets it use. */
	bool limited;
	double entitled;
};

/* A project's standing with one resource. */
struct cw_rsc_state {
	double backoff_s;     /* current interval; 0 = none */
	double backoff_until; /* do not ask for this resource before then */
	/* The project said that it has no apps for the resource. */
	bool no_apps;
	bool excluded; /* by preference or configuration */
};

/* A project's standing with its scheduler. */
struct cw_rpc {
	double min_rpc_time;  /* no contact before then */
	double next_rpc_time; /* the project wants contact by then; 0 = no */
	double spaced_until;  /* the host itself waits until then, see cw_spaced() */
	/* The project said that deadlines kept it from sending work: it keeps its claim
	 * until then, or until its next reply. */
	double latency_limited_until;
	double refused_queue_s; /* what the host had to do then, instance-seconds */
	/* It said so for idle instances, and has sent none since: it has no claim. */
	bool refuses_idle;
	double last_contact;
	int32_t nrpc_failures;    /* in a row */
	int32_t nmaster_failures; /* in a row */
	int32_t ntask_failures;   /* in a row */
	/* Index of the scheduler URL to try next, and their number. */
	int32_t url, nurls;
	bool never_contacted;
	bool master_pending;
	bool user_request;     /* overrides back-off and suspension */
	uint32_t nready;       /* tasks finished, uploaded and not yet reported */
	double first_ready_at; /* when the oldest of them became ready */
	double first_deadline; /* earliest report deadline among them */
	bool report_now;       /* a task or an option asks to report without delay */
	bool uploading;        /* one of its uploads started less than 300 s ago */
	uint32_t nuploads;
	bool in_session; /* asked during the current get-work session */
};

/* What a host learned about the estimates for one app version. */
struct correction {
	double factor;  /* true over estimated run time */
	int32_t ntasks; /* from which it was learned; 0: the factor is unknown */
};

struct cw_project {
	const char *name;
	double share; /* resource share, any scale; 0 = backup project */
	double attached_at;
	int32_t max_concurrent; /* limit of running tasks; 0 = none */
	bool suspended, no_new_work;
	bool nci; /* not CPU-intensive, whatever its apps say: one task at a time */
	bool stalled_download, suspended_task;
	double dcf; /* duration correction factor; 1 if not used */
	/* True over estimated run time of its tasks as the host learned it, where the
	 * project's own estimate, which counts requests, ignores it; 0 or 1 = unknown.
	 */
	double correction[CW_RSC_MOST];
	/* instance-seconds since the policy's last accounting. */
	double used[CW_RSC_MOST];
	struct cw_rsc_state rsc[CW_RSC_MOST];
	struct cw_rpc rpc;
	struct cw_acct acct;
};

struct cw_app {                          /* for the limit of running tasks */
	int32_t project, max_concurrent; /* 0 = no limit */
};

/* A task that is not finished. It uses at most one type of coprocessor ("Work fetch
 * and GPUs"): rsc is that type, and use its instances. If rsc is CW_CPU, use equals
 * ncpus. */
struct cw_task {
	uint32_t id; /* assigned by the shell; a greater id arrived later */
	int32_t project, app;
	int32_t rsc;
	double use;         /* instances of rsc, > 0 */
	double ncpus;       /* CPUs used while it runs; equals use if rsc is CW_CPU */
	double remaining_s; /* estimated remaining run time at full use */
	double deadline;    /* report deadline */
	double received_at;
	double rss_bytes; /* expected working set; 0 = unknown */
	bool suspended;   /* by the user, or waiting after a temporary exit */
	bool downloading; /* its input is still arriving: nearly runnable */
	bool nci;         /* its app is not CPU-intensive */
	bool running, started, in_memory;
	int32_t device;            /* first coprocessor instance while it runs */
	double run_since;          /* start of the current episode */
	double checkpointed_at;    /* time of the last checkpoint; 0 = never */
	double since_checkpoint_s; /* run time since then */
	/* When it was last in danger of missing its deadline; 0 = never. */
	double endangered_at;
};

struct client_world {
	double now;
	struct cw_prefs prefs;
	struct cw_resource rsc[CW_RSC_MOST];
	size_t nrsc;
	struct cw_project *projects;
	size_t nprojects;
	struct cw_app *apps;
	size_t napps;
	struct cw_task *tasks; /* in order of arrival */
	size_t ntasks;
	/* Small tasks run in the place of great ones where memory is short; set by the
	 * policy's account(). */
	bool small_first;
	/* Counted by cw_changed() and cw_grew(). 0: the shell does not call these, and
	 * every look finds changes. */
	uint64_t version, growth;
	uint64_t tallied_version; /* as of the last cw_tally_tasks() */
	double accounted_at;      /* when used[] was last added to the accounts */
	/* Time of the last work request made because work was needed. */
	double asked_at;
	bool in_session;     /* a get-work session is open (client.md 1.1) */
	double scheduled_at; /* when tasks were last chosen */
};

/* fmin() and fmax() are library calls, slow here because of NaN; these are not. */
static inline double cw_min(double a, double b)
{
	return a < b ? a : b;
}
static inline double cw_max(double a, double b)
{
	return a > b ? a : b;
}

/*
 * To be called for what is more than the passing of time, which makes remaining_s of
 * the running tasks fall: cw_changed() when tasks are fewer; cw_grew() when there is a
 * new task, when more is left of one, or less by more than CW_REMAINING_FALLS times the
 * time that it ran, and when anything changes that decides which tasks take part in the
 * simulation, or their projects' shares. Not when a task starts or stops.
 */
static inline void cw_changed(struct client_world *w)
{
	w->version++;
}
static inline void cw_grew(struct client_world *w)
{
	w->version++;
	w->growth++;
}
/* Has nothing changed since that version? */
static inline bool cw_unchanged(const struct client_world *w, uint64_t since)
{
	return w->version != 0 && w->version == since;
}

/* --- world.c: the terms of client.md 0 --- */

/* Can the task run now? cw_nearly_runnable(): or as soon as its files have arrived? */
static inline bool cw_runnable(const struct client_world *w, const struct cw_task *t)
{
	return !t->suspended && !t->downloading && !w->projects[t->project].suspended;
}
static inline bool cw_nearly_runnable(
    const struct client_world *w, const struct cw_task *t)
{
	return !t->suspended && !w->projects[t->project].suspended;
}
/* The task always runs and takes no part of the host (client.md 4.4). */
static inline bool cw_nci(const struct client_world *w, const struct cw_task *t)
{
	return t->nci || w->projects[t->project].nci;
}
/* The task needs more memory than the host gives to all of its tasks together. */
static inline bool cw_too_big(const struct client_world *w, const struct cw_task *t)
{
	return w->prefs.ram_bytes > 0 && t->rss_bytes > w->prefs.ram_bytes;
}
/* May the project be asked for work now, as far as contact with its scheduler goes? */
bool cw_contactable(const struct client_world *, size_t project);
/* The last contact was so recent that only a deadline or the user justifies another. */
static inline bool cw_spaced(const struct client_world *w, size_t project)
{
	return w->projects[project].rpc.spaced_until > w->now;
}
/* Sets sharing[p] for each potentially runnable project; these share the host. */
void cw_potentially_runnable(const struct client_world *, bool *sharing);
/* Adds dt seconds of every running task to used[] of its project, except tasks of apps
 * that are not CPU-intensive. */
void cw_accrue(struct client_world *, double dt);
double cw_total_flops(const struct client_world *);
/* Derives facts about every project from its tasks: acct.runnable_mask, the resources
 * for which it has nearly runnable tasks; acct.gave; acct.delay_bound_s;
 * acct.longest_s; acct.rss_bytes. Tasks of apps that are not CPU-intensive do not
 * count. */
void cw_tally_tasks(struct client_world *);

#endif
