/* SPDX-License-Identifier: Apache-2.0 */
/* Reads /proc/PID/stat and /proc/PID/environ (proc(5)). */
#include "tools/procfs.h"

#include <ctype.h>
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/banned.h"

enum { ENVIRON_MAX = 2 << 20 };

bool
procfs_parse(const char *line, struct procfs *p)
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

static bool
read_stat(pid_t pid, char *line, size_t size)
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

bool
procfs_read(pid_t pid, struct procfs *p)
{
	char line[1024];

	return read_stat(pid, line, sizeof(line)) && procfs_parse(line, p);
}

bool
procfs_usage(pid_t pid, uint64_t *ticks, int64_t *bytes)
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

bool
procfs_alive(pid_t pid, uint64_t start)
{
	struct procfs p;

	return pid > 0 && procfs_read(pid, &p) && p.start == start && p.state != 'Z' &&
	       p.state != 'X';
}

size_t
procfs_all(struct arena *a, struct procfs **all)
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

static const char *
environment(struct arena *a, pid_t pid, size_t *n)
{
	char *text;

	if (fs_read(a, arena_printf(a, "/proc/%d/environ", (int)pid), ENVIRON_MAX,
		&text, n, NULL) != OK)
		*n = 0;
	return *n == 0 ? "" : text;
}

bool
procfs_has_command(pid_t pid, char *const *argv)
{
	struct arena a = { 0 };
	size_t n = 0;
	char *text;
	bool same = fs_read(&a, arena_printf(&a, "/proc/%d/cmdline", (int)pid),
			ENVIRON_MAX, &text, &n, NULL) == OK;
	const char *p = same ? text : "", *end = p + n;

	for (; same && p < end && *argv != NULL; p += strlen(p) + 1, argv++)
		same = strcmp(p, *argv) == 0;
	same = same && p >= end && *argv == NULL;
	arena_free(&a);
	return same;
}

char *
procfs_getenv(struct arena *a, pid_t pid, const char *name)
{
	size_t n, len = strlen(name);
	const char *p = environment(a, pid, &n), *end = p + n;

	for (; p < end; p += strlen(p) + 1)
		if (strncmp(p, name, len) == 0 && p[len] == '=')
			return arena_strdup(a, p + len + 1);
	return NULL;
}

bool
procfs_has_env(pid_t pid, const char *assignment)
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
