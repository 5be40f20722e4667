/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which apps can use which of a host's resources at all, by their versions for its
 * platforms and the types of these versions' plan classes; nothing else of the host is
 * looked at.
 */
#ifndef RULES_SCHED_SERVING_H
#define RULES_SCHED_SERVING_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/request.h"
#include "model/snapshot.h"

struct serving {
	const struct catalog *cat;
	size_t nresources; /* as request.resources */
	bool *v;           /* by app, then by resource */
};

/* With an anonymous platform it is the client's own versions that count. */
struct serving serving_of(
    struct arena *, const struct request *, const struct catalog *);
/* app: one of the catalogue's; NULL serves nothing. */
bool serving_app(const struct serving *, const struct app *, size_t resource);
/* Does any app use this resource? */
bool serving_any(const struct serving *, size_t resource);

#endif
