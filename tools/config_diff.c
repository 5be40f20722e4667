/* SPDX-License-Identifier: Apache-2.0 */
/* locus config diff: options, daemons and tasks of one configuration against another.
 */
#include <stdio.h>
#include <string.h>
#include "tools/config_key.h"
#include "tools/print/print.h"
#include "lib/banned.h"

struct diff_opts {
	bool secrets;
};

static const struct opt diff_options[] = {
	{ "secrets", OPT_FLAG, offsetof(struct diff_opts, secrets), NULL,
	    "Prints passwords and other secrets, too." },
	{ 0 },
};

static const struct print_column diff_columns[] = {
	{ "option", "OPTION", PRINT_TEXT,
	    "daemon.NAME.ELEMENT and task.NAME.ELEMENT for daemons and tasks" },
	{ "from", "FROM", PRINT_TEXT,
	    "the default, or the value in the first file; null if absent" },
	{ "to", "TO", PRINT_TEXT,
	    "the value in the project's or the second file; null if absent" },
	{ 0 },
};

struct config_diff {
	struct cmd_ctx *x;
	struct print *l;
	const struct conf *from, *to; /* from NULL = the defaults */
	bool secrets;
	size_t n;
};

static void
put_change(struct config_diff *d, const char *option, const char *from, const char *to)
{
	if (from != NULL && to != NULL && strcmp(from, to) == 0)
		return;
	print_cells(d->l, option, from, to);
	d->n++;
}

/* Relative paths became absolute when the file was read; this undoes it. */
static const char *
relative_value(const struct conf *cf, const struct conf_opt *o, const char *v)
{
	size_t n = cf == NULL ? 0 : strlen(cf->project_dir);

	if (n == 0 || o->type != CONF_STRING || strncmp(v, cf->project_dir, n) != 0)
		return v;
	return v[n] == '/' ? v + n + 1 : v[n] == '\0' ? "." : v;
}

static void
diff_option(struct config_diff *d, const struct conf_opt *o)
{
	const char *from = d->from == NULL ? o->def : conf_value(d->x->a, d->from, o);
	const char *to = conf_value(d->x->a, d->to, o);

	if (strcmp(from, to) == 0)
		return;
	from = relative_value(d->from, o, from);
	to = relative_value(d->to, o, to);
	if (strcmp(from, to) == 0)
		return;
	if (conf_is_secret(o) && !d->secrets) {
		from = from[0] == '\0' ? "" : "(hidden)";
		to = to[0] == '\0' ? "" : "(hidden: another one)";
	}
	put_change(d, o->name, from, to);
}

static size_t
item_count(const struct conf *cf, bool daemons)
{
	return cf == NULL ? 0 : daemons ? cf->ndaemons : cf->ntasks;
}

static const char *
item_name(const struct conf *cf, bool daemons, size_t i)
{
	return daemons ? cf->daemons[i].name : cf->tasks[i].name;
}

/* The elements of one daemon or task; from or to may lack it. */
static void
diff_item(struct config_diff *d, const char *kind, const char *name)
{
	struct conf_item const *c;
	bool daemons = strcmp(kind, "daemon") == 0;

	for (size_t e = 0; e < conf_nitems; e++) {
		const struct conf *cf[2] = { d->from, d->to };
		const char *v[2] = { NULL, NULL };

		c = &conf_items[e];
		if (strcmp(c->item, kind) != 0 || c->effect[0] != '\0' ||
		    strcmp(c->name, "name") == 0)
			continue;
		for (int k = 0; k < 2; k++)
			for (size_t i = 0; i < item_count(cf[k], daemons); i++)
				if (strcmp(item_name(cf[k], daemons, i), name) == 0)
					v[k] = config_key_value(d->x->a, cf[k],
					    &(struct config_key){ .sub = c }, i);
		if (v[0] == NULL && v[1] != NULL && strcmp(v[1], "0") == 0)
			continue; /* disabled of a new one */
		put_change(d, arena_printf(d->x->a, "%s.%s.%s", kind, name, c->name),
		    v[0], v[1]);
	}
}

static bool
has_item(const struct conf *cf, bool daemons, const char *name)
{
	for (size_t i = 0; i < item_count(cf, daemons); i++)
		if (strcmp(item_name(cf, daemons, i), name) == 0)
			return true;
	return false;
}

static void
diff_items(struct config_diff *d, const char *kind)
{
	bool daemons = strcmp(kind, "daemon") == 0;

	for (size_t i = 0; i < item_count(d->to, daemons); i++)
		diff_item(d, kind, item_name(d->to, daemons, i));
	for (size_t i = 0; i < item_count(d->from, daemons); i++)
		if (!has_item(d->to, daemons, item_name(d->from, daemons, i)))
			diff_item(d, kind, item_name(d->from, daemons, i));
}

/* Loads what is compared: two files, the project and a file, or defaults and project.
 */
static enum err
load_sides(struct config_diff *d, char **args, size_t n)
{
	struct cmd_ctx *x = d->x;
	struct conf *one, *two;

	if (n < 2)
		TRY(ctx_conf(x));
	if (n == 0) {
		d->to = x->cf;
		return OK;
	}
	TRY(conf_load(x->a, args[n - 1], &two, NULL, NULL, x->f));
	d->to = two;
	d->from = x->cf;
	if (n == 2) {
		TRY(conf_load(x->a, args[0], &one, NULL, NULL, x->f));
		d->from = one;
	}
	return OK;
}

static enum err
config_diff_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct diff_opts *o = opts;
	struct config_diff d = { .x = x, .secrets = o->secrets };

	TRY(load_sides(&d, args, n));
	d.l = print_list(x, diff_columns);
	for (size_t i = 0; i < conf_nopts; i++)
		diff_option(&d, &conf_opts[i]);
	diff_items(&d, "daemon");
	diff_items(&d, "task");
	print_end(d.l);
	if (d.n == 0)
		fprintf(stderr, "locus: no difference\n");
	return OK;
}

const struct cmd cmd_config_diff = { .name = "config diff",
	.args = "[[FILE] FILE]",
	.max_args = 2,
	.purpose = "compare configurations",
	.about =
	    "Lists the options, daemons and tasks of the project's config.xml that differ from\n"
	    "the defaults; with one FILE, how FILE differs from the project's; with two, how the\n"
	    "second differs from the first. Secrets are not shown.",
	.opts = diff_options,
	.opts_size = sizeof(struct diff_opts),
	.columns = diff_columns,
	.anywhere = true,
	.run = config_diff_run };
