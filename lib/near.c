/* SPDX-License-Identifier: Apache-2.0 */
/* Levenshtein distance with one row of memory. */
#include "lib/near.h"

#include <string.h>

enum { MOST = 64 };

size_t
near_distance(const char *a, const char *b)
{
	size_t row[MOST + 1], la = strlen(a), lb = strlen(b);

	if (la > MOST || lb > MOST)
		return MOST;
	for (size_t j = 0; j <= lb; j++)
		row[j] = j;
	for (size_t i = 1; i <= la; i++) {
		size_t diagonal = row[0];

		row[0] = i;
		for (size_t j = 1; j <= lb; j++) {
			size_t best = diagonal + (a[i - 1] != b[j - 1]);

			diagonal = row[j];
			if (row[j] + 1 < best)
				best = row[j] + 1;
			if (row[j - 1] + 1 < best)
				best = row[j - 1] + 1;
			row[j] = best;
		}
	}
	return row[lb];
}

bool
near_offer(const char *word, const char *candidate, size_t *least)
{
	size_t d = near_distance(word, candidate);

	if (d > strlen(word) / 3 + 1 || d > *least)
		return false;
	*least = d;
	return true;
}
