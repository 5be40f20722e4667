/* SPDX-License-Identifier: Apache-2.0 */
/* What a simulation holds while it runs; for the files of the engine only. */
#ifndef CLIENT_SIM_STATE_H
#define CLIENT_SIM_STATE_H

#include "client/sim/sim.h"
#include "lib/rng.h"

struct onoff { /* a sim_onoff in time */
	const struct sim_onoff *how;
	bool on;
	double until; /* INFINITY: for ever */
};

struct sim_job { /* of the task with the same index */
	uint64_t id;
	const struct sim_app *app;
	double size_s, est_s;   /* true and estimated run time */
	double done_s, saved_s; /* of size_s; as of its last checkpoint */
	double overhead_s;      /* to do before it goes on */
	double ran_s;           /* run time spent, what was lost included */
	double flops;           /* peak of what it uses while it runs */
};

struct done { /* finished, to be reported */
	double deadline, flops;
};

struct server { /* one project's side, in canonical order */
	const struct sim_project *how;
	struct sim_project_sums *sums;
	int32_t scenario; /* index there */
	int32_t world;    /* index in the world; -1: not attached */
	int32_t app_base; /* number of its first app among all */
	struct onoff up;
	/* Apart, so that none depends on how often another is used. */
	struct rng up_rng, job_rng, backoff_rng;
	struct done *ready;
	size_t nready, ready_cap;
	uint32_t nrunning;
	double quiet_since; /* no task of it runs since then */
	double
	    *job_of_file; /* per app: jobs that came for the file that the host has */
};

struct sim {
	const struct sim_scenario *scenario;
	const struct sim_options *options;
	struct arena *keep, round;
	struct client_world world;
	struct server *server; /* canonical order */
	int32_t *who;          /* per world project: its server */
	size_t nservers;
	struct sim_job *job;
	size_t cap;    /* of job and w.tasks */
	uint32_t *run; /* indices of the running tasks, least first */
	size_t nrun, run_cap;
	struct onoff on, active, connected;
	struct rng rng;
	struct sim_sums *sums;
	double end_s;
	double check_at;    /* when the rules are to be looked at again */
	bool at_checkpoint; /* or when a running task has a checkpoint */
	double attach_at;   /* the next project to come or go */
	uint64_t njobs;
};

/* --- task.c --- */
void sim_tell(struct sim *, enum sim_kind, const struct server *,
    const struct sim_job *, double x, int64_t n, const char *text);
void sim_start_task(struct sim *, uint32_t task, bool edf);
void sim_stop_task(struct sim *, uint32_t task, bool keep);
void sim_drop_task(struct sim *, uint32_t task);
/* It has computed all, and waits to be reported. */
void sim_end_task(struct sim *, uint32_t task);
/* Ends what was not started before its deadline. */
void sim_abort_late(struct sim *);
/* The project's side of a task. */
struct server *sim_server_of(struct sim *, uint32_t task);

/* --- host.c: what comes and goes --- */
/* The canonical order of the projects, and those of the first moment. */
void sim_set_up(struct sim *);
/* Attaches and detaches what is due; attach_at is the next time. */
void sim_attach(struct sim *);
void onoff_start(struct onoff *, const struct sim_onoff *, struct rng *);
/* As of t; true if it changed. */
bool onoff_at(struct onoff *, double t, struct rng *);

/* --- server.c --- */
/* Carries out a contact; true if tasks came. */
bool sim_contact(struct sim *, const struct contact *);

#endif
