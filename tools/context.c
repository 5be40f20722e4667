/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a command: project, configuration, database and messages. */
#include "tools/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/db.h"
#include "db/replica.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/identity.h"
#include "tools/privilege.h"
#include "lib/banned.h"

/* Finds the account that owns config.xml or, if this is root, the one that root chose
 * there or gave the project's directory; none if it is root, too. */
static enum err
find_owner(struct cmd_ctx *x, const char *dir, struct account *acc, bool *none)
{
	const char *run_user = x->cf->run_user;
	struct stat st;

	*none = false;
	if (stat(x->cf->path, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", x->cf->path);
	if (run_user[0] != '\0') {
		TRY(account_find(x->a, run_user, acc, x->f));
		if (st.st_uid != 0 && st.st_uid != acc->uid)
			return FAIL(x->f, E_DENIED,
			    "%s names the account %s as run_user, but belongs to another account; only root may choose: chown root %s, or remove run_user",
			    x->cf->path, run_user, x->cf->path);
		return OK;
	}
	if (stat(dir, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", dir);
	*none = st.st_uid == 0;
	return *none ? OK : account_by_uid(x->a, st.st_uid, acc, x->f);
}

/* If run by root, continues as the account of the project. */
static enum err
run_as_owner(struct cmd_ctx *x, const char *dir)
{
	struct account acc;
	bool none;

	if (!privilege_is_root())
		return OK;
	TRY(find_owner(x, dir, &acc, &none));
	return none ? OK : privilege_become(&acc, x->f);
}

enum err
ctx_become_owner(struct cmd_ctx *x)
{
	return run_as_owner(x, x->cf->project_dir);
}

enum err
ctx_conf(struct cmd_ctx *x)
{
	char *dir, *path;
	enum err e;

	if (x->cf != NULL)
		return OK;
	e = conf_find_project(x->a, x->project, &dir, x->f);
	if (e != OK)
		return e;
	path = arena_printf(x->a, "%s/config.xml", dir);
	e = conf_load(x->a, path, &x->cf, NULL, NULL, x->f);
	if (e == OK &&
	    (x->cmd == NULL || !x->cmd->as_root || !conf_is_installed(x->cf)))
		e = run_as_owner(x, dir);
	if (e == OK && x->cmd != NULL && !x->cmd->anywhere)
		e = identity_check(x->a, x->cf, x->f);
	if (e != OK)
		x->cf = NULL;
	return e;
}

static enum err
ctx_open_db(struct cmd_ctx *x, enum db_use use)
{
	const struct conf *cf;

	TRY(ctx_conf(x));
	if (x->db != NULL)
		return OK;
	/* The project's account may not change tables. */
	cf = use == DB_ANY_SCHEMA && x->cmd->as_root && privilege_is_root() ?
	         ctx_db_root(x) :
	         x->cf;
	return db_open(cf, use, &x->db, x->f);
}

const struct conf *
ctx_db_root(struct cmd_ctx *x)
{
	struct conf *root;

	if (!conf_is_installed(x->cf) || !db_is_local(x->cf))
		return x->cf;
	root = NEW(x->a, struct conf);
	*root = *x->cf;
	root->db_user = arena_strdup(x->a, "root");
	root->db_passwd = arena_strdup(x->a, "");
	return root;
}

static enum err
ctx_db_for(struct cmd_ctx *x, enum db_use use)
{
	enum err e = ctx_open_db(x, use);

	if (e == E_DB && x->cf->private_servers)
		return FAIL(x->f, E_DB,
		    "%.300s; is the project running?  (locus start)", x->f->detail);
	return e;
}

enum err
ctx_db(struct cmd_ctx *x)
{
	return ctx_db_for(x, DB_WORK);
}

enum err
ctx_db_report(struct cmd_ctx *x)
{
	struct fail f = { 0 };

	x->age_s = -1;
	TRY(ctx_conf(x));
	if (x->db == NULL &&
	    replica_open(x->a, x->cf, DB_READ, &x->db, &x->age_s, &f) == OK)
		return OK;
	x->age_s = -1;
	if (replica_named(x->cf))
		fprintf(stderr, "locus: reading from the primary: %s\n", f.detail);
	return ctx_db(x);
}

enum err
ctx_db_any_schema(struct cmd_ctx *x)
{
	return ctx_db_for(x, DB_ANY_SCHEMA);
}

void
ctx_ring(struct cmd_ctx *x, enum doorbell bell)
{
	struct doorbells d = { 0 };

	doorbell_ring(&d, x->cf, bell);
	doorbells_close(&d);
}

/* What a command has committed may be work for any of the daemons. */
static void
ring_all(struct cmd_ctx *x)
{
	for (enum doorbell b = DOORBELL_NONE + 1; b < DOORBELLS; b++)
		ctx_ring(x, b);
}

void
ctx_close(struct cmd_ctx *x)
{
	if (x->db != NULL && db_committed(x->db))
		ring_all(x);
	if (x->db != NULL)
		db_close(x->db);
	x->db = NULL;
}

void
ctx_progress(struct cmd_ctx *x, const char *verb, const char *fmt, ...)
{
	int64_t now = clock_mono_ms();
	char text[400];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	text_make_printable(text);
	if (x->progress_ms == 0 || now - x->progress_ms < 50)
		printf("%-9s %s\n", verb, text);
	else
		printf("%-9s %-64s %4.1f s\n", verb, text,
		    (double)(now - x->progress_ms) / 1000);
	x->progress_ms = now;
}

enum err
ctx_reread(struct cmd_ctx *x)
{
	const char *path = project_path(x->a, x->cf, "reread_db");
	enum err e = fs_touch(path, x->f);

	/* The file may exist already; schedulers look at its time. */
	if (e == OK && utimensat(AT_FDCWD, path, NULL, 0) < 0)
		return FAIL_ERRNO(x->f, "touching %s", path);
	return e;
}

__attribute__((format(printf, 3, 0))) static void
ctx_fail(struct fail *f, enum err code, const char *fmt, va_list ap)
{
	char text[sizeof(f->detail)];

	vsnprintf(text, sizeof(text), fmt, ap);
	fail_set(f, code, "ctx", "%s", text);
}

enum err
ctx_usage(struct cmd_ctx *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ctx_fail(x->f, E_BADREQ, fmt, ap);
	va_end(ap);
	x->status = EXIT_USAGE;
	return E_BADREQ;
}

enum err
ctx_not_found(struct cmd_ctx *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ctx_fail(x->f, E_NOTFOUND, fmt, ap);
	va_end(ap);
	x->status = EXIT_NOTHING;
	return E_NOTFOUND;
}
