/* SPDX-License-Identifier: Apache-2.0 */
/* The table of commands and the lookups in it: by the words of the command line, and
 * for "locus help". */
#include "tools/cmd.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "lib/text.h"
#include "tools/help.h"
#include "lib/banned.h"

#define SECTION(title)
#define EXAMPLE(line, says)
#define CMD(name)      extern const struct cmd cmd_##name;
#define PLUMBING(name) CMD(name)
#include "tools/cmds.def"
#undef CMD
#undef PLUMBING

static const struct cmd *const cmds[] = {
#define CMD(name) &cmd_##name,
#define PLUMBING(name)
#include "tools/cmds.def"
#undef CMD
#undef PLUMBING
	NULL
};

static const struct cmd *const plumbing[] = {
#define CMD(name)
#define PLUMBING(name) &cmd_##name,
#include "tools/cmds.def"
#undef CMD
#undef PLUMBING
	NULL
};
#undef SECTION
#undef EXAMPLE

static const struct manual_row manual[] = {
#define SECTION(title)      { .section = title },
#define EXAMPLE(line, said) { .example = line, .says = said },
#define CMD(name)           { .cmd = &cmd_##name },
#define PLUMBING(name)
#include "tools/cmds.def"
#undef PLUMBING
#undef CMD
#undef EXAMPLE
#undef SECTION
	{ 0 }
};

const struct cmd *const *commands_all(void)
{
	return cmds;
}

/* The command whose words were typed verb first, "drain node"; else NULL. */
static const struct cmd *command_turned(char **words, int n)
{
	char *turned[] = { n < 2 ? NULL : words[1], words[0] };
	const struct cmd *c;
	int used = 0;

	if (n < 2)
		return NULL;
	c = command_find(cmds, turned, 2, &used);
	return used == 2 ? c : NULL;
}

const struct cmd *command_typed(char **words, int n, int *used)
{
	int inner;
	const struct cmd *c = command_find(cmds, words, n, used);
	const struct cmd *p = command_find(plumbing, words, n, &inner);

	if (inner > *used) {
		*used = inner;
		return p;
	}
	/* "drain" takes no words: "drain node" means a node, not the project. */
	return c != NULL && *used == 1 && c->max_args == 0 &&
	               command_turned(words, n) != NULL ?
	           NULL :
	           c;
}

static bool is_of_noun(const char *name, const char *noun, size_t len)
{
	return strncmp(name, noun, len) == 0 && name[len] == ' ';
}

/*
 * Lists the commands of a noun that was typed without a verb; false if there are none.
 */
static bool list_verbs(const char *noun)
{
	bool any = false;

	for (size_t i = 0; cmds[i] != NULL; i++) {
		if (!is_of_noun(cmds[i]->name, noun, strlen(noun)))
			continue;
		if (!any)
			fprintf(stderr, "locus: \"%s\" needs a verb:\n", noun);
		any = true;
		fprintf(stderr, "  %-16s %s\n", cmds[i]->name, cmds[i]->purpose);
	}
	return any;
}

/* --- what somebody may have meant --- */

/* How well a command fits what was said, best first. */
enum { FITS_NAME = 4, FITS_PURPOSE = 2, FITS_ABOUT = 1, OFFERED_MOST = 8 };

static const struct {
	const char *theirs, *ours;
} said[] = {
#define SAID(theirs, ours) { theirs, ours },
#include "tools/said.def"
#undef SAID
};

/* A word that admins use for one of ours is no slip of the pen. */
static bool is_admins_word(const char *word)
{
	for (size_t i = 0; i < N(said); i++)
		if (strcasecmp(said[i].theirs, word) == 0)
			return true;
	return false;
}

static int word_fit(const struct cmd *c, const char *word)
{
	return word_is_in(c->name, word)    ? FITS_NAME :
	       word_is_in(c->purpose, word) ? FITS_PURPOSE :
	       word_is_in(c->about, word) || word_is_in(c->details, word) ? FITS_ABOUT :
	                                                                    0;
}

