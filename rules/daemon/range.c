/* SPDX-License-Identifier: Apache-2.0 */
/* The built-in generator's parts of a range. */
#include "rules/daemon/daemon_rules.h"

#include <assert.h>
#include "lib/banned.h"

/* The first total % n parts are one longer than the rest; nothing overflows. */
void
range_part(int64_t total, int32_t n, int32_t i, int64_t *from, int64_t *to)
{
	int64_t size = total / n, longer = total % n;

	assert(total >= 0 && n > 0 && i >= 0 && i < n);
	*from = size * i + (i < longer ? i : longer);
	*to = *from + size + (i < longer ? 1 : 0);
}
