/* SPDX-License-Identifier: Apache-2.0 */
/* Which forms of output the commands of locus have. */
#include "test/unit/unit.h"

#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/proc.h"
#include "tools/cmd.h"
#include "tools/print/print.h"
#include "lib/banned.h"

static const char *const names[] = {
#define TEXT_ONLY(command, reason) command,
#include "tools/text_only.def"
#undef TEXT_ONLY
};

/* A command lists columns, prints a tree, or is named with the reason why not. */
START_TEST(every_command_has_one_form)
{
	for (const struct cmd *const *c = commands_all(); *c != NULL; c++) {
		const char *why = text_only_reason(*c);

		ck_assert_msg((why != NULL) + (*c)->tree + ((*c)->columns != NULL) == 1,
		    "locus %s: columns, .tree or a line in tools/text_only.def",
		    (*c)->name);
		ck_assert_msg(
		    why == NULL || strlen(why) > 20, "locus %s: why?", (*c)->name);
	}
}
END_TEST

/* Is there a command of this whole name, as main() finds it? */
static bool command_is_there(const char *name)
{
	struct arena a = { 0 };
	struct fail f;
	char **words;
	int n = 0, used;

	ck_assert_int_eq(proc_split(&a, name, &words, &f), OK);
	while (words[n] != NULL)
		n++;
	const bool is = command_typed(words, n, &used) != NULL && used == n;
	arena_free(&a);
	return is;
}

START_TEST(every_name_is_a_command)
{
	for (size_t i = 0; i < N(names); i++)
		ck_assert_msg(command_is_there(names[i]),
		    "text_only.def: there is no locus %s", names[i]);
}
END_TEST

START_TEST(plumbing_is_in_no_list)
{
	static const char *const plumbing[] = { "run-logged", "config sample",
		"config man" };

	for (size_t i = 0; i < N(plumbing); i++) {
		ck_assert_msg(command_is_there(plumbing[i]), "%s", plumbing[i]);
		for (const struct cmd *const *c = commands_all(); *c != NULL; c++)
			ck_assert_str_ne((*c)->name, plumbing[i]);
	}
}
END_TEST

/* Keys are lower case words, and each is there once. */
START_TEST(keys_are_sound)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

	for (const struct cmd *const *c = commands_all(); *c != NULL; c++)
		for (const struct print_column *k = (*c)->columns;
		     k != NULL && k->key != NULL; k++) {
			ck_assert_msg(strspn(k->key, allowed) == strlen(k->key),
			    "locus %s: key %s", (*c)->name, k->key);
			for (const struct print_column *l = k + 1; l->key != NULL; l++)
				ck_assert_msg(strcmp(k->key, l->key) != 0,
				    "locus %s: key %s twice", (*c)->name, k->key);
		}
}
END_TEST

/* Runs commands_unknown() on up to four words; returns what it says. */
static char *said_to(struct arena *a, const char *line)
{
	char path[] = "/tmp/locus-said.XXXXXX", *text, *words[4], *rest;
	int fd = mkstemp(path), was = dup(2), n = 0;
	struct cmd_ctx x = { .a = a, .commands = commands_all() };
	struct fail f = { 0 };

	for (char *w = strtok_r(arena_strdup(a, line), " ", &rest); w != NULL && n < 4;
	     w = strtok_r(NULL, " ", &rest))
		words[n++] = w;
	fflush(stderr);
	dup2(fd, 2);
	ck_assert_int_eq(commands_unknown(&x, words, n), EXIT_USAGE);
	fflush(stderr);
	dup2(was, 2);
	close(was);
	close(fd);
	ck_assert_int_eq(fs_read(a, path, 1 << 16, &text, NULL, &f), OK);
	unlink(path);
	return text;
}

/* What was typed, and a part of the answer. */
static const char *const guesses[][2] = {
	{ "file delete sky_1.dat",
	    "\"file delete\"; did you mean \"locus file remove\"?" },
	{ "result", "\n  work show " },
	{ "result show 7", "did you mean \"locus work show\"?" },
	{ "app version withdraw sort", "\n  version withdraw " },
	{ "app version list", "\n  version list " },
	{ "drain node n1", "did you mean \"locus node drain\"?" },
	{ "resume app x", "did you mean \"locus app resume\"?" },
	{ "list work", "did you mean \"locus work list\"?" },
	{ "node pause n1", "did you mean \"locus node drain\"?" },
	{ "account new me@example.org", "did you mean \"locus user add\"?" },
	{ "user remove 7", "did you mean \"locus user delete\"?" },
	{ "computer ban 7", "did you mean \"locus host ban\"?" },
	{ "job retry 7", "did you mean \"locus work retry\"?" },
	{ "host bann 7", "did you mean \"locus host ban\"?" },
	{ "stutas", "did you mean \"locus status\"?" },
	{ "destory stars", "did you mean \"locus destroy\"?" },
	{ "workunit delete 7", "this has to do with it:\n  purge " },
	{ "version", "\"version\" needs a verb:\n  version list " },
	{ "xyzzy", "\"locus help\" lists them" },
};

START_TEST(a_guess_finds_its_command)
{
	struct arena a = { 0 };
	const char *text = said_to(&a, guesses[_i][0]);

	ck_assert_msg(
	    strstr(text, guesses[_i][1]) != NULL, "%s: %s", guesses[_i][0], text);
	arena_free(&a);
}
END_TEST

/*
 * Whatever noun and verb are typed: a command that takes something away is suggested
 * only for its own noun.
 */
START_TEST(no_suggestion_destroys)
{
	static const char *const nouns[] = { "file", "host", "user", "app", "work",
		"batch", "team", "node", "key", "config", "backup", "platform" };
	static const char *const takes[] = { "destroy", "remove", "delete", "ban",
		"cancel", "purge", "reset", "merge", "forget", "expire", "clear",
		"unset", "stop", "restart", "restore" };
	struct arena a = { 0 };

	for (size_t i = 0; i < N(nouns); i++)
		for (size_t k = 0; k < N(takes); k++) {
			char *line = arena_printf(&a, "%s %s", nouns[i], takes[k]);
			const char *text = said_to(&a, line), *as;

			as = strstr(text, "did you mean \"locus ");
			if (as == NULL)
				continue;
			as += strlen("did you mean \"locus ");
			for (size_t t = 0; t < N(takes); t++)
				ck_assert_msg(
				    strstr(as, takes[t]) == NULL ||
					strncmp(as, nouns[i], strlen(nouns[i])) == 0,
				    "%s: %s", line, text);
		}
	arena_free(&a);
}
END_TEST

UNIT_MAIN("commands", {
	ADD_LOOP(a_guess_finds_its_command, N(guesses));
	ADD(no_suggestion_destroys);
	ADD(every_command_has_one_form);
	ADD(every_name_is_a_command);
	ADD(plumbing_is_in_no_list);
	ADD(keys_are_sound);
})
