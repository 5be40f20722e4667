/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which apps can use which resources of a host at all, judged by their versions for its
 * platforms and by the types of these versions' plan classes, and by nothing else.
 */
#ifndef RULES_SCHED_SERVING_H
#define RULES_SCHED_SERVING_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/request.h"
#include "model/snapshot.h"

struct serving {
	const struct catalog *cat;
	size_t nresources; /* as in request.resources */
	bool *v;           /* by app, then by resource */
};

/* For an anonymous platform, the client's own versions count. */
struct serving serving_of(
    struct arena *, const struct request *, const struct catalog *);
/* app: from the catalogue; NULL serves nothing. */
bool serving_app(const struct serving *, const struct app *, size_t resource);
/* Does any app use this resource? */
bool serving_any(const struct serving *, size_t resource);

#endif
