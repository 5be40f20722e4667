/* SPDX-License-Identifier: Apache-2.0 */
/* The metrics of metrics.def. */
#ifndef MODEL_METRICS_H
#define MODEL_METRICS_H

enum metric {
#define METRIC(code, name, label, help) METRIC_##code,
#include "model/metrics.def"
#undef METRIC
	METRIC__MAX
};
struct metric_text {
	const char *name, *label, *help;
};
extern const struct metric_text metrics[METRIC__MAX];

#define COUNTERS_FILE "counters" /* in run_dir */

#endif
