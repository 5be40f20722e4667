/* SPDX-License-Identifier: Apache-2.0 */
/* locus config get, explain and show. */
#include <stdio.h>
#include <string.h>
#include "model/conf_doc.h"
#include "tools/conf_text.h"
#include "tools/config_key.h"
#include "tools/print/print.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { CONF_MAX = 4 << 20 };

/* --- get --- */

struct get_opts {
	bool secrets;
};

#define SECRETS_OPTION(T)                                                              \
	{                                                                              \
		"secrets", OPT_FLAG, offsetof(T, secrets), NULL,                       \
		    "Prints passwords and other secrets, too."                         \
	}

static const struct opt get_options[] = {
	SECRETS_OPTION(struct get_opts),
	{ 0 },
};

static const struct print_column get_columns[] = {
	{ "option", NULL, PRINT_TEXT, NULL },
	{ "value", NULL, PRINT_TEXT,
	    "an option with several values has a row for each" },
	{ "set", NULL, PRINT_FLAG, "false: it is the default" },
	{ 0 },
};

static void
show_value(struct print *l, const char *name, const char *value, bool set)
{
	print_cells(l, name, value, set);
	print_line(l, NULL, "%s", value);
}

/* Is the option in the file, even with the value of its default? */
static bool
is_in_file(struct cmd_ctx *x, const char *name)
{
	struct conf_text_value *v;
	struct fail f = { 0 };
	char *text;
	size_t n;

	return fs_read(x->a, x->cf->path, CONF_MAX, &text, NULL, &f) == OK &&
	       conf_text_values(x->a, text, name, &v, &n, &f) == OK && n > 0;
}

static void
put_values(
    struct cmd_ctx *x, struct print *l, const struct config_key *k, size_t number)
{
	const struct conf_list *list;
	const struct conf_patterns *patterns;
	const void *field;
	bool set;

	if (k->opt == NULL) {
		show_value(l, k->name, config_key_value(x->a, x->cf, k, number), true);
		return;
	}
	set = is_in_file(x, k->name);
	field = (const char *)x->cf + k->opt->off;
	list = field;
	patterns = field;
	if (!conf_is_repeated(k->opt))
		show_value(l, k->name, conf_value(x->a, x->cf, k->opt), set);
	else if (k->opt->type == CONF_LIST)
		for (size_t i = 0; i < list->n; i++)
			show_value(l, k->name, list->v[i], set);
	else
		for (size_t i = 0; i < patterns->n; i++)
			show_value(l, k->name, pattern_text(patterns->v[i]), set);
}

static enum err
config_get_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct get_opts *o = opts;
	struct config_key k;
	struct print *l;
	size_t number = 0;

	(void)n;
	TRY(config_key_read(x, args[0], &k));
	TRY(ctx_conf(x));
	if (k.sub != NULL)
		TRY(config_key_item(x, x->cf, &k, &number));
	if (config_key_secret(&k) && !o->secrets)
		return ctx_usage(
		    x, "%s is a secret; add --secrets to print it", k.name);
	l = print_list(x, get_columns);
	put_values(x, l, &k, number);
	print_end(l);
	return OK;
}

const struct cmd cmd_config_get = { .name = "config get",
	.args = "OPTION",
	.min_args = 1,
	.max_args = 1,
	.purpose = "print the value of an option",
	.about =
	    "Prints the value that an option of config.xml has, its default if it is not set.\n"
	    "Several values are printed on lines of their own. daemon.NAME.ELEMENT and\n"
	    "task.NAME.ELEMENT are the elements of a daemon or task: daemon.transitioner.cmd.",
	.opts = get_options,
	.opts_size = sizeof(struct get_opts),
	.columns = get_columns,
	.anywhere = true,
	.run = config_get_run };

/* --- explain --- */

static const struct print_column explain_columns[] = {
	{ "option", NULL, PRINT_TEXT, NULL },
	{ "value", NULL, PRINT_TEXT, "empty outside of a project, and for secrets" },
	{ "default", NULL, PRINT_TEXT, NULL },
	{ "type", NULL, PRINT_TEXT, NULL },
	{ "minimum", NULL, PRINT_REAL, "of numbers, and of the length of texts" },
	{ "maximum", NULL, PRINT_REAL, NULL },
	{ "read_by", NULL, PRINT_TEXT, "programs that use it" },
	{ "takes_effect", NULL, PRINT_TEXT, NULL },
	{ "no_effect_because", NULL, PRINT_TEXT,
	    "set if the option is only known by name" },
	{ "restricts_access", NULL, PRINT_FLAG, "a change never waits for a restart" },
	{ "secret", NULL, PRINT_FLAG, "no command prints it unless asked to" },
	{ "meaning", NULL, PRINT_TEXT, NULL },
	{ 0 },
};

static bool
is_guard(const char *name)
{
	for (size_t i = 0; conf_guards[i] != NULL; i++)
		if (strcmp(conf_guards[i], name) == 0)
			return true;
	return false;
}

static bool
has_bounds(const struct conf_opt *o)
{
	return o->type != CONF_IGNORED && o->type != CONF_BOOL && o->max > 0;
}

