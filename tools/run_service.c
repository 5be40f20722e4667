/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus run-service: becomes a service of an installed project. So the units need not
 * be written anew for every change of config.xml, and systemd and the supervisor run
 * the same command lines.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/log_pipe.h"
#include "lib/notify.h"
#include "tools/cmd.h"
#include "tools/dir_cure.h"
#include "tools/service.h"
#include "tools/unit_run.h"
#include "tools/units.h"
#include "lib/banned.h"

static enum err
find_service(struct cmd_ctx *x, const char *instance, const struct service **found)
{
	struct service *s;
	size_t n;

	TRY(services_of(x->a, x->cf, &s, &n, x->f));
	for (size_t i = 0; i < n; i++)
		if (strcmp(units_instance(x->a, s[i].name), instance) == 0 ||
		    strcmp(s[i].name, instance) == 0) {
			*found = &s[i];
			return s[i].argv != NULL ?
			           OK :
			           FAIL(x->f, E_CONFIG, "%s: %s", s[i].name, s[i].why);
		}
	return FAIL(x->f, E_CONFIG,
	    "%s has no service %s; locus start removes its unit", x->cf->path,
	    instance);
}

struct run_service_opts {
	bool ended;
};

static const struct opt run_service_options[] = {
	{ "ended", OPT_FLAG, offsetof(struct run_service_opts, ended), NULL,
	    "Notes how the service has ended, for locus status, instead of running it." },
	{ 0 },
};

static const char *
variable(const char *name)
{
	const char *value = getenv(name);

	return value == NULL ? "" : value;
}

/* systemd forgets the last failure when it starts the service again. */
static enum err
note_end(struct cmd_ctx *x, const char *instance)
{
	const char *result = variable("SERVICE_RESULT");
	bool exited = strcmp(variable("EXIT_CODE"), "exited") == 0;
	char *text = arena_printf(x->a, "%s %s%s%s%s",
	    exited ? "exit" : "killed by signal", variable("EXIT_STATUS"),
	    exited ? "" : " (", exited ? "" : result, exited ? "" : ")");

	if (result[0] == '\0' || strcmp(result, "success") == 0)
		return OK;
	log_warn("%s has ended: %s", instance, text);
	return fs_write(
	    unit_run_end_path(x->a, x->cf, instance), text, strlen(text), 0644, x->f);
}

static enum err
note_command(struct cmd_ctx *x, const struct service *s, char *const *argv)
{
	const char *text = unit_run_command_text(x->a, argv);

	return fs_write(
	    unit_run_command_path(x->a, x->cf, units_instance(x->a, s->name)), text,
	    strlen(text), 0644, x->f);
}

static enum err
run_service_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct run_service_opts *o = opts;
	const struct service *s = NULL;
	char **argv;

	(void)n;
	TRY(ctx_conf(x));
	if (!conf_is_installed(x->cf))
		return FAIL(x->f, E_CONFIG,
		    "the services of %s are run by its own supervisor; run: %s",
		    x->cf->project_dir, locus_command(x->a, x->cf, "start"));
	if (o->ended)
		return note_end(x, args[0]);
	TRY(find_service(x, args[0], &s));
	if (s->socket_name != NULL && !notify_take_socket())
		return FAIL(x->f, E_SYS,
		    "%s serves a socket that systemd passes to it; run: systemctl start %s",
		    s->name, units_service(x->a, x->cf, s->name));
	argv = service_command(x->a, s);
	if (!s->ours) {
		TRY(note_command(x, s, argv));
		TRY(log_pipe_start(s->log, x->f));
	}
	if (setenv("LOCUS_PROJECT", conf_dir(x->a, x->cf), 1) < 0 ||
	    chdir(x->cf->project_dir) < 0)
		return FAIL_ERRNO(x->f, "entering %s", x->cf->project_dir);
	execv(argv[0], argv);
	return FAIL_ERRNO(x->f, "running %s", argv[0]);
}

const struct cmd cmd_run_service = { .name = "run-service",
	.args = "INSTANCE",
	.min_args = 1,
	.max_args = 1,
	.purpose = "become a service of an installed project (for systemd)",
	.about =
	    "Replaces itself by the program of one service, as config.xml has it: scheduler, web,\n"
	    "file_upload_handler or the name of a daemon. The units of systemd call it; INSTANCE is\n"
	    "what follows the @ in the unit's name. A listening socket that systemd passes becomes\n"
	    "the program's standard input.",
	.opts = run_service_options,
	.opts_size = sizeof(struct run_service_opts),
	.run = run_service_run };
