/* SPDX-License-Identifier: Apache-2.0 */
/* What a running program uses, from /proc. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client/app.h"
#include "client/client.h"
#include "proto/coproc.h"
#include "lib/banned.h"

/* The resource of the host that an app version uses. */

int32_t
version_resource(const struct client *c, const struct rp_app_version *v)
{
	const char *type = coproc_type(v->coproc_type);

	if (type == NULL || type[0] == '\0')
		return CW_CPU;
	for (size_t i = 0; i < c->options.ncoprocs; i++)
		if (strcmp(c->options.coproc[i].name, type) == 0)
			return (int32_t)i + 1;
	return -1;
}

enum { STAT_MAX = 4096 };

static bool
usage_read(const char *proc, int64_t pid, char text[STAT_MAX])
{
	char path[PATH_MAX];
	ssize_t n;
	int fd;

	snprintf(path, sizeof(path), "%s/%lld/stat", proc, (long long)pid);
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
usage_at(const char *proc, int64_t pid)
{
	static const char fields[] =
	    " %*c %*d %d %*d %*d %*d %*u %*u %*u %*u %*u %lu %lu %ld %ld %*d %*d %*d %*d %*u %lu %ld";
	struct usage u = { 0 };
	unsigned long user, system, vm;
	long waited_user, waited_system, rss;
	double ticks = (double)sysconf(_SC_CLK_TCK);
	char text[STAT_MAX], *rest;
	int group;

	if (pid <= 0 || !usage_read(proc, pid, text))
		return u;
	rest = strrchr(text, ')');
	if (rest == NULL || sscanf(rest + 1, fields, &group, &user, &system,
				&waited_user, &waited_system, &vm, &rss) != 7)
		return u;
	u.group = group;
	u.waited_s = ((double)waited_user + (double)waited_system) / ticks;
	u.cpu_s = ((double)user + (double)system) / ticks + u.waited_s;
	u.vm_bytes = (double)vm;
	u.rss_bytes = (double)rss * (double)sysconf(_SC_PAGESIZE);
	return u;
}

struct usage
usage_of(int64_t pid)
{
	return usage_at("/proc", pid);
}
