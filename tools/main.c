/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus: the admin's command line. Finds the command among the words, parses its
 * options by the command's table and runs it. This is the only file that exits.
 */
#include "tools/cmd.h"

#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "config.h"
#include "db/schema.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/proc.h"
#include "lib/terminal.h"
#include "tools/print/print.h"
#include "tools/dropin/dropin.h"
#include "lib/banned.h"

/* Return values of getopt_long(); a command's own options follow from VAL_FIRST on. */
enum {
	VAL_HELP = 'h',
	VAL_PROJECT = 'p',
	VAL_OUTPUT = 'o',
	VAL_VERSION = 'V',
	VAL_COLOR = 'c',
	VAL_FIRST = 256
};

static enum err
store_number(struct cmd_ctx *x, const struct opt *o, int64_t *field, const char *value)
{
	char *end;
	long long number = strtoll(value, &end, 10);

	if (end == value || *end != '\0' || number < 0)
		return ctx_usage(x, "--%s: \"%s\" is not a number that is 0 or more",
		    o->name, value);
	*field = number;
	return OK;
}

static enum err
store_option(struct cmd_ctx *x, const struct opt *o, void *opts, char *value)
{
	void *field = (char *)opts + o->off;
	struct conf_list *list = field;
	char **grown;

	switch (o->type) {
	case OPT_FLAG:
		*(bool *)field = true;
		return OK;
	case OPT_MAYBE:
		*(const char **)field = value == NULL ? "" : value;
		return OK;
	case OPT_TEXT:
		*(const char **)field = value;
		return OK;
	case OPT_NUMBER:
		return store_number(x, o, field, value);
	case OPT_TEXTS:
		grown = NEWN(x->a, char *, list->n + 1);
		if (list->n > 0)
			memcpy(grown, list->v, list->n * sizeof(*grown));
		grown[list->n] = value;
		*list = (struct conf_list){ grown, list->n + 1 };
		return OK;
	}
	return OK;
}

/* getopt_long() only reports that the option is unknown; this also suggests the nearest
 * name. */
static enum err
unknown_option(struct cmd_ctx *x, const struct option *longs, const char *typed)
{
	const char *best = NULL;
	char *word = arena_strdup(x->a, typed + strspn(typed, "-"));
	size_t least = (size_t)-1;

	word[strcspn(word, "=")] = '\0';
	for (; longs->name != NULL; longs++)
		if (near_offer(word, longs->name, &least))
			best = longs->name;
	if (best != NULL)
		return ctx_usage(
		    x, "unknown option %s, did you mean --%s?", typed, best);
	return ctx_usage(x, "unknown option %s", typed);
}

static struct option *
long_options(struct cmd_ctx *x, const struct opt *opts)
{
	static const struct option common[] = {
		{ "project", required_argument, NULL, VAL_PROJECT },
		{ "output", required_argument, NULL, VAL_OUTPUT },
		{ "color", required_argument, NULL, VAL_COLOR },
		{ "help", no_argument, NULL, VAL_HELP },
		{ "version", no_argument, NULL, VAL_VERSION },
		{ 0 },
	};
	struct option *longs;
	size_t n = 0;

	while (opts != NULL && opts[n].name != NULL)
		n++;
	longs = NEWN(x->a, struct option, n + N(common));
	for (size_t i = 0; i < n; i++)
		longs[i] = (struct option){ opts[i].name,
			opts[i].type == OPT_FLAG  ? no_argument :
			opts[i].type == OPT_MAYBE ? optional_argument :
						    required_argument,
			NULL, VAL_FIRST + (int)i };
	memcpy(longs + n, common, sizeof(common));
	return longs;
}

struct command_line { /* options of the command line */
	bool help, version;
	bool *given; /* by option of the command */
	void *opts;
};

static const char *const formats
    [] = { [FORMAT_TABLE] = "table", [FORMAT_TSV] = "tsv", [FORMAT_JSON] = "json" };

/*
 * -o FILE is --out FILE for a command that has it, if the value is a file rather than a
 * form of output.
 */
static const struct opt *
out_option(const struct cmd *c, const char *value)
{
	if (c == NULL || c->opts == NULL || strpbrk(value, "./") == NULL)
		return NULL;
	for (const struct opt *o = c->opts; o->name != NULL; o++)
		if (strcmp(o->name, "out") == 0)
			return o;
	return NULL;
}

static enum err
choose_format(struct cmd_ctx *x, const char *name)
{
	enum format f = FORMAT_TABLE;

	while (f < N(formats) && strcmp(name, formats[f]) != 0)
		f++;
	if (f == N(formats) && strcmp(name, "text") == 0)
		f = FORMAT_TABLE;
	if (f == N(formats))
		return ctx_usage(x, "-o %s: it must be table, tsv or json", name);
	x->format = f;
	return OK;
}

/* Refuses a form of output that the command does not have. */
static enum err
check_format(struct cmd_ctx *x)
{
	const char *why = text_only_reason(x->cmd);

	if (x->format == FORMAT_TABLE || why == NULL)
		return OK;
	return ctx_usage(
	    x, "-o %s: this command prints text only: %s", formats[x->format], why);
}

