/* SPDX-License-Identifier: Apache-2.0 */
/* Which forms of output the commands of locus have. */
#include "test/unit/unit.h"

#include <unistd.h>
#include "tools/cmd.h"
#include "tools/json.h"
#include "tools/listing.h"
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

START_TEST(every_name_is_a_command)
{
	for (size_t i = 0; i < N(names); i++) {
		size_t hits = 0;

		for (const struct cmd *const *c = commands_all(); *c != NULL; c++)
			hits += strcmp((*c)->name, names[i]) == 0;
		ck_assert_msg(
		    hits == 1, "text_only.def: there is no locus %s", names[i]);
	}
}
END_TEST

/* Keys are lower case words, and each is there once. */
START_TEST(keys_are_sound)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_";

	for (const struct cmd *const *c = commands_all(); *c != NULL; c++)
		for (const struct listing_column *k = (*c)->columns;
		     k != NULL && k->key != NULL; k++) {
			ck_assert_msg(strspn(k->key, allowed) == strlen(k->key),
			    "locus %s: key %s", (*c)->name, k->key);
			for (const struct listing_column *l = k + 1; l->key != NULL;
			     l++)
				ck_assert_msg(strcmp(k->key, l->key) != 0,
				    "locus %s: key %s twice", (*c)->name, k->key);
		}
}
END_TEST

START_TEST(tree_as_tsv)
{
	char path[] = "/tmp/locus-tree.XXXXXX", *text;
	int fd = mkstemp(path), was = dup(1);
	struct arena a = { 0 };
	struct fail f = { 0 };

	fflush(stdout);
	dup2(fd, 1);
	json_show(FORMAT_TSV,
	    json_pack("{s:i, s:{s:s, s:n}, s:[{s:b}, f], s:[], s:{}}", "n", 7, "sub",
		"text", "a\tb\nc", "none", "list", "flag", 1, 0.5, "empty", "void"));
	fflush(stdout);
	dup2(was, 1);
	ck_assert_int_eq(fs_read(&a, path, 4096, &text, NULL, &f), OK);
	ck_assert_str_eq(text,
	    "path\tvalue\nn\t7\nsub.text\ta\\tb\\nc\nsub.none\t\nlist.0.flag\ttrue\nlist.1\t0.5\n");
	unlink(path);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("commands", {
	ADD(every_command_has_one_form);
	ADD(every_name_is_a_command);
	ADD(keys_are_sound);
	ADD(tree_as_tsv);
})
