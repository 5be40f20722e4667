/* SPDX-License-Identifier: Apache-2.0 */
/* Codes and texts of reasons, from the one table. */
#include "model/reasons.h"

#include <assert.h>
#include "lib/banned.h"

static const struct {
	const char *code, *text;
} reasons[] = {
#define REASON(code, text) { #code, text },
#include "model/reasons.def"
#undef REASON
};

const char *
reason_code(enum reason r)
{
	assert(r < WHY__MAX);
	return reasons[r].code;
}

const char *
reason_text(enum reason r)
{
	assert(r < WHY__MAX);
	return reasons[r].text;
}
