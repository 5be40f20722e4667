/* SPDX-License-Identifier: Apache-2.0 */
/* How far apart two words are: for "did you mean". */
#ifndef LIB_NEAR_H
#define LIB_NEAR_H

#include <stdbool.h>
#include <stddef.h>

/* Insertions, deletions and replacements that make a of b; 64 if a word is longer than
 * that. */
size_t near_distance(const char *a, const char *b);
/*
 * Offer candidates one by one: true if this one is near word (a third of its length
 * plus one) and nearer than, or as near as, all before.  *least starts as (size_t)-1.
 */
bool near_offer(const char *word, const char *candidate, size_t *least);

#endif
