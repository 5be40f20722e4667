/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The frame of every daemon.  The loop outlives its database: a failed step is logged,
 * waits a little longer each time and is tried again.  Every sleep is cut into slices
 * so that a signal or the file stop_daemons ends the process within a tenth of a
 * second.
 */
#include "daemons/loop.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "daemons/options.h"
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "model/identity.h"
#include "model/trouble.h"
#include "lib/banned.h"

enum {
	UNIT_TRIES = 8,
	SLICE_MS = 100,
	BACKOFF_FIRST_MS = 250,
	BACKOFF_MOST_MS = 15000,
	SAY_AGAIN_MS = 600000,
	HOST_NAME_LEN = 100,
	TROUBLE_MOST = 600
};

/* One running instance. */
struct run {
	const struct daemon *d;
	struct daemon_common opt;
	struct ctx x;
	struct arena life;
	const char *pid_path;
	int lock_fd;
	struct fail said; /* what the log was last told of, code OK: nothing */
	int64_t said_ms;
	int failures;             /* since then */
	bool troubled;            /* run/NAME.trouble is there, or may be */
	char shown[TROUBLE_MOST]; /* what it says */
};

static enum err
read_conf(struct run *r, struct fail *f)
{
	char *dir;
	struct conf *conf;
	struct conf_remark *remarks;
	size_t n;
	enum err e = conf_find_project(&r->life, r->opt.project, &dir, f);

	if (e == OK)
		e = conf_load(&r->life, arena_printf(&r->life, "%s/config.xml", dir),
		    &conf, &remarks, &n, f);
	if (e != OK)
		return e;
	e = identity_check(&r->life, conf, f);
	if (e != OK)
		return e;
	for (size_t i = 0; i < n; i++)
		log_debug("%s:%d: %s", conf->path, remarks[i].line, remarks[i].text);
	r->x.conf = conf;
	return OK;
}

/* The lock is held for life: who can take it knows that no instance of this name runs.
 */
static enum err
take_lock(struct run *r, struct fail *f)
{
	const struct conf *conf = r->x.conf;
	const char *dir = project_path(&r->life, conf, conf->run_dir);
	const char *lock = arena_printf(&r->life, "%s/%s.lock", dir, r->opt.name);
	enum err e = fs_mkdirs(dir, 0755, f);

	r->pid_path = arena_printf(&r->life, "%s/%s.pid", dir, r->opt.name);
	return e != OK ? e : fs_lock(lock, &r->lock_fd, f);
}

static enum err
write_pid(struct run *r, struct fail *f)
{
	const char *text = arena_printf(&r->life, "%ld\n", (long)getpid());

	return fs_write(r->pid_path, text, strlen(text), 0644, f);
}

bool
daemon_stopping(const struct ctx *x)
{
	char path[4200];

	if (proc_stopping)
		return true;
	if (x->one_pass) /* an admin's single pass works in a stopped project too */
		return false;
	snprintf(path, sizeof(path), "%s/stop_daemons", x->conf->project_dir);
	return fs_exists(path);
}

static void
nap(const struct ctx *x, int64_t ms)
{
	int64_t end = clock_mono_ms() + ms;

	for (int64_t left = ms; left > 0 && !daemon_stopping(x);
	     left = end - clock_mono_ms())
		clock_nap_ms(left < SLICE_MS ? (int)left : SLICE_MS);
}

static int64_t
next_backoff(int64_t ms)
{
	if (ms == 0)
		return BACKOFF_FIRST_MS;
	return ms * 2 < BACKOFF_MOST_MS ? ms * 2 : BACKOFF_MOST_MS;
}

/*
 * What lasts is said once, and then every ten minutes: a database that is gone or a
 * disk that is full fails with another item each time.
 */
static void
say_trouble(struct run *r, const char *what)
{
	const struct fail *f = &r->x.fail;
	int64_t now = clock_mono_ms();
	bool lasts = f->code == E_DB || f->code == E_DISK_FULL;

	r->failures++;
	if (r->said.code == f->code && now < r->said_ms + SAY_AGAIN_MS &&
	    (lasts || strcmp(r->said.detail, f->detail) == 0))
		return;
	log_fail(what, f);
	r->said = *f;
	r->said_ms = now;
}

