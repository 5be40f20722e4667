/* SPDX-License-Identifier: Apache-2.0 */
/* locus destroy: removes an installed project by undoing the steps of create, or one of
 * a single directory (tools/destroy_here.c). */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "db/project.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "tools/destroy_here.h"
#include "tools/install/install.h"
#include "lib/banned.h"

static const struct field destroy_options[] = {
	{ "yes-delete-everything", FIELD_OF(struct destroy_opts, yes), "NAME",
	    "The name again: the data, the keys and the database are gone for good." },
	{ "dry-run", FIELD_OF(struct destroy_opts, dry_run), NULL,
	    "Only shows what would be removed." },
	{ 0 },
};

/*
 * Reads config.xml; without one, as after a create that failed early, the names follow
 * from the project's name.
 */
static enum err destroy_read(struct install *in)
{
	struct cmd_ctx *x = in->x;

	in->had_config = fs_exists(in->config_path);
	if (!in->had_config)
		return create_config_text(x, in->c, &in->config, x->f);
	TRY(conf_load(x->a, in->config_path, &x->cf, NULL, NULL, x->f));
	if (!conf_is_installed(x->cf) ||
	    strcmp(x->cf->project_dir, in->p.data_dir) != 0)
		return FAIL(x->f, E_CONFIG,
		    "%s is not that of a project in %s which locus create installed; nothing is removed",
		    in->config_path, in->p.data_dir);
	return install_url(in, x->cf->master_url);
}

/* Says how many jobs hosts work on; unknown if the database does not answer. */
static char *destroy_jobs(struct install *in)
{
	struct cmd_ctx *x = in->x;
	struct status s;
	struct db *db;
	enum err e = db_open(ctx_db_root(x), DB_ANY_SCHEMA, &db, x->f);

	if (e == OK) {
		e = status_count(db, x->a, clock_now(), &s, x->f);
		db_close(db);
	}
	if (e != OK)
		return arena_printf(x->a,
		    "how many jobs are in progress is unknown: %.200s", x->f->detail);
	return arena_printf(x->a,
	    "%lld jobs are in progress on hosts, %lld unsent; %lld files, %lld accounts",
	    (long long)s.results_in_progress, (long long)s.results_unsent,
	    (long long)s.files, (long long)s.users);
}

static enum err destroy_steps(struct install *in)
{
	size_t n;
	const struct install_step *s = install_steps(&n);

	while (n-- > 0) {
		enum err e = s[n].undo(in);

		if (e != OK) {
			ctx_progress(in->x, "failed",
			    "%s; correct it and run the command again", s[n].name);
			return e;
		}
		ctx_progress(in->x, "removed", "%s", s[n].name);
	}
	return OK;
}

static enum err destroy_installed(
    struct cmd_ctx *x, const struct destroy_opts *o, char **args)
{
	const struct create_opts none = { 0 };
	struct create c = { .name = args[0],
		.o = &none,
		.db_passwd = "",
		.base_url = arena_strdup(x->a, "http://localhost") };
	struct install in = { .x = x, .c = &c, .p = installation_of(x->a, args[0]) };
	bool any;

	c.installed = &in.p;
	c.owner = c.db_user = in.p.account;
	c.db_name = in.p.database;
	c.dir = in.p.config_dir;
	in.host = arena_strdup(x->a, "localhost");
	in.config_path = arena_printf(x->a, "%s/config.xml", in.p.config_dir);
	TRY(destroy_read(&in));
	/* Is there anything of a project of this name? */
	any = in.had_config || fs_exists(in.p.data_dir) || fs_exists(in.p.config_dir);
	if (!any)
		TRY(install_account_holds(&in, &any));
	if (!any)
		return ctx_not_found(x, "there is no installed project %s", args[0]);
	if (!privilege_is_root())
		return FAIL(
		    x->f, E_DENIED, "only root can remove an installed project");
	if (in.had_config)
		printf("%s\n", destroy_jobs(&in));
	if (o->dry_run) {
		size_t n;

		const struct install_step *s = install_steps(&n);

		while (n-- > 0)
			ctx_progress(
			    in.x, "would undo", "%s: %s", s[n].name, s[n].text(&in));
		return OK;
	}
	if (o->yes == NULL || strcmp(o->yes, args[0]) != 0)
		return ctx_usage(x,
		    "this removes all data, keys and the database of %s for good: repeat the name with --yes-delete-everything %s",
		    args[0], args[0]);
	TRY(destroy_steps(&in));
	if (in.to_do != NULL)
		printf("\nLeft to you:\n%s", in.to_do);
	return OK;
}

