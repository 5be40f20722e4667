/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a command's help. */
#include "tools/help.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include "lib/args.h"
#include "tools/cmd.h"
#include "tools/print/print.h"
#include "lib/banned.h"

/* Answers to questions that are no command's name, for "locus help WORD ...". */

static const struct answer {
	const char *question, *words, *section, *command;
} answers[] = {
#define ANSWER(question, words, section, command) { question, words, section, command },
#include "tools/answers.def"
#undef ANSWER
};

bool word_is_in(const char *text, const char *word)
{
	size_t len = strlen(word);

	for (const char *p = text; p != NULL && *p != '\0'; p++) {
		if ((p == text || !isalnum((unsigned char)p[-1])) &&
		    strncasecmp(p, word, len) == 0 &&
		    !isalnum((unsigned char)p[len + (p[len] == 's')]))
			return true;
	}
	return false;
}

/* Words of a question that say nothing of its subject. */
static bool is_filler(const char *word)
{
	static const char fillers[] =
	    "a all an and are at be can do does for from get has have how i if in is it"
	    " its many may me must my need needs of on or our so that the their them"
	    " there they this to we what when where which who whom whose why with you"
	    " your";

	return word_is_in(fillers, word);
}

/* The word as a question has it: without its mark, in the singular. */
static char *bare_word(struct arena *a, const char *typed)
{
	size_t n = strcspn(typed, "?!.,;");

	if (n > 3 && typed[n - 1] == 's' && typed[n - 2] != 's')
		n--;
	return arena_memdup(a, typed, n);
}

/* How many of the words the answer has; 0 unless they are more than half. */
static int answer_fit(const struct answer *w, char *const *words, int n)
{
	int fit = 0;

	for (int i = 0; i < n; i++)
		fit += word_is_in(w->question, words[i]) ||
		       word_is_in(w->words, words[i]);
	return 2 * fit > n ? fit : 0;
}

int answers_print(struct arena *a, FILE *out, const char *intro, char **typed, int n)
{
	char **words = NEWN(a, char *, n + 1);
	int nwords = 0, best = 1, shown = 0;

	for (int i = 0; i < n; i++)
		if (!is_filler(typed[i]))
			words[nwords++] = bare_word(a, typed[i]);
	for (size_t i = 0; i < N(answers); i++) {
		int fit = answer_fit(&answers[i], words, nwords);

		best = fit > best ? fit : best;
	}
	for (size_t i = 0; i < N(answers); i++) {
		const struct answer *w = &answers[i];

		if (answer_fit(w, words, nwords) < best)
			continue;
		fprintf(out, "%s%s\n", shown++ == 0 ? intro : "\n", w->question);
		if (w->command[0] != '\0')
			fprintf(out, "  %s\n", w->command);
		fprintf(out, "  man 7 locus-admin, \"%s\"\n", w->section);
	}
	return shown;
}

/* Returns the number of words in the name if the words begin with it, else 0. */
static int words_match(const char *name, char **words, int n)
{
	int i = 0;

	while (*name != '\0') {
		size_t len = strcspn(name, " ");

		if (i == n || strlen(words[i]) != len ||
		    memcmp(words[i], name, len) != 0)
			return 0;
		name += len + strspn(name + len, " ");
		i++;
	}
	return i;
}

const struct cmd *command_find(
    const struct cmd *const *all, char **words, int n, int *used)
{
	const struct cmd *found = NULL;

	*used = 0;
	for (size_t i = 0; all[i] != NULL; i++) {
		int matching = words_match(all[i]->name, words, n);

		if (matching > *used) {
			*used = matching;
			found = all[i];
		}
	}
	return found;
}

void help_columns(const struct cmd *c)
{
	printf("locus %s", c->name);
	if (text_only_reason(c) != NULL)
		printf(" prints text only: %s\n", text_only_reason(c));
	else if (c->columns == NULL)
		printf(
		    " has a tree: -o tsv prints a line for each value, its path and itself\n");
	else
		printf("\n");
	for (const struct print_column *l = c->columns; l != NULL && l->key != NULL;
	     l++)
		printf("  %-24s%s%s\n", l->key, l->help == NULL ? "" : " ",
		    l->help == NULL ? "" : l->help);
}

void help_command(const struct cmd *c)
{
	printf("usage: locus %s%s%s%s\n\n%s\n", c->name,
	    c->opts == NULL ? "" : " [OPTION ...]", c->args[0] == '\0' ? "" : " ",
	    c->args, c->about);
	if (c->details != NULL)
		printf("\n%s\n", c->details);
	if (c->opts != NULL) {
		printf("\nOptions:\n");
		args_help(c->opts, 26);
	}
	if (c->columns != NULL)
		printf(
		    "\nColumns of -o tsv, keys of -o json: locus help %s --columns\n",
		    c->name);
}

static const struct {
	const char *name, *reason;
} text_only[] = {
#define TEXT_ONLY(command, reason) { command, reason },
#include "tools/text_only.def"
#undef TEXT_ONLY
};

const char *text_only_reason(const struct cmd *c)
{
	for (size_t i = 0; i < N(text_only); i++)
		if (strcmp(text_only[i].name, c->name) == 0)
			return text_only[i].reason;
	return NULL;
}
