/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database of an installed project. On this machine root makes it, and the account
 * logs in over the socket; on another machine it must exist.
 */
#include <string.h>
#include "db/grant.h"
#include "db/schema.h"
#include "lib/fs.h"
#include "tools/install/install.h"
#include "lib/banned.h"

#define DATABASE_MARK "database.made"

static struct grant
grant_of(const struct install *in)
{
	return (struct grant){ in->x->cf->db_name, in->p.account };
}

char *
install_database_text(struct install *in)
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
static char *
database_mark(struct install *in)
{
	return arena_printf(in->x->a, "%s/" DATABASE_MARK, in->p.config_dir);
}

static bool
database_is_ours(struct install *in)
{
	return fs_exists(database_mark(in));
}

static enum err
mark_database(struct install *in)
{
	const char *name = in->x->cf->db_name;

	return fs_write(database_mark(in), name, strlen(name), 0600, in->x->f);
}

/* Can the account work with the database? */
static enum err
try_database(struct install *in)
{
	struct db *db;

	TRY(db_open(in->x->cf, DB_WORK, &db, in->x->f));
	db_close(db);
	return OK;
}

/* Connects as root to a database that every server has. */
static enum err
open_server(struct install *in, struct db **db)
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

enum err
install_on_server(struct install *in,
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
static bool
has_rights(struct install *in)
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

enum err
install_database_holds(struct install *in, bool *yes)
{
	struct fail saved = *in->x->f;

	/* A plan may be asked for by any account. */
	*yes = in->had_config && privilege_is_root() &&
	       install_as_account(in, try_database) == OK && has_rights(in);
	*in->x->f = saved;
	return OK;
}

/* Creates the schema in an empty database, or in one that a failed run has left. */
static enum err
fill_database(struct install *in)
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

/* Creates the database unless it is there; the mark comes first, so that a run that is
 * killed in between can be repeated. */
static enum err
create_own(struct install *in)
{
	struct grant g = grant_of(in);
	bool there = false;
	struct db *db;
	enum err e;

	TRY(open_server(in, &db));
	e = grant_database_there(db, &g, &there, in->x->f);
	if (e == OK && there && !database_is_ours(in))
		e = FAIL(in->x->f, E_CONFIG,
		    "the database %s exists, and locus create did not make it; rename it, or choose another name for the project",
		    g.database);
	if (e == OK && !there)
		e = mark_database(in);
	if (e == OK)
		e = grant_database(db, &g, in->x->f);
	db_close(db);
	return e;
}

enum err
install_database_make(struct install *in)
{
	struct cmd_ctx *x = in->x;
	bool local = db_is_local(x->cf);

	if (local)
		TRY(create_own(in));
	TRY(db_open(ctx_db_root(x), DB_ANY_SCHEMA, &x->db, x->f));
	TRY(fill_database(in));
	ctx_close(x);
	if (!local)
		return OK;
	TRY(install_on_server(in, grant_account));
	return install_as_account(in, try_database);
}

enum err
install_database_undo(struct install *in)
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
