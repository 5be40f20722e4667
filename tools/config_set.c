/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus config set and unset. The new text is checked as locus config check does before
 * it replaces the file; only faults that the file did not have before are in the way,
 * so that several can be mended one by one.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <termios.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "model/identity.h"
#include "tools/conf_edit.h"
#include "tools/conf_text.h"
#include "tools/terminal.h"
#include "tools/dir_cure.h"
#include "tools/print/print.h"
#include "lib/privilege.h"
#include "tools/running.h"
#include "lib/banned.h"

enum { VALUE_MOST = 4096 };

struct set_opts {
	bool add, dry_run;
	const char *value_file;
};

#define FIELD(name) FIELD_OF(struct set_opts, name)
static const struct field set_options[] = {
	{ "add", FIELD(add), NULL,
	    "For an option that may be repeated: keeps the values that it has." },
	{ "value-file", FIELD(value_file), "FILE",
	    "Reads the value from the first line of a file; - means standard input. Passwords and other secrets are taken in this way only." },
	DRY_RUN_OPTION(struct set_opts),
	{ 0 },
};

static const struct field unset_options[] = {
	DRY_RUN_OPTION(struct set_opts),
	{ 0 },
};
#undef FIELD

static const struct print_column set_columns[] = {
	{ "option", NULL, PRINT_TEXT, NULL },
	{ "before", NULL, PRINT_TEXT,
	    "the value that was in force; null if unknown, and for secrets" },
	{ "after", NULL, PRINT_TEXT,
	    "the value that is in force now; null for secrets" },
	{ "changed", NULL, PRINT_FLAG, "whether the file was, or would be, changed" },
	{ "dry_run", NULL, PRINT_FLAG, NULL },
	{ "read_by", NULL, PRINT_TEXT, "programs that use it" },
	{ "takes_effect", NULL, PRINT_TEXT, NULL },
	{ "running", NULL, PRINT_FLAG, "whether the project runs" },
	{ 0 },
};

struct change {
	struct cmd_ctx *x;
	const struct set_opts *o;
	struct config_key key;
	char *unknown; /* name of an element of <config> that is no option, to unset */
	const char **values;
	size_t n, number; /* number: of the daemon or task */
	bool unset;
	struct conf_edit d;
	struct conf *old, *new; /* old NULL: the file as it is cannot be read */
};

/* --- values --- */

static const char *read_hidden_line(char *line, int most)
{
	struct termios was, quiet;
	bool terminal = tcgetattr(STDIN_FILENO, &was) == 0;
	const char *got;

	if (terminal) {
		quiet = was;
		quiet.c_lflag &= ~(tcflag_t)ECHO;
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
		fprintf(stderr, "locus: the value (it is not shown): ");
	}
	got = fgets(line, most, stdin);
	if (terminal) {
		tcsetattr(STDIN_FILENO, TCSAFLUSH, &was);
		fprintf(stderr, "\n");
	}
	return got;
}

static enum err read_new_value(struct cmd_ctx *x, const char *path, char **value)
{
	char line[VALUE_MOST];

	if (strcmp(path, "-") != 0)
		TRY(fs_read(x->a, path, VALUE_MOST, value, NULL, x->f));
	else if (read_hidden_line(line, sizeof(line)) != NULL)
		*value = arena_strdup(x->a, line);
	else
		return FAIL(x->f, E_BADREQ, "standard input has no value");
	(*value)[strcspn(*value, "\r\n")] = '\0';
	return OK;
}

static enum err gather_values(struct change *c, char **args, size_t n)
{
	struct cmd_ctx *x = c->x;
	const char *file = c->o->value_file;
	char *value;

	c->values = NEWN(x->a, const char *, n + 1);
	for (size_t i = 1; i < n; i++)
		c->values[c->n++] = text_trim(arena_strdup(x->a, args[i]));
	if (config_key_secret(&c->key) && c->n > 0 && !c->unset)
		return ctx_usage(x,
		    "%s is a secret, and others could see it on the command line; use --value-file FILE, or --value-file - for standard input",
		    c->key.name);
	if (file != NULL && c->n > 0)
		return ctx_usage(x, "give either values or --value-file");
	if (file != NULL) {
		TRY(read_new_value(x, file, &value));
		c->values[c->n++] = text_trim(value);
	}
	if (c->unset)
		return OK;
	if (c->n == 0)
		return ctx_usage(x,
		    "a value is missing; for its default, run: locus config unset %s",
		    c->key.name);
	if (c->key.opt != NULL && conf_is_repeated(c->key.opt))
		return OK;
	if (c->n > 1)
		return ctx_usage(
		    x, "%s has one value; quote it if it has blanks", c->key.name);
	return c->o->add ? ctx_usage(x, "--add: %s has only one value", c->key.name) :
	                   OK;
}

