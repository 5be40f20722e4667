/* SPDX-License-Identifier: Apache-2.0 */
#include "model/metrics.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <sys/statvfs.h>
#include "lib/counters.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/trouble.h"
#include "lib/banned.h"

#define COUNTER                                      METRIC_COUNTER
#define GAUGE                                        METRIC_GAUGE
#define HISTOGRAM                                    METRIC_HISTOGRAM
#define METRIC(code, type, name, unit, labels, help) { type, name, unit, labels, help },
#define BUCKETS(code, ...)
const struct metric_text metrics[METRIC__MAX] = {
#include "model/metrics.def"
};
#undef METRIC
#undef BUCKETS

#define METRIC(code, type, name, unit, labels, help)
#define BUCKETS(code, ...) static const double bounds_##code[] = { __VA_ARGS__ };
#include "model/metrics.def"
#undef BUCKETS
#define BUCKETS(code, ...) [METRIC_##code] = { bounds_##code, N(bounds_##code) },
static const struct {
	const double *v;
	size_t n;
} bounds[METRIC__MAX] = {
#include "model/metrics.def"
};
#undef METRIC
#undef BUCKETS

enum { VALUE_LEAST = 8 }; /* bytes that a label's value keeps when it is cut */

/* --- names --- */

/*
 * Appends a label's value as Prometheus wants it, at most n bytes of it, in whole
 * characters: it drops all of a scrape for one byte that is no UTF-8.
 */
static void put_label_value(struct buf *b, const char *value, size_t n)
{
	while (*value != '\0') {
		size_t is = text_utf8(value), len = is == 0 ? 1 : is;

		if (len > n)
			break;
		if (is == 0)
			buf_puts(b, "?");
		else if (*value == '\n')
			buf_puts(b, "\\n");
		else if (*value == '"' || *value == '\\')
			buf_printf(b, "\\%c", *value);
		else
			buf_put(b, value, len);
		value += len;
		n -= len;
	}
}

static char *series_cut(
    struct arena *a, enum metric m, const char *const *values, size_t most)
{
	struct buf b = buf_new(a);
	const char *label = metrics[m].labels;

	buf_puts(&b, metrics[m].name);
	for (size_t i = 0; *label != '\0'; i++) {
		size_t n = strcspn(label, ",");

		buf_puts(&b, i == 0 ? "{" : ",");
		buf_put(&b, label, n);
		buf_puts(&b, "=\"");
		put_label_value(&b, values[i], most);
		buf_puts(&b, "\"");
		label += n + (label[n] == ',');
	}
	if (metrics[m].labels[0] != '\0')
		buf_puts(&b, "}");
	return b.p;
}

char *metric_series(struct arena *a, enum metric m, const char *const *values)
{
	char *s = NULL;

	for (size_t most = COUNTERS_NAME; most >= VALUE_LEAST; most -= VALUE_LEAST) {
		s = series_cut(a, m, values, most);
		if (strlen(s) < COUNTERS_NAME)
			break;
	}
	return s;
}

static char *bucket_series(struct arena *a, enum metric m, size_t i)
{
	if (i == bounds[m].n)
		return arena_printf(a, "%s_bucket{le=\"+Inf\"}", metrics[m].name);
	return arena_printf(
	    a, "%s_bucket{le=\"%.15g\"}", metrics[m].name, bounds[m].v[i]);
}

char *metric_bucket_series(struct arena *a, enum metric m, double value)
{
	size_t i = 0;

	while (i < bounds[m].n && value > bounds[m].v[i])
		i++;
	return bucket_series(a, m, i);
}

char *metric_sum_series(struct arena *a, enum metric m)
{
	return arena_printf(a, "%s_sum", metrics[m].name);
}

/* --- sets --- */

void metric_put_series(struct metric_set *s, enum metric m, char *series, double value)
{
	PUSH(s->a, s->v, s->n, s->cap) = (struct metric_sample){ m, series, value };
}

void metric_put(
    struct metric_set *s, enum metric m, double value, const char *const *label_values)
{
	metric_put_series(s, m, metric_series(s->a, m, label_values), value);
}

void metric_put_one(
    struct metric_set *s, enum metric m, double value, const char *label_value)
{
	metric_put(s, m, value, &label_value);
}

void metric_join(struct metric_set *s, const struct metric_set *more)
{
	for (size_t i = 0; i < more->n; i++)
		metric_put_series(
		    s, more->v[i].metric, more->v[i].series, more->v[i].value);
}

/* --- counters as samples --- */

