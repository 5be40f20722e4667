/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database of an installed project. On this machine root makes it, and the account
 * logs in over the socket; on another machine it must exist.
 */
#include <grp.h>
#include <pwd.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
#include "db/grant.h"
#include "db/schema.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "tools/install/install.h"
#include "lib/banned.h"

/* The system account and group of a project, and its processes. */

char *install_account_text(struct install *in)
{
	return arena_printf(
	    in->x->a, "account and group %s, without a shell", in->p.account);
}

enum err install_account_holds(struct install *in, bool *yes)
{
	const struct passwd *p = getpwnam(in->p.account);

	*yes = p != NULL;
	if (p != NULL && strcmp(p->pw_dir, in->p.data_dir) != 0)
		return FAIL(in->x->f, E_CONFIG,
		    "there is an account %s whose home is %s, not %s: it is not this project's; choose another name",
		    in->p.account, p->pw_dir, in->p.data_dir);
	return OK;
}

enum err install_account_make(struct install *in)
{
	/* A group of that name may be left of a failed run. */
	bool has_group = getgrnam(in->p.account) != NULL;
	const char *comment = arena_printf(in->x->a, "Locus project %s", in->p.name);
	const char *group = has_group ?
	                        arena_printf(in->x->a, "--gid=%s", in->p.account) :
	                        "--user-group";
	const char *argv[] = { "useradd", "--system", "--home-dir", in->p.data_dir,
		"--no-create-home", "--shell", "/usr/sbin/nologin", "--comment",
		comment, group, in->p.account, NULL };

	return install_program(in, argv, "passwd");
}

enum err install_account_undo(struct install *in)
{
	const char *user[] = { "userdel", in->p.account, NULL };
	const char *group[] = { "groupdel", in->p.account, NULL };
	bool ours;

	TRY(install_account_holds(in, &ours));
	if (ours)
		TRY(install_program(in, user, "passwd"));
	return getgrnam(in->p.account) == NULL ? OK :
	                                         install_program(in, group, "passwd");
}

#define DATABASE_MARK "database.made"

static struct grant grant_of(const struct install *in)
{
	return (struct grant){ in->x->cf->db_name, in->p.account };
}

char *install_database_text(struct install *in)
{
	const struct conf *cf = in->x->cf;

	if (!db_is_local(cf))
		return arena_printf(in->x->a, "schema %d in %s on %s",
		    (int)SCHEMA_VERSION, cf->db_name, cf->db_host);
	return arena_printf(in->x->a,
	    "%s with schema %d; its account %s logs in over the socket", cf->db_name,
	    (int)SCHEMA_VERSION, in->p.account);
}

/*
 * The mark in root's directory that says that this database was made, or filled, for
 * this project: a database of the same name that somebody else made is neither adopted
 * nor dropped.
 */
static char *database_mark(struct install *in)
{
	return arena_printf(in->x->a, "%s/" DATABASE_MARK, in->p.config_dir);
}

static bool database_is_ours(struct install *in)
{
	return fs_exists(database_mark(in));
}

static enum err mark_database(struct install *in)
{
	const char *name = in->x->cf->db_name;

	return fs_write(database_mark(in), name, strlen(name), 0600, in->x->f);
}

/* Can the account work with the database? */
static enum err try_database(struct install *in)
{
	struct db *db;

	TRY(db_open(in->x->cf, DB_WORK, &db, in->x->f));
	db_close(db);
	return OK;
}

/* Connects as root to a database that every server has. */
static enum err open_server(struct install *in, struct db **db)
{
	struct conf cf = *ctx_db_root(in->x);
	char any[] = "mysql";
	enum err e;

	cf.db_name = any;
	e = db_open(&cf, DB_ANY_SCHEMA, db, in->x->f);
	if (e == E_CONFIG)
		return FAIL(in->x->f, E_CONFIG,
		    "%.250s; root must be able to log in to the database server over its socket without a password (unix_socket, or auth_socket of MySQL)",
		    in->x->f->detail);
	if (e == E_DB)
		return FAIL(in->x->f, E_DB,
		    "%.250s; install and start it (Debian: apt-get install mariadb-server), or give its place with --db-socket or --db-host",
		    in->x->f->detail);
	return e;
}

enum err install_on_server(struct install *in,
    enum err (*work)(struct db *, const struct grant *, struct fail *))
{
	struct grant g = grant_of(in);
	struct db *db;
	enum err e;

	TRY(open_server(in, &db));
	e = work(db, &g, in->x->f);
	db_close(db);
	return e;
}

/* Has the account the rights that it needs, on a database of this machine? */
static bool has_rights(struct install *in)
{
	struct grant g = grant_of(in);
	bool yes = false;
	struct db *db;

	if (!db_is_local(in->x->cf))
		return true;
	if (open_server(in, &db) != OK)
		return false;
	if (grant_held(db, &g, &yes, in->x->f) != OK)
		yes = false;
	db_close(db);
	return yes;
}

enum err install_database_holds(struct install *in, bool *yes)
{
	struct fail saved = *in->x->f;

	/* A plan may be asked for by any account. */
	*yes = in->had_config && privilege_is_root() &&
	       install_as_account(in, try_database) == OK && has_rights(in);
	*in->x->f = saved;
	return OK;
}

/* Creates the schema in an empty database, or in one that a failed run has left. */
static enum err fill_database(struct install *in)
{
	struct cmd_ctx *x = in->x;
	int64_t version;

