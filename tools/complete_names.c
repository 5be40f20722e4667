/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/complete_names.h"

#include <stdio.h>
#include <string.h>
#include "db/stmts.h"
#include "db/work_list.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { NAMES_MOST = 200 };

static const struct {
	const char *noun;
	enum stmt_id stmt;
} kinds[] = {
#define KIND(noun, stmt)                                                               \
	{                                                                              \
		noun, SQL_LIKE(stmt, APP_NAMES)                                        \
	}
	KIND("app", APP_NAMES),
	KIND("batch", BATCH_NAMES),
	KIND("file", FILESET_NAMES),
	KIND("job", RESULT_NAMES),
	KIND("node", NODE_NAMES),
	KIND("platform", PLATFORM_NAMES),
	KIND("team", TEAM_NAMES),
	KIND("user", USER_ADDRESSES),
	KIND("work", WORKUNIT_NAMES),
#undef KIND
};

/* Placeholders in a synopsis that say what they name in every command. */
static const char *const placeholders[][2] = {
	{ "APP", "app" },
	{ "[APP]", "app" },
	{ "BATCH", "batch" },
	{ "EMAIL|ID", "user" },
	{ "PLATFORM[:CLASS]", "platform" },
	{ "[PLATFORM[:CLASS]]", "platform" },
	{ "OPTION", "option" },
	{ "[OPTION]", "option" },
	{ "WORKUNIT", "work" },
};

/* A kind that is named by a word of this length; N(kinds) if there is none. */
static size_t
kind_of(const char *word, size_t len)
{
	size_t i = 0;

	while (i < N(kinds) &&
	       (strncmp(kinds[i].noun, word, len) != 0 || kinds[i].noun[len] != '\0'))
		i++;
	return i;
}

/* The thing that "file show NAME" names is a file; "app add NAME" names none yet. */
static const char *
noun_of_command(const char *name)
{
	const char *verb = strrchr(name, ' ');

	if (verb == NULL || strcmp(verb, " add") == 0)
		return NULL;
	for (const char *word = name; *word != '\0';) {
		size_t len = strcspn(word, " "), kind = kind_of(word, len);

		if (kind < N(kinds))
			return kinds[kind].noun;
		word += len + (word[len] == ' ');
	}
	return NULL;
}

/* The placeholder of an argument: "APP" of "APP VERSION FILE ..."; the last repeats. */
static const char *
placeholder(struct arena *a, const char *synopsis, size_t n)
{
	const char *word = synopsis;
	size_t len = strcspn(word, " ");

	while (n-- > 0 && word[len] == ' ' && strcmp(word + len, " ...") != 0) {
		word += len + 1;
		len = strcspn(word, " ");
	}
	return arena_memdup(a, word, len);
}

const char *
complete_noun_of_arg(struct arena *a, const struct cmd *c, size_t n)
{
	const char *is = placeholder(a, c->args, n);

	if (c->max_args >= 0 && n >= (size_t)c->max_args)
		return NULL;
	for (size_t i = 0; i < N(placeholders); i++)
		if (strcmp(placeholders[i][0], is) == 0)
			return placeholders[i][1];
	if (strcmp(is, "FILE") == 0 && strncmp(c->name, "trigger ", 8) == 0)
		return "file";
	if (strcmp(is, "NAME") == 0 || strcmp(is, "NAME|ID") == 0)
		return noun_of_command(c->name);
	return NULL;
}

const char *
complete_noun_of_option(const char *option)
{
	size_t kind = kind_of(option, strlen(option));

	return kind < N(kinds) ? kinds[kind].noun : NULL;
}

static void
offer_config(const char *begun)
{
	for (size_t i = 0; i < conf_nopts; i++)
		if (strncmp(conf_opts[i].name, begun, strlen(begun)) == 0)
			puts(conf_opts[i].name);
}

enum err
complete_names(struct cmd_ctx *x, const char *noun, const char *begun)
{
	size_t kind = kind_of(noun, strlen(noun)), n;
	struct row_text *names = NULL;

	if (strcmp(noun, "option") == 0)
		offer_config(begun);
	/* A pattern of the shell is not what a name begins with. */
	if (kind == N(kinds) || strpbrk(begun, "*?") != NULL)
		return OK;
	TRY(ctx_db(x));
	TRY(db_query_like(x->db, x->a, x->f, &names, &n, kinds[kind].stmt, APP_NAMES,
	    .pattern = work_like(x->a, arena_printf(x->a, "%s*", begun)),
	    .max = NAMES_MOST));
	/* bash puts a name into the line as it is, and root presses return. */
	for (size_t i = 0; i < n; i++)
		if (text_is_plain(names[i].s))
			puts(names[i].s);
	return OK;
}
