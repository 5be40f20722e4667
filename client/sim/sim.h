/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated host and its projects: a virtual clock that goes from event to event, the
 * rules of rules/client, and servers that answer as the scenario says.  One scenario,
 * policy and seed give one history, byte for byte, in whatever order the projects stand
 * and whatever their names are.  Times are seconds since the start.
 */
#ifndef CLIENT_SIM_SIM_H
#define CLIENT_SIM_SIM_H

#include <stdio.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "rules/client/policy.h"

/* --- the scenario: what a file says (json.c, notation.c fill it) --- */

/* On and off in turn for exponentially distributed times. */
struct sim_onoff {
	double fraction; /* of the time it is on; 1 = always, and then mean_on_s is
	                    unused */
	double mean_on_s;
};
struct sim_app {
	const char *name;
	double run_s;           /* mean run time of a job at full use (C) */
	double sd;              /* standard deviation, relative to run_s */
	double deadline_s;      /* delay bound (D) */
	double ncpus;           /* CPUs of a job; 1 unless said */
	int32_t rsc;            /* CW_CPU, or the coprocessor type */
	double use;             /* instances of it; of the CPU: as ncpus */
	double weight;          /* how often jobs of this app come; 1 unless said */
	double bias;            /* estimate over true mean; 1 unless said */
	double checkpoint_s;    /* run time between checkpoints; 0 = at any time */
	double restart_s;       /* run time lost by each restart from a checkpoint */
	double from_s, until_s; /* while the project has such jobs; 0, INFINITY */
	double rss_bytes;
	double file_bytes;    /* large input of a job; 0 = none */
	double jobs_per_file; /* >= 1; the project gives a host jobs for files it has */
	int32_t max_concurrent;   /* 0 = any number */
	int32_t in_progress_most; /* jobs that the host may have at a time; 0 = any */
};
struct sim_project {
	const char *name;
	double share;
	struct sim_app *apps;
	size_t napps;
	struct sim_onoff up;              /* its servers */
	double attach_s, detach_s;        /* 0, INFINITY */
	double request_delay_s;           /* between contacts; 0 = none */
	double down_from_s, down_until_s; /* an outage; both 0 = none */
	int32_t max_concurrent;
	bool nci;
	/* Before it sends a job: may that be late?  By default the rule of our
	 * scheduler, earliest deadline first over the host's tasks. */
	bool no_deadline_check; /* it does not ask */
	bool delay_check; /* estimated_delay + duration within the bound: the peer's */
};
struct sim_scenario {
	const char *note;
	struct cw_resource
	    rsc[CW_RSC_MOST]; /* flops: 1 for a CPU, or as the file says */
	size_t nrsc;
	struct sim_onoff on, active, connected; /* host up; computing; network */
	struct cw_prefs prefs;
	struct sim_project *projects;
	size_t nprojects;
};

/* --- what happens: for the event log and the plot --- */

enum sim_kind {
	SIM_CONTACT, /* project; text: why, and what is asked */
	SIM_FAILED,  /* project: no answer */
	SIM_REPLY,   /* project; n jobs came */
	SIM_JOB,     /* project, job: it arrived, x: its deadline */
	SIM_START,   /* project, job, rsc, n: because of its deadline */
	SIM_PREEMPT, /* project, job; x: run seconds lost */
	SIM_END,     /* project, job; n 1 = in time */
	SIM_ABORT,   /* project, job: it was never started, and is too late now */
	SIM_REPORT,  /* project; n jobs */
	SIM_HOST,    /* n 1 = on, 0 = off */
	SIM_ATTACH,
	SIM_DETACH
};
struct sim_event {
	double t;
	enum sim_kind kind;
	int32_t project; /* as in the scenario; -1 = none */
	uint64_t job;    /* numbered from 1 as they are sent */
	int32_t app, rsc;
	double x;
	int64_t n;
	const char *text; /* or NULL; good during the call */
};

struct sim_options {
	const struct policy *policy;
	double days;
	uint64_t seed;
	/* The host looks at its rules when something happens, and else at multiples of
	 * this; 0 = exactly when a rule says. */
	double poll_s;
	void (*event)(void *, const struct sim_event *); /* NULL: nobody listens */
	void *listener;
};

/* --- sums over the run: figures.c makes figures of them --- */

struct sim_project_sums {         /* in the scenario's order */
	double used_flops;        /* peak FLOPS * s of its running jobs */
	double used[CW_RSC_MOST]; /* instance-seconds */
	double wasted_flops;      /* spent on jobs reported after their deadline */
	uint64_t fetched, met, missed, contacts;
	double bytes;   /* downloaded */
	double gap2_s3; /* integral of (time since it last ran)^2 while attached */
	double attached_s;
};
struct sim_sums {
	double days;
	double available_flops; /* peak FLOPS * s of the host, off or on */
	double on_flops;        /* the same while it was on and allowed to compute */
	double used_flops, lost_flops; /* lost: to preemption and restarts */
	uint64_t contacts, fetched, preemptions, events;
	double cpu_ms; /* cost of the simulation itself */
	struct sim_project_sums *p;
};

/*
 * Runs the scenario.  E_BADREQ: it cannot be simulated (a project without share in a
 * host of none, an app for a resource that is not there).
 */
enum err sim_run(const struct sim_scenario *, const struct sim_options *,
    struct arena *, struct sim_sums *, struct fail *);

/* --- scenario.c, read.c --- */

/* Fills in what a file need not say: one CPU of 1, always on, default preferences. */
void sim_defaults(struct sim_scenario *);
void sim_app_defaults(struct sim_app *);
/* Reads a scenario, JSON or the notation of client.md 7; E_BADREQ tells where it is
 * wrong.
 */
enum err sim_read(
    struct arena *, const char *path, struct sim_scenario *, struct fail *);

/* --- figures.c --- */
struct sim_figures {
	double idle, wasted, share_violation, share_violation_attainable, monotony;
	double rpcs_per_job, bytes_per_job, cpu_ms_per_day;
	uint64_t met, missed;
	double *share; /* per project: its part of all FLOPS used */
};
void sim_figures(const struct sim_scenario *, const struct sim_sums *, struct arena *,
    struct sim_figures *);

/* --- main.c: locus-client sim ... --- */
int sim_main(int argc, char **argv);

#endif
