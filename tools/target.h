/* SPDX-License-Identifier: Apache-2.0 */
/* Whom a workunit is for: the options that work add and work assign share. */
#ifndef TOOLS_TARGET_H
#define TOOLS_TARGET_H

#include "db/entity.h"
#include "tools/cmd.h"

struct target_opts {
	int64_t host, team;
	const char *user;
	bool all, every;
};
/* Lines of a command's table of options; struct_type has a struct target_opts target.
 */
#define TARGET_OPTIONS(struct_type)                                                    \
	{ "host", OPT_NUMBER, offsetof(struct_type, target.host), "ID",                \
		"Only for this host." },                                               \
	    { "user", OPT_TEXT, offsetof(struct_type, target.user), "EMAIL|ID",        \
		    "Only for hosts of this account." },                               \
	    { "team", OPT_NUMBER, offsetof(struct_type, target.team), "ID",            \
		    "Only for hosts of this team." },                                  \
	    { "all", OPT_FLAG, offsetof(struct_type, target.all), NULL,                \
		    "For any host, before other work." },                              \
	{                                                                              \
		"every", OPT_FLAG, offsetof(struct_type, target.every), NULL,          \
		    "Each of those hosts gets one; nobody judges what they return."    \
	}

struct target_of { /* as assignment_add takes it */
	bool given;
	enum target kind;
	int64_t id;
	bool multi;
};
/* At most one of the options, and that there is such a target. */
enum err target_find(struct cmd_ctx *, const struct target_opts *, struct target_of *);
/* Beside what was done: says if config.xml keeps it from being sent. */
void target_hint(const struct cmd_ctx *, const struct target_of *);

#endif
