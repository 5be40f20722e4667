/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host as its rules see it: resources, projects, tasks, preferences and what each
 * policy keeps about the past.  A plain value: the shells (client/main.c and
 * client/sim/sim.c) fill it, the rules read it and change what they own (struct
 * cw_acct, struct cw_rpc).  Times are seconds on the shell's clock, durations seconds,
 * amounts of work instance-seconds of a resource unless said otherwise.  Sources:
 * doc/client.md, which names the documents.
 *
 * Projects stand in an order that does not depend on how the user lists them (the shell
 * sorts them); what is equal by a rule is decided by that order.
 */
#ifndef RULES_CLIENT_WORLD_H
#define RULES_CLIENT_WORLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	CW_CPU = 0,
	CW_RSC_MOST = 4
}; /* resource 0 is the CPU, the others coprocessors */

struct cw_resource {
	const char *name; /* "CPU", "NVIDIA", ... */
	double ninst;     /* instances that may be used, > 0 */
	double flops;     /* peak of one instance; any unit, one for all resources */
	double avail;     /* fraction of time in which it computes, 0.01 to 1 */
};

/* Of time: it is on; while it is, tasks may run; those that use coprocessors may. */
struct cw_fractions {
	double on, active, gpu_active;
};

struct cw_prefs {
	double min_s,
	    extra_s;      /* buffer: low water, and what high water adds (CI, AW) */
	double period_s;  /* cpu_scheduling_period, the length of a time slice */
	double cushion_s; /* a deadline counts as earlier by this (client.md 4.1 (row
	                     39)) */
	double ram_bytes; /* that tasks may use now; 0 = unlimited */
	bool leave_in_memory; /* preempted tasks */
	/* Bounds of all back-offs for a host in a hurry; 0, 0: those of client.md 1.2
	 * and 3. */
	double backoff_min_s, backoff_most_s;
};

/* What a policy remembers of a project; each policy uses its own part. */
struct cw_acct {
	double rec;              /* rec, hybrid: average FLOPS, half-life 10 days */
	double std[CW_RSC_MOST]; /* debt1, debtR: short-term debt, instance-seconds */
	double ltd[CW_RSC_MOST]; /* debt1, debtR: long-term debt, instance-seconds */
	double exp_avg_cpu;      /* classic: CPU seconds, decay e per week */
	/* window (policy_window.c) */
	double owed;            /* what it is owed, FLOPS * s; negative: it had more */
	double delay_bound_s;   /* the shortest seen of its tasks; 0 = none yet */
	double longest_s;       /* rec, window: the most left of a task seen */
	bool gave[CW_RSC_MOST]; /* it has sent tasks for this resource */
	bool known;             /* owed has a meaning */
	/* Scratch of account(): by resource, a bit each, and entitle(). */
	unsigned runnable_mask, usable_mask;
	double entitled;
};

/* A project's standing with one resource. */
struct cw_rsc_state {
	double backoff_s;     /* present interval; 0 = none */
	double backoff_until; /* do not ask for this resource before */
	bool no_apps;         /* the project says that it has none for it */
	bool excluded;        /* by preference or configuration */
};

/* A project's standing with its scheduler. */
struct cw_rpc {
	double min_rpc_time;          /* no contact before */
	double next_rpc_time;         /* the project wants contact by then; 0 = no */
	double latency_limited_until; /* no work because of deadlines was said */
	double last_contact;
	int32_t nrpc_failures;    /* in a row */
	int32_t nmaster_failures; /* in a row */
	int32_t ntask_failures;   /* in a row */
	int32_t url, nurls;       /* the one to try next, of how many */
	bool never_contacted;
	bool master_pending;
	bool user_request;     /* ignores back-off and suspension */
	uint32_t nready;       /* finished and uploaded tasks to report */
	double first_ready_at; /* since when the oldest of them waits */
	double first_deadline; /* the earliest report deadline among them */
	bool report_now;       /* one of them, or an option, says so */
	bool uploading;        /* an upload of it started less than 300 s ago */
	uint32_t nuploads;
	bool in_session; /* it was asked in the present get-work session */
};

