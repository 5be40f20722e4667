/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The <tasks> of config.xml: each runs once in its period, as "locus run-task NAME",
 * which holds the task's lock and notes its end. A task is no service: nothing restarts
 * it before its time.
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/sock.h"
#include "model/owner.h"
#include "model/trouble.h"
#include "tools/procfs.h"
#include "tools/program.h"
#include "tools/supervisor/sup.h"
#include "tools/upstream.h"
#include "lib/banned.h"

static struct sup_task *
sup_find_task(struct sup *x, const char *name)
{
	for (size_t i = 0; i < x->ntasks; i++)
		if (strcmp(x->tasks[i].name, name) == 0)
			return &x->tasks[i];
	return NULL;
}

/* Programs of BOINC that have no equivalent are named once, and not run. */
static bool
is_left_out(struct sup *x, const struct conf_task *c)
{
	struct fail f = { 0 };
	struct upstream u;
	char **argv;

	if (proc_split(&x->round, c->cmd, &argv, &f) != OK)
		return false; /* locus run-task says why */
	u = upstream_command(&x->round, argv);
	return u.theirs && u.argv == NULL;
}

void
sup_set_tasks(struct sup *x, const struct conf *cf)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < x->ntasks; i++)
		x->tasks[i].wanted = false;
	for (size_t i = 0; i < cf->ntasks; i++) {
		const struct conf_task *c = &cf->tasks[i];
		struct sup_task *t = sup_find_task(x, c->name);
		struct task_note note;

		if (c->disabled || is_left_out(x, c))
			continue;
		if (t == NULL) {
			PUSH(x->a, x->tasks, x->ntasks,
			    x->tasks_cap) = (struct sup_task){ .name = c->name };
			t = &x->tasks[x->ntasks - 1];
		}
		t->wanted = true;
		t->period_s = c->period_s;
		task_note_read(&x->round, cf, c->name, &note);
		t->due = task_next_start(c, &note, now);
	}
}

static bool
database_runs(const struct sup *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->procs[i].s.kind == SERVICE_DATABASE &&
		    x->procs[i].state != PROC_RUNNING)
			return false;
	return true;
}

void
sup_tick_tasks(struct sup *x)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < x->ntasks; i++) {
		struct sup_task *t = &x->tasks[i];

		if (t->wanted && t->pid == 0 && now >= t->due && database_runs(x)) {
			const char *const argv[] = { program_self(&x->round), "-p",
				x->cf->project_dir, "run-task", t->name, NULL };
			const struct proc_run run = { .argv = argv,
				.dir = x->cf->project_dir,
				PROC_LOG(arena_printf(
				    &x->round, "%s/tasks.log", x->cf->log_dir)) };
			struct proc_child c;
			struct fail f = { 0 };

			t->due = now + t->period_s;
			/* Else it would pass for a process of the service that was
			 * started last. */
			setenv(MARK_SERVICE,
			    arena_printf(&x->round, "task %s", t->name), 1);
			if (proc_start(&run, &c, &f) != OK)
				log_fail(t->name, &f);
			else
				log_info("task %s starts, pid %d", t->name, (int)c.pid);
			t->pid = c.pid;
		}
	}
}

void
sup_task_ended(struct sup *x, pid_t pid)
{
	for (size_t i = 0; i < x->ntasks; i++)
		if (x->tasks[i].pid == pid)
			x->tasks[i].pid = 0;
}

bool
sup_end_tasks(struct sup *x, int sig)
{
	bool any = false;

	for (size_t i = 0; i < x->ntasks; i++) {
		x->tasks[i].wanted = false;
		if (x->tasks[i].pid == 0)
			continue;
		any = true;
		if (sig != 0)
			kill(x->tasks[i].pid, sig);
	}
	return any;
}

/*
 * The supervisor holds the sockets of services, so that connections wait while a
 * process is replaced, instead of being refused.
 */

void
sup_unlisten(struct sup *x, const char *path)
{
	for (size_t i = 0; i < x->nsockets; i++) {
		if (strcmp(x->sockets[i].path, path) != 0)
			continue;
		fs_unlink(path, NULL);
		close(x->sockets[i].fd);
		x->sockets[i] = x->sockets[--x->nsockets];
		return;
	}
}

enum err
sup_listen(struct sup *x, const char *path, int *fd, struct fail *f)
{
	if (!fs_exists(path)) /* somebody removed the name */
		sup_unlisten(x, path);
	for (size_t i = 0; i < x->nsockets; i++)
		if (strcmp(x->sockets[i].path, path) == 0) {
			*fd = x->sockets[i].fd;
			return OK;
		}
	TRY(sock_listen(path, web_peer_of(x->cf).group, fd, f));
	PUSH(x->a, x->sockets, x->nsockets,
	    x->sockets_cap) = (struct listening){ arena_strdup(x->a, path), *fd };
	return OK;
}

void
sup_unlisten_all(struct sup *x)
{
	for (size_t i = 0; i < x->n; i++) /* those of a killed supervisor too */
		if (x->procs[i].s.listen != NULL)
			fs_unlink(x->procs[i].s.listen, NULL);
	for (size_t i = 0; i < x->nsockets; i++) {
		fs_unlink(x->sockets[i].path, NULL);
		close(x->sockets[i].fd);
	}
	x->nsockets = 0;
}
