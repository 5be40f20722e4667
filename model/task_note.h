/* SPDX-License-Identifier: Apache-2.0 */
/*
 * When a task of config.xml last ran, and how it ended: run/task-NAME.last. Whoever
 * runs tasks plans by it, also after a restart; status and metrics show it.
 */
#ifndef MODEL_TASK_NOTE_H
#define MODEL_TASK_NOTE_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

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
/* Removes the note of a task that is no longer configured; no error if there is none.
 */
enum err task_note_remove(
    struct arena *, const struct conf *, const char *task, struct fail *);
/*
 * When a task is to be started: a period after its last start, so a run that was missed
 * while the project was stopped is made up for once; at once if it has never run, or if
 * its note is of the future.
 */
int64_t task_next_start(
    const struct conf_task *, const struct task_note *, int64_t now);

#endif
