/* SPDX-License-Identifier: Apache-2.0 */
/* locus config sample and man. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "model/conf_doc.h"
#include "model/identity.h"
#include "model/owner.h"
#include "tools/cmd.h"
#include "tools/conf_text.h"
#include "tools/conf_edit.h"
#include "tools/dir_cure.h"
#include "tools/fsck_rows.h"
#include "tools/foreign.h"
#include "tools/print/print.h"
#include "tools/probe.h"
#include "tools/running.h"
#include "tools/service.h"
#include "tools/state.h"
#include "tools/upstream.h"
#include "tools/web_fit.h"
#include "tools/work_retry.h"
#include "lib/banned.h"

/* Refuses changes of config.xml that its own rules allow and the project would not
 * survive. */

enum { NAMES_MOST = 100000 };

struct judged {
	struct cmd_ctx *x;
	const char *path; /* of config.xml */
	struct conf *old;
	const struct conf *new;
};

/*
 * Would the project be another one, with another database or URL? While it runs, its
 * programs would refuse to go on; in a stopped one the admin says which case it is.
 */
static enum err judge_identity(const struct judged *j)
{
	struct cmd_ctx *x = j->x;
	struct fail f = { 0 };

	if (identity_check(x->a, j->old, &f) != OK ||
	    identity_check(x->a, j->new, &f) == OK)
		return OK;
	x->cf = j->old;
	if (!state_supervised(x->a, x->cf)) {
		fprintf(stderr, "locus: %.400s\n", f.detail);
		return OK;
	}
	return FAIL(x->f, E_CONFIG,
	    "%s was not changed, because no program would act on it: %.250s; first run: %s",
	    j->path, f.detail, locus_command(x->a, j->old, "stop"));
}

/* Would private servers answer at another port than that of the URL? */
static enum err judge_port(const struct judged *j)
{
	int64_t port = loopback_port(j->old->master_url);
	struct arena *a = j->x->a;
	const char *url;

	if (port == 0 || j->old->private_port != port || j->new->private_port == port ||
	    loopback_port(j->new->master_url) != port)
		return OK;
	url = strchr(j->old->master_url + strlen("http://"), '/');
	return FAIL(j->x->f, E_CONFIG,
	    "%s was not changed: %s, where clients look for the project, has port %lld; run: %s && %s && %s",
	    j->path, j->old->master_url, (long long)port,
	    locus_command(a, j->old, "stop"),
	    locus_command(a, j->old,
		arena_printf(a, "relocate --moved --url http://127.0.0.1:%lld%s",
		    (long long)j->new->private_port, url == NULL ? "" : url)),
	    locus_command(a, j->old, "start"));
}

/* Would root, or anybody, find no way into the project any more? */
static enum err judge_owner(const struct judged *j)
{
	struct fail why = { 0 };

	if (owner_keeps(j->x->a, j->old, j->new, &why) == OK)
		return OK;
	return FAIL(
	    j->x->f, E_CONFIG, "%s was not changed: %.400s", j->path, why.detail);
}

static enum err has_files(struct arena *a, const char *dir, bool *yes, struct fail *f)
{
	char **names, **below;
	size_t n = 0, nbelow;
	struct stat st;
	enum err e = fs_list(a, dir, NAMES_MOST, &names, &n, f);

	for (size_t i = 0; e == OK && !*yes && i < n; i++) {
		const char *path = arena_printf(a, "%s/%s", dir, names[i]);

		*yes = true;
		if (lstat(path, &st) < 0 || !S_ISDIR(st.st_mode))
			break;
		nbelow = 0;
		e = fs_list(a, path, 1, &below, &nbelow, f);
		*yes = nbelow > 0;
		if (e == E_NOTFOUND) /* it went meanwhile */
			e = OK;
	}
	return e == E_NOTFOUND ? OK : e;
}

/* Would the project look for its files where they are not? */
static enum err judge_dir(
    const struct judged *j, const char *name, const char *old, const char *new)
{
	struct cmd_ctx *x = j->x;
	struct arena *a = x->a;
	bool left = false, there = false;

	if (strcmp(old, new) == 0)
		return OK;
	TRY(has_files(a, old, &left, x->f));
	TRY(has_files(a, new, &there, x->f));
	if (!left || there)
		return OK;
	if (conf_is_installed(j->old))
		return FAIL(x->f, E_CONFIG,
		    "%s was not changed: the files in %s would stay there; move them first, while the project is stopped",
		    j->path, old);
	return FAIL(x->f, E_CONFIG,
	    "%s was not changed: the files in %s would stay there; run: %s && %s && %s && %s && %s",
	    j->path, old, locus_command(a, j->old, "stop"),
	    owner_command(a, &x->owner,
		arena_printf(a, "mv -T %s %s", text_shell_word(a, old),
		    text_shell_word(a, new))),
	    locus_command(a, j->old,
		arena_printf(a, "config set %s %s", name, text_shell_word(a, new))),
	    locus_command(a, j->old, "upgrade --no-hint"),
	    locus_command(a, j->old, "start"));
}

