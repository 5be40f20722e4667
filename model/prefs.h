/* SPDX-License-Identifier: Apache-2.0 */
/* What a volunteer has chosen, at one venue (protocol.md 1.4): plain data. */
#ifndef MODEL_PREFS_H
#define MODEL_PREFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rq_prefs { /* global preferences that scheduling looks at; 0 = unset */
	double mod_time, disk_max_used_gb, disk_max_used_pct, disk_min_free_gb;
	double work_buf_min_days, ram_max_used_busy_pct, ram_max_used_idle_pct,
	    max_ncpus_pct;
	/* Of use to hosts only. */
	double work_buf_additional_days, cpu_scheduling_period_minutes;
	bool leave_apps_in_memory;
	bool has_work_buf_min, has_work_buf_additional, has_leave_apps;
	const char *bad; /* the first number that is none: <name> "text"; NULL: none */
};

struct project_prefs { /* all zero: nothing was chosen, everything is allowed */
	int64_t *apps; /* selected app.id; none = all */
	size_t napps;
	bool allow_non_preferred_apps; /* others too, if the selected have no work */
	bool allow_beta_work;
	int32_t max_cpus, max_jobs; /* 0 = no limit */
	/* Resource types without work, as in request.resources[].type: "CPU", "NVIDIA",
	 * "ATI", "intel_gpu", "apple_gpu", or a generic model. */
	char **no_rsc;
	size_t nno_rsc;
	/* All elements at the venue, well-formed: for those that only the project
	 * knows.  NULL = none. */
	char *text;
	const char *bad; /* as in rq_prefs */
};

/* Is no work wanted for this type of resource (a type of request.resources)? */
bool prefs_refuse_resource(const struct project_prefs *, const char *type);

enum app_choice { APP_SELECTED, APP_OTHER, APP_BETA_REFUSED, APP_REFUSED };
/*
 * What the account wants of an app: its jobs, or them only if the selected apps have
 * none, or not at all.  distinct_beta_apps: a beta app is selected by its name or not
 * wanted; else all of them follow allow_beta_work.
 */
enum app_choice prefs_app_choice(
    const struct project_prefs *, int64_t appid, bool beta, bool distinct_beta_apps);

#endif
