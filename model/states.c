/* SPDX-License-Identifier: Apache-2.0 */
/* Names and legal transitions of states, from states.def. */
#include "model/states.h"

#include <stddef.h>
#include "lib/arena.h"
#include "model/rows.h"
#include "lib/banned.h"

#define TO(kind, name) (1u << kind##_##name)
static const struct {
	enum state_kind kind;
	int value;
	const char *name;
	unsigned may_become;
} states[] = {
#define STATE(kind, name, value, to) { KIND_##kind, value, #name, to },
#include "model/states.def"
#undef STATE
};
#undef TO

const char *
state_name(enum state_kind kind, int value)
{
	for (size_t i = 0; i < N(states); i++)
		if (states[i].kind == kind && states[i].value == value)
			return states[i].name;
	return "?";
}

bool
state_may_become(enum state_kind kind, int from, int to)
{
	if (from == to)
		return true;
	for (size_t i = 0; i < N(states); i++)
		if (states[i].kind == kind && states[i].value == from)
			return to >= 0 && to < 32 && (states[i].may_become >> to & 1);
	return false;
}

int64_t
result_ready(const struct workunit *wu, int32_t priority)
{
#define MEANS(name, when, value, sql_when, sql_value) (when) ? (value):
	return READY_MEANINGS(MEANS, , , ) 0;
#undef MEANS
}

bool
ban_holds(bool banned, int64_t until, int64_t now)
{
	return banned && (until == 0 || now < until);
}