struct counted { /* what run_dir/counters has of one histogram */
	double sum;
	double *buckets; /* bounds.n + 1 of them, not cumulated */
	bool any;
};
struct counters_reading {
	struct metric_set *s;
	struct counted h[METRIC__MAX];
};

/* Takes a counter of a histogram; false if it is none of this metric. */
static bool take_of_histogram(
    struct arena *a, struct counted *h, enum metric m, const char *name, uint64_t value)
{
	if (strcmp(name, metric_sum_series(a, m)) == 0) {
		h->sum = (double)value / METRIC_SUM_SCALE;
		return true;
	}
	for (size_t i = 0; i <= bounds[m].n; i++) {
		if (strcmp(name, bucket_series(a, m, i)) != 0)
			continue;
		h->buckets[i] = (double)value;
		h->any = true;
		return true;
	}
	return false;
}

/* Does the name belong to the metric? "locus_rpc_total" or "locus_rpc_total{...}" */
static bool is_series_of(const char *name, enum metric m)
{
	size_t n = strlen(metrics[m].name);

	if (strncmp(name, metrics[m].name, n) != 0)
		return false;
	if (metrics[m].type == METRIC_HISTOGRAM)
		return name[n] == '_';
	return metrics[m].labels[0] == '\0' ? name[n] == '\0' :
	                                      strncmp(name + n, "{", 1) == 0;
}

/* Counters of older releases, which lack a label of today, are left out. */
static bool has_all_labels(struct arena *a, const char *name, enum metric m)
{
	for (const char *label = metrics[m].labels; *label != '\0';) {
		size_t n = strcspn(label, ",");

		if (strstr(name, arena_printf(a, "%.*s=\"", (int)n, label)) == NULL)
			return false;
		label += n + (label[n] == ',');
	}
	return true;
}

static void metric_take_counter(void *ctx, const char *name, uint64_t value)
{
	struct counters_reading *r = ctx;
	struct arena *a = r->s->a;

	for (int m = 0; m < METRIC__MAX; m++) {
		if (!is_series_of(name, (enum metric)m))
			continue;
		if (metrics[m].type == METRIC_HISTOGRAM ?
			take_of_histogram(a, &r->h[m], (enum metric)m, name, value) :
			has_all_labels(a, name, (enum metric)m)) {
			if (metrics[m].type != METRIC_HISTOGRAM)
				metric_put_series(r->s, (enum metric)m,
				    arena_strdup(a, name), (double)value);
			return;
		}
	}
}

static void put_histogram(struct metric_set *s, enum metric m, const struct counted *h)
{
	double total = 0;

	for (size_t i = 0; i <= bounds[m].n; i++) {
		total += h->buckets[i];
		metric_put_series(s, m, bucket_series(s->a, m, i), total);
	}
	metric_put_series(s, m, metric_sum_series(s->a, m), h->sum);
	metric_put_series(s, m, arena_printf(s->a, "%s_count", metrics[m].name), total);
}

/*
 * Adds the counters of the file; histograms and totals without labels are there even if
 * the file is not.
 */
static void metric_put_counters(struct metric_set *s, const char *path)
{
	struct counters_reading r = { .s = s };
	struct fail absent = { 0 };

	for (int m = 0; m < METRIC__MAX; m++)
		r.h[m].buckets = NEWN(s->a, double, bounds[m].n + 1);
	(void)counters_read(s->a, path, metric_take_counter, &r, &absent);
	for (int m = 0; m < METRIC__MAX; m++)
		if (metrics[m].type == METRIC_HISTOGRAM)
			put_histogram(s, (enum metric)m, &r.h[m]);
	/* Totals that have no label are there from the beginning, as 0. */
	for (int m = 0; m < METRIC__MAX; m++) {
		bool there = metrics[m].type != METRIC_COUNTER ||
		             metrics[m].labels[0] != '\0';

		for (size_t i = 0; i < s->n && !there; i++)
			there = (int)s->v[i].metric == m;
		if (!there)
			metric_put_one(s, (enum metric)m, 0, "");
	}
}

/* --- text --- */

void metric_render(struct buf *b, const struct metric_set *s)
{
	static const char *const types[] = { "counter", "gauge", "histogram" };

	for (int m = 0; m < METRIC__MAX; m++) {
		bool first = true;

		for (size_t i = 0; i < s->n; i++) {
			if ((int)s->v[i].metric != m)
				continue;
			if (first)
				buf_printf(b, "# HELP %s %s\n# TYPE %s %s\n",
				    metrics[m].name, metrics[m].help, metrics[m].name,
				    types[metrics[m].type]);
			first = false;
			buf_puts(b, s->v[i].series);
			double v = s->v[i].value;
			if (isinf(v))
				buf_puts(b, v > 0 ? " +Inf\n" : " -Inf\n");
			else if (isnan(v))
				buf_puts(b, " NaN\n");
			else
				buf_printf(b, " %.15g\n", v);
		}
	}
}

