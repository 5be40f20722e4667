/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus completion: the scripts for bash and zsh. They ask locus itself for what may
 * follow, so they never differ from the table of commands, and offer what is in the
 * project.
 */
#include "tools/completion.h"

#include <stdio.h>
#include <string.h>
#include "db/stmts.h"
#include "db/work_list.h"
#include "lib/text.h"
#include "tools/cmd.h"
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
static size_t kind_of(const char *word, size_t len)
{
	size_t i = 0;

	while (i < N(kinds) &&
	       (strncmp(kinds[i].noun, word, len) != 0 || kinds[i].noun[len] != '\0'))
		i++;
	return i;
}

/* The thing that "file show NAME" names is a file; "app add NAME" names none yet. */
static const char *noun_of_command(const char *name)
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
static const char *placeholder(struct arena *a, const char *synopsis, size_t n)
{
	const char *word = synopsis;
	size_t len = strcspn(word, " ");

	while (n-- > 0 && word[len] == ' ' && strcmp(word + len, " ...") != 0) {
		word += len + 1;
		len = strcspn(word, " ");
	}
	return arena_memdup(a, word, len);
}

/*
 * What an argument names, as a key of complete_names(): "app", "file", "option". n:
 * how many arguments come before it. NULL: nothing that has names.
 */
static const char *complete_noun_of_arg(struct arena *a, const struct cmd *c, size_t n)
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

/* The same for the value of an option, without its dashes. */
static const char *complete_noun_of_option(const char *option)
{
	size_t kind = kind_of(option, strlen(option));

	return kind < N(kinds) ? kinds[kind].noun : NULL;
}

/*
 * Prints the names that begin like this, a line for each, at most 200. Connects to the
 * project's database if the names are there.
 */
static enum err complete_names(struct cmd_ctx *x, const char *noun, const char *begun)
{
	size_t kind = kind_of(noun, strlen(noun)), n;
	struct row_text *names = NULL;

	if (strcmp(noun, "option") == 0) {
		for (size_t i = 0; i < conf_nopts; i++)
			if (strncmp(conf_opts[i].name, begun, strlen(begun)) == 0)
				puts(conf_opts[i].name);
	}
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

static const char bash_script[] =
    "# Completion of locus for bash: eval \"$(locus completion bash)\"\n"
    "_locus() {\n"
    "\tlocal IFS=$'\\n'\n"
    "\tCOMPREPLY=($(\"${COMP_WORDS[0]}\" completion next -- \"${COMP_WORDS[@]:1:COMP_CWORD}\" 2>/dev/null))\n"
    "}\n"
    "complete -o default -F _locus locus\n";

static const char zsh_script[] =
    "#compdef locus\n"
    "# Completion of locus for zsh: eval \"$(locus completion zsh)\"\n"
    "_locus() {\n"
    "\tlocal -a next\n"
    "\tnext=(\"${(@f)$(\"${words[1]}\" completion next -- \"${(@)words[2,CURRENT]}\" 2>/dev/null)}\")\n"
    "\tif [[ -n ${next[1]} ]]; then compadd -a next; else _files; fi\n"
    "}\n"
    "if [[ ${funcstack[1]} == _locus ]]; then _locus \"$@\"; else compdef _locus locus; fi\n";

/* Options that every command has. */
static const char *const common[] = { "--project", "--output", "--color", "--help" };

static void offer(const char *candidate, size_t len, const char *begun)
{
	if (strncmp(candidate, begun, strlen(begun)) == 0)
		printf("%.*s\n", (int)len, candidate);
}

/* What -o and --color may be; NULL if the option is another one. */
static const char *const *values_of(const char *option)
{
	static const char *const output[] = { "table", "tsv", "json", NULL };
	static const char *const color[] = { "auto", "always", "never", NULL };

	if (strcmp(option, "-o") == 0 || strcmp(option, "--output") == 0)
		return output;
	return strcmp(option, "--color") == 0 ? color : NULL;
}

/* Does the option take the word after it as its value? */
static bool takes_value(const struct cmd *c, const char *option)
{
	if (strcmp(option, "-p") == 0 || strcmp(option, "--project") == 0 ||
	    values_of(option) != NULL)
		return true;
	for (const struct field *o = c == NULL ? NULL : c->opts;
	     o != NULL && o->name != NULL; o++)
		if (strncmp(option, "--", 2) == 0 && strcmp(option + 2, o->name) == 0)
			return o->value != NULL && !o->maybe;
	return false;
}

static void offer_options(struct arena *a, const struct cmd *c, const char *begun)
{
	for (size_t i = 0; i < N(common); i++)
		offer(common[i], strlen(common[i]), begun);
	for (const struct field *o = c == NULL ? NULL : c->opts;
	     o != NULL && o->name != NULL; o++) {
		char *option = arena_printf(a, "--%s", o->name);

		offer(option, strlen(option), begun);
	}
}

/* What follows the words in a name that begins with them; NULL if it does not. */
static const char *next_word(const char *name, char **words, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(words[i]);

		if (strncmp(name, words[i], len) != 0 || name[len] != ' ')
			return NULL;
		name += len + 1;
	}
	return name;
}