/* How well the command fits all words; 0 = one of them has nothing to do with it. */
static int command_fit(const struct cmd *c, char **words, int n)
{
	int worst = FITS_NAME;

	for (int i = 0; i < n; i++) {
		int fit = word_fit(c, words[i]);

		for (size_t k = 0; k < N(said); k++) {
			int as_ours = strcasecmp(said[k].theirs, words[i]) != 0 ?
			                  0 :
			                  word_fit(c, said[k].ours);

			fit = as_ours > fit ? as_ours : fit;
		}
		worst = fit < worst ? fit : worst;
	}
	return worst;
}

/*
 * Finds the commands that fit the words best, in the order of the help. Returns how
 * many, at most OFFERED_MOST, and in *best how well.
 */
static int commands_that_fit(char **words, int n, const struct cmd **found, int *fits)
{
	int best = 1, nfound = 0;

	for (size_t i = 0; n > 0 && cmds[i] != NULL; i++) {
		int fit = command_fit(cmds[i], words, n);

		if (fit > best)
			nfound = 0;
		if (fit < best || nfound == OFFERED_MOST)
			continue;
		best = fit;
		found[nfound++] = cmds[i];
	}
	*fits = best;
	return nfound;
}

/* Joins up to three words, as far as they are no arguments by their look; *n becomes
 * their number. */
static char *as_typed(struct arena *a, char **words, int *n)
{
	char *text = arena_strdup(a, words[0]);
	int i = 1;

	for (; i < *n && i < 3; i++) {
		if (words[i][strspn(words[i], "abcdefghijklmnopqrstuvwxyz-")] != '\0')
			break;
		text = arena_printf(a, "%s %s", text, words[i]);
	}
	*n = i;
	return text;
}

static void list_found(FILE *out, const struct cmd *const *found, int n)
{
	for (int i = 0; i < n; i++)
		fprintf(out, "  %-24s %s\n", found[i]->name, found[i]->purpose);
}

/*
 * Is each word of the command's name what was typed, but for a slip: a letter, or two
 * in a long word? A slip never leads from one noun to another one.
 */
static bool is_slip(struct arena *a, const char *name, char **words, int n)
{
	int i = 0;

	for (; *name != '\0'; i++) {
		size_t len = strcspn(name, " ");
		char *word = arena_memdup(a, name, len);

		if (i == n || near_distance(words[i], word) > (len > 5 ? 2 : 1))
			return false;
		name += len + strspn(name + len, " ");
	}
	return i > 0;
}

/* Finds the command that was mistyped; returns how many, 0 or 1. */
static int command_of_slip(
    struct arena *a, char **words, int n, const struct cmd **found)
{
	for (size_t i = 0; cmds[i] != NULL; i++)
		if (is_slip(a, cmds[i]->name, words, n)) {
			*found = cmds[i];
			return 1;
		}
	return 0;
}

int commands_unknown(struct cmd_ctx *x, char **words, int n)
{
	const struct cmd *found[OFFERED_MOST];
	int typed = n, nfound = 0, fits = FITS_NAME;
	const char *text = as_typed(x->a, words, &typed);

	if (n == 1 && list_verbs(words[0]))
		return EXIT_USAGE;
	if (n == 2 && list_verbs(arena_printf(x->a, "%s %s", words[0], words[1])))
		return EXIT_USAGE;
	found[0] = command_turned(words, n);
	if (found[0] != NULL)
		nfound = 1;
	else if (!is_admins_word(words[0]))
		nfound = command_of_slip(x->a, words, n, found);
	/* The last words may be arguments. */
	for (; nfound == 0 && typed > 0; typed--)
		nfound = commands_that_fit(words, typed, found, &fits);
	fprintf(stderr, "locus: there is no command \"%s\"; ", text);
	if (nfound == 0 &&
	    answers_print(x->a, stderr, "but this is answered:\n\n", words, n) > 0)
		return EXIT_USAGE;
	if (nfound == 0)
		fprintf(stderr, "\"locus help\" lists them\n");
	else if (nfound == 1 && fits == FITS_NAME)
		fprintf(stderr, "did you mean \"locus %s\"?\n", found[0]->name);
	else {
		fprintf(stderr, "this has to do with it:\n");
		list_found(stderr, found, nfound);
	}
	return EXIT_USAGE;
}