	TRY(schema_version(x->db, &version, x->f));
	if (version > 0 && !database_is_ours(in))
		return FAIL(x->f, E_CONFIG,
		    "the database %s holds another project; give an empty one, or choose another name",
		    x->cf->db_name);
	if (version == 0) {
		TRY(mark_database(in));
		TRY(schema_create(x->db, x->f));
	}
	TRY(db_schema_fits(x->db, x->f));
	return create_platforms(x, x->f);
}

/*
 * Creates the database unless it is there; the mark comes first, so that a run that is
 * killed in between can be repeated.
 */
static enum err make_there(struct install *in, struct db *db, const struct grant *g)
{
	bool there = false;

	TRY(grant_database_there(db, g, &there, in->x->f));
	if (there && !database_is_ours(in))
		return FAIL(in->x->f, E_CONFIG,
		    "the database %s exists, and locus create did not make it; rename it, or choose another name for the project",
		    g->database);
	if (!there)
		TRY(mark_database(in));
	return grant_database(db, g, in->x->f);
}

enum err install_database_make(struct install *in)
{
	struct cmd_ctx *x = in->x;
	bool local = db_is_local(x->cf);

	if (local) {
		struct grant g = grant_of(in);
		struct db *db;
		enum err e;

		TRY(open_server(in, &db));
		e = make_there(in, db, &g);
		db_close(db);
		TRY(e);
	}
	TRY(db_open(ctx_db_root(x), DB_ANY_SCHEMA, &x->db, x->f));
	TRY(fill_database(in));
	ctx_close(x);
	if (!local)
		return OK;
	TRY(install_on_server(in, grant_account));
	return install_as_account(in, try_database);
}

enum err install_database_undo(struct install *in)
{
	const struct conf *cf = in->x->cf;

	if (!database_is_ours(in))
		return OK;
	if (db_is_local(cf))
		return install_on_server(in, grant_drop);
	install_to_do(in, "remove the database %s and its account on %s", cf->db_name,
	    cf->db_host);
	return OK;
}

/* What all steps of an installation use: other accounts, programs of the system. */

enum {
	FILE_MOST = 1 << 20,
	PROGRAM_TIMEOUT_S = 120,
	SAID_MOST = 280 /* bytes of what a failed program has said */
};

void install_to_do(struct install *in, const char *fmt, ...)
{
	char text[600];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	in->to_do = arena_printf(
	    in->x->a, "%s%s\n", in->to_do == NULL ? "" : in->to_do, text);
}

bool install_file_is(struct install *in, const char *path, const char *text)
{
	char *had;

	return fs_read(in->x->a, path, FILE_MOST, &had, NULL, NULL) == OK &&
	       strcmp(had, text) == 0;
}

/* --- other accounts and programs --- */

struct account_work {
	struct install *in;
	enum err (*work)(struct install *);
};

static enum err work_as_account(struct cmd_ctx *x, void *arg)
{
	const struct account_work *w = arg;
	struct account acc;

	TRY(account_find(x->a, w->in->p.account, &acc, x->f));
	TRY(privilege_become(&acc, x->f));
	x->owner.suspended = false;
	return w->work(w->in);
}

enum err install_as_account(struct install *in, enum err (*work)(struct install *))
{
	struct account_work w = { in, work };

	return ctx_fork(in->x, work_as_account, &w);
}

/*
 * Finds a program of the system. Not by program_system(): a2enconf is a link to
 * a2enmod, which goes by its name.
 */
static char *system_path(struct arena *a, const char *name)
{
	static const char *const dirs[] = { "/usr/sbin", "/usr/bin", "/sbin", "/bin" };

	for (size_t i = 0; i < N(dirs); i++) {
		char *path = arena_printf(a, "%s/%s", dirs[i], name);

		if (access(path, X_OK) == 0)
			return path;
	}
	return NULL;
}

/* Makes one line of what a program has said; lines that only warn do not help. */
static void join_lines(char *words)
{
	size_t n = strlen(words);

	while (n > 0 && words[n - 1] == '\n')
		words[--n] = '\0';
	for (char *p = words; *p != '\0'; p++)
		if (*p == '\n')
			*p = ' ';
}

enum err install_output(
    struct install *in, const char *const *argv, const char *package, char **out)
{
	struct arena *a = in->x->a;
	struct proc_run run = { .out = { PROC_PIPE }, .err = { PROC_PIPE } };
	struct proc_told told;
	const char **all;
	size_t n = 0;

	privilege_guard_path(); /* these programs run others */
	while (argv[n] != NULL)
		n++;
	all = arena_memdup(a, argv, (n + 1) * sizeof(*argv));
	all[0] = system_path(a, argv[0]);
	if (all[0] == NULL)
		return FAIL(in->x->f, E_CONFIG,
		    "%s is not installed (Debian: apt-get install %s)", argv[0],
		    package);
	run.argv = all;
	TRY(proc_collect(a, &run, PROGRAM_TIMEOUT_S, FILE_MOST, &told, in->x->f));
	*out = told.out;
	if (told.status == 0)
		return OK;
	join_lines(told.words);
	n = strlen(told.words);
	return FAIL(in->x->f, E_SYS, "%s %s failed (%d): %s", argv[0],
	    argv[1] == NULL ? "" : argv[1], told.status,
	    told.words + (n > SAID_MOST ? n - SAID_MOST : 0));
}

enum err install_program(
    struct install *in, const char *const *argv, const char *package)
{
	char *out;

	return install_output(in, argv, package, &out);
}
