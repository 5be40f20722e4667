/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/color.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/banned.h"

static enum color_when chosen;

void
color_choose(enum color_when when)
{
	chosen = when;
}

bool
color_used(void)
{
	const char *no = getenv("NO_COLOR"), *term = getenv("TERM");

	if (chosen != COLOR_AUTO)
		return chosen == COLOR_ALWAYS;
	return isatty(STDOUT_FILENO) && (no == NULL || no[0] == '\0') && term != NULL &&
	       strcmp(term, "dumb") != 0;
}

const char *
color_text(struct arena *a, enum color color, const char *text)
{
	static const char *const codes[] = { [COLOR_GOOD] = "32",
		[COLOR_WARN] = "33",
		[COLOR_BAD] = "31",
		[COLOR_BOLD] = "1" };

	if (color == COLOR_NONE || !color_used())
		return text;
	return arena_printf(a, "\033[%sm%s\033[0m", codes[color], text);
}