/* --- locus help --- */

enum { HELP_WIDTH = 79, HELP_NOUN = 13 };

static size_t noun_length(const char *name)
{
	return strcspn(name, " ");
}

/* Does an earlier command have the same first word? */
static bool noun_is_known(size_t i)
{
	size_t len = noun_length(cmds[i]->name);

	for (size_t k = 0; k < i; k++)
		if (is_of_noun(cmds[k]->name, cmds[i]->name, len))
			return true;
	return false;
}

/* A line with the verbs of a noun, and further ones if they are many. */
static void print_noun(const char *noun, size_t len)
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

void commands_overview(void)
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

struct help_opts {
	bool man, all, columns;
};

static const struct field help_options[] = {
	{ "man", FIELD_OF(struct help_opts, man), NULL,
	    "Prints the manual page locus(1)." },
	{ "all", FIELD_OF(struct help_opts, all), NULL,
	    "Lists every command with its purpose." },
	{ "columns", FIELD_OF(struct help_opts, columns), NULL,
	    "Of a command, or of all of a noun: the columns of -o tsv and keys of -o json." },
	{ 0 },
};

/*
 * Prints the help of every command of that name or noun, and the answers that a noun
 * has; else lists those that have to do with the words.
 */
static enum err explain(struct cmd_ctx *x, bool columns, char **words, int n)
{
	const struct cmd *found[OFFERED_MOST];
	const int typed = n;
	char *name = as_typed(x->a, words, &n);
	int shown = 0, nfound, nanswers, fits;

	for (size_t i = 0; cmds[i] != NULL; i++) {
		if (strcmp(cmds[i]->name, name) != 0 &&
		    !is_of_noun(cmds[i]->name, name, strlen(name)))
			continue;
		if (shown++ > 0)
			printf("\n");
		if (columns)
			help_columns(cmds[i]);
		else
			help_command(cmds[i]);
	}
	if (shown > 1 && !columns) /* a noun, which a question may be about */
		answers_print(x->a, stdout, "\n", words, typed);
	if (shown > 0)
		return OK;
	nanswers = answers_print(x->a, stdout, "", words, typed);
	nfound = commands_that_fit(words, n, found, &fits);
	if (nfound == 0 && nanswers == 0)
		return ctx_usage(x,
		    "no command has to do with \"%s\"; \"locus help --all\" lists them all",
		    name);
	if (nanswers == 0)
		printf("There is no command \"%s\". This has to do with it:\n\n", name);
	else if (nfound > 0)
		printf("\nCommands that have to do with it:\n");
	list_found(stdout, found, nfound);
	return OK;
}

static enum err help_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct help_opts *o = opts;

	if (o->columns && n == 0)
		return ctx_usage(x, "--columns needs a command or a noun");
	if (o->man)
		help_man(manual);
	else if (o->all) {
		for (size_t i = 0; i + 1 < N(manual); i++) {
			const struct manual_row *r = &manual[i];

			if (r->section != NULL)
				printf("%s%s:\n", i == 0 ? "" : "\n", r->section);
			if (r->cmd != NULL)
				printf("  %-24s %s\n", r->cmd->name, r->cmd->purpose);
		}
	} else if (n == 0)
		commands_overview();
	else
		return explain(x, o->columns, args, (int)n);
	return OK;
}

const struct cmd cmd_help = { .name = "help",
	.args = "[COMMAND | WORD ...]",
	.max_args = -1,
	.purpose = "explain a command, or find one",
	.about =
	    "Explains a command, or lists them all. Of words that are no command, it lists the\n"
	    "commands that have to do with them: \"locus help ban\". It also knows questions of\n"
	    "admins that locus-admin(7) answers.",
	.opts = help_options,
	.opts_size = sizeof(struct help_opts),
	.run = help_run };
