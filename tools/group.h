/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All processes of one service: its process group, and what it started in groups of
 * their own, which carry its mark in their environment.  All of them stay in the
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
	const char *name; /* of the service */
	pid_t pgrp, session;
};

/* Pids of those that live, without zombies. */
size_t group_members(struct arena *, const struct group *, pid_t **);
/* Sends a signal to each; returns how many there are. */
size_t group_signal(struct arena *, const struct group *, int sig);
/* All processes with the mark of that project, but for ourselves and our ancestors. */
size_t group_marked(struct arena *, const char *dir, pid_t **);
/* TERM, and KILL after a second, until no marked process is left or 5 s are over;
 * returns how many there were. */
size_t group_sweep(struct arena *, const char *dir);

#endif
