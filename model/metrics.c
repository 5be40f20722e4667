/* SPDX-License-Identifier: Apache-2.0 */
#include "model/metrics.h"

#include "lib/banned.h"

const struct metric_text metrics[METRIC__MAX] = {
#define METRIC(code, name, label, help) { name, label, help },
#include "model/metrics.def"
#undef METRIC
};
