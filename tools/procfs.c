/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/stat and /proc/PID/environ (proc(5)). */
#include "tools/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { ENVIRON_MAX = 2 << 20 };

bool procfs_parse(const char *line, struct procfs *p)
{
	/* The name may contain blanks and parentheses: the other fields follow its last
	 * parenthesis. */
	const char *rest = strrchr(line, ')');
	unsigned long long start;
	int pid, ppid, pgrp, session;
	char state;

	if (rest == NULL || sscanf(line, "%d", &pid) != 1 ||
	    sscanf(rest + 1,
		" %c %d %d %d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
		&state, &ppid, &pgrp, &session, &start) != 5)
		return false;
	*p = (struct procfs){ pid, ppid, pgrp, session, start, state };
	return true;
}

static bool read_stat(pid_t pid, char *line, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/stat", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, line, size - 1);
	close(fd);
	if (n <= 0)
		return false;
	line[n] = '\0';
	return true;
}

bool procfs_read(pid_t pid, struct procfs *p)
{
	char line[1024];

	return read_stat(pid, line, sizeof(line)) && procfs_parse(line, p);
}

bool procfs_usage(pid_t pid, uint64_t *ticks, int64_t *bytes)
{
	unsigned long long user, system;
	char line[1024];
	const char *rest;
	long long pages;

	if (!read_stat(pid, line, sizeof(line)) ||
	    (rest = strrchr(line, ')')) == NULL ||
	    sscanf(rest + 1,
		" %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %*d %*d %*u %*u %lld",
		&user, &system, &pages) != 3)
		return false;
	*ticks = user + system;
	*bytes = (int64_t)pages * sysconf(_SC_PAGESIZE);
	return true;
}

bool procfs_alive(pid_t pid, uint64_t start)
{
	struct procfs p;

	return pid > 0 && procfs_read(pid, &p) && p.start == start && p.state != 'Z' &&
	       p.state != 'X';
}

size_t procfs_all(struct arena *a, struct procfs **all)
{
	DIR *d = opendir("/proc");
	size_t n = 0, cap = 0;
	struct dirent *de;
	struct procfs p;

	*all = NULL;
	if (d == NULL)
		return 0;
	while ((de = readdir(d)) != NULL) {
		if (!isdigit((unsigned char)de->d_name[0]) ||
		    !procfs_read((pid_t)strtol(de->d_name, NULL, 10), &p) ||
		    p.state == 'Z' || p.state == 'X')
			continue;
		PUSH(a, *all, n, cap) = p;
	}
	closedir(d);
	return n;
}

static const char *environment(struct arena *a, pid_t pid, size_t *n)
{
	char *text;

	if (fs_read(a, arena_printf(a, "/proc/%d/environ", (int)pid), ENVIRON_MAX,
		&text, n, NULL) != OK)
		*n = 0;
	return *n == 0 ? "" : text;
}

char *procfs_getenv(struct arena *a, pid_t pid, const char *name)
{
	size_t n, len = strlen(name);
	const char *p = environment(a, pid, &n), *end = p + n;

	for (; p < end; p += strlen(p) + 1)
		if (strncmp(p, name, len) == 0 && p[len] == '=')
			return arena_strdup(a, p + len + 1);
	return NULL;
}

/* True if the process started with this "NAME=value" in its environment; false if this
 * account may not read it. */
static bool procfs_has_env(pid_t pid, const char *assignment)
{
	struct arena a = { 0 };
	size_t n;
	const char *p = environment(&a, pid, &n), *end = p + n;
	bool found = false;

	for (; p < end && !found; p += strlen(p) + 1)
		found = strcmp(p, assignment) == 0;
	arena_free(&a);
	return found;
}

/* Finds the processes of a service in /proc and signals them. */

enum { SWEEP_TERM_MS = 1000, SWEEP_MS = 5000, TICK_MS = 20 };

static bool is_member(struct arena *a, const struct group *g, const struct procfs *p)
{
	if (g->session <= 0 || p->session != g->session || p->pid == g->session)
		return false; /* the session leader is the supervisor itself */
	if (p->pgrp == g->pgrp)
		return true;
	return procfs_has_env(p->pid, arena_printf(a, MARK_SERVICE "=%s", g->name)) &&
	       procfs_has_env(p->pid, arena_printf(a, MARK_PROJECT "=%s", g->dir));
}

size_t group_members(struct arena *a, const struct group *g, pid_t **pids)
{
	struct procfs *all;
	size_t n = procfs_all(a, &all), k = 0;

	*pids = NEWN(a, pid_t, n + 1);
	for (size_t i = 0; i < n; i++)
		if (is_member(a, g, &all[i]))
			(*pids)[k++] = all[i].pid;
	return k;
}

size_t group_signal(struct arena *a, const struct group *g, int sig)
{
	pid_t *pids;
	size_t n = group_members(a, g, &pids);

	for (size_t i = 0; i < n; i++)
		kill(pids[i], sig);
	return n;
}

static bool is_ancestor(pid_t pid)
{
	struct procfs p;

	for (pid_t at = getpid(); at > 1; at = p.ppid)
		if (at == pid)
			return true;
		else if (!procfs_read(at, &p))
			break;
	return false;
}

size_t group_marked(struct arena *a, const char *dir, pid_t **pids)
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

size_t group_sweep(struct arena *a, const char *dir)
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