static bool same_first_word(const char *a, const char *b)
{
	size_t n = strcspn(a, " ");

	return n == strcspn(b, " ") && strncmp(a, b, n) == 0;
}

/* Offers the next word of each command that begins with the words; each word once. */
static void offer_words(struct cmd_ctx *x, char **words, size_t n, const char *begun)
{
	for (size_t i = 0; x->commands[i] != NULL; i++) {
		const char *at = next_word(x->commands[i]->name, words, n), *before;
		bool offered = at == NULL;

		for (size_t k = 0; k < i && !offered; k++) {
			before = next_word(x->commands[k]->name, words, n);
			offered = before != NULL && same_first_word(at, before);
		}
		if (!offered)
			offer(at, strcspn(at, " "), begun);
	}
}

struct typed {        /* of the shell, up to the word that has only been begun */
	char **words; /* without options and their values */
	size_t nwords;
	const char *before, *begun;
	const struct cmd *cmd; /* NULL: not typed yet */
	size_t nargs;          /* words after those of the command's name */
};

static void typed_read(struct cmd_ctx *x, char **args, size_t n, struct typed *l)
{
	int used = 0;

	*l = (struct typed){ .words = NEWN(x->a, char *, n + 1),
		.before = n < 2 ? "" : args[n - 2],
		.begun = n == 0 ? "" : args[n - 1] };
	for (size_t i = 0; i + 1 < n; i++) {
		if (args[i][0] != '-') {
			l->words[l->nwords++] = args[i];
			continue;
		}
		if (l->nwords > 0)
			l->cmd = command_find(
			    x->commands, l->words, (int)l->nwords, &used);
		if (!takes_value(l->cmd, args[i]))
			continue;
		if ((strcmp(args[i], "-p") == 0 || strcmp(args[i], "--project") == 0) &&
		    i + 2 < n)
			x->project = args[i + 1];
		i++;
	}
	if (l->nwords > 0)
		l->cmd = command_find(x->commands, l->words, (int)l->nwords, &used);
	l->nargs = l->nwords - (size_t)used;
}

/* Offers names of the project; where there are none, the shell offers those of files.
 */
static enum err offer_names(struct cmd_ctx *x, const char *noun, const char *begun)
{
	return noun == NULL ? OK : complete_names(x, noun, begun);
}

/* Offers what may follow the words, the last of which has only been begun. */
static enum err offer_next(struct cmd_ctx *x, char **args, size_t n)
{
	struct typed l;

	typed_read(x, args, n, &l);
	if (values_of(l.before) != NULL)
		for (const char *const *v = values_of(l.before); *v != NULL; v++)
			offer(*v, strlen(*v), l.begun);
	else if (takes_value(l.cmd, l.before))
		return offer_names(x, complete_noun_of_option(l.before + 2), l.begun);
	else if (l.begun[0] == '-')
		offer_options(x->a, l.cmd, l.begun);
	else
		offer_words(x, l.words, l.nwords, l.begun);
	if (l.cmd == NULL || l.begun[0] == '-' || values_of(l.before) != NULL)
		return OK;
	return offer_names(x, complete_noun_of_arg(x->a, l.cmd, l.nargs), l.begun);
}

static enum err completion_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)opts;
	if (strcmp(args[0], "next") == 0)
		return offer_next(x, args + 1, n - 1);
	if (n > 1)
		return ctx_usage(x, "unexpected argument \"%s\"", args[1]);
	if (strcmp(args[0], "bash") == 0)
		printf("%s", bash_script);
	else if (strcmp(args[0], "zsh") == 0)
		printf("%s", zsh_script);
	else
		return ctx_usage(x, "\"%s\": the shells are bash and zsh", args[0]);
	return OK;
}

const struct cmd cmd_completion = { .name = "completion",
	.args = "bash | zsh",
	.min_args = 1,
	.max_args = -1,
	.purpose = "print the completion script of a shell",
	.about =
	    "Prints a script that completes the words of locus. For bash, put eval \"$(locus completion bash)\"\n"
	    "into ~/.bashrc, or the script into /usr/share/bash-completion/completions/locus; for zsh,\n"
	    "eval \"$(locus completion zsh)\" into ~/.zshrc after compinit. The packages install both.",
	.run = completion_run };
