/* SPDX-License-Identifier: Apache-2.0 */
/* Parses any bytes as an account's preferences, at several venues. */
#include <math.h>
#include "proto/prefs.h"
#include "test/fuzz/fuzz.h"
#include "lib/banned.h"

enum { NOW = 1795220000 };

static void at_venue(struct arena *a, const char *text, const char *venue)
{
	struct project_prefs p = prefs_project(a, text, venue);
	struct rq_prefs g = prefs_global(a, text, venue, NOW);

	for (size_t i = 0; i < p.napps; i++) {
		assert(p.apps[i] > 0);
		prefs_app_choice(&p, p.apps[i], i % 2 == 0, true);
	}
	for (size_t i = 0; i < p.nno_rsc; i++)
		assert(prefs_refuse_resource(&p, p.no_rsc[i]));
	assert(p.max_cpus >= 0 && p.max_jobs >= 0);
	assert(g.mod_time >= 0 && g.mod_time <= NOW);
	assert(isfinite(g.disk_max_used_gb) && isfinite(g.max_ncpus_pct));
}

FUZZ(a, in, n)
{
	(void)n;
	at_venue(a, in, NULL);
	at_venue(a, in, "home");
	at_venue(a, in, "work");
}
