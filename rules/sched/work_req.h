/* SPDX-License-Identifier: Apache-2.0 */
/*
 * WORK_REQ: how much work is still wanted, per processing resource ("Work fetch and
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
	bool
	    new_style; /* a per-resource element was present: the rest does not count */
	double old_secs; /* old style: CPU seconds of the host, the project's share
	                    applied */
	struct work_left *left; /* aligned with request.resources, at least the CPU */
	size_t n;
};

/*
 * New style iff a per-resource element is present, whatever its value ("Work fetch and
 * GPUs"; locality.md 1.9 (D18)).  Old style: work_req_seconds is in project-normalised
 * units (client.md 0), so a second of it is the project's share of a second of the
 * host.
 */
struct work_req work_req_new(struct arena *, const struct request *);
/* Does the request ask for any work: the same as work_req_needed() of a new one. */
bool work_req_asks(const struct request *);
/*
 * Are jobs of this resource still wanted?  Old style asks for seconds of whatever the
 * host has.
 */
bool work_req_wants(const struct work_req *, size_t resource);
/* work_needed(): of any resource. */
bool work_req_needed(const struct work_req *);
/* One more job: runtime in s of wall time, on usage instances. */
void work_req_take(struct work_req *, size_t resource, double runtime_s, double usage);

/* The project's share of the host for project-normalised units, (0, 1]. */
double work_req_share(const struct request *);

#endif
