/* SPDX-License-Identifier: Apache-2.0 */
/* The column table of every row shape, from its .def file. */
#include "model/rows.h"

#include <string.h>
#include "lib/arena.h"
#include "lib/banned.h"

/* Names and legal transitions of states, from states.def. */

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

const char *state_name(enum state_kind kind, int value)
{
	for (size_t i = 0; i < N(states); i++)
		if (states[i].kind == kind && states[i].value == value)
			return states[i].name;
	return "?";
}

bool state_may_become(enum state_kind kind, int from, int to)
{
	if (from == to)
		return true;
	for (size_t i = 0; i < N(states); i++)
		if (states[i].kind == kind && states[i].value == from)
			return to >= 0 && to < 32 && (states[i].may_become >> to & 1);
	return false;
}

int64_t result_ready(const struct workunit *wu, int32_t priority)
{
#define MEANS(name, when, value, sql_when, sql_value) (when) ? (value):
	return READY_MEANINGS(MEANS, , , ) 0;
#undef MEANS
}

bool ban_holds(bool banned, int64_t until, int64_t now)
{
	return banned && (until == 0 || now < until);
}

#define SHAPE(shape)                                                                   \
	const struct row_shape shape_##shape = { #shape, shape##_cols,                 \
		N(shape##_cols), sizeof(struct shape) };

#define COL(column, type) { #column, FIELD_OF(struct host, column) },
static const struct field host_cols[] = {
#include "model/host.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct user, column) },
static const struct field user_cols[] = {
#include "model/user.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct app, column) },
static const struct field app_cols[] = {
#include "model/app.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct platform, column) },
static const struct field platform_cols[] = {
#include "model/platform.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct app_version, column) },
static const struct field app_version_cols[] = {
#include "model/app_version.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct host_app_version, column) },
static const struct field host_app_version_cols[] = {
#include "model/host_app_version.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct workunit, column) },
static const struct field workunit_cols[] = {
#include "model/workunit.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct result, column) },
static const struct field result_cols[] = {
#include "model/result.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct job, column) },
static const struct field job_cols[] = {
#include "model/job.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct file, column) },
static const struct field file_cols[] = {
#include "model/file.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct fileset, column) },
static const struct field fileset_cols[] = {
#include "model/fileset.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct user_info, column) },
static const struct field user_info_cols[] = {
#include "model/user_info.def"
};
#undef COL
#define COL(column, type) { #column, FIELD_OF(struct team, column) },
static const struct field team_cols[] = {
#include "model/team.def"
};
#undef COL

SHAPE(host)
SHAPE(user)
SHAPE(app)
SHAPE(platform)
SHAPE(app_version)
SHAPE(host_app_version)
SHAPE(workunit)
SHAPE(result)
SHAPE(job)
SHAPE(file)
SHAPE(fileset)
SHAPE(user_info)
SHAPE(team)

bool row_is_kept(const char *name)
{
	return name != NULL && strstr(name, "nodelete") != NULL;
}
