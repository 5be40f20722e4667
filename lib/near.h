/* SPDX-License-Identifier: Apache-2.0 */
/* Edit distance of two words, for "did you mean". */
#ifndef LIB_NEAR_H
#define LIB_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Insertions, deletions and replacements that turn a into b; 64 if either word is
 * longer than that.
 */
size_t near_distance(const char *a, const char *b);
/*
 * Offers candidates one by one: true if candidate is near word (at most a third of its
 * length plus one) and at least as near as all before. *least starts as (size_t)-1.
 */
bool near_offer(const char *word, const char *candidate, size_t *least);

#endif
