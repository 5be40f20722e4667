/* SPDX-License-Identifier: Apache-2.0 */
/* Splits a range into parts for the built-in generator. */
#include "rules/daemon/daemon_rules.h"

#include <assert.h>
#include "lib/banned.h"

/* The first total % n parts are longer by one; no product overflows. */
void
range_part(int64_t total, int32_t n, int32_t i, int64_t *from, int64_t *to)
{
	int64_t size = total / n, longer = total % n;

	assert(total >= 0 && n > 0 && i >= 0 && i < n);
	*from = size * i + (i < longer ? i : longer);
	*to = *from + size + (i < longer ? 1 : 0);
}