static enum err
choose_color(struct cmd_ctx *x, const char *when)
{
	if (strcmp(when, "auto") == 0)
		color_choose(COLOR_AUTO);
	else if (strcmp(when, "always") == 0)
		color_choose(COLOR_ALWAYS);
	else if (strcmp(when, "never") == 0)
		color_choose(COLOR_NEVER);
	else
		return ctx_usage(
		    x, "--color %s: it must be auto, always or never", when);
	return OK;
}

/* Of two values one would be lost without a word. */
static enum err
take_once(struct cmd_ctx *x, struct command_line *l, const struct opt *o)
{
	bool *given = &l->given[o - x->cmd->opts];

	if (*given && (o->type == OPT_TEXT || o->type == OPT_NUMBER))
		return ctx_usage(x, "--%s is given twice: it has one value", o->name);
	*given = true;
	return store_option(x, o, l->opts, optarg);
}

static enum err
apply_option(struct cmd_ctx *x, struct command_line *l, int c)
{
	const struct opt *out;

	for (const struct opt *o = x->cmd == NULL ? NULL : x->cmd->opts;
	     o != NULL && o->name != NULL; o++)
		if (c == VAL_FIRST + (o - x->cmd->opts) ||
		    (c < VAL_FIRST && c == option_letter(x->cmd, o)))
			return take_once(x, l, o);
	switch (c) {
	case VAL_PROJECT:
		x->project = optarg;
		return OK;
	case VAL_HELP:
		l->help = true;
		return OK;
	case VAL_VERSION:
		l->version = true;
		return OK;
	case VAL_COLOR:
		return choose_color(x, optarg);
	default: /* VAL_OUTPUT */
		out = out_option(x->cmd, optarg);
		if (out != NULL)
			return store_option(x, out, l->opts, optarg);
		return choose_format(x, optarg);
	}
}

static size_t
option_count(const struct cmd *c)
{
	size_t n = 0;

	while (c->opts != NULL && c->opts[n].name != NULL)
		n++;
	return n;
}

static enum err
parse_command_line(struct cmd_ctx *x, struct command_line *l, int argc, char **argv)
{
	struct option *longs = long_options(x, x->cmd == NULL ? NULL : x->cmd->opts);
	/* "+" stops at the first word: until the command is known, its options must
	 * stay in place. */
	char *shorts = arena_strdup(x->a, x->cmd == NULL ? "+:hp:o:V" : ":hp:o:V");
	enum err e = OK;
	int c;

	for (const struct opt *o = x->cmd == NULL ? NULL : x->cmd->opts;
	     o != NULL && o->name != NULL; o++)
		if (option_letter(x->cmd, o) != 0)
			shorts = arena_printf(x->a, "%s%c%s", shorts, o->name[0],
			    o->type == OPT_FLAG ? "" : ":");
	opterr = 0;
	optind = 0;
	while (e == OK && (c = getopt_long(argc, argv, shorts, longs, NULL)) != -1) {
		if (c == ':')
			e = ctx_usage(x, "option %s needs a value", argv[optind - 1]);
		else if (c == '?')
			e = unknown_option(x, longs, argv[optind - 1]);
		else
			e = apply_option(x, l, c);
	}
	return e;
}

static enum err
command_run(struct cmd_ctx *x, int argc, char **argv)
{
	const struct cmd *c = x->cmd;
	struct command_line l = { .opts = arena_alloc(x->a, c->opts_size + 1),
		.given = NEWN(x->a, bool, option_count(c) + 1) };
	enum err e = parse_command_line(x, &l, argc, argv);
	int n = argc - optind;

	if (e != OK)
		return e;
	if (l.help) {
		help_command(c);
		return OK;
	}
	if (n < c->min_args)
		return ctx_usage(
		    x, "an argument is missing: locus %s %s", c->name, c->args);
	if (c->max_args >= 0 && n > c->max_args)
		return ctx_usage(x, "unexpected argument \"%s\": locus %s %s",
		    argv[optind + c->max_args], c->name, c->args);
	TRY(check_format(x));
	e = c->run(x, l.opts, argv + optind, (size_t)n);
	ctx_close(x);
	return e;
}

static int
report_error(const struct cmd_ctx *x, enum err e)
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

static int
locus(struct cmd_ctx *x, int argc, char **argv)
{
	struct command_line l = { 0 };
	enum err e = parse_command_line(x, &l, argc, argv);
	int used, first = optind;

	if (e != OK)
		return report_error(x, e);
	if (l.version) {
		printf("locus %s, schema %d\n", PACKAGE_VERSION, (int)SCHEMA_VERSION);
		return EXIT_SUCCESS;
	}
	if (first == argc || l.help) {
		commands_overview();
		return l.help ? EXIT_SUCCESS : EXIT_USAGE;
	}
	x->cmd = command_find(x->commands, argv + first, argc - first, &used);
	if (x->cmd == NULL)
		return commands_unknown(x, argv + first, argc - first);
	/* getopt_long() expects a program name first; the command's last word takes its
	 * place. */
	first += used - 1;
	return report_error(x, command_run(x, argc - first, argv + first));
}

int
main(int argc, char **argv)
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
