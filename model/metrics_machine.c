/* SPDX-License-Identifier: Apache-2.0 */
/* What this machine knows of a project without its database. */
#include <string.h>
#include <sys/statvfs.h>
#include "lib/counters.h"
#include "lib/fs.h"
#include "model/metrics.h"
#include "model/task_note.h"
#include "model/trouble.h"
#include "lib/banned.h"

static const char *const sockets_services[] = { "scheduler", "web", "upload" };

static char *
life_path(struct arena *a, const struct conf *cf, const char *service)
{
	return arena_printf(a, "%s/%s.alive", cf->run_dir, service);
}

void
metric_show_service(const struct conf *cf, const char *service)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	int fd;

	(void)fs_lock_shared(life_path(&a, cf, service), &fd, &f);
	arena_free(&a);
}

/* A daemon holds run_dir/NAME.lock as long as it lives. */
static void
put_services(struct metric_set *s, const struct conf *cf)
{
	struct trouble *standbys, *paused;
	size_t nstandbys, npaused;

	standby_list(s->a, cf, &standbys, &nstandbys);
	metric_put_one(s, METRIC_STANDBYS, (double)nstandbys, "");
	paused_list(s->a, cf, &paused, &npaused);
	for (size_t i = 0; i < npaused; i++)
		metric_put_one(s, METRIC_PAUSED, 1, paused[i].daemon);
	for (size_t i = 0; i < N(sockets_services); i++)
		metric_put_one(s, METRIC_SERVICE_UP,
		    fs_locked_shared(life_path(s->a, cf, sockets_services[i])),
		    sockets_services[i]);
	for (size_t i = 0; i < cf->ndaemons; i++)
		if (!cf->daemons[i].disabled)
			metric_put_one(s, METRIC_SERVICE_UP,
			    fs_locked_shared(arena_printf(
				s->a, "%s/%s.lock", cf->run_dir, cf->daemons[i].name)),
			    cf->daemons[i].name);
}

static void
put_tasks(struct metric_set *s, const struct conf *cf)
{
	for (size_t i = 0; i < cf->ntasks; i++) {
		const char *name = cf->tasks[i].name;
		struct task_note note;

		if (cf->tasks[i].disabled || !task_note_read(s->a, cf, name, &note))
			continue;
		metric_put_one(s, METRIC_TASK_START, (double)note.start, name);
		if (note.end > 0)
			metric_put_one(s, METRIC_TASK_EXIT, (double)note.exit, name);
	}
}

static void
put_disks(struct metric_set *s, const struct conf *cf)
{
	const struct {
		const char *name, *path;
	} dirs[] = { { "project", cf->project_dir }, { "upload", cf->upload_dir },
		{ "download", cf->download_dir }, { "log", cf->log_dir },
		{ "run", cf->run_dir } };
	struct statvfs fs;

	for (size_t i = 0; i < N(dirs); i++) {
		double block;

		if (statvfs(dirs[i].path, &fs) < 0)
			continue;
		block = (double)fs.f_frsize;
		metric_put_one(
		    s, METRIC_DISK_FREE, (double)fs.f_bavail * block, dirs[i].name);
		metric_put_one(
		    s, METRIC_DISK_SIZE, (double)fs.f_blocks * block, dirs[i].name);
		if (fs.f_files > 0)
			metric_put_one(
			    s, METRIC_DISK_INODES, (double)fs.f_favail, dirs[i].name);
	}
}

static bool
is_noted(const struct trouble *v, size_t n, const char *daemon)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].daemon, daemon) == 0)
			return true;
	return false;
}

/* Whose last pass it is: of a daemon that config.xml still has, and that is not on
 * standby; NULL = of none. */
static const char *
daemon_of_pass(struct arena *a, const struct conf *cf, const char *series)
{
	struct trouble *standbys;
	size_t n;

	standby_list(a, cf, &standbys, &n);
	for (size_t i = 0; i < cf->ndaemons; i++) {
		const char *name = cf->daemons[i].name;

		if (!cf->daemons[i].disabled && !is_noted(standbys, n, name) &&
		    strcmp(series, metric_series(a, METRIC_DAEMON_PASS, &name)) == 0)
			return name;
	}
	return NULL;
}

void
late_list(struct arena *a, const struct conf *cf, int64_t now, struct trouble **out,
    size_t *n)
{
	struct metric_set counted = { .a = a };
	struct trouble *said, *paused, *v;
	size_t nsaid, npaused;

	metric_put_counters(
	    &counted, arena_printf(a, "%s/" COUNTERS_FILE, cf->run_dir));
	trouble_list(a, cf, &said, &nsaid);
	paused_list(a, cf, &paused, &npaused);
	*n = 0;
	*out = v = NEWN(a, struct trouble, counted.n + 1);
	for (size_t i = 0; i < counted.n; i++) {
		int64_t at = (int64_t)counted.v[i].value;
		const char *name = counted.v[i].metric == METRIC_DAEMON_PASS &&
		                           now - at > DAEMON_LATE_S ?
		                       daemon_of_pass(a, cf, counted.v[i].series) :
		                       NULL;

		if (name != NULL && !is_noted(said, nsaid, name) &&
		    !is_noted(paused, npaused, name) &&
		    fs_locked_shared(arena_printf(a, "%s/%s.lock", cf->run_dir, name)))
			v[(*n)++] = (struct trouble){ arena_strdup(a, name), at,
				arena_strdup(a, "") };
	}
}

void
metric_put_machine(
    struct metric_set *s, const struct conf *cf, const char *version, int64_t schema)
{
	struct metric_set counted = { .a = s->a };
	const char *build[] = { version,
		arena_printf(s->a, "%lld", (long long)schema) };

	metric_put_counters(
	    &counted, arena_printf(s->a, "%s/" COUNTERS_FILE, cf->run_dir));
	for (size_t i = 0; i < counted.n; i++)
		if (counted.v[i].metric != METRIC_DAEMON_PASS ||
		    daemon_of_pass(s->a, cf, counted.v[i].series) != NULL)
			metric_put_series(s, counted.v[i].metric, counted.v[i].series,
			    counted.v[i].value);
	put_services(s, cf);
	put_tasks(s, cf);
	put_disks(s, cf);
	metric_put(s, METRIC_BUILD_INFO, 1, build);
}
