/* SPDX-License-Identifier: Apache-2.0 */
/* Which commands print text only, and why. */
#include <string.h>
#include "tools/cmd.h"
#include "lib/banned.h"

static const struct {
	const char *name, *reason;
} commands[] = {
#define TEXT_ONLY(command, reason) { command, reason },
#include "tools/text_only.def"
#undef TEXT_ONLY
};

const char *
text_only_reason(const struct cmd *c)
{
	for (size_t i = 0; i < N(commands); i++)
		if (strcmp(commands[i].name, c->name) == 0)
			return commands[i].reason;
	return NULL;
}
