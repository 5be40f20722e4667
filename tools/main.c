/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus: the admin's command line. Finds the command among the words, parses its
 * options by the command's table and runs it. This is the only file that exits.
 */
#include "tools/cmd.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "db/schema.h"
#include "lib/args.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/terminal.h"
#include "tools/print/print.h"
#include "tools/dropin/dropin.h"
#include "lib/banned.h"

struct line { /* a command line; opts: what the command's options fill, NULL = no
	         command yet */
	struct cmd_ctx *x;
	void *opts;
};

static const char *const formats
    [] = { [FORMAT_TABLE] = "table", [FORMAT_TSV] = "tsv", [FORMAT_JSON] = "json" };

static const char *choose_project(void *row, char *value)
{
	((struct line *)row)->x->project = value;
	return NULL;
}

/*
 * -o FILE is --out FILE for a command that has it, if the value is a file rather than a
 * form of output.
 */
static const char *choose_output(void *row, char *value)
{
	struct line *l = row;
	const struct field *o = l->opts == NULL ? NULL : l->x->cmd->opts;
	size_t f = 0;

	for (; strpbrk(value, "./") != NULL && o != NULL && o->name != NULL; o++)
		if (strcmp(o->name, "out") == 0)
			return field_set(l->x->a, o, l->opts, value);
	while (f < N(formats) && strcmp(value, formats[f]) != 0)
		f++;
	if (f == N(formats) && strcmp(value, "text") != 0)
		return "table, tsv or json";
	l->x->format = f == N(formats) ? FORMAT_TABLE : (enum format)f;
	return NULL;
}

static const char *choose_color(void *row, char *when)
{
	static const struct {
		const char *name;
		enum color_when when;
	} all[] = { { "auto", COLOR_AUTO }, { "always", COLOR_ALWAYS },
		{ "never", COLOR_NEVER } };

	(void)row;
	for (size_t i = 0; i < N(all); i++)
		if (strcmp(all[i].name, when) == 0) {
			color_choose(all[i].when);
			return NULL;
		}
	return "auto, always or never";
}

static const struct field common[] = {
	{ "project", FIELD_TEXT, 0, "DIR", .letter = 'p', .take = choose_project },
	{ "output", FIELD_TEXT, 0, "FORM", .letter = 'o', .take = choose_output },
	{ "color", FIELD_TEXT, 0, "WHEN", .take = choose_color },
	{ 0 },
};

/* Reads the options and, of a command, the words. */
static enum args_end locus_line(
    struct cmd_ctx *x, struct args *g, void *opts, int argc, char **argv)
{
	const struct cmd *c = x->cmd;
	struct line l = { x, opts };
	enum args_end end;

	*g = (struct args){ .a = x->a,
		.program = "locus",
		.common = common,
		.common_row = &l,
		.max = -1,
		.stops = c == NULL, /* the options of the command are not known yet */
		.once = true,
		.must = true,
		.version = arena_printf(x->a, "locus %s, schema %d", PACKAGE_VERSION,
		    (int)SCHEMA_VERSION) };
	if (c != NULL) {
		g->program = arena_printf(x->a, "locus %s", c->name);
		g->own = c->opts;
		g->own_row = opts;
		g->words = c->args;
		g->min = c->min_args;
		g->max = c->max_args;
	}
	end = args_read(g, argc, argv, x->f);
	if (end == ARGS_WRONG)
		x->status = EXIT_USAGE;
	return end;
}

static int report_error(const struct cmd_ctx *x, enum err e)
{
	const char *name = x->cmd == NULL ? "" : x->cmd->name;
	const char *blank = name[0] == '\0' ? "" : " ";

	if (e == OK)
		return x->status;
	x->f->detail[terminal_clean(x->f->detail, strlen(x->f->detail), NULL)] = '\0';
	fprintf(stderr, "locus%s%s: %s\n", blank, name, x->f->detail);
	if (x->f->sys == EACCES && x->owner.as.name != NULL)
		fprintf(stderr,
		    "locus works on this project as the account %s, which must be able to reach that file: name a place where it may, such as /tmp.\n",
		    x->owner.as.name);
	if (x->status == EXIT_USAGE)
		fprintf(stderr, "Try \"locus%s%s --help\".\n", blank, name);
	return x->status != 0 ? x->status : err_exit(e);
}

static enum err command_run(struct cmd_ctx *x, const struct args *g, const void *opts)
{
	const char *text_only = text_only_reason(x->cmd);
	enum err e;

	if (x->format != FORMAT_TABLE && text_only != NULL)
		return ctx_usage(x, "-o %s: this command prints text only: %s",
		    formats[x->format], text_only);
	e = x->cmd->run(x, opts, g->rest, g->nrest);
	ctx_close(x);
	return e;
}

static int locus(struct cmd_ctx *x, int argc, char **argv)
{
	struct args g;
	enum args_end end = locus_line(x, &g, NULL, argc, argv);
	void *opts = NULL;
	int used = 0;

	if (end == ARGS_RUN && g.nrest > 0) {
		x->cmd = command_typed(g.rest, (int)g.nrest, &used);
		if (x->cmd == NULL)
			return commands_unknown(x, g.rest, (int)g.nrest);
		opts = arena_alloc(x->a, x->cmd->opts_size + 1);
		/* The command's last word takes the place of a program's name. */
		end = locus_line(
		    x, &g, opts, (int)g.nrest - used + 1, g.rest + used - 1);
	}
	if (end == ARGS_WRONG)
		return report_error(x, x->f->code);
	if (end == ARGS_VERSION)
		printf("%s\n", g.version);
	else if (x->cmd == NULL)
		commands_overview();
	else if (end == ARGS_HELP)
		help_command(x->cmd);
	else
		return report_error(x, command_run(x, &g, opts));
	return end == ARGS_RUN ? EXIT_USAGE : EXIT_SUCCESS;
}

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct cmd_ctx x = { .a = &a, .f = &f, .commands = commands_all() };
	int status;

	proc_no_core(); /* keys and passwords of the project */
	log_open("locus", NULL, LOG_WARN);
	setvbuf(stdout, NULL, _IOLBF, 0);
	terminal_guard();
	status = dropin_named(argv[0]) != NULL ? dropin_main(&x, argv, locus) :
	                                         locus(&x, argc, argv);
	arena_free(&a);
	return status;
}
