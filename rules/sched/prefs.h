/* SPDX-License-Identifier: Apache-2.0 */
/* Which preferences are newer, the account's or the client's (protocol.md 3.4)? */
#ifndef RULES_SCHED_PREFS_H
#define RULES_SCHED_PREFS_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/request.h"
#include "model/decision.h"

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
