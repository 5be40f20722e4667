/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WORK_REQ: how much work is still wanted, by processing resource ("Work fetch and
 * GPUs"; scheduling.md 2.2, 2.3, 2.5).
 */
#ifndef RULES_SCHED_WORK_REQ_H
#define RULES_SCHED_WORK_REQ_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/request.h"

struct work_left {
	double secs;      /* instance-seconds */
	double instances; /* idle instances */
};
struct work_req {
	/* a per-resource element was present, so old_secs does not count */
	bool new_style;
	/* old style: CPU seconds of the host, the project's share applied */
	double old_secs;
	/* aligned with request.resources; has at least the CPU */
	struct work_left *left;
	size_t n;
};

/*
 * New style if and only if a per-resource element is present, whatever its value ("Work
 * fetch and GPUs"; locality.md 1.9 (D18)). Old style: work_req_seconds is in
 * project-normalised units (client.md 0), so a second of it is the project's share of a
 * second of the host.
 */
struct work_req work_req_new(struct arena *, const struct request *);
/* Does the request ask for any work? Same as work_req_needed() of a new one. */
bool work_req_asks(const struct request *);
/*
 * Are jobs of this resource still wanted? Old-style requests ask for seconds on any
 * resource.
 */
bool work_req_wants(const struct work_req *, size_t resource);
/* work_needed(): is work for any resource still wanted? */
bool work_req_needed(const struct work_req *);
/* Subtracts one job: its runtime in s of wall time, on usage instances. */
void work_req_take(struct work_req *, size_t resource, double runtime_s, double usage);

/* The project's share of the host, to convert project-normalised units, (0, 1]. */
double work_req_share(const struct request *);

#endif
