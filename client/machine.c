/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What else goes on in the machine, as far as the user's preferences ask for it:
 * whether it runs on batteries, is in use, or is busy with other programs.
 */
#include "client/machine.h"

#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "client/app.h"
#include "client/client.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "lib/banned.h"

/*
 * The first value is one that the compiler cannot know: a loop whose result it can work
 * out takes no time. test/unit/test_client_benchmark.c builds this file with all
 * optimisations.
 */

enum { TURNS = 100000, OPS = 2 };

static volatile double any_real = 0.3;
static volatile uint64_t any_number = 12345;

double benchmark_flops(int ms)
{
	int64_t begin = clock_mono_ms(), took;
	double x = any_real, ops = 0;

	do {
		for (int i = 0; i < TURNS; i++)
			x = x * 0.999999 + 1e-6;
		any_real = x;
		ops += TURNS * OPS;
		took = clock_mono_ms() - begin;
	} while (took < ms);
	return ops * 1000 / (double)took;
}

double benchmark_iops(int ms)
{
	int64_t begin = clock_mono_ms(), took;
	uint64_t k = any_number;
	double ops = 0;

	do {
		for (int i = 0; i < TURNS; i++)
			k = k * 6364136223846793005u + 1442695040888963407u;
		any_number = k;
		ops += TURNS * OPS;
		took = clock_mono_ms() - begin;
	} while (took < ms);
	return ops * 1000 / (double)took;
}

enum {
	LOOK_EVERY_S = 10,
	LOOKS_APART_S = 60,
	NAMES_MOST = 100000,
	TEXT_MOST = 4096,
	STAT_MOST = 1 << 20
};

static size_t list_names(struct client *c, const char *dir, char ***names)
{
	struct fail f;
	size_t n;

	return fs_list(&c->scratch, dir, NAMES_MOST, names, &n, &f) == OK ? n : 0;
}

/* --- power --- */

/* Is this what a file of a power supply says? No if there is no such file. */
static bool supply_says(
    struct client *c, const char *supply, const char *file, const char *word)
{
	const char *path = arena_printf(
	    &c->scratch, "%s/sys/class/power_supply/%s/%s", c->root, supply, file);
	struct fail f;
	char *text;

	return fs_read(&c->scratch, path, TEXT_MOST, &text, NULL, &f) == OK &&
	       strcmp(text_trim(text), word) == 0;
}

/* A battery of the machine gives power, rather than that of a mouse, and no adapter
 * does. */
static bool on_batteries(struct client *c)
{
	bool discharges = false;
	char **supply;
	size_t n = list_names(c,
	    arena_printf(&c->scratch, "%s/sys/class/power_supply", c->root), &supply);

	for (size_t i = 0; i < n; i++) {
		if (supply_says(c, supply[i], "type", "Battery"))
			discharges |= supply_says(
					  c, supply[i], "status", "Discharging") &&
			              !supply_says(c, supply[i], "scope", "Device");
		else if (supply_says(c, supply[i], "online", "1"))
			return false;
	}
	return discharges;
}

/* --- its user --- */

/* When somebody last typed at one of the terminals in a directory; 0: never. */
static int64_t last_input(struct client *c, const char *dir, const char *prefix)
{
	int64_t last = 0;
	char **name;
	size_t n = list_names(c, dir, &name);

	for (size_t i = 0; i < n; i++) {
		const char *number = name[i] + strlen(prefix);
		struct stat st;

		if (strncmp(name[i], prefix, strlen(prefix)) != 0 || number[0] < '0' ||
		    number[0] > '9')
			continue;
		if (stat(arena_printf(&c->scratch, "%s/%s", dir, name[i]), &st) == 0 &&
		    st.st_atime > last)
			last = st.st_atime;
	}
	return last;
}

