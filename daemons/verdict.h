/* SPDX-License-Identifier: Apache-2.0 */
/* What a validator's command has answered, and whether it has (verdicts.def). */
#ifndef DAEMONS_VERDICT_H
#define DAEMONS_VERDICT_H

#include "lib/arena.h"
#include "lib/proc.h"
#include "rules/daemon/daemon_rules.h"

/*
 * status and out: as of proc_run(); words: the end of its standard error.  MATCH_LATER
 * for all that is not clearly an answer, and then *why says what happened.
 */
enum match verdict_of(
    struct arena *, int status, const char *out, const char *words, const char **why);
/*
 * How a command ended that did not do its work: "ended with status 1", "was killed by
 * signal 9", and its last words if it had any.
 */
char *command_end(struct arena *, int status, const char *words);

#endif
