/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Processes as /proc tells them.  A process is a pid and its start time: a pid alone
 * may be another process by now.  Zombies count as gone.
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

/* One line of /proc/PID/stat; false if it is none. */
bool procfs_parse(const char *line, struct procfs *);
bool procfs_read(pid_t, struct procfs *); /* false: no such process */
/* Is this still the process that started then? */
bool procfs_alive(pid_t, uint64_t start);
/* All processes of this machine that are not zombies. */
size_t procfs_all(struct arena *, struct procfs **);
/* Does the environment that the process started with hold this "NAME=value"?  False if
 * it is not ours to read. */
bool procfs_env(pid_t, const char *assignment);
/* Value of a variable in that environment; NULL if it has none. */
char *procfs_getenv(struct arena *, pid_t, const char *name);

#endif
