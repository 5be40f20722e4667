/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Internals of the supervisor: its services and the steps that move each of them, also
 * those of a killed supervisor (sup_step.c), what services say (sup_hear.c), its tasks
 * and sockets (sup_tasks.c), and the supervisor's own life (supervise.c).
 */
#ifndef TOOLS_SUPERVISOR_SUP_H
#define TOOLS_SUPERVISOR_SUP_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/fs.h"
#include "model/conf.h"
#include "tools/procfs.h"
#include "tools/service.h"
#include "tools/state.h"

struct proc { /* a service and its process */
	struct service s;
	enum proc_state state;
	bool wanted, child;
	bool held; /* somebody stopped it by its name (state_hold()) */
	pid_t pid, session;
	uint64_t start;
	int64_t since;                     /* UTC seconds */
	int64_t born_ms, next_ms, kill_ms; /* monotonic */
	int restarts, failures, exit;      /* failures: in a row */
	char note[96];                     /* how it ended */
	bool told;                         /* it has said that it is ready */
	bool hung;                         /* the watchdog ends it */
	int64_t alive_ms;                  /* when it said something last */
	char said[200];                    /* what it says about itself */
};

struct listening { /* a listening socket held for services */
	char *path;
	int fd;
};

struct sup_task { /* a task of config.xml */
	const char *name;
	int64_t period_s, due; /* due: UTC seconds */
	pid_t pid;             /* 0 = it does not run */
	bool wanted;
};

struct sup {
	struct arena *a;         /* process lifetime */
	struct arena round;      /* memory of one round */
	const struct conf *cf;   /* the configuration at start, which options that wait
	                            for a restart keep */
	const struct conf *last; /* the configuration that was read last */
	struct proc *procs;
	size_t n, cap;
	struct sup_task *tasks;
	size_t ntasks, tasks_cap;
	struct listening *sockets;
	size_t nsockets, sockets_cap;
	struct procfs self;
	char **logged; /* remarks about BOINC's programs, each logged once */
	size_t nlogged, logged_cap;
	bool ending;  /* nothing is started any more */
	bool changed; /* state.json has to be written */
	bool unsaved; /* writing it failed, which has been logged */
	bool heard;   /* a service says something else; to be written soon */
	int64_t saved_ms;
	int hear_fd;  /* what services say; -1 = nobody listens */
	bool journal; /* standard error is systemd's journal */
	int64_t reload_ms;
	int64_t wanted_ms; /* when the services that are wanted were last read */
	struct fs_seen conf_seen, orders_seen; /* config.xml; the run directory */
};

/* --- sup_step.c --- */
struct proc *sup_find(struct sup *, const char *name); /* NULL if there is none */
void sup_set_state(struct sup *, struct proc *, enum proc_state);
/* Runs one round: moves every service on by one step; writes state.json if anything
 * changed. */
void sup_tick(struct sup *);
/* Stops a running service: sends its own signal first, and KILL to its group when its
 * time is over. */
void sup_end(struct sup *, struct proc *, int64_t now_ms);

/* --- sup_hear.c --- */
/* Lets all programs that are started from now on say how they are. */
enum err sup_hear_open(struct sup *, struct fail *);
void sup_hear_close(struct sup *);
/* Takes what services have said. */
void sup_hear(struct sup *);
/* Sleeps for at most so long: until a service says something or a child has ended. */
void sup_nap(struct sup *, int ms);
/* Has it not said in time that it is ready, or goes on? Then *for_s is the limit. */
bool sup_hangs(const struct proc *, int64_t now_ms, int *for_s);
/* Says how all services are to whoever runs the supervisor. */
void sup_tell(const struct sup *);

/* --- sup_tasks.c --- */
/* Sets the tasks that are wanted, and when each is due. */
void sup_set_tasks(struct sup *, const struct conf *);
/* Starts the tasks that are due, once the database runs. */
void sup_tick_tasks(struct sup *);
/* A child has ended, which may be a task. */
void sup_task_ended(struct sup *, pid_t);
/* Starts no more tasks, and sends those that run the signal, if it is not 0. Returns
 * true if any runs. */
bool sup_end_tasks(struct sup *, int sig);

/* --- sup_step.c: taking over --- */
/* Adopts the living services of state.json; those no longer configured are stopped. */
void sup_take_over(struct sup *);
/*
 * Opens all sockets that services need before any service starts: connections wait in
 * them. A service left by a killed supervisor accepts on a socket that no name leads to
 * any more: it answers the connections it holds and is replaced.
 */
enum err sup_listen_all(struct sup *, struct fail *);

/* --- sup_tasks.c: sockets --- */
/* Takes the sockets that systemd has held since the last supervisor of the unit. */
void sup_take_kept(struct sup *);
/* Returns the listening socket of a path, created if it is not held yet or its name is
 * gone. */
enum err sup_listen(struct sup *, const char *path, int *fd, struct fail *);
/* Closes and removes the socket, if it is held: connections are refused. */
void sup_unlisten(struct sup *, const char *path);
/*
 * Closes and removes all sockets: no more connections are accepted. Those that systemd
 * holds keep their names, as another supervisor may follow at once.
 */
void sup_unlisten_all(struct sup *);

#endif
