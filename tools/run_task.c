/* SPDX-License-Identifier: Apache-2.0 */
/* locus run-task: runs a task of config.xml once, never twice at the same time. */
#include "tools/run_task.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/log_pipe.h"
#include "lib/proc.h"
#include "model/trouble.h"
#include "tools/cmd.h"
#include "tools/dir_cure.h"
#include "tools/program.h"
#include "tools/upstream.h"
#include "lib/banned.h"

/*
 * locus run-logged: becomes a program whose output goes to a log that may be rotated.
 * The supervisor runs the database server, Apache and the project's own daemons and
 * tasks through it. It reads no configuration: services restart while config.xml is
 * broken.
 */

char **run_logged_command(
    struct arena *a, const char *self, const char *log, char *const *argv)
{
	size_t n = 0, k = 0;
	char **line;

	while (argv[n] != NULL)
		n++;
	line = NEWN(a, char *, n + 5);
	line[k++] = arena_strdup(a, self);
	line[k++] = arena_strdup(a, "run-logged");
	line[k++] = arena_strdup(a, "--");
	line[k++] = arena_strdup(a, log);
	for (size_t i = 0; i < n; i++)
		line[k++] = argv[i];
	return line;
}

static enum err run_logged_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts, (void)n; /* args ends with NULL, as argv does */
	TRY(owner_enter_place(x->a, args[0], false, &x->owner, x->f));
	TRY(log_pipe_start(args[0], x->f));
	execvp(args[1], args + 1);
	return FAIL_ERRNO(x->f, "running %s", args[1]);
}

const struct cmd cmd_run_logged = { .name = "run-logged",
	.args = "FILE PROGRAM [ARG ...]",
	.min_args = 2,
	.max_args = -1,
	.purpose = "become a program whose output goes to a log",
	.about =
	    "Runs the program in its own place. What it and its children write to standard output\n"
	    "and standard error is appended to FILE by a process that opens FILE again when it was\n"
	    "rotated, and ends with the last of them. The supervisor starts all programs but those\n"
	    "of Locus in this way. Where another account rules FILE's directory, root becomes that\n"
	    "account first. If the program has options, two dashes go before FILE.",
	.run = run_logged_run };

enum { WAIT_MS = 50, EXIT_BUSY = 75, EXIT_NO_PROGRAM = 127 };

static enum err conf_task_named(
    struct cmd_ctx *x, const char *name, const struct conf_task **found)
{
	for (size_t i = 0; i < x->cf->ntasks; i++) {
		const struct conf_task *t = &x->cf->tasks[i];

		if (strcmp(t->name, name) == 0) {
			*found = t;
			return OK;
		}
	}
	return ctx_not_found(x, "%s has no task %s", x->cf->path, name);
}

/* Splits the command; of BOINC's programs, ours run in their place. */
static enum err task_command(struct cmd_ctx *x, const struct conf_task *t, char ***argv)
{
	struct upstream u;
	char *program;

	TRY(proc_split(x->a, t->cmd, argv, x->f));
	u = upstream_command(x->a, *argv);
	if (u.theirs && u.argv == NULL)
		return FAIL(x->f, E_CONFIG, "%s", u.say);
	if (u.theirs)
		*argv = u.argv;
	program = strcmp((*argv)[0], "locus") == 0 ?
	              program_self(x->a) :
	              program_find(x->a, x->cf, (*argv)[0]);
	if (program == NULL)
		return FAIL(x->f, E_CONFIG,
		    "there is no program %s in the project's bin, among the installed ones or on PATH",
		    (*argv)[0]);
	(*argv)[0] = program;
	return OK;
}

static enum err note_task_start(
    struct cmd_ctx *x, const struct conf_task *t, struct task_note *note)
{
	*note = (struct task_note){ .start = clock_now() };
	return task_note_write(x->a, x->cf, t->name, note, x->f);
}

/* Notes how the task ended; a failure, of which text says more, stays in locus status
 * until it succeeds. */
static enum err note_task_end(struct cmd_ctx *x, const struct conf_task *t,
    struct task_note *note, const char *text)
{
	struct trouble trouble = { arena_printf(x->a, "task %s", t->name), clock_now(),
		arena_strdup(x->a, text) };

	note->end = trouble.at;
	TRY(task_note_write(x->a, x->cf, t->name, note, x->f));
	if (note->exit == 0)
		return trouble_clear(x->a, x->cf, trouble.daemon, x->f);
	log_warn("%s %s", trouble.daemon, trouble.text);
	return trouble_write(x->a, x->cf, &trouble, x->f);
}

/* A task that cannot be started has failed, too. */
static enum err note_no_start(struct cmd_ctx *x, const struct conf_task *t)
{
	const struct fail why = *x->f;
	struct task_note note;

	TRY(note_task_start(x, t, &note));
	note.exit = EXIT_NO_PROGRAM;
	TRY(note_task_end(x, t, &note, why.detail));
	*x->f = why;
	return why.code;
}

static enum err task_execute(struct cmd_ctx *x, const struct conf_task *t)
{
	const char *log = t->output[0] == '/' ?
	                      t->output :
	                      arena_printf(x->a, "%s/%s", x->cf->log_dir, t->output);
	struct task_note note;
	struct proc_child c;
	char **argv;

	if (task_command(x, t, &argv) != OK)
		return note_no_start(x, t);
	setenv("LOCUS_PROJECT", conf_dir(x->a, x->cf), 1);
	proc_signals();
	TRY(note_task_start(x, t, &note));
	TRY(proc_start(&(const struct proc_run){ .argv = (const char *const *)argv,
			   .dir = x->cf->project_dir,
			   PROC_LOG(log) },
	    &c, x->f));
	while (!proc_ended(&c, &x->status)) {
		if (proc_stopping) /* the task has a group of its own */
			kill(-c.pid, SIGTERM);
		clock_nap_ms(WAIT_MS);
	}
	if (proc_stopping)
		return OK; /* no failure of the task */
	note.exit = x->status;
	return note_task_end(x, t, &note,
	    arena_printf(
		x->a, "ended with status %d; its output is in %s", x->status, log));
}

static enum err run_task_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct conf_task *t = NULL;
	const char *lock;
	int fd;
	enum err e;

	(void)opts, (void)n;
	TRY(ctx_conf(x));
	TRY(conf_task_named(x, args[0], &t));
	TRY(fs_mkdirs(x->cf->run_dir, private_run_mode(x->cf), x->f));
	lock = arena_printf(x->a, "%s/task-%s.lock", x->cf->run_dir, t->name);
	e = fs_lock(lock, &fd, x->f);
	if (e == E_RACE) {
		x->status = EXIT_BUSY;
		return FAIL(x->f, E_RACE, "task %s runs already", t->name);
	}
	return e != OK ? e : task_execute(x, t);
}

const struct cmd cmd_run_task = { .name = "run-task",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "run a task of config.xml now",
	.about =
	    "Runs the command of a <task> once, in the project's directory, with its output\n"
	    "appended to the task's file in the log directory. The exit status is the task's; 75\n"
	    "means that the task runs already. A failure stays in locus status until the task\n"
	    "succeeds.",
	.details = "The supervisor runs each task once in its period.",
	.run = run_task_run };
