/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Scripts as BOINC's script_validator runs them: they get paths of output files, and
 * their exit status is the answer.
 */
#ifndef DAEMONS_SCRIPT_H
#define DAEMONS_SCRIPT_H

#include "daemons/loop.h"
#include "daemons/outputs.h"
#include "model/rows.h"
#include "rules/daemon/daemon_rules.h"

struct script {
	char **argv;
	size_t argc; /* 0 = there is none */
};
struct script_side {
	const struct result
	    *r; /* NULL = the script is asked about the other one only */
	const struct outputs *out;
};

/* Splits a command; NULL = none. A plain name means a program in the project's bin. */
enum err script_start(struct daemon_ctx *, const char *command, struct script *);
/*
 * Runs the script with the words files, files2, result_id, result_id2, runtime and
 * runtime2 of its command replaced; a command without arguments gets files and files2.
 * Status 0 is MATCH_SAME, 1 to 125 MATCH_DIFFERENT. MATCH_LATER, with why: it could not
 * be run, was killed, or ended with a Python traceback.
 */
enum match script_judges(struct daemon_ctx *, const struct script *,
    struct script_side one, struct script_side two, const char **why);

#endif
