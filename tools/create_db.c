/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database of a new project. A private server identifies its account by the kernel
 * (unix_socket): there is no password to keep, and no other account of the machine can
 * log in.
 */
#include "tools/create.h"

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "db/entity.h"
#include "db/schema.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/log_reader.h"
#include "lib/proc.h"
#include "tools/db_server.h"
#include "tools/supervisor/supervise.h"
#include "lib/banned.h"

enum { READY_MS = 60000, END_MS = 60000, TICK_MS = 20 };

/* Starts the private server on an existing data directory. */
static enum err private_db_start(struct cmd_ctx *x, pid_t *pid, struct fail *f)
{
	int64_t end = clock_mono_ms() + READY_MS;
	struct service s;
	enum err e = service_database(x->a, x->cf, &s, f);
	struct proc_child c;

	if (e != OK)
		return e;
	e = proc_start(&(const struct proc_run){ .argv = (const char *const *)s.argv,
			   .dir = x->cf->project_dir,
			   PROC_LOG(s.log) },
	    &c, f);
	*pid = c.pid;
	while (e == OK && !service_ready(&s)) {
		if (waitpid(*pid, NULL, WNOHANG) == *pid) {
			*pid = 0;
			return FAIL(f, E_DB, "%s does not start: %.300s", s.name,
			    log_find_error(x->a, s.log));
		}
		if (clock_mono_ms() > end)
			return FAIL(f, E_DB, "%s is not ready after %d s: %.300s",
			    s.name, READY_MS / 1000, log_find_error(x->a, s.log));
		clock_nap_ms(TICK_MS);
	}
	return e;
}

enum err private_db_make(
    struct cmd_ctx *x, const char *os_user, pid_t *pid, struct fail *f)
{
	struct db_server server;

	TRY(db_server_find(x->a, x->cf, &server, f));
	TRY(db_server_install(x->a, x->cf, &server, os_user, f));
	ctx_progress(x, "created", "database server in %s/mysql", x->cf->project_dir);
	return private_db_start(x, pid, f);
}

enum err private_db_end(struct cmd_ctx *x, pid_t pid, struct fail *f)
{
	int64_t end = clock_mono_ms() + END_MS;

	(void)x;
	kill(pid, SIGTERM);
	while (waitpid(pid, NULL, WNOHANG) == 0) {
		if (clock_mono_ms() > end) {
			kill(-pid, SIGKILL);
			waitpid(pid, NULL, 0);
			return FAIL(f, E_DB,
			    "the database server did not stop within %d s and was killed",
			    END_MS / 1000);
		}
		clock_nap_ms(TICK_MS);
	}
	return OK;
}

static enum err private_db_work(struct cmd_ctx *x, const char *os_user,
    enum err (*work)(struct cmd_ctx *, void *), void *arg, pid_t *pid)
{
	TRY(short_dir_make(x->a, x->cf, x->f));
	TRY(os_user == NULL ? private_db_start(x, pid, x->f) :
			      private_db_make(x, os_user, pid, x->f));
	return work(x, arg);
}

enum err private_db_with(struct cmd_ctx *x, const char *os_user,
    enum err (*work)(struct cmd_ctx *, void *), void *arg)
{
	struct fail f2 = { 0 };
	pid_t pid = 0;
	enum err e = private_db_work(x, os_user, work, arg, &pid), e2 = OK;

	ctx_close(x);
	if (pid > 0)
		e2 = private_db_end(x, pid, &f2);
	short_dir_remove(x->a, x->cf);
	if (e == OK && e2 != OK)
		*x->f = f2;
	return e == OK ? e2 : e;
}

/* A new private server has no database for the project yet; connects to its database
 * "mysql" to create it. */
enum err private_db_empty(struct cmd_ctx *x, struct fail *f)
{
	struct conf cf = *x->cf;
	char server[] = "mysql";
	struct db *db;
	enum err e;

	cf.db_name = server;
	e = db_open(&cf, DB_ANY_SCHEMA, &db, f);
	if (e != OK)
		return e;
	e = db_exec(db, f, NULL, DATABASE_CREATE);
	db_close(db);
	return e;
}

static enum err insert_platforms(struct cmd_ctx *x, size_t *n, struct fail *f)
{
	static const struct {
		const char *name, *people;
	} all[] = {
#define PLATFORM(name, people) { name, people },
#include "tools/platforms.def"
#undef PLATFORM
	};

	*n = N(all);
	TRY(db_begin(x->db, f));
	for (size_t i = 0; i < N(all); i++) {
		struct platform p = { .name = arena_strdup(x->a, all[i].name),
			.user_friendly_name = arena_strdup(x->a, all[i].people) };

		TRY(platform_insert(x->db, &p, f));
	}
	return db_commit(x->db, f);
}

enum err create_platforms(struct cmd_ctx *x, struct fail *f)
{
	struct platform *old;
	size_t n;
	enum err e;

	TRY(db_query(x->db, x->a, f, &old, &n, PLATFORMS));
	if (n > 0)
		return OK;
	e = insert_platforms(x, &n, f);
	if (e != OK) {
		db_rollback(x->db);
		return e;
	}
	ctx_progress(x, "created", "%zu platforms", n);
	return OK;
}

enum err create_database(struct cmd_ctx *x, const struct create *c, struct fail *f)
{
	enum err e;

	if (c->private)
		TRY(private_db_empty(x, f));
	e = db_open(x->cf, DB_ANY_SCHEMA, &x->db, f);
	if (e == E_CONFIG && !c->private)
		return FAIL(f, E_CONFIG,
		    "%.250s.  Create the database first, for example: CREATE DATABASE %s; and GRANT ALL ON %s.* TO the account.",
		    f->detail, x->cf->db_name, x->cf->db_name);
	if (e != OK)
		return e;
	TRY(schema_create(x->db, f));
	ctx_progress(x, "created", "database %s, schema %d", x->cf->db_name,
	    (int)SCHEMA_VERSION);
	return create_platforms(x, f);
}
