/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes as described by /proc. A process is identified by its pid and start time,
 * as the pid alone may have been reused. Zombies count as gone.
 */
#ifndef TOOLS_PROCFS_H
#define TOOLS_PROCFS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "lib/arena.h"

struct procfs {
	pid_t pid, ppid, pgrp, session;
	uint64_t start; /* clock ticks after boot */
	char state;     /* R, S, D, Z, ... */
};

/* Parses /proc/PID/stat; false if the line is malformed. */
bool procfs_parse(const char *line, struct procfs *);
bool procfs_read(pid_t, struct procfs *); /* false: no such process */
/* True if the process that started at that time still runs. */
bool procfs_alive(pid_t, uint64_t start);
/* Lists all processes of this machine that are not zombies. */
size_t procfs_all(struct arena *, struct procfs **);
/* CPU time of a process in clock ticks and its memory in bytes; false: no such process.
 */
bool procfs_usage(pid_t, uint64_t *ticks, int64_t *bytes);
/* Returns the value of a variable in that environment; NULL if it is not set. */
char *procfs_getenv(struct arena *, pid_t, const char *name);

/*
 * All processes of one service: its process group, and the processes that it started in
 * other groups, which carry its mark in their environment. All of them stay in the
 * session of the supervisor that started them.
 */

/* The marks: "LOCUS_SUPERVISED=project directory", "LOCUS_SERVICE=name". */
#define MARK_PROJECT "LOCUS_SUPERVISED"
#define MARK_SERVICE "LOCUS_SERVICE"

struct group {
	const char *dir;  /* project directory */
	const char *name; /* name of the service */
	pid_t pgrp, session;
};

/* Finds the pids of its living processes, without zombies; returns their number. */
size_t group_members(struct arena *, const struct group *, pid_t **);
/* Sends a signal to each process; returns their number. */
size_t group_signal(struct arena *, const struct group *, int sig);
/*
 * Finds all processes that carry the project's mark, except this one and its ancestors.
 */
size_t group_marked(struct arena *, const char *dir, pid_t **);
/* Sends TERM, and KILL after a second, until no marked process is left or 5 s have
 * passed; returns the largest number of them seen. */
size_t group_sweep(struct arena *, const char *dir);

#endif