static void
trouble_is_over(struct run *r)
{
	if (r->failures > 1)
		log_info("works again after %d failures", r->failures);
	r->failures = 0;
	r->said.code = OK;
}

void
daemon_trouble(struct ctx *x, const char *fmt, ...)
{
	char text[TROUBLE_MOST];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	x->trouble = arena_strdup(&x->a, text);
}

/* After a step, before its arena is emptied: what status is to show.  It cannot be
 * written: the log has it. */
static void
show_trouble(struct run *r, bool did)
{
	struct ctx *x = &r->x;
	struct trouble t = { r->opt.name, x->now, arena_strdup(&x->a, r->shown) };
	struct fail f = { 0 };
	bool failed = x->tries != NULL && x->tries->used > 0;

	if (x->trouble != NULL && strcmp(x->trouble, r->shown) != 0) {
		snprintf(r->shown, sizeof(r->shown), "%s", x->trouble);
		t.text = r->shown;
		trouble_write(&x->a, x->conf, &t, &f);
		r->troubled = true;
	} else if (x->trouble == NULL && did && !failed && r->troubled) {
		trouble_clear(&x->a, x->conf, r->opt.name, &f);
		r->troubled = false;
		r->shown[0] = '\0';
	}
	if (f.code != OK)
		log_fail("telling locus status of trouble", &f);
	x->trouble = NULL;
}

/* Waits for the database as long as it takes; only another schema version or one pass
 * gives up. */
static enum err
open_db(struct run *r)
{
	struct ctx *x = &r->x;
	enum err e;

	for (int64_t ms = 0;;) {
		e = db_open(x->conf, DB_WORK, &x->db, &x->fail);
		if (e == OK || e == E_CONFIG || x->one_pass || daemon_stopping(x))
			return e;
		say_trouble(r, "opening the database");
		ms = next_backoff(ms);
		nap(x, ms);
	}
}

static enum err
start(struct run *r)
{
	struct ctx *x = &r->x;
	enum err e;

	for (int64_t ms = 0;;) {
		x->now = clock_now();
		e = r->d->start == NULL ? OK : r->d->start(x);
		arena_reset(&x->a);
		if (e == OK || e == E_CONFIG || x->one_pass || daemon_stopping(x))
			return e;
		say_trouble(r, "starting");
		ms = next_backoff(ms);
		nap(x, ms);
	}
}

static enum err
one_step(struct run *r, size_t *done)
{
	struct ctx *x = &r->x;
	enum err e;

	*done = 0;
	x->now = clock_now();
	x->fail = (struct fail){ 0 };
	e = db_ready(x->db, &x->fail);
	if (e == OK)
		e = r->d->step(x, done);
	if (e != OK)
		daemon_trouble(x, "%s", x->fail.detail);
	show_trouble(r, *done > 0 || (e == OK && r->said.code != OK));
	arena_reset(&x->a);
	return e;
}

static enum err
loop(struct run *r)
{
	struct ctx *x = &r->x;
	int64_t backoff_ms = 0;
	double idle_ms = r->opt.sleep_s > 0 ? r->opt.sleep_s * 1000 : r->d->idle_ms;
	size_t done;

	while (!daemon_stopping(x)) {
		enum err e = one_step(r, &done);
		if (e != OK && x->one_pass)
			return e;
		if (e != OK) {
			say_trouble(r, "step");
			backoff_ms = next_backoff(backoff_ms);
			nap(x, backoff_ms);
			continue;
		}
		backoff_ms = 0;
		trouble_is_over(r);
		if (x->one_pass && (done == 0 || x->dry_run))
			return OK;
		if (done == 0)
			nap(x, (int64_t)idle_ms);
	}
	return OK;
}

