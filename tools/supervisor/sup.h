/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Inside of the supervisor: its services and what moves each of them (sup_step.c), how
 * it takes over from one that was killed (sup_adopt.c), and its life (supervise.c).
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

struct proc { /* a service and what runs for it */
	struct service s;
	enum proc_state state;
	bool wanted, child;
	pid_t pid, session;
	uint64_t start;
	int64_t since;                     /* UTC seconds */
	int64_t born_ms, next_ms, kill_ms; /* monotonic */
	int64_t delay_ms;
	int restarts, exit;
	char note[96];
};

struct listening { /* a socket that services accept on, held for them */
	char *path;
	int fd;
};

struct sup {
	struct arena *a;         /* process lifetime */
	struct arena round;      /* one look */
	const struct conf *cf;   /* of the start: where it is and what it is */
	const struct conf *last; /* what was read last */
	struct proc *procs;
	size_t n, cap;
	struct listening *sockets;
	size_t nsockets, sockets_cap;
	struct procfs self;
	char **said; /* of BOINC's programs, each once */
	size_t nsaid, said_cap;
	bool changed; /* state.json is to be written */
	bool unsaved; /* it could not be; the log was told */
	int64_t reload_ms;
	struct fs_seen conf_seen;
};

/* --- sup_step.c --- */
struct proc *sup_find(struct sup *, const char *name); /* NULL if there is none */
void sup_set_state(struct sup *, struct proc *, enum proc_state);
/* Looks at every service once and moves it on; writes state.json if something changed.
 */
void sup_look(struct sup *);
/* Ends a service that runs: its own signal first, KILL for its group when its time is
 * over. */
void sup_end(struct sup *, struct proc *, int64_t now_ms);
/* The process itself is gone; what it left is ended before it may start again. */
void sup_died(struct sup *, struct proc *, int64_t now_ms);

/* --- sup_adopt.c --- */
/* What state.json tells and still lives is ours; what is no longer configured is ended.
 */
void sup_take_over(struct sup *);
/*
 * All sockets that services need, before any of them starts: connections wait in them.
 * What a killed supervisor left accepts on sockets of its own, which no name leads to
 * any more: it answers what they hold and is replaced.
 */
enum err sup_listen_all(struct sup *, struct fail *);

/* --- sup_sockets.c --- */
/* The listening socket of a path, made if it is not held yet. */
enum err sup_listen(struct sup *, const char *path, int *fd, struct fail *);
/* Nobody is let in any more. */
void sup_unlisten_all(struct sup *);

#endif
