/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes over from a killed supervisor: by the state that it wrote, and for services
 * that it had no time to note, by the marks in their environment.
 */
#include "tools/supervisor/sup.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "tools/group.h"
#include "lib/banned.h"

static void
adopt(struct sup *x, struct proc *p, const struct procfs *st)
{
	p->pid = st->pid;
	p->start = st->start;
	p->session = st->session;
	p->born_ms = clock_mono_ms();
	p->delay_ms = 0;
	sup_set_state(x, p, PROC_STARTING);
	log_info("%s runs already, pid %d", p->s.name, (int)p->pid);
}

static void
adopt_known(struct sup *x, const struct state_proc *sp)
{
	struct proc *p = sup_find(x, sp->name), *fresh;
	struct group g = { x->cf->project_dir, sp->name, sp->pid, sp->session };
	struct procfs st = {
		.pid = sp->pid, .session = sp->session, .start = sp->start
	};
	pid_t *pids;

	if (sp->pid == 0)
		return;
	if (p == NULL) { /* no longer configured: will be stopped */
		struct service s = { .name = arena_strdup(x->a, sp->name),
			.kind = SERVICE_DAEMON,
			.stop_signal = SIGTERM,
			.grace_s = 5 };

		fresh = &PUSH(x->a, x->procs, x->n, x->cap);
		*fresh = (struct proc){ .s = s };
		p = fresh;
	}
	p->restarts = sp->restarts;
	if (procfs_alive(sp->pid, sp->start)) {
		adopt(x, p, &st);
	} else if (group_members(&x->round, &g, &pids) > 0) {
		adopt(x, p, &st);
		snprintf(p->note, sizeof(p->note), "gone");
		sup_died(x, p, clock_mono_ms());
	}
}

/*
 * True if the process's command line ends with argv, as an interpreter may precede it.
 */
static bool
runs_command(struct arena *a, pid_t pid, char **argv)
{
	struct buf want_line = buf_new(a);
	char *have;
	size_t n;

	for (; argv != NULL && *argv != NULL; argv++)
		buf_put(&want_line, *argv, strlen(*argv) + 1);
	if (fs_read(a, arena_printf(a, "/proc/%d/cmdline", (int)pid), 1 << 20, &have,
		&n, NULL) != OK)
		return false;
	return want_line.n > 0 && n >= want_line.n &&
	       memcmp(have + n - want_line.n, want_line.p, want_line.n) == 0;
}

/* Adopts services that were started by a supervisor which was killed before it could
 * note them. */
static void
adopt_marked(struct sup *x)
{
	pid_t *pids;
	size_t n = group_marked(&x->round, x->cf->project_dir, &pids);

	for (size_t i = 0; i < n; i++) {
		const char *name = procfs_getenv(&x->round, pids[i], MARK_SERVICE);
		struct proc *p = name == NULL ? NULL : sup_find(x, name);
		struct procfs st;

		if (p != NULL && p->pid == 0 && procfs_read(pids[i], &st) &&
		    st.pgrp == st.pid &&
		    runs_command(&x->round, st.pid, service_command(&x->round, &p->s)))
			adopt(x, p, &st);
	}
}

void
sup_take_over(struct sup *x)
{
	struct state old;

	if (state_read(&x->round, x->cf, &old, NULL) == OK)
		for (size_t i = 0; i < old.n; i++)
			adopt_known(x, &old.procs[i]);
	adopt_marked(x);
	for (size_t i = 0; i < x->n; i++)
		if (!x->procs[i].wanted)
			sup_end(x, &x->procs[i], clock_mono_ms());
}

enum err
sup_listen_all(struct sup *x, struct fail *f)
{
	for (size_t i = 0; i < x->n; i++) {
		struct proc *p = &x->procs[i];
		int fd;

		if (p->s.listen == NULL || p->held)
			continue;
		if (sup_listen(x, p->s.listen, &fd, f) != OK)
			return f->code;
		if (p->pid != 0)
			log_info(
			    "%s is replaced, as its socket was held by another supervisor",
			    p->s.name);
		sup_end(x, p, clock_mono_ms());
	}
	return OK;
}
