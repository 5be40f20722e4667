/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Interprets the answer of a validator's command, or finds that there is none
 * (verdicts.def).
 */
#ifndef DAEMONS_VERDICT_H
#define DAEMONS_VERDICT_H

#include "lib/arena.h"
#include "lib/proc.h"
#include "rules/daemon/daemon_rules.h"

/*
 * Takes status and out from proc_collect(), and words, the end of standard error.
 * Returns MATCH_LATER for everything that is not clearly an answer; then *why says what
 * happened.
 */
enum match verdict_of(
    struct arena *, int status, const char *out, const char *words, const char **why);
/*
 * Describes how a command failed: "ended with status 1" or "was killed by signal 9",
 * and its last words if there are any.
 */
char *command_end(struct arena *, int status, const char *words);

#endif
