/* SPDX-License-Identifier: Apache-2.0 */
#include "model/speed.h"

#include <string.h>
#include "lib/banned.h"

static const struct {
	const char *code, *text;
} sources[] = {
#define SPEED(code, text) { #code, text },
#include "model/speed.def"
#undef SPEED
};

const char *
speed_source_text(enum speed_source s)
{
	return sources[s].text;
}

const char *
speed_source_code(enum speed_source s)
{
	return sources[s].code;
}

enum speed_source
speed_source_named(const char *code)
{
	size_t i = 0;

	while (i < SPEED_BENCHMARK && strcmp(sources[i].code, code) != 0)
		i++;
	return (enum speed_source)i;
}
