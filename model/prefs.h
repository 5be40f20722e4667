/* SPDX-License-Identifier: Apache-2.0 */
/* A volunteer's preferences at one venue (protocol.md 1.4): plain data. */
#ifndef MODEL_PREFS_H
#define MODEL_PREFS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rq_resource;

struct rq_prefs { /* global preferences that scheduling uses; 0 = unset */
	double mod_time, disk_max_used_gb, disk_max_used_pct, disk_min_free_gb;
	double work_buf_min_days, ram_max_used_busy_pct, ram_max_used_idle_pct,
	    max_ncpus_pct;
	/* Used by hosts only. */
	double work_buf_additional_days, cpu_scheduling_period_minutes;
	bool leave_apps_in_memory;
	bool has_work_buf_min, has_work_buf_additional, has_leave_apps;
	/* the first value that is not a number: <name> "text"; NULL = none */
	const char *bad;
};

struct project_prefs { /* all zero: no preferences, everything is allowed */
	int64_t *apps; /* ids of selected apps; none = all */
	size_t napps;
	/* jobs of other apps, too, if the selected ones have none */
	bool allow_non_preferred_apps;
	bool allow_beta_work;
	int32_t max_cpus, max_jobs; /* 0 = no limit */
	/*
	 * Resource types to get no work, as in request.resources[].type: "CPU",
	 * "NVIDIA", "ATI", "intel_gpu", "apple_gpu", or a generic model.
	 */
	char **no_rsc;
	size_t nno_rsc;
	bool no_gpus; /* no device that does graphics, whatever its type */
	/*
	 * All elements at the venue, well-formed, for elements that only the project
	 * knows. NULL = none.
	 */
	char *text;
	const char *bad; /* as in rq_prefs */
};

/*
 * Do the preferences refuse work for this type of resource (as in request.resources)?
 */
bool prefs_refuse_resource(const struct project_prefs *, const char *type);
/* The same for a resource of a request, by its type, its kind, or as a GPU. */
bool prefs_refuse_device(const struct project_prefs *, const struct rq_resource *);

enum app_choice { APP_SELECTED, APP_OTHER, APP_BETA_REFUSED, APP_REFUSED };
/*
 * Does the account want jobs of an app: yes, only if the selected apps have none, or
 * never? With distinct_beta_apps, a beta app is selected by name or refused; otherwise
 * all beta apps follow allow_beta_work.
 */
enum app_choice prefs_app_choice(
    const struct project_prefs *, int64_t appid, bool beta, bool distinct_beta_apps);

#endif