static enum err judge_dirs(const struct judged *j)
{
	TRY(judge_dir(j, "key_dir", j->old->key_dir, j->new->key_dir));
	TRY(judge_dir(j, "download_dir", j->old->download_dir, j->new->download_dir));
	return judge_dir(j, "upload_dir", j->old->upload_dir, j->new->upload_dir);
}

static enum err judge_fanout(const struct judged *j)
{
	const char *const dirs[] = { j->old->download_dir, j->old->upload_dir };

	for (size_t i = 0; i < N(dirs); i++) {
		bool files = false;

		if (j->old->uldl_dir_fanout != j->new->uldl_dir_fanout)
			TRY(has_files(j->x->a, dirs[i], &files, j->x->f));
		if (files)
			return FAIL(j->x->f, E_CONFIG,
			    "%s was not changed: uldl_dir_fanout says where each file in %s is, and can change only while there are none",
			    j->path, dirs[i]);
	}
	return OK;
}

enum err config_judge(
    struct cmd_ctx *x, const char *path, struct conf *old, const struct conf *new)
{
	static enum err (*const judges[])(const struct judged *) = { judge_owner,
		judge_port, judge_dirs, judge_fanout, judge_identity };
	const struct judged j = { x, path, old, new };

	for (size_t i = 0; i < N(judges); i++)
		TRY(judges[i](&j));
	return OK;
}

/* locus config check, and what other commands ask of it. */

static void fault_add(struct cmd_ctx *x, struct config_faults *all, bool error,
    const char *path, const char *text)
{
	PUSH(x->a, all->v, all->n, all->cap) = (struct config_fault){ 0, error, path,
		text };
}

/* Reports daemons whose program cannot be found. */
static void check_programs(
    struct cmd_ctx *x, const struct conf *cf, struct config_faults *all)
{
	struct fail f = { 0 };
	struct service *s;
	size_t n;

	if (services_of(x->a, cf, &s, &n, &f) != OK) {
		fault_add(x, all, true, cf->path, arena_strdup(x->a, f.detail));
		return;
	}
	for (size_t i = 0; i < n; i++)
		if (s[i].argv == NULL)
			fault_add(x, all, true, cf->path,
			    arena_printf(x->a, "%s: %s", s[i].name, s[i].why));
}

/* Reports how daemons of a BOINC config.xml are run. */
static void check_upstream(
    struct cmd_ctx *x, const struct conf *cf, struct config_faults *all)
{
	struct fail f = { 0 };
	char **lines;
	size_t n;