enum err
daemon_unit(struct ctx *x, enum err (*unit)(struct ctx *, void *), void *arg)
{
	for (int attempt = 0;; attempt++) {
		enum err e = db_begin(x->db, &x->fail);
		if (e == OK)
			e = unit(x, arg);
		if (e == OK)
			e = db_commit(x->db, &x->fail);
		if (e == OK)
			return OK;
		db_rollback(x->db);
		if (e != E_RETRY || attempt + 1 >= UNIT_TRIES)
			return e;
		log_debug("again: %s", x->fail.detail);
		db_retry_nap(&x->rng, attempt);
	}
}

enum err
daemon_item(struct ctx *x, struct tries *t, int64_t key, const char *label, enum err e)
{
	struct fail f = { 0 };

	if (e == OK) {
		tries_forget(t, key);
		return OK;
	}
	if (e == E_DISK_FULL)
		tries_wait(t, key, x->now); /* one that needs less may come first */
	if (e == E_DISK_FULL || db_ready(x->db, &f) != OK)
		return e;
	if (e == E_RACE ||
	    e == E_RETRY) { /* contention: it is still due in the next step */
		log_debug("%s: left for the next pass: %s", label, x->fail.detail);
		return OK;
	}
	log_err("%s: failed %d times, %s: %s", label, (int)tries_failed(t, key, x->now),
	    err_name(e), x->fail.detail);
	daemon_trouble(x, "%s: %s", label, x->fail.detail);
	return OK;
}

enum err
daemon_workunits(struct ctx *x, struct tries *t, struct workunit *wu, size_t n,
    enum err (*each)(struct ctx *, struct workunit *), size_t *done)
{
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK && !daemon_stopping(x); i++) {
		if (tries_must_wait(t, wu[i].id, x->now))
			continue;
		e = each(x, &wu[i]);
		*done += e == OK;
		e = daemon_item(x, t, wu[i].id,
		    arena_printf(
			&x->a, "[WU#%lld] %s", (long long)wu[i].id, wu[i].name),
		    e);
	}
	return e;
}

static int
by_id(const void *a, const void *b)
{
	const struct workunit *const *x = a, *const *y = b;

	return ((*x)->id > (*y)->id) - ((*x)->id < (*y)->id);
}

/* Parameters: what is done with some, and with each if that fails. */
enum err
daemon_chunks(struct ctx *x, struct tries *t, struct workunit *wu, size_t n,
    size_t most, enum err (*some)(struct ctx *, struct workunit *const *, size_t),
    enum err (*each)(struct ctx *, struct workunit *), size_t *done)
{
	struct workunit **chunk = NEWN(&x->a, struct workunit *, most);
	enum err e = OK;

	for (size_t from = 0, end; from < n && e == OK && !daemon_stopping(x);
	     from = end) {
		size_t nchunk = 0;
		for (end = from; end < n && nchunk < most; end++)
			if (!tries_must_wait(t, wu[end].id, x->now))
				chunk[nchunk++] = &wu[end];
		if (nchunk == 0)
			break;
		qsort(chunk, nchunk, sizeof(*chunk), by_id);
		if (some(x, chunk, nchunk) != OK) {
			e = daemon_workunits(x, t, wu + from, end - from, each, done);
			continue;
		}
		for (size_t i = 0; i < nchunk; i++)
			tries_forget(t, chunk[i]->id);
		*done += nchunk;
	}
	return e;
}

struct tries *
daemon_tries(struct ctx *x, int64_t first_s, int64_t most_s)
{
	struct tries *t = NEW(x->life, struct tries);

	t->first_s = first_s;
	t->most_s = most_s;
	x->tries = t;
	return t;
}

enum err
daemon_app(struct ctx *x, const char *name, int64_t *id)
{
	struct catalog *cat;
	const struct app *app;
	enum err e = *id != 0 ? OK : catalog_load(x->db, &x->a, &cat, &x->fail);

	if (e != OK || *id != 0)
		return e;
	app = catalog_app_named(cat, name);
	if (app == NULL)
		return FAIL(&x->fail, E_NOTFOUND,
		    "no app %s in the database: add it with locus app add", name);
	*id = app->id;
	return OK;
}

