/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tools, their help, and the beginning and end of each. */
#include "tools/dropin/dropin.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

static const struct dropin_tool tools[] = {
#define TOOL(name, of, args, min, max, ours, purpose)                                  \
	{ #name, of, args, min, max, ours, purpose, dropin_##name },
#define OPTION(of, name, arg, how, text)
#include "tools/dropin/dropin.def"
#undef TOOL
#undef OPTION
};

const struct dropin_tool *dropin_named(const char *program)
{
	for (size_t i = 0; i < N(tools); i++)
		if (strcmp(tools[i].name, text_base_name(program)) == 0)
			return &tools[i];
	return NULL;
}

/* --- help, hint and remarks --- */

static void print_help(const struct dropin_tool *t)
{
	size_t n;
	const struct dropin_option *options = dropin_options(&n);

	printf("usage: %s [OPTION ...] %s\n%s: %s.\nWith Locus: %s\n", t->name, t->args,
	    t->name, t->purpose, t->ours);
	for (size_t i = 0; i < n; i++) {
		const struct dropin_option *o = &options[i];

		if (strcmp(o->of, t->of) != 0)
			continue;
		printf("  --%s%s%s\n        %s%s\n", o->name, o->arg == NULL ? "" : " ",
		    o->arg == NULL ? "" : o->arg,
		    o->how == VOID ? "Has no effect: " :
		    o->how == NOT  ? "Refused: " :
				     "",
		    o->text);
	}
}

/* Is it a question for help? */
static bool wants_help(char **argv)
{
	for (; *argv != NULL; argv++)
		if (strcmp(*argv, "--help") == 0 || strcmp(*argv, "-h") == 0)
			return true;
	return false;
}

/* --- running --- */

/*
 * A tool called by a path, as cron does, means the project whose bin/ it is in: BOINC's
 * tools are called from any directory.
 */
static const char *project_of(struct arena *a, const char *program)
{
	const char *slash = strrchr(program, '/');
	char dir[PATH_MAX];

	if (slash == NULL ||
	    realpath(arena_printf(a, "%.*s/..", (int)(slash - program), program),
		dir) == NULL)
		return NULL;
	if (fs_exists(arena_printf(a, "%s/config.xml", dir)))
		return arena_strdup(a, dir);
	/* The configuration of an installed project is not beside its data. */
	return text_begins(dir, dir + strlen(dir), "/var/lib/locus/") ?
	           arena_strdup(a, text_base_name(dir)) :
	           NULL;
}

int dropin_main(struct cmd_ctx *x, char **argv,
    int (*locus)(struct cmd_ctx *, int argc, char **argv))
{
	static const struct cmd as_owner = { .name = "", .args = "", .about = "" };
	struct dropin d = {
		.x = x, .tool = dropin_named(argv[0]), .argv = argv, .locus = locus
	};
	enum err e = OK;

	if (wants_help(argv + 1)) {
		print_help(d.tool);
		return EXIT_SUCCESS;
	}
	if (argv[1] != NULL && strcmp(argv[1], "--version") == 0) {
		printf("%s of Locus %s\n", d.tool->name, PACKAGE_VERSION);
		return EXIT_SUCCESS;
	}
	if (isatty(STDERR_FILENO))
		fprintf(stderr, "%s: with Locus: %s\n", d.tool->name, d.tool->ours);
	x->cmd = &as_owner;
	x->project = project_of(x->a, argv[0]);
	/* db_purge hands its options on to the daemon. */
	if (d.tool->run != dropin_db_purge)
		e = dropin_parse(x->a, d.tool, argv + 1, &d.line, x->f);
	if (e == OK) {
		for (size_t i = 0; i < d.line.ngiven; i++) {
			const struct dropin_option *o = d.line.given[i].option;

			if (o->how == VOID)
				fprintf(stderr, "%s: --%s has no effect: %s\n",
				    d.tool->name, o->name, o->text);
		}
		e = d.tool->run(&d);
	} else {
		fprintf(stderr, "%s: %s\nTry \"%s --help\".\n", d.tool->name,
		    x->f->detail, d.tool->name);
		return EXIT_FAILURE;
	}
	ctx_close(x);
	if (e == OK)
		return d.x->status;
	fprintf(stderr, "%s: %s\n", d.tool->name, d.x->f->detail);
	return d.x->status != 0 ? d.x->status : err_exit(e);
}
