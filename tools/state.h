/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/state.json: what the supervisor runs, written whenever it changes.  A later
 * supervisor takes over by it, and status reads it.
 */
#ifndef TOOLS_STATE_H
#define TOOLS_STATE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

enum proc_state {
	PROC_DOWN,
	PROC_STARTING,
	PROC_RUNNING,
	PROC_ENDING,
	PROC_FAILED,
	PROC__MAX
};
const char *proc_state_name(enum proc_state); /* "running" */

struct state_proc {
	char *name;
	enum proc_state state;
	pid_t pid; /* also its process group; 0 = none */
	pid_t session;
	uint64_t start; /* procfs start time */
	int64_t since;  /* seconds UTC */
	int restarts;
	char *note; /* "exit 1", "killed by signal 9", why it cannot run; "" */
};

struct state_option {
	const char *name, *value;
};

struct state {
	pid_t supervisor;
	uint64_t supervisor_start;
	struct state_proc *procs;
	size_t n;
	struct state_option *options; /* that the supervisor has until a restart */
	size_t noptions;
};

/*
 * All of these are about run_dir, or, as long as a supervisor lives that was started
 * with another one, about that.
 */
enum err state_write(
    struct arena *, const struct conf *, const struct state *, struct fail *);
/*
 * E_NOTFOUND if there is none.  One that cannot be read counts as none: /proc knows the
 * rest.  Pids noted before the machine or its container started anew read as 0.
 */
enum err state_read(struct arena *, const struct conf *, struct state *, struct fail *);
char *state_lock_path(struct arena *, const struct conf *);
/* Does a supervisor of this project live? */
bool state_supervised(struct arena *, const struct conf *);
/* Options that config.xml has another value of than the living supervisor, which has
 * them until locus restart. */
const char **state_waits(
    struct arena *, const struct conf *, const struct state *, size_t *n);
/* The same as a sentence for people; NULL if there are none. */
const char *state_waits_text(struct arena *, const struct conf *, const struct state *);

#endif
