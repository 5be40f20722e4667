/* SPDX-License-Identifier: Apache-2.0 */
/* Codes and texts of reasons, from reasons.def. */
#include "model/decision.h"

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

const char *reason_code(enum reason r)
{
	assert(r < WHY__MAX);
	return reasons[r].code;
}

const char *reason_text(enum reason r)
{
	assert(r < WHY__MAX);
	return reasons[r].text;
}

enum reason reason_named(const char *code)
{
	int r = 0;

	while (r < WHY__MAX && strcmp(reasons[r].code, code) != 0)
		r++;
	return (enum reason)r;
}

struct snap_file *snapshot_file(const struct snapshot *s, int64_t fileset_id)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (s->files[i].fileset_id == fileset_id)
			return &s->files[i];
	return NULL;
}

bool snapshot_any_candidate(const struct snapshot *s)
{
	size_t n = s->nplain + s->ntargeted;

	for (size_t i = 0; i < s->nfiles; i++)
		n += s->files[i].njobs;
	return n > 0;
}

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

const char *supply_kind_name(enum supply_kind kind)
{
	return kinds[kind].name;
}

const char *supply_stage_name(enum supply_stage stage)
{
	return stages[stage].name;
}

const char *supply_kind_text(const char *code)
{
	for (size_t i = 0; i < SUPPLY__KINDS; i++)
		if (strcmp(kinds[i].name, code) == 0)
			return kinds[i].text;
	return NULL;
}

const char *supply_stage_text(const char *code)
{
	for (size_t i = 0; i < STAGE__MAX; i++)
		if (strcmp(stages[i].name, code) == 0)
			return stages[i].text;
	return NULL;
}

const char *send_how_name(enum send_how how)
{
	static const char *const names[] = {
		[SEND_LOST] = "lost",
		[SEND_TARGETED] = "targeted",
		[SEND_OLD] = "old",
		[SEND_HELD] = "held",
		[SEND_WORKING_SET] = "set",
		[SEND_SEARCHED] = "searched",
		[SEND_PLAIN] = "plain",
	};

	return names[how];
}

const char *replication_name(enum replication r)
{
	static const char *const names[] = {
		[REPLICATION_FIXED] = "",
		[REPLICATION_ALONE] = "ALONE",
		[REPLICATION_UNTRUSTED] = "UNTRUSTED",
		[REPLICATION_SPOT_CHECK] = "SPOT_CHECK",
	};

	return names[r];
}

const char *file_state_name(enum file_state state)
{
	static const char *const names[] = {
		[FILE_ADVERTISED] = "ADVERTISED",
		[FILE_DRAINING] = "DRAINING",
		[FILE_EXHAUSTED] = "EXHAUSTED",
		[FILE_DEAD] = "DEAD",
	};

	return names[state];
}
