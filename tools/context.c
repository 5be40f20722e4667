/* SPDX-License-Identifier: Apache-2.0 */
/* The context of a command: project, configuration, database and messages. */
#include "tools/cmd.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/db.h"
#include "db/project.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/proc.h"
#include "model/identity.h"
#include "tools/dir_cure.h"
#include "lib/banned.h"

enum { ALONE_SILENT_MS = 1000, ALONE_WAIT_MS = 60000 };

enum err ctx_become_owner(struct cmd_ctx *x)
{
	TRY(owner_root(&x->owner, x->f));
	if (!x->owner.suspended)
		return OK;
	x->owner.suspended = false;
	return privilege_become(&x->owner.as, x->f);
}

enum err ctx_as_root(
    struct cmd_ctx *x, enum err (*work)(struct cmd_ctx *, void *), void *arg)
{
	struct fail back = { 0 };
	enum err e;

	if (privilege_is_root())
		return work(x, arg);
	TRY(owner_root(&x->owner, x->f));
	e = work(x, arg);
	if (owner_account(&x->owner, &back) == OK)
		return e;
	*x->f = back;
	return back.code;
}

struct forked { /* memory shared with a child process */
	struct cmd_ctx *x;
	enum err (*work)(struct cmd_ctx *, void *);
	void *arg;
	struct fail f;
	int status;
};

static int fork_run(void *arg)
{
	struct forked *k = arg;
	enum err e;

	k->x->db = NULL; /* the parent's connection */
	k->x->f = &k->f;
	e = k->work(k->x, k->arg);
	ctx_close(k->x);
	k->status = k->x->status;
	return (int)e;
}

enum err ctx_fork(
    struct cmd_ctx *x, enum err (*work)(struct cmd_ctx *, void *), void *arg)
{
	struct forked *k = mmap(NULL, sizeof(*k), PROT_READ | PROT_WRITE,
	    /* cppcheck-suppress invalidFunctionArg ; -1 goes with MAP_ANONYMOUS */
	    MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	enum err e;
	int st;

	if (k == MAP_FAILED)
		return FAIL_ERRNO(x->f, "sharing memory with a child process");
	*k = (struct forked){ .x = x, .work = work, .arg = arg };
	e = proc_call(fork_run, k, -1, &st, x->f);
	proc_signals();
	if (e == OK && st > 128)
		e = FAIL(x->f, E_SYS,
		    "the process that worked as the project's account was ended by signal %d",
		    st - 128);
	else if (e == OK) {
		x->status = k->status;
		e = (enum err)st;
		if (e != OK)
			*x->f = k->f;
	}
	munmap(k, sizeof(*k));
	return e;
}

enum err ctx_alone(struct cmd_ctx *x)
{
	int held; /* until the process ends */
	char *path;
	enum err e;

	TRY(ctx_conf(x));
	path = arena_printf(x->a, "%s/admin.lock", x->cf->run_dir);
	e = fs_lock_wait(path, ALONE_SILENT_MS, &held, x->f);
	if (e == E_RACE) {
		fprintf(stderr,
		    "locus: waiting for another command, which is changing the project\n");
		e = fs_lock_wait(path, ALONE_WAIT_MS, &held, x->f);
	}
	if (e == E_RACE)
		return FAIL(x->f, E_RETRY,
		    "another command is changing the project: it holds %s; try again",
		    path);
	return e;
}

bool ctx_may_be_root(const struct cmd_ctx *x)
{
	return x->owner.suspended || privilege_is_root();
}

enum err ctx_conf(struct cmd_ctx *x)
{
	char *dir;
	enum err e;

	if (x->cf != NULL)
		return OK;
	e = conf_find_project(x->a, x->project, &dir, x->f);
	if (e != OK)
		return e;
	x->owner.may_lack = x->cmd != NULL && x->cmd->makes_account;
	e = owner_enter(
	    x->a, dir, x->cmd != NULL && x->cmd->as_root, &x->owner, &x->cf, x->f);
	if (e == OK && x->cmd != NULL && !x->cmd->anywhere)
		e = identity_check(x->a, x->cf, x->f);
	if (e != OK)
		x->cf = NULL;
	return e;
}

static enum err open_db_of_root(struct cmd_ctx *x, void *none)
{
	(void)none;
	return db_open(ctx_db_root(x), DB_ANY_SCHEMA, &x->db, x->f);
}

static enum err ctx_open_db(struct cmd_ctx *x, enum db_use use)
{
	TRY(ctx_conf(x));
	if (x->db != NULL)
		return OK;
	/* The project's account may not change tables. */
	if (use == DB_ANY_SCHEMA && x->owner.suspended)
		return ctx_as_root(x, open_db_of_root, NULL);
	return db_open(x->cf, use, &x->db, x->f);
}

const struct conf *ctx_db_root(struct cmd_ctx *x)
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

static enum err ctx_db_for(struct cmd_ctx *x, enum db_use use)
{
	enum err e = ctx_open_db(x, use);

	if (e == E_DB && x->cf->private_servers)
		return FAIL(x->f, E_DB, "%.300s; unless the project runs, run: %s",
		    x->f->detail, locus_command(x->a, x->cf, "start"));
	return e;
}

enum err ctx_db(struct cmd_ctx *x)
{
	return ctx_db_for(x, DB_WORK);
}

enum err ctx_db_report(struct cmd_ctx *x)
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

enum err ctx_db_any_schema(struct cmd_ctx *x)
{
	return ctx_db_for(x, DB_ANY_SCHEMA);
}

void ctx_ring(struct cmd_ctx *x, enum doorbell bell)
{
	struct doorbells d = { 0 };

	doorbell_ring(&d, x->cf, bell);
	doorbells_close(&d);
}

void ctx_close(struct cmd_ctx *x)
{
	if (x->db != NULL && db_committed(x->db)) {
		/* What a command has committed may be work for any of the daemons. */
		for (enum doorbell b = DOORBELL_NONE + 1; b < DOORBELLS; b++)
			ctx_ring(x, b);
	}
	if (x->db != NULL)
		db_close(x->db);
	x->db = NULL;
}

void ctx_progress(struct cmd_ctx *x, const char *verb, const char *fmt, ...)
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

enum err ctx_reread(struct cmd_ctx *x)
{
	const char *path = project_path(x->a, x->cf, "reread_db");

	TRY(fs_touch(path, x->f));
	/* The file may exist already; schedulers look at its time. */
	if (utimensat(AT_FDCWD, path, NULL, 0) < 0)
		return FAIL_ERRNO(x->f, "touching %s", path);
	return OK;
}

__attribute__((format(printf, 3, 0))) static void ctx_fail(
    struct fail *f, enum err code, const char *fmt, va_list ap)
{
	char text[sizeof(f->detail)];

	vsnprintf(text, sizeof(text), fmt, ap);
	fail_set(f, code, "ctx", "%s", text);
}

enum err ctx_usage(struct cmd_ctx *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ctx_fail(x->f, E_BADREQ, fmt, ap);
	va_end(ap);
	x->status = EXIT_USAGE;
	return E_BADREQ;
}

enum err ctx_not_found(struct cmd_ctx *x, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	ctx_fail(x->f, E_NOTFOUND, fmt, ap);
	va_end(ap);
	x->status = EXIT_NOTHING;
	return E_NOTFOUND;
}
