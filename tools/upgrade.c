/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus upgrade: brings a project from the previous release to this one. Every step can
 * be repeated, so after an interruption the command is simply run again.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "db/schema.h"
#include "lib/fs.h"
#include "tools/create.h"
#include "tools/install/install.h"
#include "lib/privilege.h"
#include "tools/site_files.h"
#include "tools/state.h"
#include "tools/supervisor/supervise.h"
#include "lib/banned.h"

struct upgrade_opts {
	bool dry_run, no_hint;
};

static const struct opt upgrade_options[] = {
	{ "dry-run", OPT_FLAG, offsetof(struct upgrade_opts, dry_run), NULL,
	    "Only shows what would be done." },
	{ "no-hint", OPT_FLAG, offsetof(struct upgrade_opts, no_hint), NULL,
	    "Does not say what comes next: for scripts that do it." },
	{ 0 },
};

struct upgrade {
	struct cmd_ctx *x;
	bool dry_run, no_hint;
};

static void
say_schema(const char *text)
{
	printf("%-9s %s\n", "schema", text);
}

static enum err
upgrade_schema(struct upgrade *u)
{
	struct cmd_ctx *x = u->x;

	TRY(ctx_db_any_schema(x));
	return schema_upgrade(x->db, x->a, u->dry_run, say_schema, x->f);
}

/* Starts the private database server for this, if the project is stopped. */
static enum err
upgrade_schema_alone(struct upgrade *u)
{
	struct cmd_ctx *x = u->x;
	struct fail f2 = { 0 };
	pid_t pid = 0;
	enum err e = short_dir_make(x->a, x->cf, x->f), e2 = OK;

	if (e == OK)
		e = private_db_start(x, &pid, x->f);
	if (e == OK)
		e = upgrade_schema(u);
	ctx_close(x);
	if (pid > 0)
		e2 = private_db_end(x, pid, &f2);
	short_dir_remove(x->a, x->cf);
	if (e == OK && e2 != OK)
		*x->f = f2;
	return e == OK ? e2 : e;
}

static enum err
upgrade_site(struct upgrade *u)
{
	struct cmd_ctx *x = u->x;
	struct site_file *files;
	size_t n;

	TRY(create_site_files(x, &files, &n, x->f));
	return site_files_upgrade(x, files, n, u->dry_run, x->f);
}

static enum err
upgrade_steps(struct upgrade *u)
{
	struct cmd_ctx *x = u->x;
	bool running = !conf_is_installed(x->cf) && state_supervised(x->a, x->cf),
	     hint = !u->dry_run && !u->no_hint;

	if (conf_is_installed(x->cf)) {
		TRY(upgrade_schema(u));
		ctx_close(x);
		TRY(install_upgrade(x, u->dry_run));
		if (hint)
			printf("\nNext:       locus -p %s restart\n",
			    conf_installation(x->a, x->cf).name);
		return OK;
	}
	TRY(x->cf->private_servers && !running ? upgrade_schema_alone(u) :
						 upgrade_schema(u));
	TRY(upgrade_site(u));
	if (!u->dry_run)
		TRY(create_links(x));
	if (hint)
		printf("\n%s\n",
		    running ? "Next:       locus restart" : "Next:       locus start");
	return OK;
}

static enum err
upgrade_locked(struct cmd_ctx *x, void *arg)
{
	int lock;
	enum err e = fs_lock(
	    arena_printf(x->a, "%s/upgrade.lock",
		conf_is_installed(x->cf) ? conf_installation(x->a, x->cf).config_dir :
					   x->cf->run_dir),
	    &lock, x->f);

	if (e == E_RACE)
		return FAIL(x->f, E_RACE, "another upgrade of this project is running");
	if (e != OK)
		return e;
	e = upgrade_steps(arg);
	close(lock);
	return e;
}

static enum err
upgrade_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct upgrade_opts *o = opts;
	struct upgrade u = { x, o->dry_run, o->no_hint };
	enum err e = ctx_conf(x);

	(void)args, (void)n;
	if (e != OK)
		return e;
	if (!conf_is_installed(x->cf))
		return upgrade_locked(x, &u);
	if (!ctx_may_be_root(x))
		return FAIL(
		    x->f, E_DENIED, "only root can upgrade an installed project");
	/* The steps do what is below the account's directories as the account. */
	return ctx_as_root(x, upgrade_locked, &u);
}

const struct cmd cmd_upgrade = { .name = "upgrade",
	.args = "",
	.purpose = "bring a project to this release of Locus",
	.about =
	    "Upgrades the schema of the database, and the files that were written from templates:\n"
	    "the web server's configuration, the home page and its style, and in an installed\n"
	    "project units, tmpfiles and log rotation. A file that was edited is kept, and the new\n"
	    "text is written beside it as FILE.new (below /etc: FILE.dpkg-dist). The project may\n"
	    "run meanwhile; restart it afterwards. locus-backup(7) tells how to go back.",
	.details =
	    "After an interruption run the command again. A file that was removed stays so, except\n"
	    "the configuration of the web server that serves the project.",
	.opts = upgrade_options,
	.opts_size = sizeof(struct upgrade_opts),
	.as_root = true,
	.run = upgrade_run };
