/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composes texts in rules: strings, integers and fixed-point numbers, in an arena; the
 * same bytes everywhere, whatever the locale.
 */
#ifndef RULES_SAY_H
#define RULES_SAY_H

#include <stdint.h>
#include "lib/arena.h"

struct say {
	struct arena *a;
	char *p; /* NUL-terminated, "" at first */
	size_t n, cap;
};

struct say say_new(struct arena *);
void say_str(struct say *, const char *);
void say_int(struct say *, int64_t);
/*
 * Appends x rounded to 0 to 6 decimals; a number beyond 63 bits is limited to the
 * largest that fits.
 */
void say_fixed(struct say *, double x, int decimals);
/* "4.2 MB": powers of 1000. */
void say_size(struct say *, double bytes);

#endif