/* What this machine knows of a project without its database. */

static const char *const sockets_services[] = { "scheduler", "web", "upload" };

static char *life_path(struct arena *a, const struct conf *cf, const char *service)
{
	return arena_printf(a, "%s/%s.alive", cf->run_dir, service);
}

void metric_show_service(const struct conf *cf, const char *service)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	int fd;

	(void)fs_lock_shared(life_path(&a, cf, service), &fd, &f);
	arena_free(&a);
}

/* A daemon holds run_dir/NAME.lock as long as it lives. */
static void put_services(struct metric_set *s, const struct conf *cf)
{
	struct trouble *paused;
	size_t npaused;

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

static void put_disks(struct metric_set *s, const struct conf *cf)
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

static bool is_noted(const struct trouble *v, size_t n, const char *daemon)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].daemon, daemon) == 0)
			return true;
	return false;
}

/* Whose last pass it is: of a daemon that config.xml still has, and that is not on
 * standby; NULL = of none. */
static const char *daemon_of_pass(struct arena *a, const struct conf *cf,
    const struct trouble *standbys, size_t nstandbys, const char *series)
{
	for (size_t i = 0; i < cf->ndaemons; i++) {
		const char *name = cf->daemons[i].name;

		if (!cf->daemons[i].disabled && !is_noted(standbys, nstandbys, name) &&
		    strcmp(series, metric_series(a, METRIC_DAEMON_PASS, &name)) == 0)
			return name;
	}
	return NULL;
}

void late_list(struct arena *a, const struct conf *cf, int64_t now,
    struct trouble **out, size_t *n)
{
	struct metric_set counted = { .a = a };
	struct trouble *said, *paused, *standbys, *v;
	size_t nsaid, npaused, nstandbys;

	metric_put_counters(
	    &counted, arena_printf(a, "%s/" COUNTERS_FILE, cf->run_dir));
	trouble_list(a, cf, &said, &nsaid);
	paused_list(a, cf, &paused, &npaused);
	standby_list(a, cf, &standbys, &nstandbys);
	*n = 0;
	*out = v = NEWN(a, struct trouble, counted.n + 1);
	for (size_t i = 0; i < counted.n; i++) {
		int64_t at = (int64_t)counted.v[i].value;
		const char *name = counted.v[i].metric == METRIC_DAEMON_PASS &&
		                           now - at > DAEMON_LATE_S ?
		                       daemon_of_pass(a, cf, standbys, nstandbys,
					   counted.v[i].series) :
		                       NULL;

		if (name != NULL && !is_noted(said, nsaid, name) &&
		    !is_noted(paused, npaused, name) &&
		    fs_locked_shared(arena_printf(a, "%s/%s.lock", cf->run_dir, name)))
			v[(*n)++] = (struct trouble){ arena_strdup(a, name), at,
				arena_strdup(a, "") };
	}
}

void metric_put_machine(
    struct metric_set *s, const struct conf *cf, const char *version, int64_t schema)
{
	struct metric_set counted = { .a = s->a };
	const char *build[] = { version,
		arena_printf(s->a, "%lld", (long long)schema) };
	struct trouble *standbys;
	size_t nstandbys;

	standby_list(s->a, cf, &standbys, &nstandbys);
	metric_put_counters(
	    &counted, arena_printf(s->a, "%s/" COUNTERS_FILE, cf->run_dir));
	for (size_t i = 0; i < counted.n; i++)
		if (counted.v[i].metric != METRIC_DAEMON_PASS ||
		    daemon_of_pass(
			s->a, cf, standbys, nstandbys, counted.v[i].series) != NULL)
			metric_put_series(s, counted.v[i].metric, counted.v[i].series,
			    counted.v[i].value);
	metric_put_one(s, METRIC_STANDBYS, (double)nstandbys, "");
	put_services(s, cf);
	for (size_t i = 0; i < cf->ntasks; i++) {
		const char *name = cf->tasks[i].name;
		struct task_note note;

		if (cf->tasks[i].disabled || !task_note_read(s->a, cf, name, &note))
			continue;
		metric_put_one(s, METRIC_TASK_START, (double)note.start, name);
		if (note.end > 0)
			metric_put_one(s, METRIC_TASK_EXIT, (double)note.exit, name);
	}
	put_disks(s, cf);
	metric_put(s, METRIC_BUILD_INFO, 1, build);
}
