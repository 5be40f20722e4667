/* SPDX-License-Identifier: Apache-2.0 */
#include "model/supply.h"

#include <string.h>
#include "lib/banned.h"

static const struct {
	const char *name, *text;
} kinds[] = {
#define QUERY(name, arguments, answer, text) { #name, text },
#include "model/supply_queries.def"
#undef QUERY
}, stages[] = {
#define STAGE(name, passes, reader, why) { #name, why },
#include "model/supply_stages.def"
#undef STAGE
};

const char *
supply_kind_name(enum supply_kind kind)
{
	return kinds[kind].name;
}

const char *
supply_stage_name(enum supply_stage stage)
{
	return stages[stage].name;
}

const char *
supply_kind_text(const char *code)
{
	for (size_t i = 0; i < SUPPLY__KINDS; i++)
		if (strcmp(kinds[i].name, code) == 0)
			return kinds[i].text;
	return NULL;
}

const char *
supply_stage_text(const char *code)
{
	for (size_t i = 0; i < STAGE__MAX; i++)
		if (strcmp(stages[i].name, code) == 0)
			return stages[i].text;
	return NULL;
}
