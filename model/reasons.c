/* SPDX-License-Identifier: Apache-2.0 */
/* Codes and texts of reasons, from reasons.def. */
#include "model/reasons.h"

#include <assert.h>
#include <string.h>
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

enum reason
reason_named(const char *code)
{
	int r = 0;

	while (r < WHY__MAX && strcmp(reasons[r].code, code) != 0)
		r++;
	return (enum reason)r;
}
