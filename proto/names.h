/* SPDX-License-Identifier: Apache-2.0 */
/* A set of names, in an arena. */
#ifndef PROTO_NAMES_H
#define PROTO_NAMES_H

#include <stdbool.h>
#include "lib/arena.h"

struct names {
	struct arena *a;
	const char **slot;
	size_t n, cap; /* cap is 0 or a power of two */
};
bool names_add(
    struct names *, const char *); /* false if it was there; keeps the pointer */
bool names_has(const struct names *, const char *);

#endif
