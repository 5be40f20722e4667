/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What keeps a daemon from doing part of its work: run/NAME.trouble, one line, which
 * exists as long as the trouble lasts. The daemon writes it, locus status shows it.
 */
#ifndef MODEL_TROUBLE_H
#define MODEL_TROUBLE_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

/*
 * When a task of config.xml last ran, and how it ended: run/task-NAME.last. Whoever
 * runs tasks plans by it, also after a restart; status and metrics show it.
 */

struct task_note {
	int64_t start; /* s, UTC */
	int64_t end;   /* 0 = it runs, or was killed */
	int64_t exit;  /* status of a shell: 128 + N if ended by signal N */
};

/* False if the task has never run here. */
bool task_note_read(
    struct arena *, const struct conf *, const char *task, struct task_note *);
enum err task_note_write(struct arena *, const struct conf *, const char *task,
    const struct task_note *, struct fail *);
/*
 * When a task is to be started: a period after its last start, so a run that was missed
 * while the project was stopped is made up for once; at once if it has never run, or if
 * its note is of the future.
 */
int64_t task_next_start(
    const struct conf_task *, const struct task_note *, int64_t now);

struct trouble {
	char *daemon; /* the name that the daemon runs under */
	int64_t at;   /* seconds UTC */
	char *text;
};

enum err trouble_write(
    struct arena *, const struct conf *, const struct trouble *, struct fail *);
enum err trouble_clear(
    struct arena *, const struct conf *, const char *daemon, struct fail *);
/*
 * Lists the troubles of this machine, of services, daemons of config.xml and others
 * that run; unreadable files, or a missing directory, count as none.
 */
void trouble_list(struct arena *, const struct conf *, struct trouble **, size_t *n);

/*
 * The same for run/NAME.standby, which exists while a daemon does not work because an
 * instance on another machine has its lease, or because the node is drained.
 */
enum err standby_write(
    struct arena *, const struct conf *, const struct trouble *, struct fail *);
enum err standby_clear(
    struct arena *, const struct conf *, const char *daemon, struct fail *);
void standby_list(struct arena *, const struct conf *, struct trouble **, size_t *n);

/*
 * The same for run/NAME.paused, which exists while a daemon pauses because nothing that
 * it tries succeeds; it outlives the process.
 */
enum err paused_write(
    struct arena *, const struct conf *, const struct trouble *, struct fail *);
enum err paused_clear(
    struct arena *, const struct conf *, const char *daemon, struct fail *);
void paused_list(struct arena *, const struct conf *, struct trouble **, size_t *n);

/*
 * Lists the daemons of this machine that run, report no trouble and do not pause, but
 * have finished no pass since .at, DAEMON_LATE_S before now or longer; .text is empty.
 * LocusDaemonStuck of samples/monitoring/ waits as long.
 */
enum { DAEMON_LATE_S = 600 };
void late_list(
    struct arena *, const struct conf *, int64_t now, struct trouble **, size_t *n);

#endif
