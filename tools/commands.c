/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands and the lookups in it: by the words of the command line, and
 * for "locus help". */
#include "tools/cmd.h"

#include <stdio.h>
#include <string.h>
#include "lib/near.h"
#include "lib/banned.h"

#define CMD(name) extern const struct cmd cmd_##name;
#include "tools/cmds.def"
#undef CMD

static const struct cmd *const cmds[] = {
#define CMD(name) &cmd_##name,
#include "tools/cmds.def"
#undef CMD
	NULL
};

const struct cmd *const *
commands_all(void)
{
	return cmds;
}

static bool
begins(const char *name, const char *noun)
{
	size_t len = strlen(noun);

	return strncmp(name, noun, len) == 0 && name[len] == ' ';
}

/*
 * Lists the commands of a noun that was typed without a verb; false if there are none.
 */
static bool
list_verbs(const char *noun)
{
	bool any = false;

	for (size_t i = 0; cmds[i] != NULL; i++) {
		if (!begins(cmds[i]->name, noun))
			continue;
		if (!any)
			fprintf(stderr, "locus: \"%s\" needs a verb:\n", noun);
		any = true;
		fprintf(stderr, "  %-16s %s\n", cmds[i]->name, cmds[i]->purpose);
	}
	return any;
}

/* Joins the first words, as many as the name has. */
static char *
as_typed(struct arena *a, const char *name, char **words, int n)
{
	char *typed = arena_strdup(a, words[0]);

	for (int i = 1; i < n && (name = strchr(name, ' ')) != NULL; i++, name++)
		typed = arena_printf(a, "%s %s", typed, words[i]);
	return typed;
}

/* Offers the command's names as the nearest to what was typed. */
static void
nearest(struct arena *a, const struct cmd *c, char **words, int n, const char **best,
    const char **typed, size_t *least)
{
	const char *const names[] = { c->name, c->alias };

	for (size_t i = 0; i < N(names) && names[i] != NULL; i++) {
		char *said = as_typed(a, names[i], words, n);

		if (near_offer(said, names[i], least)) {
			*best = c->name;
			*typed = said;
		}
	}
}

int
commands_unknown(struct cmd_ctx *x, char **words, int n)
{
	const char *best = NULL, *typed = words[0];
	size_t least = (size_t)-1;

	if (n == 1 && list_verbs(typed))
		return EXIT_USAGE;
	if (n == 2 && list_verbs(arena_printf(x->a, "%s %s", words[0], words[1])))
		return EXIT_USAGE;
	for (size_t i = 0; cmds[i] != NULL; i++)
		nearest(x->a, cmds[i], words, n, &best, &typed, &least);
	fprintf(stderr, "locus: there is no command \"%s\"", typed);
	if (best != NULL)
		fprintf(stderr, "; did you mean \"locus %s\"?\n", best);
	else
		fprintf(stderr, "; \"locus help\" lists them\n");
	return EXIT_USAGE;
}

/* --- locus help --- */

enum { HELP_WIDTH = 79, HELP_NOUN = 13 };

static size_t
noun_length(const char *name)
{
	return strcspn(name, " ");
}

static bool
is_of_noun(const char *name, const char *noun, size_t len)
{
	return strncmp(name, noun, len) == 0 && name[len] == ' ';
}

/* Does an earlier command have the same first word? */
static bool
noun_is_known(size_t i)
{
	size_t len = noun_length(cmds[i]->name);

	for (size_t k = 0; k < i; k++)
		if (is_of_noun(cmds[k]->name, cmds[i]->name, len))
			return true;
	return false;
}

/* A line with the verbs of a noun, and further ones if they are many. */
static void
print_noun(const char *noun, size_t len)
{
	int column = printf("  %-*.*s", HELP_NOUN, (int)len, noun);
	bool first = true;

	for (size_t i = 0; cmds[i] != NULL; i++) {
		const char *verb = cmds[i]->name + len + 1;

		if (!is_of_noun(cmds[i]->name, noun, len))
			continue;
		if (!first)
			column += printf(",");
		if (column + 1 + (int)strlen(verb) > HELP_WIDTH)
			column = printf("\n  %*s", HELP_NOUN, "") - 1;
		column += printf(first ? "%s" : " %s", verb);
		first = false;
	}
	printf("\n");
}

void
commands_overview(void)
{
	printf("usage: locus [-p DIR] COMMAND [OPTION ...] [WORD ...]\n\n");
	for (size_t i = 0; cmds[i] != NULL; i++)
		if (strchr(cmds[i]->name, ' ') == NULL)
			printf(
			    "  %-*s%s\n", HELP_NOUN, cmds[i]->name, cmds[i]->purpose);
	printf("\nCommands of two words, such as \"locus app add\":\n\n");
	for (size_t i = 0; cmds[i] != NULL; i++)
		if (strchr(cmds[i]->name, ' ') != NULL && !noun_is_known(i))
			print_noun(cmds[i]->name, noun_length(cmds[i]->name));
	printf(
	    "\nA project is found by -p DIR, $LOCUS_PROJECT, or from the current directory\nupward. \"locus help --all\" says what each command does, \"locus help app\"\nexplains those of app; locus(7) is a tour.\n");
}

static void
print_commands(void)
{
	for (size_t i = 0; cmds[i] != NULL; i++)
		printf("  %-24s %s\n", cmds[i]->name, cmds[i]->purpose);
}

struct help_opts {
	bool man, all;
};

static const struct opt help_options[] = {
	{ "man", OPT_FLAG, offsetof(struct help_opts, man), NULL,
	    "Prints the manual page locus(1)." },
	{ "all", OPT_FLAG, offsetof(struct help_opts, all), NULL,
	    "Lists every command with its purpose." },
	{ 0 },
};

/* Prints the help of every command of that name or noun; suggests the nearest name if
 * there is none. */
static enum err
explain(struct cmd_ctx *x, const char *name)
{
	size_t least = (size_t)-1, shown = 0, len = strlen(name);
	const char *best = NULL;

	for (size_t i = 0; cmds[i] != NULL; i++) {
		const char *c = cmds[i]->name;

		if ((strncmp(c, name, len) == 0 && (c[len] == '\0' || c[len] == ' ')) ||
		    (cmds[i]->alias != NULL && strcmp(cmds[i]->alias, name) == 0)) {
			if (shown++ > 0)
				printf("\n");
			help_command(cmds[i]);
		} else if (near_offer(name, c, &least)) {
			best = c;
		}
	}
	if (shown > 0)
		return OK;
	if (best == NULL)
		return ctx_usage(x, "there is no command \"%s\"", name);
	return ctx_usage(
	    x, "there is no command \"%s\"; did you mean \"%s\"?", name, best);
}

static enum err
help_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct help_opts *o = opts;

	if (o->man)
		help_man(cmds);
	else if (o->all)
		print_commands();
	else if (n == 0)
		commands_overview();
	else
		return explain(x, as_typed(x->a, "a b c", args, (int)n));
	return OK;
}

const struct cmd cmd_help = { .name = "help",
	.args = "[COMMAND]",
	.max_args = 3,
	.purpose = "explain a command",
	.about = "Explains a command, or lists them all.",
	.opts = help_options,
	.opts_size = sizeof(struct help_opts),
	.run = help_run };
