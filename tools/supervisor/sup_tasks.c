/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The <tasks> of config.xml: each runs once in its period, as "locus run-task NAME",
 * which holds the task's lock and notes its end. A task is no service: nothing restarts
 * it before its time.
 */
#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/proc.h"
#include "lib/sock.h"
#include "lib/text.h"
#include "model/owner.h"
#include "model/trouble.h"
#include "tools/procfs.h"
#include "tools/program.h"
#include "tools/supervisor/sup.h"
#include "tools/upstream.h"
#include "lib/banned.h"

static struct sup_task *sup_find_task(struct sup *x, const char *name)
{
	for (size_t i = 0; i < x->ntasks; i++)
		if (strcmp(x->tasks[i].name, name) == 0)
			return &x->tasks[i];
	return NULL;
}

/* Programs of BOINC that have no equivalent are named once, and not run. */
static bool is_left_out(struct sup *x, const struct conf_task *c)
{
	struct fail f = { 0 };
	struct upstream u;
	char **argv;

	if (proc_split(&x->round, c->cmd, &argv, &f) != OK)
		return false; /* locus run-task says why */
	u = upstream_command(&x->round, argv);
	return u.theirs && u.argv == NULL;
}

void sup_set_tasks(struct sup *x, const struct conf *cf)
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

static bool database_runs(const struct sup *x)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->procs[i].s.kind == SERVICE_DATABASE &&
		    x->procs[i].state != PROC_RUNNING)
			return false;
	return true;
}

static void sup_start_task(struct sup *x, struct sup_task *t)
{
	const char *const argv[] = { program_self(&x->round), "-p",
		conf_dir(&x->round, x->cf), "run-task", t->name, NULL };
	const char *mark = arena_printf(&x->round, MARK_SERVICE "=task %s", t->name);
	const char *const env[] = { mark, NULL };
	const struct proc_run run = { .argv = argv,
		.dir = x->cf->project_dir,
		.env = env,
		PROC_LOG(arena_printf(&x->round, "%s/tasks.log", x->cf->log_dir)) };
	struct proc_child c;
	struct fail f = { 0 };

	if (proc_start(&run, &c, &f) != OK)
		log_fail(t->name, &f);
	else
		log_info("task %s starts, pid %d", t->name, (int)c.pid);
	t->pid = c.pid;
}

void sup_tick_tasks(struct sup *x)
{
	int64_t now = clock_now();

	for (size_t i = 0; i < x->ntasks; i++) {
		struct sup_task *t = &x->tasks[i];

		if (t->wanted && t->pid == 0 && now >= t->due && database_runs(x)) {
			t->due = now + t->period_s;
			sup_start_task(x, t);
		}
	}
}

void sup_task_ended(struct sup *x, pid_t pid)
{
	for (size_t i = 0; i < x->ntasks; i++)
		if (x->tasks[i].pid == pid)
			x->tasks[i].pid = 0;
}

bool sup_end_tasks(struct sup *x, int sig)
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

/* Does systemd hold them, too, for the next supervisor of its unit? */
static bool sockets_are_kept(const struct sup *x)
{
	return conf_is_installed(x->cf) && notify_wanted();
}

void sup_take_kept(struct sup *x)
{
	struct kept v[KEPT_MOST];
	size_t n = notify_kept(v);

	for (size_t i = 0; i < n; i++) {
		char *path = arena_printf(
		    x->a, "%s/%s", socket_dir(x->a, x->cf), v[i].name);

		/* Somebody may have removed the name. */
		if (fs_exists(path) && sock_listens(v[i].fd)) {
			PUSH(x->a, x->sockets, x->nsockets,
			    x->sockets_cap) = (struct listening){ path, v[i].fd };
			continue;
		}
		close(v[i].fd);
		notify_drop(v[i].name);
	}
}

void sup_unlisten(struct sup *x, const char *path)
{
	for (size_t i = 0; i < x->nsockets; i++) {
		if (strcmp(x->sockets[i].path, path) != 0)
			continue;
		fs_unlink(path, NULL);
		close(x->sockets[i].fd);
		if (sockets_are_kept(x))
			notify_drop(text_base_name(path));
		x->sockets[i] = x->sockets[--x->nsockets];
		return;
	}
}

enum err sup_listen(struct sup *x, const char *path, int *fd, struct fail *f)
{
	if (!fs_exists(path)) /* somebody removed the name */
		sup_unlisten(x, path);
	for (size_t i = 0; i < x->nsockets; i++)
		if (strcmp(x->sockets[i].path, path) == 0) {
			*fd = x->sockets[i].fd;
			return OK;
		}
	TRY(sock_listen(path, web_peer_of(x->cf).group, fd, f));
	if (sockets_are_kept(x))
		notify_keep(text_base_name(path), *fd);
	PUSH(x->a, x->sockets, x->nsockets,
	    x->sockets_cap) = (struct listening){ arena_strdup(x->a, path), *fd };
	return OK;
}

void sup_unlisten_all(struct sup *x)
{
	const bool kept = sockets_are_kept(x);

	/* Those of a killed supervisor too. */
	for (size_t i = 0; i < x->n && !kept; i++)
		if (x->procs[i].s.listen != NULL)
			fs_unlink(x->procs[i].s.listen, NULL);
	for (size_t i = 0; i < x->nsockets; i++) {
		if (!kept)
			fs_unlink(x->sockets[i].path, NULL);
		close(x->sockets[i].fd);
	}
	x->nsockets = 0;
}
