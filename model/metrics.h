/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics of metrics.def, and the text in which Prometheus reads them. Services and
 * daemons count in run_dir/counters (lib/counters.h), by the names that metric_series()
 * gives; of a histogram they count buckets, not cumulated, and the sum in millionths.
 */
#ifndef MODEL_METRICS_H
#define MODEL_METRICS_H

#include <stddef.h>
#include <stdint.h>
#include "lib/buf.h"
#include "model/conf.h"

enum metric {
#define METRIC(code, type, name, unit, labels, help) METRIC_##code,
#define BUCKETS(code, ...)
#include "model/metrics.def"
#undef METRIC
#undef BUCKETS
	METRIC__MAX
};
enum metric_type { METRIC_COUNTER, METRIC_GAUGE, METRIC_HISTOGRAM };
struct metric_text {
	enum metric_type type;
	const char *name, *unit, *labels, *help;
};
extern const struct metric_text metrics[METRIC__MAX];

#define COUNTERS_FILE    "counters" /* in run_dir */
#define METRIC_SUM_SCALE 1e6

/*
 * Returns "name{label=\"value\"}" with one value for each label, in their order; a long
 * value is cut so that the whole fits a counter.
 */
char *metric_series(struct arena *, enum metric, const char *const *values);
/* Names of the counters behind a histogram: the bucket of this value, and the sum. */
char *metric_bucket_series(struct arena *, enum metric, double value);
char *metric_sum_series(struct arena *, enum metric);

struct metric_sample {
	enum metric metric;
	char *series;
	double value;
};
struct metric_set {
	struct arena *a;
	struct metric_sample *v;
	size_t n, cap;
};

void metric_put(
    struct metric_set *, enum metric, double value, const char *const *label_values);
/* One with a single label, or with none (""). */
void metric_put_one(
    struct metric_set *, enum metric, double value, const char *label_value);
void metric_put_series(struct metric_set *, enum metric, char *series, double value);
/* Adds the samples of another set, which must live as long as this one. */
void metric_join(struct metric_set *, const struct metric_set *);
/*
 * Adds what this machine knows without a database: counters, daemons' last passes,
 * services, disks, versions.
 */
void metric_put_machine(
    struct metric_set *, const struct conf *, const char *version, int64_t schema);
/* Writes the set in Prometheus' text format, version 0.0.4. */
void metric_render(struct buf *, const struct metric_set *);

/* --- signs of life: run_dir/SERVICE.alive --- */

/*
 * Shows that this process of the service ("scheduler", "web", "upload") lives, until it
 * ends. A failure only makes the service look down.
 */
void metric_show_service(const struct conf *, const char *service);

#endif
