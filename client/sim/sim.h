/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A simulated host and its projects: a virtual clock that moves from event to event,
 * the rules of rules/client, and servers that answer as the scenario says. The same
 * scenario, policy and seed give the same history, byte for byte, whatever the
 * projects' order and names. Times are seconds since the start.
 */
#ifndef CLIENT_SIM_SIM_H
#define CLIENT_SIM_SIM_H

#include <stdio.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "rules/client/policy.h"

/* --- the scenario, as a file describes it (json.c and notation.c fill it in) --- */

/* Alternating on and off periods of exponentially distributed lengths. */
struct sim_onoff {
	double fraction; /* of time on; 1 = always, and then mean_on_s is unused */
	double mean_on_s;
};
struct sim_app {
	const char *name;
	double run_s;      /* mean run time of a job at full use (C) */
	double sd;         /* standard deviation relative to run_s */
	double deadline_s; /* delay bound (D) */
	double ncpus;      /* CPUs per job; default 1 */
	int32_t rsc;       /* CW_CPU or the coprocessor type */
	double use;        /* instances of rsc; for the CPU equal to ncpus */
	double weight;     /* relative frequency of the app's jobs; default 1 */
	double bias;       /* estimated over true mean; default 1 */
	/* Run time between checkpoints; 0 = checkpoints at any time. */
	double checkpoint_s;
	double restart_s; /* run time lost by each restart from a checkpoint */
	/* Period in which the project has such jobs; 0, INFINITY. */
	double from_s, until_s;
	double rss_bytes;
	double file_bytes;    /* large input file of a job; 0 = none */
	double jobs_per_file; /* >= 1; a host first gets jobs for a file that it has */
	int32_t max_concurrent;   /* limit of running jobs; 0 = none */
	int32_t in_progress_most; /* limit of jobs on the host; 0 = none */
};
struct sim_project {
	const char *name;
	double share;
	struct sim_app *apps;
	size_t napps;
	struct sim_onoff up;              /* availability of its servers */
	double attach_s, detach_s;        /* 0, INFINITY */
	double request_delay_s;           /* minimum delay between contacts; 0 = none */
	double down_from_s, down_until_s; /* an outage; both 0 = none */
	int32_t max_concurrent;
	bool nci;
	/* Does the server check whether a job would be late before sending it? By
	 * default it uses the rule of Locus's scheduler, earliest deadline first over
	 * the host's tasks. */
	bool no_deadline_check; /* it does not check */
	/* The peer's check: estimated_delay + duration within the bound. */
	bool delay_check;
};
struct sim_scenario {
	const char *note;
	/* flops: 1 for a CPU, or as the file says. */
	struct cw_resource rsc[CW_RSC_MOST];
	size_t nrsc;
	/* Host powered; allowed to compute; network up. */
	struct sim_onoff on, active, connected;
	struct cw_prefs prefs;
	struct sim_project *projects;
	size_t nprojects;
};

/* --- events, for the event log and the plot --- */

enum sim_kind {
	SIM_CONTACT, /* project; text: the reason and the request */
	SIM_FAILED,  /* project: no answer */
	SIM_REPLY,   /* project; n jobs received */
	SIM_JOB,     /* project, job: received; x: its deadline */
	SIM_START,   /* project, job, rsc; n: because of its deadline */
	SIM_PREEMPT, /* project, job; x: run seconds lost */
	SIM_END,     /* project, job; n 1 = in time */
	SIM_ABORT,   /* project, job: never started, and now too late */
	SIM_REPORT,  /* project; n jobs */
	SIM_HOST,    /* n 1 = on, 0 = off */
	SIM_ATTACH,
	SIM_DETACH
};
struct sim_event {
	double t;
	enum sim_kind kind;
	int32_t project; /* index in the scenario; -1 = none */
	uint64_t job;    /* numbered from 1 in the order sent */
	int32_t app, rsc;
	double x;
	int64_t n;
	const char *text; /* may be NULL; valid during the call */
};

struct sim_options {
	const struct policy *policy;
	double days;
	uint64_t seed;
	/* The host applies its rules when something happens, and otherwise at multiples
	 * of this; 0 = exactly when a rule asks for it. */
	double poll_s;
	void (*event)(void *, const struct sim_event *); /* NULL: no listener */
	void *listener;
};

/* --- sums over the run, from which figures.c computes figures --- */

struct sim_project_sums {         /* in the order of the scenario */
	double used_flops;        /* peak FLOPS * s of its running jobs */
	double used[CW_RSC_MOST]; /* instance-seconds */
	double wasted_flops;      /* spent on jobs reported after their deadlines */
	uint64_t fetched, met, missed, contacts;
	double bytes;   /* downloaded */
	double gap2_s3; /* integral of (time since it last ran)^2 while attached */
	double attached_s;
};
struct sim_sums {
	double days;
	uint64_t seed;
	double available_flops; /* peak FLOPS * s of the host, on or off */
	double on_flops;        /* the same while it was on and allowed to compute */
	double used_flops, lost_flops; /* lost_flops: to preemption and restarts */
	uint64_t contacts, fetched, preemptions, events;
	double cpu_ms; /* cost of the simulation itself */
	struct sim_project_sums *projects;
};

/* Runs the scenario. E_BADREQ: it cannot be simulated (an app for a resource that the
 * host does not have, jobs that take no time). */
enum err sim_run(const struct sim_scenario *, const struct sim_options *,
    struct arena *, struct sim_sums *, struct fail *);

/* --- scenario.c, read.c --- */

/* Sets what a file need not state: one CPU of 1, always on, default preferences. */
void sim_defaults(struct sim_scenario *);
void sim_app_defaults(struct sim_app *);
/* Reads a scenario in JSON or in the notation of client.md 7; the text of E_BADREQ says
 * where it is wrong. */
enum err sim_read(
    struct arena *, const char *path, struct sim_scenario *, struct fail *);

/* --- figures.c --- */
struct sim_figures {
	double idle, wasted, share_violation, share_violation_attainable, monotony;
	double rpcs_per_job, bytes_per_job, cpu_ms_per_day;
	uint64_t met, missed;
	double *share; /* per project: its fraction of all FLOPS used */
};
void sim_figures(const struct sim_scenario *, const struct sim_sums *, struct arena *,
    struct sim_figures *);

/* --- main.c: locus-client sim ... --- */
int sim_main(int argc, char **argv);

#endif
