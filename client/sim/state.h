/* SPDX-License-Identifier: Apache-2.0 */
/* The state of a running simulation; only for the files of the engine. */
#ifndef CLIENT_SIM_STATE_H
#define CLIENT_SIM_STATE_H

#include "client/sim/sim.h"
#include "lib/rng.h"

struct onoff { /* a sim_onoff over time */
	const struct sim_onoff *params;
	bool on;
	double until; /* INFINITY: for ever */
};

struct sim_job { /* of the task with the same index */
	uint64_t id;
	const struct sim_app *app;
	double size_s, est_s;   /* true and estimated run time */
	double done_s, saved_s; /* of size_s; as of the last checkpoint */
	double overhead_s;      /* to be done before it advances */
	double ran_s;           /* run time spent, including what was lost */
	double flops;           /* peak of the resources that it uses while it runs */
};

struct finished_job { /* a finished job to report */
	double deadline, flops;
};

struct server { /* one project's server; in canonical order */
	const struct sim_project *project;
	struct sim_project_sums *sums;
	int32_t scenario; /* index in the scenario */
	int32_t world;    /* index in the world; -1: not attached */
	int32_t app_base; /* number of its first app among all apps */
	struct onoff up;
	/* Separate generators, so that none depends on how often another is used. */
	struct rng up_rng, job_rng, backoff_rng;
	struct finished_job *ready;
	size_t nready, ready_cap;
	uint32_t nrunning;
	double quiet_since;  /* none of its tasks has run since then */
	double *job_of_file; /* per app: jobs sent so far for the host's current file */
	/* Per app: what the host learned, and the factor that its tasks have now. */
	struct correction *learned;
	double *factor;
};

struct sim {
	const struct sim_scenario *scenario;
	const struct sim_options *options;
	struct arena *keep, round;
	struct client_world world;
	struct server *servers; /* in canonical order */
	int32_t *server_index;  /* per project of the world: its server */
	size_t nservers;
	struct sim_job *jobs;
	size_t tasks_cap;  /* of jobs and world.tasks */
	uint32_t *running; /* indices of the running tasks, ascending */
	size_t nrunning, running_cap;
	bool relist; /* running is out of date */
	/* The last outlook, of use as long as it lasts. */
	struct rr_sim outlook;
	struct arena outlook_arena;
	struct onoff on, active, connected;
	struct cw_gaps gaps;
	struct rng rng;
	struct sim_sums *sums;
	double end_s;
	double check_at;    /* when to apply the rules again */
	bool at_checkpoint; /* also when a running task checkpoints */
	double attach_at;   /* when the next project is attached or detached */
	double late_at;     /* no task that has not started is late before then */
	uint64_t njobs;
};

/* --- host.c: task --- */
void sim_tell(struct sim *, enum sim_kind, const struct server *,
    const struct sim_job *, double x, int64_t n, const char *text);
void sim_start_task(struct sim *, uint32_t task, bool edf);
/* Stops a task, and suspends it in memory if keep. sim_loss_s() is the run time that
 * this would lose, in s. */
void sim_stop_task(struct sim *, uint32_t task, bool keep);
double sim_loss_s(const struct sim *, uint32_t task, bool keep);
/* Ends a task that has computed everything; it waits to be reported. */
void sim_end_task(struct sim *, uint32_t task);
/* Aborts tasks that were not started by their deadlines. */
void sim_abort_late(struct sim *);
/* Returns the server of a task's project. */
struct server *sim_server_of(struct sim *, uint32_t task);

/* --- host.c: what changes over time --- */
/* Sets up the canonical order of the projects, and those attached at the start. */
void sim_set_up(struct sim *);
/* Attaches and detaches the projects that are due; sets attach_at to the next time. */
void sim_attach(struct sim *);
/* Moves to time t; returns true if the state changed. */
bool onoff_at(struct onoff *, double t, struct rng *);

/* --- server.c --- */
/* Carries out a contact; returns true if tasks were received. */
bool sim_contact(struct sim *, const struct contact *);

#endif
