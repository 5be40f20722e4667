/* SPDX-License-Identifier: Apache-2.0 */
/*
 * run/state.json: the services that the supervisor runs, written whenever they change.
 * A later supervisor uses it to take over, and status reads it.
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
	PROC_STOPPED, /* by name: locus stop NAME */
	PROC__MAX
};
const char *proc_state_name(enum proc_state); /* "running" */

struct state_proc {
	char *name;
	enum proc_state state;
	pid_t pid; /* also the id of its process group; 0 = none */
	pid_t session;
	uint64_t start; /* start time as in procfs.h */
	int64_t since;  /* seconds UTC */
	int restarts;
	bool of_machine; /* a server of this machine; note is its unit */
	char *note; /* "exit 1", "killed by signal 9", why it cannot run, or what it
	               says about itself; may be "" */
};

/*
 * Has the service failed, or died several times since this was first asked? Earlier
 * deaths do not count: it may have run for years between them. *first: 0 at first; an
 * order for the service sets its restarts to 0.
 */
bool proc_is_hopeless(const struct state_proc *, int *first);

struct state_option {
	const char *name, *value;
};

struct state {
	pid_t supervisor;
	uint64_t supervisor_start;
	const char *config; /* hash of the config.xml that it follows; "" = unknown */
	struct state_proc *procs;
	size_t n;
	struct state_option
	    *options; /* values that the supervisor uses until a restart */
	size_t noptions;
};

/*
 * All of these functions use the directory of state_dir(): run_dir, or the run_dir of a
 * living supervisor that was started with another one; in an installed project always
 * the same one below /run.
 */
const char *state_dir(struct arena *, const struct conf *);
enum err state_write(
    struct arena *, const struct conf *, const struct state *, struct fail *);
/*
 * E_NOTFOUND if there is no state file. A file that cannot be parsed counts as none, as
 * /proc has the rest. Pids noted before the machine or its container was restarted read
 * as 0.
 */
enum err state_read(struct arena *, const struct conf *, struct state *, struct fail *);
void state_forget(struct arena *, const struct conf *);
char *state_lock_path(struct arena *, const struct conf *);
/* True if a supervisor of this project is running. */
bool state_supervised(struct arena *, const struct conf *);
/*
 * Notes in run_dir that somebody started the project and it should run until somebody
 * stops it, whatever becomes of its processes.
 */
enum err state_mean_to_run(
    struct arena *, const struct conf *, bool run, struct fail *);
bool state_is_meant_to_run(struct arena *, const struct conf *);

/*
 * Notes that somebody stopped the service by its name, so that nothing but locus start
 * starts it again. It counts until it is removed, the project is stopped, or the
 * machine restarts.
 */
enum err state_hold(
    struct arena *, const struct conf *, const char *service, bool hold, struct fail *);
bool state_is_held(struct arena *, const struct conf *, const char *service);
/* What locus status says about a service that was stopped by its name. */
char *state_held_note(struct arena *, const char *service);
/* Removes the notes of all services. */
enum err state_release_all(struct arena *, const struct conf *, struct fail *);
/* Asks the supervisor to replace the service's process. */
enum err state_order_restart(
    struct arena *, const struct conf *, const char *service, struct fail *);
/* True once for each order. */
bool state_take_restart(struct arena *, const struct conf *, const char *service);

/* Lists the options whose value in config.xml differs from the one that the living
 * supervisor uses until locus restart. */
const char **state_restart_options(
    struct arena *, const struct conf *, const struct state *, size_t *n);
/* Returns the same as a sentence; NULL if there are none. */
const char *state_restart_text(
    struct arena *, const struct conf *, const struct state *);

#endif
