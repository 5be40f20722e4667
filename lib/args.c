/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/args.h"

#include <getopt.h>
#include <stdio.h>
#include <string.h>
#include "lib/banned.h"

enum { FIRST = 256, HELP_COLUMN = 31 };

struct reading {
	struct args *g;
	struct fail *f;
	struct field *fields; /* of all tables; getopt_long() returns FIRST + index */
	void **rows;          /* that they fill */
	bool *given;
	struct option *longs;
	char *shorts;
	size_t n;
	bool help, version;
};

static const struct field shown[] = {
	{ "version", FIELD_OF(struct reading, version), .letter = 'V',
	    .help = "show the version" },
	{ "help", FIELD_OF(struct reading, help), .letter = 'h',
	    .help = "show this list" },
	{ 0 },
};

/* The last table has no --version if there is none. */
static const struct field *args_table(const struct args *g, int i)
{
	static const struct field none[] = { { 0 } };
	const struct field *last = g->version == NULL ? shown + 1 : shown;
	const struct field *t = i == 0 ? g->own : i == 1 ? g->common : last;

	return t == NULL ? none : t;
}

static void reading_begin(struct reading *r)
{
	struct args *g = r->g;
	struct arena *a = g->a;
	void *rows[] = { g->own_row, g->common_row, r };
	size_t n = 0;

	for (int i = 0; i < 3; i++)
		for (const struct field *o = args_table(g, i); o->name != NULL; o++)
			n++;
	r->fields = NEWN(a, struct field, n + 1);
	r->rows = NEWN(a, void *, n);
	r->given = NEWN(a, bool, n);
	r->longs = NEWN(a, struct option, n + 1);
	/* "+": stops at the first word. */
	r->shorts = arena_strdup(a, g->stops || g->one_dash ? "+:" : ":");
	for (int i = 0; i < 3; i++) {
		field_defaults(a, args_table(g, i), rows[i]);
		for (const struct field *o = args_table(g, i); o->name != NULL; o++) {
			r->fields[r->n] = *o;
			r->rows[r->n] = rows[i];
			r->longs[r->n] = (struct option){ o->name,
				o->maybe ? optional_argument : o->value != NULL, NULL,
				FIRST + (int)r->n };
			r->n++;
			if (o->letter != 0)
				r->shorts = arena_printf(a, "%s%c%s", r->shorts,
				    o->letter, o->value == NULL ? "" : ":");
		}
	}
}

/* getopt_long() only says that the option is unknown; this also names a similar one. */
static enum err unknown_option(struct reading *r, const char *typed)
{
	char *word = arena_strdup(r->g->a, typed + strspn(typed, "-"));
	const char *near;

	word[strcspn(word, "=")] = '\0';
	field_find(r->fields, word, false, &near);
	return FAIL(r->f, E_BADREQ, "unrecognized option '%s'%s%s%s", typed,
	    near == NULL ? "" : ", did you mean --", near == NULL ? "" : near,
	    near == NULL ? "" : "?");
}

/* Makes -one-pass --one_pass, as getopt_long() knows it. */
static enum err two_dashes(struct reading *r, char **word)
{
	const struct field *o;
	const char *near;

	if (*word == NULL || (*word)[0] != '-' || (*word)[1] == '\0' ||
	    ((*word)[1] != '-' && (*word)[2] == '\0'))
		return OK;
	o = field_find(r->fields, *word + ((*word)[1] == '-' ? 2 : 1), true, &near);
	if (o == NULL)
		return unknown_option(r, *word);
	*word = arena_printf(r->g->a, "--%s", o->name);
	return OK;
}

static enum err wrong_option(struct reading *r, int c, char **argv)
{
	const char *word = argv[optind - 1];

	if (c == ':')
		return FAIL(r->f, E_BADREQ, "option %s needs a value", word);
	if (optopt >= FIRST)
		return FAIL(r->f, E_BADREQ, "--%s takes no value",
		    r->fields[optopt - FIRST].name);
	return unknown_option(
	    r, optopt == 0 ? word : arena_printf(r->g->a, "-%c", optopt));
}

/* The text of an option's value. */
static char *value_of(struct reading *r, const struct field *o, char **argv)
{
	if (o->type == FIELD_PAIR)
		return arena_printf(r->g->a, "%s %s", optarg,
		    argv[optind] == NULL ? "" : argv[optind++]);
	return optarg != NULL ? optarg : arena_strdup(r->g->a, "");
}