static bool in_use(struct client *c)
{
	double idle_s = 60 * c->host_prefs.idle_time_to_run;
	const char *dev = arena_printf(&c->scratch, "%s/dev", c->root);
	int64_t console = last_input(c, dev, "tty");
	int64_t last = last_input(c, arena_printf(&c->scratch, "%s/pts", dev), "");

	return (double)(c->now - (last > console ? last : console)) < idle_s;
}

/* --- other programs --- */

/* Seconds that all processors worked, since the machine was started; < 0: unknown. */
static double worked_s(struct client *c)
{
	/* user, nice, system, idle, iowait, irq, softirq, steal */
	static const bool work[] = { true, true, true, false, false, true, true, true };
	const char *path = arena_printf(&c->scratch, "%s/proc/stat", c->root);
	double sum = 0;
	char *text, *end;
	struct fail f;

	if (fs_read(&c->scratch, path, STAT_MOST, &text, NULL, &f) != OK ||
	    strncmp(text, "cpu ", 4) != 0)
		return -1;
	end = text + 4;
	for (size_t i = 0; i < N(work); i++)
		sum += (double)strtoull(end, &end, 10) * work[i];
	return sum / (double)sysconf(_SC_CLK_TCK);
}

/* --- what a running program uses, from /proc --- */

enum { STAT_MAX = 4096 };

static bool usage_read(const char *proc, int64_t pid, char text[STAT_MAX])
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
static struct usage usage_at(const char *proc, int64_t pid)
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

struct usage usage_of(int64_t pid)
{
	return usage_at("/proc", pid);
}

/* --- what else goes on --- */

static bool runs_group(const struct client *c, int64_t group)
{
	for (size_t i = 0; i < c->state->nprojects; i++)
		for (size_t k = 0; k < c->state->projects[i].ntasks; k++)
			if (c->state->projects[i].tasks[k].pid == group)
				return true;
	return false;
}

/* Seconds of the processors that the running tasks took, and the client itself. */
static double own_s(struct client *c)
{
	const char *proc = arena_printf(&c->scratch, "%s/proc", c->root);
	double sum = 0;
	char **name;
	size_t n = list_names(c, proc, &name);

	for (size_t i = 0; i < n; i++) {
		int64_t pid;
		struct usage u;

		if (!text_i64(name[i], 1, INT64_MAX, &pid))
			continue;
		u = usage_at(proc, pid);
		if (pid == getpid())
			sum += u.cpu_s - u.waited_s; /* for tasks that ended */
		else if (u.group > 1 && runs_group(c, u.group))
			sum += u.cpu_s;
	}
	return sum;
}

/* The percentage of all processors that other programs took since the last look. What
 * a task did that ended in between would count among these: the lesser of two looks
 * does.
 */
static void look_at_load(struct client *c)
{
	struct machine *m = &c->machine;
	double dt = (double)(c->now - m->load_at), pct;
	double worked = worked_s(c), own = own_s(c);
	bool known = m->load_at > 0 && m->worked_s >= 0 && worked >= 0 && dt > 0 &&
	             dt < LOOKS_APART_S;

	pct = known ? 100 * (worked - m->worked_s - fmax(own - m->own_s, 0)) /
	                  (dt * (double)sysconf(_SC_NPROCESSORS_ONLN)) :
	              0;
	m->busy_pct = fmin(pct, m->last_pct);
	m->last_pct = pct;
	m->worked_s = worked;
	m->own_s = own;
	m->load_at = c->now;
}

void machine_look(struct client *c)
{
	struct machine *m = &c->machine;
	const struct host_prefs *h = &c->host_prefs;

	if (c->now >= m->looked_at && c->now < m->looked_at + LOOK_EVERY_S &&
	    m->prefs == c->prefs_changes)
		return;
	m->on_batteries = !h->run_on_batteries && on_batteries(c);
	m->in_use = in_use(c);
	if (h->suspend_cpu_usage <= 0)
		m->load_at = 0;
	else if (c->now < m->load_at || c->now >= m->load_at + LOOK_EVERY_S)
		look_at_load(c);
	m->looked_at = c->now;
	m->prefs = c->prefs_changes;
}