struct cw_project {
	const char *name;
	double share; /* resource share, any scale; 0 = backup project */
	double attached_at;
	int32_t max_concurrent; /* running tasks; 0 = any number */
	bool suspended, no_new_work;
	bool nci; /* not CPU-intensive, whatever its apps: one task at a time */
	bool stalled_download, suspended_task;
	double dcf;               /* duration correction factor; 1 where unused */
	double used[CW_RSC_MOST]; /* instance-seconds since the policy last accounted */
	struct cw_rsc_state rsc[CW_RSC_MOST];
	struct cw_rpc rpc;
	struct cw_acct acct;
};

struct cw_app {                          /* of which a number of tasks may be limited */
	int32_t project, max_concurrent; /* 0 = any number */
};

/*
 * A task that is not finished.  One coprocessor type at most ("Work fetch and GPUs"):
 * rsc is that type and use its instances; with rsc CW_CPU use equals ncpus.
 */
struct cw_task {
	uint32_t id; /* the shell's; greater = arrived later */
	int32_t project, app;
	int32_t rsc;
	double use;         /* instances of rsc, > 0 */
	double ncpus;       /* CPUs used while it runs, with rsc CW_CPU = use */
	double remaining_s; /* estimated run time left at full use */
	double deadline;    /* for the report */
	double received_at;
	double rss_bytes; /* expected working set; 0 = unknown */
	bool suspended;   /* by the user, or waiting after a temporary exit */
	bool downloading; /* its files are on their way: nearly runnable */
	bool nci;         /* its app is not CPU-intensive */
	bool running, started, in_memory;
	int32_t device;         /* of a coprocessor while it runs: its first instance */
	double run_since;       /* start of the present episode */
	double checkpointed_at; /* time of its last checkpoint; 0 = never */
	double since_checkpoint_s; /* run time since then */
	double endangered_at;      /* last time it was flagged; 0 = never */
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
	double accounted_at; /* when used[] was last taken into the accounts */
	double asked_at;     /* when work was last asked for because it was needed */
	bool in_session;     /* a get-work session goes on (client.md 1.1) */
	double scheduled_at; /* when tasks were last chosen */
};

/* Of numbers: fmin() and fmax() are calls, for the sake of those that are none. */
static inline double
cw_min(double a, double b)
{
	return a < b ? a : b;
}
static inline double
cw_max(double a, double b)
{
	return a > b ? a : b;
}

/* --- world.c: words of client.md 0 --- */

/* The task may run now; or will as soon as its files are here. */
static inline bool
cw_runnable(const struct client_world *w, const struct cw_task *t)
{
	return !t->suspended && !t->downloading && !w->projects[t->project].suspended;
}
static inline bool
cw_nearly_runnable(const struct client_world *w, const struct cw_task *t)
{
	return !t->suspended && !w->projects[t->project].suspended;
}
/* It always runs and takes no part of the host (client.md 4.4). */
static inline bool
cw_nci(const struct client_world *w, const struct cw_task *t)
{
	return t->nci || w->projects[t->project].nci;
}
/* The project may be asked for work now, as far as its scheduler goes. */
bool cw_contactable(const struct client_world *, size_t project);
/* sharing[p]: potentially runnable, the projects among which the host is shared. */
void cw_potentially_runnable(const struct client_world *, bool *sharing);
/* Adds dt of all running tasks to used[] of their projects, those of apps that are not
 * CPU-intensive aside. */
void cw_accrue(struct client_world *, double dt);
double cw_total_flops(const struct client_world *);
/*
 * What the tasks, those of such apps aside, tell of every project: acct.runnable_mask,
 * the resources for which it has some that are nearly runnable, acct.gave,
 * acct.delay_bound_s, acct.longest_s.
 */
void cw_tally_tasks(struct client_world *);

#endif
