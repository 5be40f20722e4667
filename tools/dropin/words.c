/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of a tool, taken apart by its options, and the command of ours that
 * it becomes. */
#include <string.h>
#include "lib/text.h"
#include "tools/dropin/dropin.h"
#include "lib/banned.h"

static const struct dropin_option options[] = {
#define TOOL(name, of, args, min, max, ours, purpose)
#define OPTION(of, name, arg, how, text) { of, name, arg, how, text },
#include "tools/dropin/dropin.def"
#undef TOOL
#undef OPTION
};

const struct dropin_option *
dropin_options(size_t *n)
{
	*n = N(options);
	return options;
}

/* Compares a name of n bytes, in which "-" and "_" are one. */
static bool
is_name(const char *typed, size_t n, const char *name)
{
	size_t i = 0;

	for (; i < n && name[i] != '\0'; i++)
		if ((typed[i] == '-' ? '_' : typed[i]) != name[i])
			return false;
	return i == n && name[i] == '\0';
}

static const struct dropin_option *
option_of_tool(const struct dropin_tool *t, const char *typed, size_t n)
{
	for (size_t i = 0; i < N(options); i++)
		if (strcmp(options[i].of, t->of) == 0 &&
		    is_name(typed, n, options[i].name))
			return &options[i];
	return NULL;
}

static enum err
fail_unknown(struct arena *a, const struct dropin_tool *t, const char *word, size_t n,
    struct fail *f)
{
	const char *best = NULL, *typed = arena_memdup(a, word + strspn(word, "-"), n);
	size_t least = (size_t)-1;

	for (size_t i = 0; i < N(options); i++)
		if (strcmp(options[i].of, t->of) == 0 &&
		    near_offer(typed, options[i].name, &least))
			best = options[i].name;
	if (best != NULL)
		return FAIL(f, E_BADREQ,
		    "unknown command line argument: %s (did you mean --%s?)", word,
		    best);
	return FAIL(f, E_BADREQ, "unknown command line argument: %s", word);
}

static enum err
check_utf8(const char *text, struct fail *f)
{
	for (const char *p = text; *p != '\0';) {
		size_t n = text_utf8(p);

		if (n == 0)
			return FAIL(f, E_BADREQ,
			    "\"%.100s\" is not UTF-8: byte %zu is not part of a character",
			    text, (size_t)(p - text) + 1);
		p += n;
	}
	return OK;
}

/* Takes the option at words[0]; *used counts what it consists of. */
static enum err
take_typed_option(struct arena *a, const struct dropin_tool *t, char **words,
    size_t *used, struct dropin_words *to, struct fail *f)
{
	const char *name = words[0] + strspn(words[0], "-"), *value = "";
	size_t n = strcspn(name, "=");
	const struct dropin_option *o = option_of_tool(t, name, n);

	*used = 1;
	if (o == NULL)
		return fail_unknown(a, t, words[0], n, f);
	if (o->how == NOT)
		return FAIL(
		    f, E_BADREQ, "%s is not possible here: %s", words[0], o->text);
	if (o->arg == NULL && name[n] == '=')
		return FAIL(f, E_BADREQ, "%s takes no value", words[0]);
	if (o->arg != NULL && name[n] == '=') {
		value = name + n + 1;
	} else if (o->arg != NULL) {
		if (words[1] == NULL)
			return FAIL(
			    f, E_BADREQ, "%s needs a value: %s", words[0], o->arg);
		value = words[1];
		*used = 2;
	}
	PUSH(a, to->given, to->ngiven, to->given_cap) = (struct dropin_given){ o,
		value };
	return OK;
}

enum err
dropin_parse(struct arena *a, const struct dropin_tool *t, char **words,
    struct dropin_words *to, struct fail *f)
{
	bool ended = false;
	size_t used;

	*to = (struct dropin_words){ 0 };
	for (; *words != NULL; words += used) {
		used = 1;
		TRY(check_utf8(*words, f));
		if (!ended && strcmp(*words, "--") == 0)
			ended = true;
		else if (ended || (*words)[0] != '-' || (*words)[1] == '\0')
			PUSH(a, to->words, to->n, to->cap) = *words;
		else
			TRY(take_typed_option(a, t, words, &used, to, f));
		if (used == 2)
			TRY(check_utf8(words[1], f));
	}
	if (to->n < (size_t)t->min)
		return FAIL(
		    f, E_BADREQ, "an argument is missing: %s %s", t->name, t->args);
	if (t->max >= 0 && to->n > (size_t)t->max)
		return FAIL(f, E_BADREQ, "unknown command line argument: %s",
		    to->words[t->max]);
	return OK;
}

const char *
dropin_value(const struct dropin_words *w, const char *name)
{
	for (size_t i = w->ngiven; i-- > 0;)
		if (strcmp(w->given[i].option->name, name) == 0)
			return w->given[i].value;
	return NULL;
}

enum err
dropin_locus(struct dropin *d, const char *const *words)
{
	struct arena *a = d->x->a;
	struct cmd_ctx x = { .a = a,
		.f = d->x->f,
		.commands = d->x->commands,
		.project = d->x->project };
	char **argv;
	int n = 0, argc = 0;

	while (words[n] != NULL)
		n++;
	argv = NEWN(a, char *, (size_t)n + 4);
	argv[argc++] = arena_strdup(a, "locus");
	if (x.project != NULL) {
		argv[argc++] = arena_strdup(a, "-p");
		argv[argc++] = arena_strdup(a, x.project);
	}
	for (int i = 0; i < n; i++)
		argv[argc++] = arena_strdup(a, words[i]);
	d->x->status = d->locus(&x, argc, argv);
	return OK;
}
