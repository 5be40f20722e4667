/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the processes of a service in /proc and signals them. */
#include "tools/group.h"

#include <signal.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "tools/procfs.h"
#include "lib/banned.h"

enum { SWEEP_TERM_MS = 1000, SWEEP_MS = 5000, TICK_MS = 20 };

static bool
is_member(struct arena *a, const struct group *g, const struct procfs *p)
{
	if (g->session <= 0 || p->session != g->session || p->pid == g->session)
		return false; /* the session leader is the supervisor itself */
	if (p->pgrp == g->pgrp)
		return true;
	return procfs_has_env(p->pid, arena_printf(a, MARK_SERVICE "=%s", g->name)) &&
	       procfs_has_env(p->pid, arena_printf(a, MARK_PROJECT "=%s", g->dir));
}

size_t
group_members(struct arena *a, const struct group *g, pid_t **pids)
{
	struct procfs *all;
	size_t n = procfs_all(a, &all), k = 0;

	*pids = NEWN(a, pid_t, n + 1);
	for (size_t i = 0; i < n; i++)
		if (is_member(a, g, &all[i]))
			(*pids)[k++] = all[i].pid;
	return k;
}

size_t
group_signal(struct arena *a, const struct group *g, int sig)
{
	pid_t *pids;
	size_t n = group_members(a, g, &pids);

	for (size_t i = 0; i < n; i++)
		kill(pids[i], sig);
	return n;
}

static bool
is_ancestor(pid_t pid)
{
	struct procfs p;

	for (pid_t at = getpid(); at > 1; at = p.ppid)
		if (at == pid)
			return true;
		else if (!procfs_read(at, &p))
			break;
	return false;
}

size_t
group_marked(struct arena *a, const char *dir, pid_t **pids)
{
	const char *mark = arena_printf(a, MARK_PROJECT "=%s", dir);
	struct procfs *all;
	size_t n = procfs_all(a, &all), k = 0;

	*pids = NEWN(a, pid_t, n + 1);
	for (size_t i = 0; i < n; i++)
		if (procfs_has_env(all[i].pid, mark) && !is_ancestor(all[i].pid))
			(*pids)[k++] = all[i].pid;
	return k;
}

size_t
group_sweep(struct arena *a, const char *dir)
{
	int64_t from = clock_mono_ms(), spent;
	size_t n, most = 0;
	pid_t *pids;

	while ((n = group_marked(a, dir, &pids)) > 0) {
		spent = clock_mono_ms() - from;
		if (spent > SWEEP_MS)
			break;
		if (n > most)
			most = n;
		for (size_t i = 0; i < n; i++)
			kill(pids[i], spent < SWEEP_TERM_MS ? SIGTERM : SIGKILL);
		clock_nap_ms(TICK_MS);
	}
	return most;
}