/* --- the project --- */

/*
 * Loads the configuration as it is, and becomes the account that may change it. A file
 * that cannot be used is no obstacle: this is how it gets mended.
 */
static enum err load_before(struct change *c, char **path)
{
	struct fail was = { 0 }, *f = c->x->f;
	enum err e;

	TRY(config_path(c->x, NULL, path));
	c->x->f = &was;
	e = ctx_conf(c->x);
	c->x->f = f;
	c->old = e == OK ? c->x->cf : NULL;
	if (e == E_CONFIG)
		return OK;
	return e == OK ? OK : FAIL(f, e, "%s", was.detail);
}

/* root's directory of an installed project is for root only. */
static enum err check_writable(struct cmd_ctx *x, const char *path)
{
	char *dir = arena_strdup(x->a, path), *slash = strrchr(dir, '/');

	if (slash != NULL)
		*slash = '\0';
	if (ctx_may_be_root(x) || faccessat(AT_FDCWD, dir, W_OK, AT_EACCESS) == 0 ||
	    errno != EACCES)
		return OK;
	return FAIL(
	    x->f, E_DENIED, "this account may not change %s; run it as root", path);
}

/* --- edits --- */

/* For unset OPTION VALUE: the values that remain. E_NOTFOUND if one is not there. */
static enum err remaining_values(struct change *c, const struct conf_text_value *now,
    size_t have, const char ***left, size_t *n)
{
	*left = NEWN(c->x->a, const char *, have + 1);
	*n = 0;
	for (size_t i = 0; i < c->n; i++) {
		size_t k = 0;

		while (k < have && strcmp(now[k].text, c->values[i]) != 0)
			k++;
		if (k == have)
			return ctx_not_found(c->x, "%s has no value \"%.100s\"",
			    c->key.name, c->values[i]);
	}
	for (size_t k = 0; k < have; k++) {
		bool gone = c->n == 0;

		for (size_t i = 0; i < c->n && !gone; i++)
			gone = strcmp(now[k].text, c->values[i]) == 0;
		if (!gone)
			(*left)[(*n)++] = now[k].text;
	}
	return OK;
}

static enum err edit_option(struct change *c)
{
	const char *name = c->key.opt != NULL ? c->key.opt->name : c->unknown;
	struct cmd_ctx *x = c->x;
	struct conf_text_value *now;
	const char **values = c->values;
	size_t have, n = c->n;
	enum err e = conf_text_values(x->a, c->d.text, name, &now, &have, x->f);

	if (e == E_BADREQ)
		return FAIL(x->f, E_CONFIG, "%s, %.200s: mend it in an editor first",
		    c->d.path, arena_strdup(x->a, x->f->detail));
	TRY(e);
	if (c->unset) {
		if (c->unknown != NULL && have == 0)
			return config_key_read(x, name, &c->key);
		TRY(remaining_values(c, now, have, &values, &n));
	} else if (c->o->add) {
		values = NEWN(x->a, const char *, have + c->n + 1);
		for (n = 0; n < have; n++)
			values[n] = now[n].text;
		for (size_t i = 0; i < c->n; i++)
			values[n++] = c->values[i];
	}
	return conf_edit_set(x, &c->d, name, values, n);
}

static enum err edit_item(struct change *c)
{
	const struct config_key *k = &c->key;
	struct conf_text_child child = { k->sub->item, c->number, k->sub->name,
		c->unset ? NULL : c->values[0] };
	struct cmd_ctx *x = c->x;