enum err
daemon_command(struct ctx *x, const char *cmd, char ***argv, size_t *argc)
{
	enum err e;

	*argc = 0;
	*argv = NULL;
	if (cmd == NULL)
		return OK;
	if ((e = proc_split(x->life, cmd, argv, &x->fail)) != OK)
		return FAIL(&x->fail, E_CONFIG,
		    "--command %s: cannot be split into words", cmd);
	while ((*argv)[*argc] != NULL)
		++*argc;
	return *argc > 0 ? OK : FAIL(&x->fail, E_CONFIG, "--command is empty");
}

/* An instance's name is locked on its machine, so what it owned before it started is
 * nobody's. */
static void
find_triggers(struct run *r)
{
	struct ctx *x = &r->x;
	char host[HOST_NAME_LEN];

	if (gethostname(host, sizeof(host)) != 0)
		host[0] = '\0';
	host[sizeof(host) - 1] = '\0';
	x->triggers = (struct triggers){ .conf = x->conf,
		.db = x->db,
		.owner = arena_printf(&r->life, "%s/%s", host, r->opt.name) };
}

/* Everything before the first step. */
static enum err
set_up(struct run *r, struct fail *f)
{
	struct ctx *x = &r->x;
	uint64_t seed;
	enum err e;

	proc_no_core();
	proc_signals();
	random_bytes(&seed, sizeof(seed));
	x->rng = rng_seed(seed);
	x->life = &r->life;
	x->one_pass = r->opt.one_pass || r->opt.dry_run;
	x->dry_run = r->opt.dry_run;
	r->troubled = true; /* by an earlier process */
	x->mod_n = r->opt.mod[0];
	x->mod_i = r->opt.mod[1];
	if ((e = read_conf(r, f)) != OK || (e = take_lock(r, f)) != OK)
		return e;
	log_debug(
	    "seed=%llu project=%s", (unsigned long long)seed, x->conf->project_dir);
	if ((e = write_pid(r, f)) != OK)
		return e;
	e = open_db(r);
	find_triggers(r);
	if (e == OK)
		e = start(r);
	*f = x->fail;
	return e;
}

static int
run_daemon(struct run *r)
{
	struct fail f = { 0 };
	enum err e = set_up(r, &f);
	int status;

	if (e == OK) {
		log_info("started pid=%ld", (long)getpid());
		e = loop(r);
		f = r->x.fail;
	}
	status = e == E_RACE && r->lock_fd < 0 ? 75 : err_exit(e);
	if (daemon_stopping(&r->x))
		status = 0;
	if (status == 75)
		log_err("another instance named %s runs in this project; give this one "
			"another --name",
		    r->opt.name);
	else if (status != 0)
		log_fail("ending", &f);
	if (r->lock_fd >= 0)
		fs_unlink(r->pid_path, &f);
	if (e == OK || status == 0)
		log_info("ended");
	if (r->d->end != NULL)
		r->d->end(&r->x);
	db_close(r->x.db);
	arena_free(&r->x.a);
	return status;
}

int
daemon_main(const struct daemon *d, int argc, char **argv)
{
	static const enum log_level levels[] = { LOG_ERR, LOG_WARN, LOG_INFO,
		LOG_DEBUG };
	struct run r = { .d = d, .lock_fd = -1 };
	struct fail f = { 0 };
	int status;

	r.x.own = arena_alloc(&r.life, d->own_size);
	switch (options_read(&r.life, d, &r.opt, r.x.own, argc, argv, &f)) {
	case OPTIONS_RUN:
		break;
	case OPTIONS_SHOWN:
		arena_free(&r.life);
		return 0;
	case OPTIONS_WRONG:
		fprintf(stderr, "%s: %s\nTry %s --help.\n", d->name, f.detail, d->name);
		arena_free(&r.life);
		return 2;
	}
	log_open(r.opt.name, NULL, levels[r.opt.debug]);
	status = run_daemon(&r);
	arena_free(&r.life);
	return status;
}
