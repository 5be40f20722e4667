/* SPDX-License-Identifier: Apache-2.0 */
/* Sets of ids and of names for rules: made once, queried often. */
#ifndef RULES_SETS_H
#define RULES_SETS_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"

struct ids { /* in increasing order */
	int64_t *v;
	size_t n;
};
struct ids ids_make(struct arena *, const int64_t *, size_t);
/* The same with each id once. */
struct ids ids_unique(struct arena *, const int64_t *, size_t);
bool ids_has(const struct ids *, int64_t);

struct names { /* in increasing bytewise order; the strings are not copied */
	const char **v;
	size_t n;
};
struct names names_new(struct arena *, size_t cap);
void names_add(struct names *, const char *); /* at most cap of them; ignores NULL */
void names_sort(struct names *);              /* call it after the last names_add() */
bool names_has(const struct names *, const char *);

#endif