/* Sets the option that getopt_long() has found. */
static enum err set_option(struct reading *r, int c, char **argv)
{
	struct arena *a = r->g->a;
	size_t i = c < FIRST ? 0 : (size_t)(c - FIRST);
	const struct field *o;
	const char *name, *takes;
	char *text;

	while (c < FIRST && r->fields[i].letter != c)
		i++;
	o = &r->fields[i];
	name = c < FIRST ? arena_printf(a, "-%c", c) : arena_printf(a, "--%s", o->name);
	if (r->g->once && r->given[i] && o->value != NULL && o->take == NULL &&
	    o->type != FIELD_LIST)
		return FAIL(
		    r->f, E_BADREQ, "%s is given twice: it has one value", name);
	r->given[i] = true;
	text = value_of(r, o, argv);
	takes = field_set(a, o, r->rows[i], text);
	if (takes == NULL)
		return OK;
	return r->g->must ?
	           FAIL(r->f, E_BADREQ, "%s %.40s: it must be %s", name, text, takes) :
	           FAIL(
		       r->f, E_BADREQ, "%s takes %s, not \"%.60s\"", name, takes, text);
}

static enum err read_options(struct reading *r, int argc, char **argv)
{
	enum err e = OK;
	int c = 0;

	opterr = 0;
	optind = 0;
	while (e == OK) {
		if (r->g->one_dash)
			TRY(two_dashes(r, &argv[optind == 0 ? 1 : optind]));
		c = getopt_long(argc, argv, r->shorts, r->longs, NULL);
		if (c == -1)
			break;
		e = c == ':' || c == '?' ? wrong_option(r, c, argv) :
		                           set_option(r, c, argv);
	}
	return e;
}

static enum err check_words(const struct reading *r)
{
	struct args *g = r->g;
	const char *words = g->words == NULL ?
	                        "" :
	                        arena_printf(g->a, ": %s %s", g->program, g->words);

	if ((int)g->nrest < g->min)
		return FAIL(r->f, E_BADREQ, "an argument is missing%s", words);
	if (g->max >= 0 && (int)g->nrest > g->max)
		return FAIL(r->f, E_BADREQ, "unexpected argument \"%s\"%s",
		    g->rest[g->max], words);
	for (size_t i = 0; i < r->n; i++)
		if (r->fields[i].required && !r->given[i])
			return FAIL(r->f, E_BADREQ, "--%s %s is required",
			    r->fields[i].name, r->fields[i].value);
	return OK;
}

enum args_end args_read(struct args *g, int argc, char **argv, struct fail *f)
{
	struct reading r = { .g = g, .f = f };

	reading_begin(&r);
	if (read_options(&r, argc, argv) != OK)
		return ARGS_WRONG;
	g->rest = argv + optind;
	g->nrest = (size_t)(argc - optind);
	if (r.help || r.version)
		return r.help ? ARGS_HELP : ARGS_VERSION;
	return check_words(&r) == OK ? ARGS_RUN : ARGS_WRONG;
}

void args_help(const struct field *o, int column)
{
	for (; o->name != NULL; o++) {
		int n = o->letter == 0 ? printf("  ") : printf("  -%c, ", o->letter);

		n += printf("--%s%s%s%s", o->name,
		    o->maybe         ? "[=" :
		    o->value == NULL ? "" :
				       " ",
		    o->value == NULL ? "" : o->value, o->maybe ? "]" : "");
		printf("%*s%s", n < column ? column - n : 1, "", o->help);
		if (o->def != NULL && o->type != FIELD_PAIR)
			printf(" [%s]", o->def);
		printf("\n");
	}
}

int args_answer(const struct args *g, enum args_end end, const struct fail *f)
{
	switch (end) {
	case ARGS_RUN:
		return -1;
	case ARGS_HELP:
		printf("%s", g->usage);
		for (int i = 0; i < 3; i++)
			args_help(args_table(g, i), HELP_COLUMN);
		return 0;
	case ARGS_VERSION:
		printf("%s\n", g->version);
		return 0;
	case ARGS_WRONG:
		break;
	}
	fprintf(stderr, "%s: %s\nTry %s --help.\n", g->program, f->detail, g->program);
	return EXIT_USAGE;
}