	if (strcmp(k->sub->name, "name") == 0)
		return ctx_usage(x,
		    "the name of a %s is also that of its log, lock and state; change it in an editor while the project is stopped",
		    k->sub->item);
	if (c->unset && c->n > 0)
		return ctx_usage(x, "%s has one value; leave it out", k->name);
	if (c->unset && strcmp(k->sub->name, "cmd") == 0)
		return ctx_usage(x,
		    "a %s needs its cmd; to keep it from running, run: %s %s.%s.disabled 1",
		    k->sub->item, locus_command(x->a, x->cf, "config set"),
		    k->sub->item, k->of);
	if (c->old == NULL)
		return FAIL(x->f, E_CONFIG,
		    "%s is not valid, see locus config check; mend that first",
		    c->d.path);
	TRY(config_key_item(x, c->old, k, &c->number));
	child.number = c->number;
	return conf_text_set_child(x->a, c->d.text, &child, &c->d.text, x->f);
}

/* --- the check --- */

static bool had_fault(const struct config_faults *before, const struct config_fault *v)
{
	for (size_t i = 0; i < before->n; i++)
		if (strcmp(before->v[i].text, v->text) == 0)
			return true;
	return false;
}

/* Refuses errors that the file did not have; prints warnings that it did not have. */
static enum err judge_faults(struct change *c, const struct config_faults *before,
    const struct config_faults *after)
{
	const struct config_fault *bad = NULL;

	for (size_t i = 0; i < after->n; i++) {
		const struct config_fault *v = &after->v[i];

		if (had_fault(before, v))
			continue;
		if (!v->error)
			fprintf(stderr, "locus: warning: %s\n", v->text);
		else if (bad == NULL)
			bad = v;
	}
	/* What a file that could not be read had besides is not known. */
	if (bad != NULL && c->old == NULL)
		fprintf(stderr, "locus: error that remains: %s\n", bad->text);
	if (bad == NULL || c->old == NULL)
		return OK;
	return FAIL(c->x->f, E_CONFIG,
	    "%s would have a fault, and was not changed: %.250s", c->d.path, bad->text);
}

/* Who sets a number is not given another one. */
static void be_exact(struct conf_remark *r, size_t n)
{
	for (size_t i = 0; i < n; i++)
		r[i].error = r[i].error || r[i].clamped;
}

static enum err check_change(struct change *c)
{
	struct config_faults before = { 0 }, after;
	struct cmd_ctx *x = c->x;
	struct conf_remark *r;
	size_t n;
	enum err e = conf_parse(
	    x->a, c->d.path, c->d.text, strlen(c->d.text), &c->new, &r, &n, x->f);

	if (e != OK)
		return FAIL(x->f, E_CONFIG, "not changed: %.300s%s",
		    arena_strdup(x->a, x->f->detail),
		    c->old != NULL || strstr(x->f->detail, arena_printf(x->a, "<%s>",
							       c->key.name)) != NULL ?
			"" :
			"; mend that in an editor first");
	be_exact(r, n);
	config_faults_find(x, c->new, r, n, &after);
	if (c->old != NULL) {
		TRY(conf_parse(x->a, c->d.path, c->d.before, strlen(c->d.before),
		    &c->old, &r, &n, x->f));
		be_exact(r, n);
		config_faults_find(x, c->old, r, n, &before);
	}
	TRY(judge_faults(c, &before, &after));
	return c->old == NULL ? OK : config_judge(x, c->d.path, c->old, c->new);
}

static enum err change_text(struct change *c)
{
	TRY(c->key.sub != NULL ? edit_item(c) : edit_option(c));
	TRY(check_change(c));
	/* Until now root may only have read; a file that could not be used names no
	 * account. */
	struct cmd_ctx *x = c->x;

	if (c->old != NULL)
		return OK;
	x->cf = c->new;
	return owner_take(x->a, c->new, true, &x->owner, x->f);
}

/* --- the report --- */

static const char *shown_value(struct change *c, const struct conf *cf)
{
	if (cf == NULL || c->key.opt == NULL)
		return cf == NULL || c->key.sub == NULL ?
		           NULL :
		           config_key_value(c->x->a, cf, &c->key, c->number);
	return config_key_secret(&c->key) ? NULL : field_get(c->x->a, c->key.opt, cf);
}

static const char *setting_verb(const struct change *c)
{
	if (c->o->dry_run)
		return c->unset ? "would unset" : "would set";
	return c->unset ? "unset" : "set";
}

static void print_effect(struct change *c, bool running)
{
	const char *when;

	if (c->unknown != NULL)
		return;
	when = config_when(c->new, &c->key);
	if (strcmp(when, "never") == 0)
		printf("%-9s it has no effect here, see locus config explain %s\n", "",
		    c->key.name);
	else if (strncmp(when, "never", strlen("never")) == 0)
		printf("%-9s it has no effect%s\n", "", when + strlen("never"));
	else if (!running && strstr(when, "as root") == NULL)
		printf("%-9s read by %s; takes effect when the project starts\n", "",
		    config_readers(&c->key));
	else
		printf("%-9s read by %s; takes effect %s\n", "",
		    config_readers(&c->key), when);
}

