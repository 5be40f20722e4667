/* SPDX-License-Identifier: Apache-2.0 */
/* Asks before a command destroys something. */
#ifndef TOOLS_CONFIRM_H
#define TOOLS_CONFIRM_H

#include "tools/cmd.h"

/* The two options of a command that destroys something; T has the members dry_run and
 * yes. */
#define DRY_RUN_OPTION(T)                                                              \
	{                                                                              \
		"dry-run", OPT_FLAG, offsetof(T, dry_run), NULL,                       \
		    "Changes nothing; prints what would be done."                      \
	}
#define YES_OPTION(T)                                                                  \
	{                                                                              \
		"yes", OPT_FLAG, offsetof(T, yes), NULL,                               \
		    "Does not ask. Required if there is no terminal to ask on."        \
	}

/*
 * Asks on the terminal, unless yes is set. What is asked is a question without its
 * mark, such as "cancel 12 workunits". OK if the answer begins with y; E_BADREQ with
 * EXIT_USAGE, and nothing is read, if there is no terminal; E_BADREQ with
 * EXIT_DECLINED if the answer is another one.
 */
enum err confirm(struct cmd_ctx *, bool yes, const char *fmt, ...)
    __attribute__((format(printf, 3, 4)));

#endif
