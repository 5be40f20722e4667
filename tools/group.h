/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processes of one service: its process group, and the processes that it started in
 * other groups, which carry its mark in their environment. All of them stay in the
 * session of the supervisor that started them.
 */
#ifndef TOOLS_GROUP_H
#define TOOLS_GROUP_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/arena.h"

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
