/* SPDX-License-Identifier: Apache-2.0 */
/* What a running program uses, from /proc. */
#include "client/app.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/banned.h"

enum { STAT_MAX = 4096 };

static bool
usage_read(int64_t pid, char text[STAT_MAX])
{
	char path[64];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "/proc/%lld/stat", (long long)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return false;
	n = read(fd, text, STAT_MAX - 1);
	close(fd);
	text[n > 0 ? n : 0] = '\0';
	return n > 0;
}

/* The name of the program, in brackets, may contain anything. */
struct usage
usage_of(int64_t pid)
{
	static const char fields[] =
	    " %*c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %*d %*d %*u %lu %ld";
	struct usage u = { 0 };
	unsigned long user, system, vm;
	long waited_user, waited_system, rss;
	char text[STAT_MAX], *rest;

	if (pid <= 0 || !usage_read(pid, text))
		return u;
	rest = strrchr(text, ')');
	if (rest == NULL || sscanf(rest + 1, fields, &user, &system, &waited_user,
				&waited_system, &vm, &rss) != 6)
		return u;
	u.cpu_s = ((double)user + (double)system + (double)waited_user +
		      (double)waited_system) /
	          (double)sysconf(_SC_CLK_TCK);
	u.vm_bytes = (double)vm;
	u.rss_bytes = (double)rss * (double)sysconf(_SC_PAGESIZE);
	return u;
}
