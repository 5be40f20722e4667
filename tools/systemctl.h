/* SPDX-License-Identifier: Apache-2.0 */
/* Asks systemd by systemctl(1), for the units of installed projects. */
#ifndef TOOLS_SYSTEMCTL_H
#define TOOLS_SYSTEMCTL_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"

/* True if systemd is this machine's service manager and runs; it does not in a chroot,
 * or while a container is built. */
bool systemctl_usable(void);
/* Runs systemctl with these words, which end with NULL. *out may be NULL. E_SYS if it
 * fails; its own message went to standard error. */
enum err systemctl_run(
    struct arena *, const char *const *words, char **out, struct fail *);
/* The same with the units after the words; none is OK and runs nothing. */
enum err systemctl_units(struct arena *, const char *const *words, char *const *units,
    size_t n, struct fail *);

struct unit_state {
	char *id;      /* "locus-stars@scheduler.service" */
	bool loaded;   /* systemd knows such a unit */
	char *active;  /* "active", "activating", "inactive", "failed", ... */
	char *sub;     /* "running", "auto-restart", "listening", ... */
	char *result;  /* "success", "exit-code", "watchdog", ... of its last life */
	char *status;  /* what the service says about itself; "" = nothing */
	pid_t pid;     /* 0 = none */
	int restarts;  /* by systemd, since an admin started it */
	int exit;      /* exit status of its last process, or number of the signal */
	bool signaled; /* exit is a signal */
	int64_t since; /* of this state, seconds UTC; 0 = unknown */
	int64_t next;  /* a timer's next run, seconds UTC; 0 = none */
};

/* Parses what systemctl show prints, one block for each unit. Pure. */
size_t unit_states_parse(struct arena *, const char *text, struct unit_state **);
/* Reads the states of units, in their order; an unknown unit is not loaded. */
enum err unit_states(
    struct arena *, char *const *units, size_t n, struct unit_state **, struct fail *);
/* Describes how a unit's last life ended: "exit 1", "killed by signal 9 (watchdog)"; ""
 * if it ended well. */
char *unit_state_end(struct arena *, const struct unit_state *);

#endif