static void print_setting(struct change *c, bool changed, bool running)
{
	const char *before = shown_value(c, c->old), *after = shown_value(c, c->new);
	const char *name = c->key.name;
	char *was = arena_strdup(c->x->a, ""), *is = was;

	if (after != NULL)
		is = arena_printf(
		    c->x->a, " = %s", after[0] == '\0' ? "(empty)" : after);
	if (!changed) {
		printf("%-9s %s%s; %s was not changed\n", "known", name, is, c->d.path);
		return;
	}
	if (before != NULL)
		was = arena_printf(
		    c->x->a, " (was %s)", before[0] == '\0' ? "empty" : before);
	printf("%-9s %s%s%s\n", setting_verb(c), name, is, was);
	print_effect(c, running);
}

static void report_change(struct change *c, bool changed)
{
	struct cmd_ctx *x = c->x;
	bool running;

	x->cf = c->new;
	running = state_supervised(x->a, x->cf);
	if (x->format == FORMAT_TABLE) {
		print_setting(c, changed, running);
		return;
	}
	print_record(x, set_columns, c->key.name, shown_value(c, c->old),
	    shown_value(c, c->new), changed, c->o->dry_run,
	    c->unknown != NULL ? "nobody" : config_readers(&c->key),
	    c->unknown != NULL ? "never" : config_when(c->new, &c->key), running);
}

static enum err change_run(struct change *c, char **args, size_t n)
{
	struct cmd_ctx *x = c->x;
	char *path;
	bool changed;
	enum err e;

	if (c->unknown == NULL)
		TRY(config_key_read(x, args[0], &c->key));
	TRY(gather_values(c, args, n));
	TRY(load_before(c, &path));
	TRY(check_writable(x, path));
	TRY(conf_edit_begin(x, path, &c->d));
	e = change_text(c);
	changed = strcmp(c->d.text, c->d.before) != 0;
	if (e != OK) {
		conf_edit_end(x, &c->d, false);
		return e;
	}
	TRY(conf_edit_end(x, &c->d, !c->o->dry_run));
	report_change(c, changed);
	return OK;
}

static enum err config_set_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct change c = { .x = x, .o = opts };

	return change_run(&c, args, n);
}

const struct cmd cmd_config_set = { .name = "config set",
	.args = "OPTION [VALUE ...]",
	.min_args = 1,
	.max_args = -1,
	.purpose = "change an option",
	.about =
	    "Changes an option of config.xml, or daemon.NAME.ELEMENT or task.NAME.ELEMENT. The\n"
	    "result is checked as by locus config check before it replaces the file, which keeps\n"
	    "its comments, order, owner and mode; says which programs read the option and when the\n"
	    "change takes effect. Several values replace those of an option that may be repeated.\n"
	    "Root changes the file of an installed project.",
	.details = "Put two dashes before a value that begins with one.",
	.opts = set_options,
	.opts_size = sizeof(struct set_opts),
	.columns = set_columns,
	.anywhere = true,
	.as_root = true,
	.run = config_set_run };

static enum err config_unset_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct change c = { .x = x, .o = opts, .unset = true };

	/* A mistyped name in the file is known by nobody, but can be removed. */
	if (strchr(args[0], '.') == NULL &&
	    field_find(conf_opts, args[0], false, NULL) == NULL) {
		c.unknown = args[0];
		c.key.name = args[0];
	}
	return change_run(&c, args, n);
}

const struct cmd cmd_config_unset = { .name = "config unset",
	.args = "OPTION [VALUE ...]",
	.min_args = 1,
	.max_args = -1,
	.purpose = "give an option its default again",
	.about =
	    "Removes an option from config.xml, so that it has its default; with values, only\n"
	    "these of an option that may be repeated. Also removes an element that is no option,\n"
	    "such as a mistyped one. Everything else is as in config set.",
	.opts = unset_options,
	.opts_size = sizeof(struct set_opts),
	.columns = set_columns,
	.anywhere = true,
	.as_root = true,
	.run = config_unset_run };