static void
show_explained(struct cmd_ctx *x, const struct config_key *k)
{
	const struct conf_opt *o = k->opt;
	const char *unit = o->type == CONF_INT || o->type == CONF_DOUBLE ? "" :
	                                                                   " bytes";
	const char *value = x->cf == NULL || conf_is_secret(o) ?
	                        NULL :
	                        conf_value(x->a, x->cf, o);
	const char *when = config_when(x->cf, k);
	bool works = conf_has_effect(o), guards = is_guard(o->name);

	print_record(x, explain_columns, o->name, value, o->def, conf_type_text(o),
	    print_unless(!has_bounds(o), o->min), print_unless(!has_bounds(o), o->max),
	    config_readers(k), when, works ? NULL : o->effect + strlen("none: "),
	    guards, conf_is_secret(o), o->help);
	if (x->format != FORMAT_TABLE)
		return;
	printf("%s\n", o->name);
	doc_fill(o->help, "    ", false);
	printf("\n    type       %s", conf_type_text(o));
	if (has_bounds(o))
		printf(", %.15g to %.15g%s", o->min, o->max, unit);
	printf("\n    default    %s\n", o->def[0] == '\0' ? "(empty)" : o->def);
	if (x->cf != NULL)
		printf("    value      %s\n", value == NULL ? "(hidden)" : value);
	if (!works)
		printf("    effect     none here%s\n", o->effect + strlen("none"));
	else
		printf("    read by    %s\n    a change takes effect %s\n%s", o->effect,
		    when,
		    guards ?
			"    restricts access: a change never waits for a restart\n" :
			"");
}

static enum err
config_explain_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct fail unused = { 0 }, *f = x->f;
	struct config_key k;

	(void)opts, (void)n;
	TRY(config_key_read(x, args[0], &k));
	if (k.opt == NULL)
		return ctx_usage(x,
		    "%s: the elements of daemons and tasks are in config.xml(5)",
		    k.name);
	x->f = &unused; /* a project is not required */
	if (ctx_conf(x) != OK)
		x->cf = NULL;
	x->f = f;
	show_explained(x, &k);
	return OK;
}

const struct cmd cmd_config_explain = { .name = "config explain",
	.args = "OPTION",
	.min_args = 1,
	.max_args = 1,
	.purpose = "explain an option",
	.about =
	    "Explains an option of config.xml: meaning, type, bounds, default, its value in this\n"
	    "project, the programs that read it, and when a change takes effect. Needs no project.",
	.columns = explain_columns,
	.anywhere = true,
	.run = config_explain_run };

/* --- show --- */

struct show_opts {
	bool all, changed, defaults, secrets;
};

#define FIELD(name) offsetof(struct show_opts, name)
static const struct opt show_options[] = {
	{ "non-default", OPT_FLAG, FIELD(changed), NULL,
	    "Only options that differ from their defaults; this is the default." },
	{ "defaults", OPT_FLAG, FIELD(defaults), NULL,
	    "The defaults of all options that have an effect. Needs no project." },
	{ "all", OPT_FLAG, FIELD(all), NULL,
	    "Also show options that have their default." },
	SECRETS_OPTION(struct show_opts),
	{ 0 },
};
#undef FIELD

static const struct print_column show_columns[] = {
	{ "option", NULL, PRINT_TEXT, NULL },
	{ "value", NULL, PRINT_TEXT,
	    "several values are separated by blanks; null for secrets" },
	{ "default", NULL, PRINT_TEXT, NULL },
	{ 0 },
};

static bool
is_shown(const struct show_opts *o, const struct conf_opt *c, const char *value)
{
	if (o->defaults)
		return conf_has_effect(c);
	return o->all || strcmp(value, c->def) != 0;
}

static enum err
show_lines(struct cmd_ctx *x, const struct show_opts *o)
{
	struct print *l;

	if (o->defaults && (o->all || o->changed))
		return ctx_usage(x, "-d and --all or -n exclude each other");
	if (o->changed && o->all)
		return ctx_usage(x, "-n and --all exclude each other");
	if (!o->defaults)
		TRY(ctx_conf(x));
	l = print_list(x, show_columns);
	for (size_t i = 0; i < conf_nopts; i++) {
		const struct conf_opt *c = &conf_opts[i];
		const char *v = o->defaults ? c->def : conf_value(x->a, x->cf, c);

		if (!is_shown(o, c, v))
			continue;
		if (!o->defaults && !o->secrets && conf_is_secret(c))
			v = NULL;
		print_cells(l, c->name, v, c->def);
		print_line(l, NULL, "%s = %s", c->name, v == NULL ? "(hidden)" : v);
	}
	print_end(l);
	return OK;
}

static enum err
config_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct show_opts *o = opts;
	const struct get_opts get = { o->secrets };

	if (n == 0)
		return show_lines(x, o);
	if (x->format != FORMAT_TABLE)
		return ctx_usage(x,
		    "for one option in this form, run: locus config get %s", args[0]);
	if (!o->defaults)
		return config_get_run(x, &get, args, n);
	if (conf_find(args[0]) == NULL)
		return config_key_read(x, args[0], &(struct config_key){ 0 });
	printf("%s\n", conf_find(args[0])->def);
	return OK;
}

const struct cmd cmd_config_show = { .name = "config show",
	.args = "[OPTION]",
	.max_args = 1,
	.purpose = "show the configuration",
	.about =
	    "Shows the options that differ from their defaults, or the value of one option.\n"
	    "Secrets are not shown.",
	.letters = "nd",
	.opts = show_options,
	.opts_size = sizeof(struct show_opts),
	.columns = show_columns,
	.anywhere = true,
	.run = config_show_run };