	if (upstream_says(x->a, cf, &lines, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		fault_add(x, all, false, cf->path, lines[i]);
	if (foreign_says(x->a, cf, &lines, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		fault_add(x, all, false, cf->path, lines[i]);
}

void config_faults_find(struct cmd_ctx *x, const struct conf *cf,
    const struct conf_remark *r, size_t nremarks, struct config_faults *all)
{
	char **lines;
	size_t n;
	*all = (struct config_faults){ 0 };
	for (size_t i = 0; i < nremarks; i++) {
		fault_add(x, all, r[i].error, cf->path, r[i].text);
		all->v[i].line = r[i].line;
	}
	check_upstream(x, cf, all);
	check_programs(x, cf, all);
	same_work_says(x->a, cf, &lines, &n);
	for (size_t i = 0; i < n; i++)
		fault_add(x, all, false, cf->path, lines[i]);
	config_files_check(x, cf, all);
}

/* Reports changes that wait for a restart of the running project. */
static void warn_restart(
    struct cmd_ctx *x, const struct conf *cf, struct fault_list *out)
{
	const char *text = NULL;
	struct state s;

	if (state_read(x->a, cf, &s, NULL) == OK)
		text = state_restart_text(x->a, cf, &s);
	if (text != NULL)
		fault_put(out, cf->path, 0, FAULT_WARNING, "%s", text);
}

/*
 * Sends a request to a running project: a valid configuration may still lead nowhere.
 */
static void check_serving(struct cmd_ctx *x, struct conf *cf, struct fault_list *out)
{
	struct conf *before = x->cf;
	struct probe p;

	if (!state_supervised(x->a, cf))
		return;
	x->cf = cf;
	p = probe_project(x, x->a);
	x->cf = before;
	if (p.why != NULL)
		fault_put(out, cf->path, 0, FAULT_ERROR,
		    "the project runs but does not serve: %s; %s", p.why, p.mend);
}

/* All that is wrong with a file that cannot be used. */
static enum err report_remarks(
    struct cmd_ctx *x, const char *path, const struct conf_remark *r, size_t n)
{
	struct fault_list out = fault_list_begin(x);

	*x->f = (struct fail){ 0 };
	for (size_t i = 0; i < n; i++)
		fault_put(&out, path, r[i].line,
		    r[i].error ? FAULT_ERROR : FAULT_WARNING, "%s", r[i].text);
	return fault_list_end(&out, path);
}

static enum err config_check_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct config_faults all;
	struct fault_list out;
	struct conf_remark *r = NULL;
	struct fail f = { 0 };
	struct conf *cf;
	size_t nr = 0;
	char *path;
	enum err e;

	(void)opts;
	TRY(config_path(x, n > 0 ? args[0] : NULL, &path));
	e = conf_load(x->a, path, &cf, &r, &nr, x->f);
	if (e != OK && nr > 0)
		return report_remarks(x, path, r, nr);
	TRY(e);
	config_faults_find(x, cf, r, nr, &all);
	out = fault_list_begin(x);
	for (size_t i = 0; i < all.n; i++)
		fault_put(&out, all.v[i].path, all.v[i].line,
		    all.v[i].error ? FAULT_ERROR : FAULT_WARNING, "%s", all.v[i].text);
	if (n == 0)
		check_serving(x, cf, &out);
	if (n == 0 && identity_check(x->a, cf, &f) != OK)
		fault_put(&out, path, 0, FAULT_ERROR, "%s", f.detail);
	web_fit_check(x, cf, &out);
	if (n == 0)
		warn_restart(x, cf, &out);
	TRY(fault_list_end(&out, path));
	if (x->format == FORMAT_TABLE)
		printf("%s: good\n", path);
	return OK;
}

const struct cmd cmd_config_check = { .name = "config check",
	.args = "[FILE]",
	.max_args = 1,
	.purpose = "check config.xml",
	.about =
	    "Reports unknown options with their line and the nearest name, options without effect,\n"
	    "invalid values, daemons whose program is missing or that do the same work, and what\n"
	    "plan_class_spec.xml, config_aux.xml, gui_urls.xml and project_files.xml lose by\n"
	    "mistakes. Reports which changes wait for a restart of a running project; all others\n"
	    "take effect at once, see config.xml(5). Exits with 78 if there is an error.",
	.details =
	    "Warns if apache/httpd.conf, apache/site.conf or nginx/site.conf of the project does\n"
	    "not lead to its sockets or has other limits than config.xml.",
	.columns = fault_columns,
	.run = config_check_run };

/* locus config diff: options, daemons and tasks of one configuration against another.
 */

struct diff_opts {
	bool secrets;
};

static const struct field diff_options[] = {
	{ "secrets", FIELD_OF(struct diff_opts, secrets), NULL,
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

static void put_change(
    struct config_diff *d, const char *option, const char *from, const char *to)
{
	if (from != NULL && to != NULL && strcmp(from, to) == 0)
		return;
	print_cells(d->l, option, from, to);
	d->n++;
}

/* Relative paths became absolute when the file was read; this undoes it. */
static const char *relative_value(
    const struct conf *cf, const struct field *o, const char *v)
{
	size_t n = cf == NULL ? 0 : strlen(cf->project_dir);

	if (n == 0 || o->type != FIELD_TEXT || o->max == 0 ||
	    strncmp(v, cf->project_dir, n) != 0)
		return v;
	return v[n] == '/' ? v + n + 1 : v[n] == '\0' ? "." : v;
}

static void diff_option(struct config_diff *d, const struct field *o)
{
	const char *from = d->from == NULL ? o->def : field_get(d->x->a, o, d->from);
	const char *to = field_get(d->x->a, o, d->to);

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

static size_t item_count(const struct conf *cf, bool daemons)
{
	return cf == NULL ? 0 : daemons ? cf->ndaemons : cf->ntasks;
}

static const char *item_name(const struct conf *cf, bool daemons, size_t i)
{
	return daemons ? cf->daemons[i].name : cf->tasks[i].name;
}

/* The elements of one daemon or task; from or to may lack it. */
static void diff_item(struct config_diff *d, const char *kind, const char *name)
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

static bool has_item(const struct conf *cf, bool daemons, const char *name)
{
	for (size_t i = 0; i < item_count(cf, daemons); i++)
		if (strcmp(item_name(cf, daemons, i), name) == 0)
			return true;
	return false;
}

static void diff_items(struct config_diff *d, const char *kind)
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
static enum err load_sides(struct config_diff *d, char **args, size_t n)
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

static enum err config_diff_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

/* locus config get, explain and show. */

enum { CONF_MAX = 4 << 20 };

/* --- get --- */

struct get_opts {
	bool secrets;
};

#define SECRETS_OPTION(T)                                                              \
	{                                                                              \
		"secrets", FIELD_OF(T, secrets), NULL,                                 \
		    "Prints passwords and other secrets, too."                         \
	}

static const struct field get_options[] = {
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

static void show_value(struct print *l, const char *name, const char *value, bool set)
{
	print_cells(l, name, value, set);
	print_line(l, NULL, "%s", value);
}

/* Is the option in the file, even with the value of its default? */
static bool is_in_file(struct cmd_ctx *x, const char *name)
{
	struct conf_text_value *v;
	struct fail f = { 0 };
	char *text;
	size_t n;

	return fs_read(x->a, x->cf->path, CONF_MAX, &text, NULL, &f) == OK &&
	       conf_text_values(x->a, text, name, &v, &n, &f) == OK && n > 0;
}

static void put_values(
    struct cmd_ctx *x, struct print *l, const struct config_key *k, size_t number)
{
	const struct text_list *list;
	const struct pattern_list *patterns;
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
		show_value(l, k->name, field_get(x->a, k->opt, x->cf), set);
	else if (k->opt->type == FIELD_LIST)
		for (size_t i = 0; i < list->n; i++)
			show_value(l, k->name, list->v[i], set);
	else
		for (size_t i = 0; i < patterns->n; i++)
			show_value(l, k->name, pattern_text(patterns->v[i]), set);
}

static enum err config_get_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

static bool has_bounds(const struct field *o)
{
	return o->type != FIELD_FLAG && o->max > 0;
}

static void show_explained(struct cmd_ctx *x, const struct config_key *k)
{
	const struct field *o = k->opt;
	const char *unit = o->type == FIELD_I64 || o->type == FIELD_F64 ? "" : " bytes";
	const char *value = x->cf == NULL || conf_is_secret(o) ?
	                        NULL :
	                        field_get(x->a, o, x->cf);
	const char *when = config_when(x->cf, k), *effect = conf_trait(o)->effect;
	bool works = conf_has_effect(o), guards = conf_is_guard(o);

	print_record(x, explain_columns, o->name, value, o->def, conf_type_text(o),
	    print_unless(!has_bounds(o), o->min), print_unless(!has_bounds(o), o->max),
	    config_readers(k), when, works ? NULL : effect + strlen("none: "), guards,
	    conf_is_secret(o), o->help);
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
		printf("    effect     none here%s\n", effect + strlen("none"));
	else
		printf("    read by    %s\n    a change takes effect %s\n%s", effect,
		    when,
		    guards ?
			"    restricts access: a change never waits for a restart\n" :
			"");
}

static enum err config_explain_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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

#define FIELD(name) FIELD_OF(struct show_opts, name)
static const struct field show_options[] = {
	{ "non-default", FIELD(changed), NULL,
	    "Only options that differ from their defaults; this is the default.",
	    .letter = 'n' },
	{ "defaults", FIELD(defaults), NULL,
	    "The defaults of all options that have an effect. Needs no project.",
	    .letter = 'd' },
	{ "all", FIELD(all), NULL, "Also show options that have their default." },
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

static bool is_shown(
    const struct show_opts *o, const struct field *c, const char *value)
{
	if (o->defaults)
		return conf_has_effect(c);
	return o->all || strcmp(value, c->def) != 0;
}

static enum err show_lines(struct cmd_ctx *x, const struct show_opts *o)
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
		const struct field *c = &conf_opts[i];
		const char *v = o->defaults ? c->def : field_get(x->a, c, x->cf);

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

static enum err config_show_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
	if (field_find(conf_opts, args[0], false, NULL) == NULL)
		return config_key_read(x, args[0], &(struct config_key){ 0 });
	printf("%s\n", field_find(conf_opts, args[0], false, NULL)->def);
	return OK;
}

const struct cmd cmd_config_show = { .name = "config show",
	.args = "[OPTION]",
	.max_args = 1,
	.purpose = "show the configuration",
	.about =
	    "Shows the options that differ from their defaults, or the value of one option.\n"
	    "Secrets are not shown.",
	.opts = show_options,
	.opts_size = sizeof(struct show_opts),
	.columns = show_columns,
	.anywhere = true,
	.run = config_show_run };

static enum err config_sample_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)x, (void)opts, (void)args, (void)n;
	conf_print_sample();
	return OK;
}

const struct cmd cmd_config_sample = { .name = "config sample",
	.args = "",
	.purpose = "print a config.xml with all options",
	.about =
	    "Prints a config.xml with every option at its default, and an explanation of each.",
	.run = config_sample_run };

static enum err config_man_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	(void)x, (void)opts, (void)args, (void)n;
	conf_print_man();
	return OK;
}

const struct cmd cmd_config_man = { .name = "config man",
	.args = "",
	.purpose = "print the manual page config.xml(5)",
	.about = "Prints the manual page of config.xml.",
	.run = config_man_run };
