/* SPDX-License-Identifier: Apache-2.0 */
/* How much work to ask for: the buffer's shortfall on identical instances. */
#include "rules/client/client_rules.h"

#include <math.h>
#include "lib/banned.h"

/*
 * With tasks spread evenly an instance is busy for the mean; fewer tasks than instances
 * leave some idle at once.
 */
struct work_wish
work_fetch(const struct queued *q, size_t n, double ncpus, double min_s, double extra_s)
{
	struct work_wish w = { 0 };
	double busy = 0, instances = 0;

	for (size_t i = 0; i < n; i++) {
		busy += q[i].remaining_s * q[i].ncpus;
		instances += q[i].ncpus;
	}
	if (instances >= ncpus)
		w.estimated_delay = busy / ncpus;
	w.req_instances = fmax(0, ncpus - instances);
	if (w.req_instances > 0 || w.estimated_delay < min_s)
		w.req_secs = fmax(1, (min_s + extra_s) * ncpus - busy);
	return w;
}
