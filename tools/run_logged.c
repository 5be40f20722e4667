/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus run-logged: becomes a program whose output goes to a log that may be rotated.
 * The supervisor runs the database server, Apache and the project's own daemons and
 * tasks through it. It reads no configuration: services restart while config.xml is
 * broken.
 */
#include <unistd.h>
#include "lib/log_pipe.h"
#include "tools/cmd.h"
#include "tools/run_logged.h"
#include "lib/banned.h"

char **
run_logged_command(
    struct arena *a, const char *self, const char *log, char *const *argv)
{
	size_t n = 0, k = 0;
	char **line;

	while (argv[n] != NULL)
		n++;
	line = NEWN(a, char *, n + 5);
	line[k++] = arena_strdup(a, self);
	line[k++] = arena_strdup(a, "run-logged");
	line[k++] = arena_strdup(a, "--");
	line[k++] = arena_strdup(a, log);
	for (size_t i = 0; i < n; i++)
		line[k++] = argv[i];
	return line;
}

static enum err
run_logged_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts, (void)n; /* args ends with NULL, as argv does */
	TRY(owner_enter_place(x->a, args[0], false, &x->owner, x->f));
	TRY(log_pipe_start(args[0], x->f));
	execvp(args[1], args + 1);
	return FAIL_ERRNO(x->f, "running %s", args[1]);
}

const struct cmd cmd_run_logged = { .name = "run-logged",
	.args = "FILE PROGRAM [ARG ...]",
	.min_args = 2,
	.max_args = -1,
	.purpose = "become a program whose output goes to a log",
	.about =
	    "Runs the program in its own place. What it and its children write to standard output\n"
	    "and standard error is appended to FILE by a process that opens FILE again when it was\n"
	    "rotated, and ends with the last of them. The supervisor starts all programs but those\n"
	    "of Locus in this way. Where another account rules FILE's directory, root becomes that\n"
	    "account first. If the program has options, two dashes go before FILE.",
	.run = run_logged_run };