/*
 * Is it a project of a single directory that is meant: that of --project, one called
 * NAME here, or the one around the current directory? Then x->cf is set.
 */
static enum err destroy_finds_here(struct cmd_ctx *x, const char *name, bool *here)
{
	struct installation p = installation_of(x->a, name);
	enum err e;

	*here = false;
	if (x->project == NULL && fs_exists(p.config_dir))
		return OK;
	if (x->project == NULL && fs_exists(arena_printf(x->a, "%s/config.xml", name)))
		x->project = name;
	e = ctx_conf(x);
	*here = e == OK && !conf_is_installed(x->cf);
	if (*here)
		return OK;
	x->cf = NULL;
	return e == OK || e == E_NOTFOUND || x->project == NULL ? OK : e;
}

struct destroying {
	const struct destroy_opts *o;
	char **args;
};

static enum err destroy_found(struct cmd_ctx *x, void *arg)
{
	const struct destroying *d = arg;
	bool here;

	TRY(destroy_finds_here(x, d->args[0], &here));
	if (here)
		return destroy_here(x, d->args[0], d->o);
	TRY(owner_root(&x->owner, x->f));
	return destroy_installed(x, d->o, d->args);
}

/*
 * Root's directory of a project that root made with --here goes last, by root: the
 * project's account may not remove it.
 */
static enum err destroy_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct destroying d = { opts, args };
	struct fail f = { 0 };
	char *dir = NULL;

	(void)n;
	if (strspn(args[0], "abcdefghijklmnopqrstuvwxyz0123456789_") !=
		strlen(args[0]) ||
	    args[0][0] == '\0')
		return ctx_usage(x, "\"%.60s\" is not the name of a project", args[0]);
	if (!privilege_is_root())
		return destroy_found(x, &d);
	if (conf_find_project(
		x->a, x->project != NULL ? x->project : args[0], &dir, &f) != OK &&
	    (x->project != NULL || conf_find_project(x->a, NULL, &dir, &f) != OK))
		dir = NULL;
	TRY(ctx_fork(x, destroy_found, &d));
	if (chdir("/") == 0 && dir != NULL && fs_exists(dir) &&
	    fs_remove_empty(dir, &f) == OK)
		ctx_progress(x, "removed", "%s", dir);
	return OK;
}

const struct cmd cmd_destroy = { .name = "destroy",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "remove a project with all its data",
	.about =
	    "Undoes what locus create NAME --url has done: stops the services and removes site,\n"
	    "unit, database, data, keys, logs, configuration and account, in this order, so that a\n"
	    "run that failed can be repeated. Says how many jobs hosts work on; their results are\n"
	    "lost.\n"
	    "\n"
	    "Of a project made with --here (the one of --project, one in the directory NAME, or the\n"
	    "one around the current directory), stops it and removes what create has noted that it\n"
	    "made, with all that is in those directories. Files of others beside them are named and\n"
	    "stay, with the directory; so does a database that was there before.",
	.details =
	    "Apache's modules that create enabled are disabled with the last project of the\n"
	    "machine. A database on another machine is left to its admin.",
	.opts = destroy_options,
	.opts_size = sizeof(struct destroy_opts),
	.as_root = true,
	.run = destroy_run };
