/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a plan class fit a host, and what does its job use there (scheduling.md 2.12)?
 */
#ifndef RULES_SCHED_PLAN_CLASS_H
#define RULES_SCHED_PLAN_CLASS_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/plan_class.h"
#include "model/reasons.h"
#include "model/request.h"

struct plan_class_host { /* the host, its account and preferences */
	const struct request *req;
	int64_t userid;
	/*
	 * The account's preferences at the host's venue: snapshot.project_prefs.text;
	 * may be NULL.
	 */
	const char *project_prefs;
	int32_t ncpus;     /* usable CPUs, preferences applied */
	double p_fpops;    /* of one CPU, plausible, > 0 */
	double usable_ram; /* bytes */
};

struct plan_class_job { /* the workunit to check the class for */
	int64_t wu_id, batch;
};

/*
 * Returns WHY_NONE and *use if the class fits, else the reason. A NULL class means a
 * version without one: one CPU. A NULL job meets all demands on workunits, a NULL rng
 * those by chance. *use refers to the arena and the class.
 */
enum reason plan_class_use(struct arena *, const struct plan_class *,
    const struct plan_class_host *, const struct plan_class_job *, struct rng *,
    struct class_use *);

/*
 * Returns the account's factor on the number of devices (gpu_utilization_tag) if it is
 * ignored because it is not a number above 0; else NULL.
 */
const char *plan_class_bad_factor(
    struct arena *, const struct plan_class *, const char *project_prefs);

#endif
