/* SPDX-License-Identifier: Apache-2.0 */
/* A set of names in an arena. */
#ifndef PROTO_NAMES_H
#define PROTO_NAMES_H

#include <stdbool.h>
#include "lib/arena.h"

struct name_set {
	struct arena *a;
	const char **slot;
	size_t n, cap; /* cap is 0 or a power of two */
};
bool name_set_add(struct name_set *,
    const char *); /* false if s is already in the set; keeps the pointer */
bool name_set_has(const struct name_set *, const char *);

#endif
