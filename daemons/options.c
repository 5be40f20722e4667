/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the command line of a daemon from two option tables. */
#include "daemons/options.h"

#include <stdio.h>
#include <string.h>
#include "config.h"
#include "db/schema.h"
#include "lib/text.h"
#include "lib/banned.h"

#define AT(field) offsetof(struct daemon_common, field)
static const struct daemon_option common[] = {
#define OPTION(name, letter, type, field, arg, def, min, max, help)                    \
	{ name, letter, OPTION_##type, AT(field), arg, def, min, max, help, false },
#include "daemons/common_options.def"
#undef OPTION
};

/* An option table and the struct that it fills. */
struct option_table {
	const struct daemon_option *opt;
	size_t n;
	char *base;
};

static enum err
option_number(
    const struct daemon_option *o, const char *text, double *x, struct fail *f)
{
	if (!text_f64(text, x) || !(*x >= o->min && *x <= o->max))
		return FAIL(f, E_BADREQ,
		    "--%s takes a number from %.17g to %.17g, not \"%s\"", o->name,
		    o->min, o->max, text);
	if (o->type != OPTION_REAL && *x != (double)(int64_t)*x)
		return FAIL(f, E_BADREQ, "--%s takes a whole number, not \"%s\"",
		    o->name, text);
	return OK;
}

/* Stores one option whose arguments are v. */
static enum err
option_store(struct arena *a, const struct daemon_option *o, char *base, char **v,
    struct fail *f)
{
	void *field = base + o->off;
	double x = 0, y = 0;
	enum err e = OK;

	switch (o->type) {
	case OPTION_FLAG:
		*(bool *)field = true;
		return OK;
	case OPTION_TEXT:
		*(char **)field = arena_strdup(a, v[0]);
		return OK;
	case OPTION_INT:
		if ((e = option_number(o, v[0], &x, f)) == OK)
			*(int64_t *)field = (int64_t)x;
		return e;
	case OPTION_REAL:
		if ((e = option_number(o, v[0], &x, f)) == OK)
			*(double *)field = x;
		return e;
	case OPTION_PAIR:
		if ((e = option_number(o, v[0], &x, f)) != OK ||
		    (e = option_number(o, v[1], &y, f)) != OK)
			return e;
		if (x < 1 || y >= x)
			return FAIL(f, E_BADREQ, "--%s n i takes n >= 1 and 0 <= i < n",
			    o->name);
		((int64_t *)field)[0] = (int64_t)x;
		((int64_t *)field)[1] = (int64_t)y;
		return OK;
	}
	return FAIL(f, E_BADREQ, "--%s: unknown option type", o->name);
}

static bool
option_named(const char *typed, const char *name)
{
	size_t i = 0;

	for (; typed[i] != '\0' && name[i] != '\0'; i++) {
		char c = typed[i] == '-' ? '_' : typed[i];
		if (c != name[i])
			return false;
	}
	return typed[i] == name[i];
}

static const struct daemon_option *
option_find(
    const struct option_table *parts, size_t nparts, const char *word, char **base)
{
	const char *typed = word + (word[1] == '-' ? 2 : 1);

	for (size_t p = 0; p < nparts; p++) {
		*base = parts[p].base;
		for (size_t i = 0; i < parts[p].n; i++) {
			const struct daemon_option *o = &parts[p].opt[i];
			bool letter = word[1] == o->letter && word[1] != '-' &&
			              word[2] == '\0';
			if ((letter && o->letter != '\0') ||
			    option_named(typed, o->name))
				return o;
		}
	}
	return NULL;
}

static int
option_nargs(const struct daemon_option *o)
{
	return o->type == OPTION_FLAG ? 0 : o->type == OPTION_PAIR ? 2 : 1;
}

static enum err
option_defaults(
    struct arena *a, const struct option_table *parts, size_t nparts, struct fail *f)
{
	for (size_t p = 0; p < nparts; p++) {
		for (size_t i = 0; i < parts[p].n; i++) {
			const struct daemon_option *o = &parts[p].opt[i];
			char *v[2] = { arena_strdup(a, o->def), arena_strdup(a, "0") };
			enum err e = OK;
			if (o->def != NULL)
				e = option_store(a, o, parts[p].base, v, f);
			if (e != OK)
				return e;
		}
	}
	return OK;
}

static enum err
options_parse(struct arena *a, const struct option_table *parts, size_t nparts,
    int argc, char **argv, struct fail *f)
{
	enum err e = option_defaults(a, parts, nparts, f);

	for (int i = 1; i < argc && e == OK; i++) {
		char *base;
		const struct daemon_option *o;
		if (argv[i][0] != '-' || argv[i][1] == '\0')
			return FAIL(f, E_BADREQ, "unexpected argument \"%s\"", argv[i]);
		o = option_find(parts, nparts, argv[i], &base);
		if (o == NULL)
			return FAIL(f, E_BADREQ, "unknown option %s", argv[i]);
		if (i + option_nargs(o) >= argc)
			return FAIL(f, E_BADREQ, "%s takes %s", argv[i], o->arg);
		e = option_store(a, o, base, argv + i + 1, f);
		i += option_nargs(o);
	}
	return e;
}

/* Checks the required options: they are texts, so an option not given is still NULL. */
static enum err
option_check_required(const struct daemon *d, char *own, struct fail *f)
{
	for (size_t i = 0; i < d->noptions; i++) {
		const struct daemon_option *o = &d->options[i];
		if (o->required && *(char **)(void *)(own + o->off) == NULL)
			return FAIL(
			    f, E_BADREQ, "--%s %s is required", o->name, o->arg);
	}
	return d->check == NULL ? OK : d->check(own, f);
}

static void
show_option(const struct daemon_option *o)
{
	char name[80];

	if (o->letter != '\0')
		snprintf(name, sizeof(name), "-%c, --%s%s%s", o->letter, o->name,
		    o->arg != NULL ? " " : "", o->arg != NULL ? o->arg : "");
	else
		snprintf(name, sizeof(name), "--%s%s%s", o->name,
		    o->arg != NULL ? " " : "", o->arg != NULL ? o->arg : "");
	printf("  %-28s %s", name, o->help);
	if (o->def != NULL && o->def[0] != '\0' && o->type != OPTION_PAIR)
		printf(" [%s]", o->def);
	putchar('\n');
}

static void
show_help(const struct daemon *d, const struct option_table *parts, size_t nparts)
{
	printf("usage: %s [options]\n%s\n\n", d->name, d->purpose);
	for (size_t p = nparts; p-- > 0;)
		for (size_t i = 0; i < parts[p].n; i++)
			show_option(&parts[p].opt[i]);
}

/*
 * Without --name an instance is named after its work, such as validator-APP,
 * trickle_handler-VARIETY, or
 * transitioner-1 for --mod 4 1.  So two instances that would do the same work exclude
 * each other, and no others.
 */
static char *
instance_name(
    struct arena *a, const struct daemon *d, const struct daemon_common *c, char *own)
{
	const char *app = NULL;
	char *name;

	for (size_t i = 0; i < d->noptions; i++)
		if (strcmp(d->options[i].name, "app") == 0 ||
		    strcmp(d->options[i].name, "variety") == 0)
			app = *(char **)(void *)(own + d->options[i].off);
	name = app == NULL ? arena_strdup(a, d->name) :
	                     arena_printf(a, "%s-%s", d->name, app);
	return c->mod[0] <= 1 ? name :
	                        arena_printf(a, "%s-%lld", name, (long long)c->mod[1]);
}

enum options_what
options_read(struct arena *a, const struct daemon *d, struct daemon_common *c,
    void *own, int argc, char **argv, struct fail *f)
{
	struct option_table parts[] = {
		{ common, N(common), (char *)c },
		{ d->options, d->noptions, own },
	};

	if (options_parse(a, parts, N(parts), argc, argv, f) != OK)
		return OPTIONS_WRONG;
	if (c->help) {
		show_help(d, parts, N(parts));
		return OPTIONS_SHOWN;
	}
	if (c->version) {
		printf("%s (%s) %s, schema %d\n", d->name, PACKAGE_NAME,
		    PACKAGE_VERSION, (int)SCHEMA_VERSION);
		return OPTIONS_SHOWN;
	}
	if (option_check_required(d, own, f) != OK)
		return OPTIONS_WRONG;
	if (c->dry_run && !d->can_dry_run) {
		FAIL(f, E_BADREQ,
		    "%s has no --dry_run: it cannot tell what it would do", d->name);
		return OPTIONS_WRONG;
	}
	c->work = instance_name(a, d, c, own);
	if (c->name == NULL || c->name[0] == '\0')
		c->name = c->work;
	if (c->mod[0] > 1)
		c->work = arena_printf(a, "%s of %lld", c->work, (long long)c->mod[0]);
	if (strchr(c->name, '/') != NULL || c->name[0] == '.') {
		FAIL(f, E_BADREQ, "--name takes a plain name, not \"%s\"", c->name);
		return OPTIONS_WRONG;
	}
	return OPTIONS_RUN;
}
