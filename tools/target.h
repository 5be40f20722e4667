/* SPDX-License-Identifier: Apache-2.0 */
/* Targets of a workunit: the options that work add and work assign share. */
#ifndef TOOLS_TARGET_H
#define TOOLS_TARGET_H

#include "db/entity.h"
#include "tools/cmd.h"

struct target_opts {
	int64_t host, team;
	const char *user;
	bool all, every;
};
/* Lines of a command's table of options; struct_type must have a member struct
 * target_opts target. */
#define TARGET_OPTIONS(struct_type)                                                    \
	{ "host", FIELD_OF(struct_type, target.host), "ID", "Only for this host." },   \
	    { "user", FIELD_OF(struct_type, target.user), "EMAIL|ID",                  \
		    "Only for hosts of this account." },                               \
	    { "team", FIELD_OF(struct_type, target.team), "ID",                        \
		    "Only for hosts of this team." },                                  \
	    { "all", FIELD_OF(struct_type, target.all), NULL,                          \
		    "For any host, before other work." },                              \
	{                                                                              \
		"every", FIELD_OF(struct_type, target.every), NULL,                    \
		    "Each of those hosts gets one result, which is not validated."     \
	}

struct target_of { /* arguments of assignment_add() */
	bool given;
	enum target kind;
	int64_t id;
	bool multi;
};
/* Resolves the options; checks that at most one is given and that the target exists. */
enum err target_find(struct cmd_ctx *, const struct target_opts *, struct target_of *);
/* Warns if an option of config.xml keeps assigned work from being sent. */
void target_hint(const struct cmd_ctx *, const struct target_of *);

#endif
