/* SPDX-License-Identifier: Apache-2.0 */
/* start, stop and status: one program that goes by its name, unless an option says
 * otherwise. */
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tools/dropin/dropin.h"
#include "tools/state.h"
#include "lib/banned.h"

/*
 * A crontab calls this every few minutes. What was stopped stays stopped, and systemd
 * restarts the services of an installed project by itself.
 */
static enum err
start_by_cron(struct dropin *d)
{
	static const char *const start[] = { "start", NULL };
	struct cmd_ctx *x = d->x;

	TRY(ctx_conf(x));
	if (conf_is_installed(x->cf) || !state_is_meant_to_run(x->a, x->cf) ||
	    state_supervised(x->a, x->cf))
		return OK;
	return dropin_locus(d, start);
}

/* Returns the verb that the last of these options gives, else the tool's name. */
static const char *
verb_of(const struct dropin *d)
{
	static const struct {
		const char *name, *verb;
	} verbs[] = { { "enable", "start" }, { "e", "start" }, { "disable", "stop" },
		{ "d", "stop" }, { "status", "status" }, { "s", "status" },
		{ "cron", "cron" }, { "c", "cron" } };
	const char *verb = d->tool->name;

	for (size_t i = 0; i < d->line.ngiven; i++)
		for (size_t k = 0; k < N(verbs); k++)
			if (strcmp(d->line.given[i].option->name, verbs[k].name) == 0)
				verb = verbs[k].verb;
	return verb;
}

static enum err
silence_output(struct fail *f)
{
	int null = open("/dev/null", O_WRONLY | O_CLOEXEC);

	if (null < 0 || dup2(null, STDOUT_FILENO) < 0)
		return FAIL_ERRNO(f, "opening /dev/null");
	close(null);
	return OK;
}

static enum err
run_verb(struct dropin *d)
{
	const char *words[] = { verb_of(d), NULL };

	if (dropin_value(&d->line, "quiet") != NULL ||
	    dropin_value(&d->line, "q") != NULL)
		TRY(silence_output(d->x->f));
	return strcmp(words[0], "cron") == 0 ? start_by_cron(d) :
	                                       dropin_locus(d, words);
}

enum err
dropin_start(struct dropin *d)
{
	return run_verb(d);
}

enum err
dropin_stop(struct dropin *d)
{
	return run_verb(d);
}

enum err
dropin_status(struct dropin *d)
{
	return run_verb(d);
}
