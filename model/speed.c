/* SPDX-License-Identifier: Apache-2.0 */
#include "model/speed.h"

#include "lib/banned.h"

static const char *const texts[] = {
#define SPEED(code, text) text,
#include "model/speed.def"
#undef SPEED
};

const char *
speed_source_text(enum speed_source s)
{
	return texts[s];
}
