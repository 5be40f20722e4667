/* SPDX-License-Identifier: Apache-2.0 */
/* Does a plan class fit a host, and what does a job of it use there
 * (scheduling.md 2.12)?
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
	/* The account's at the host's venue: snapshot.project_prefs.text; may be NULL.
	 */
	const char *project_prefs;
	int32_t ncpus;     /* usable ones, preferences applied */
	double p_fpops;    /* of one CPU, made plausible, > 0 */
	double usable_ram; /* bytes */
};

struct plan_class_job { /* the workunit that the class is asked for */
	int64_t wu_id, batch;
};

/*
 * WHY_NONE and *use if the class fits, else why not.  A NULL class is that of versions
 * without one: one CPU.  A NULL job passes all demands on workunits, a NULL rng those
 * by chance.  *use lives in the arena and the class.
 */
enum reason plan_class_use(struct arena *, const struct plan_class *,
    const struct plan_class_host *, const struct plan_class_job *, struct rng *,
    struct class_use *);

/*
 * The account's factor for the number of devices (gpu_utilization_tag) if it is no
 * number above 0 and so is passed over; else NULL.
 */
const char *plan_class_bad_factor(
    struct arena *, const struct plan_class *, const char *project_prefs);

#endif
