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
#include "lib/privilege.h"
#include "tools/cmd.h"
#include "tools/create.h"
#include "tools/fsck_rows.h"
#include "tools/install/install.h"
#include "tools/print/print.h"
#include "tools/site_files.h"
#include "tools/state.h"
#include "tools/supervisor/supervise.h"
#include "lib/banned.h"

/* locus schema status. */

static const struct print_column schema_columns[] = {
	{ "database", "database", PRINT_TEXT, NULL },
	{ "schema", "schema", PRINT_NUMBER, "0: none of Locus" },
	{ "known", "known", PRINT_NUMBER, "the schema of this program" },
	{ 0 },
};

static enum err schema_status_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	int64_t version = 0;

	(void)opts, (void)args, (void)n;
	TRY(ctx_db_any_schema(x));
	TRY(schema_version(x->db, &version, x->f));
	if (version != SCHEMA_VERSION)
		x->status = err_exit(E_CONFIG);
	if (x->format != FORMAT_TABLE)
		print_record(
		    x, schema_columns, x->cf->db_name, version, SCHEMA_VERSION);
	else if (version == 0)
		printf("database %s has no schema of Locus; this program knows %d\n",
		    x->cf->db_name, (int)SCHEMA_VERSION);
	else
		printf("database %s has schema %lld; this program knows %d\n",
		    x->cf->db_name, (long long)version, (int)SCHEMA_VERSION);
	if (version != SCHEMA_VERSION)
		printf("%s\n", version > SCHEMA_VERSION ?
				   "It is newer: install the newer Locus." :
				   "Run: locus schema upgrade (with --dry-run first)");
	return OK;
}

const struct cmd cmd_schema_status = { .name = "schema status",
	.args = "",
	.purpose = "show the version of the database's schema",
	.about =
	    "Shows the version of the schema in the database and that of this program. Exits with\n"
	    "78 if they differ.",
	.columns = schema_columns,
	.run = schema_status_run };

/* locus schema check and upgrade. */

static enum err schema_check_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct schema_remark *r;
	const char *place;
	struct fault_list out;
	size_t nr;

	(void)opts, (void)args, (void)n;
	TRY(ctx_db_any_schema(x));
	TRY(schema_check(x->db, x->a, &r, &nr, x->f));
	place = x->format == FORMAT_TABLE ? "" : x->cf->db_name;
	out = fault_list_begin(x);
	for (size_t i = 0; i < nr; i++)
		fault_put(&out, place, 0, r[i].error ? FAULT_ERROR : FAULT_NOTE, "%s",
		    r[i].text);
	TRY(fault_list_end(&out, "the schema"));
	if (x->format == FORMAT_TABLE)
		printf("database %s: the schema is good\n", x->cf->db_name);
	return OK;
}

const struct cmd cmd_schema_check = { .name = "schema check",
	.args = "",
	.purpose = "compare the database with the schema",
	.about =
	    "Reports what the programs could not work with, each with the command that corrects\n"
	    "it: missing or different tables, columns, defaults and indexes, and additions by an\n"
	    "administrator that refuse rows which Locus inserts, such as a column without a\n"
	    "default. Also reports indexes that cost more than they gain.",
	.columns = fault_columns,
	.run = schema_check_run };

struct schema_upgrade_opts {
	bool dry_run;
};

static const struct field schema_upgrade_options[] = {
	{ "dry-run", FIELD_OF(struct schema_upgrade_opts, dry_run), NULL,
	    "Only shows what would be done." },
	{ 0 },
};

static void print_schema_step(const char *text)
{
	printf("%s\n", text);
}

static enum err schema_upgrade_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct schema_upgrade_opts *o = opts;
	(void)args, (void)n;
	TRY(ctx_db_any_schema(x));
	TRY(schema_upgrade(x->db, x->a, o->dry_run, print_schema_step, x->f));
	if (!o->dry_run)
		printf(
		    "database %s has schema %d\n", x->cf->db_name, (int)SCHEMA_VERSION);
	return OK;
}

const struct cmd cmd_schema_upgrade = { .name = "schema upgrade",
	.args = "",
	.purpose = "bring the database to this program's schema",
	.about =
	    "Upgrades an older schema, or adopts the database of a BOINC project by adding what\n"
	    "is missing and by renaming indexes to the names that statements use. Each step may\n"
	    "be repeated: after a failure run the command again. Stop the project's daemons\n"
	    "first.",
	.as_root = true,
	.opts = schema_upgrade_options,
	.opts_size = sizeof(struct schema_upgrade_opts),
	.run = schema_upgrade_run };

struct upgrade_opts {
	bool dry_run, no_hint;
};

static const struct field upgrade_options[] = {
	{ "dry-run", FIELD_OF(struct upgrade_opts, dry_run), NULL,
	    "Only shows what would be done." },
	{ "no-hint", FIELD_OF(struct upgrade_opts, no_hint), NULL,
	    "Does not say what comes next: for scripts that do it." },
	{ 0 },
};

struct upgrade {
	struct cmd_ctx *x;
	bool dry_run, no_hint;
};

static void say_schema(const char *text)
{
	printf("%-9s %s\n", "schema", text);
}

static enum err upgrade_schema(struct cmd_ctx *x, void *arg)
{
	const struct upgrade *u = arg;

	TRY(ctx_db_any_schema(x));
	return schema_upgrade(x->db, x->a, u->dry_run, say_schema, x->f);
}

static enum err upgrade_steps(struct upgrade *u)
{
	struct cmd_ctx *x = u->x;
	bool running = !conf_is_installed(x->cf) && state_supervised(x->a, x->cf),
	     hint = !u->dry_run && !u->no_hint;
	struct site_file *files;
	size_t n;

	if (conf_is_installed(x->cf)) {
		TRY(upgrade_schema(x, u));
		ctx_close(x);
		TRY(install_upgrade(x, u->dry_run));
		if (hint)
			printf("\nNext:       locus -p %s restart\n",
			    conf_installation(x->a, x->cf).name);
		return OK;
	}
	/* A project that is stopped has no database server. */
	TRY(x->cf->private_servers && !running ?
		private_db_with(x, NULL, upgrade_schema, u) :
		upgrade_schema(x, u));
	TRY(create_site_files(x, &files, &n, x->f));
	TRY(site_files_upgrade(x, files, n, u->dry_run, x->f));
	if (!u->dry_run)
		TRY(create_links(x));
	if (hint)
		printf("\n%s\n",
		    running ? "Next:       locus restart" : "Next:       locus start");
	return OK;
}

static enum err upgrade_locked(struct cmd_ctx *x, void *arg)
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

static enum err upgrade_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
	    "project unit, tmpfiles and log rotation. A file that was edited is kept, and the new\n"
	    "text is written beside it as FILE.new (below /etc: FILE.dpkg-dist). The project may\n"
	    "run meanwhile; restart it afterwards. locus-backup(7) tells how to go back.",
	.details =
	    "After an interruption run the command again. A file that was removed stays so, except\n"
	    "the configuration of the web server that serves the project.",
	.opts = upgrade_options,
	.opts_size = sizeof(struct upgrade_opts),
	.as_root = true,
	.run = upgrade_run };
