/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The main loop of every daemon. It survives the loss of its database: a failed step
 * is logged and retried with a growing backoff. Sleeps are cut into slices, so that a
 * signal or the file stop_daemons ends the process within a tenth of a second.
 */
#include "daemons/loop.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "config.h"
#include "daemons/lease_keeper.h"
#include "db/entity.h"
#include "db/schema.h"
#include "lib/args.h"
#include "lib/clamp.h"
#include "lib/clock.h"
#include "lib/counters.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/proc.h"
#include "model/identity.h"
#include "model/owner.h"
#include "model/metrics.h"
#include "model/trouble.h"
#include "lib/banned.h"

enum {
	SLICE_MS = 100,
	BACKOFF_FIRST_MS = 250,
	BACKOFF_MOST_MS = 15000,
	RING_GAP_MS = 20, /* between two rings that bring nothing */
	SAY_AGAIN_MS = 600000,
	LEASE_LOOK_MS = 250,
	TROUBLE_MOST = 600
};

/* --- the command line --- */

#define OF(member) FIELD_OF(struct daemon_common, member)
static const struct field common[] = {
#include "daemons/common_options.def"
	{ 0 },
};

/*
 * Without --name an instance is named after its work, such as validator-APP,
 * trickle_handler-VARIETY, or transitioner-1 for --mod 4 1. So two instances that
 * would do the same work exclude each other, and no others.
 */
static char *instance_name(
    struct arena *a, const struct daemon *d, const struct daemon_common *c, void *own)
{
	const char *app = NULL;
	char *name;

	for (const struct field *o = d->options; o != NULL && o->name != NULL; o++)
		if (strcmp(o->name, "app") == 0 || strcmp(o->name, "variety") == 0)
			app = *(char **)(void *)((char *)own + o->off);
	name = app == NULL ? arena_strdup(a, d->name) :
	                     arena_printf(a, "%s-%s", d->name, app);
	return c->mod[0] <= 1 ? name :
	                        arena_printf(a, "%s-%lld", name, (long long)c->mod[1]);
}

/* Are the options consistent? Names the instance and its share of the work. */
static enum err options_check(struct arena *a, const struct daemon *d,
    struct daemon_common *c, void *own, struct fail *f)
{
	if (d->check != NULL)
		TRY(d->check(own, f));
	if (c->dry_run && !d->can_dry_run)
		return FAIL(f, E_BADREQ,
		    "%s has no --dry_run: it cannot tell what it would do", d->name);
	c->work = instance_name(a, d, c, own);
	if (c->name == NULL || c->name[0] == '\0')
		c->name = c->work;
	if (c->mod[0] > 1)
		c->work = arena_printf(a, "%s of %lld", c->work, (long long)c->mod[0]);
	if (strchr(c->name, '/') != NULL || c->name[0] == '.')
		return FAIL(
		    f, E_BADREQ, "--name takes a plain name, not \"%s\"", c->name);
	return OK;
}

int options_read(struct arena *a, const struct daemon *d, struct daemon_common *c,
    void *own, int argc, char **argv)
{
	struct fail f = { 0 };
	struct args g = { .a = a,
		.program = d->name,
		.own = d->options,
		.own_row = own,
		.common = common,
		.common_row = c,
		.one_dash = true,
		.usage = arena_printf(
		    a, "usage: %s [options]\n%s\n\n", d->name, d->purpose),
		.version = arena_printf(a, "%s (%s) %s, schema %d", d->name,
		    PACKAGE_NAME, PACKAGE_VERSION, (int)SCHEMA_VERSION) };
	enum args_end end = args_read(&g, argc, argv, &f);

	if (end == ARGS_RUN && options_check(a, d, c, own, &f) != OK)
		end = ARGS_WRONG;
	return args_answer(&g, end, &f);
}

/* One running instance of a daemon. */
struct instance {
	const struct daemon *daemon;
	char *const *argv;
	struct daemon_common opt;
	struct daemon_ctx x;
	struct arena life;
	const char *pid_path;
	int lock_fd;
	struct fail said; /* the failure logged last; code OK = none */
	int64_t said_ms;
	int failures;             /* consecutive failures */
	bool troubled;            /* run/NAME.trouble exists, or may exist */
	char shown[TROUBLE_MOST]; /* its text */
	int64_t shown_at;         /* s UTC */
	const char *conf_path;    /* NULL until the project is found */
	struct fs_seen conf_seen, key_seen;
	char key_path[4200];
	struct counters counters; /* of this machine */
	int64_t counted_at;       /* of the last pass noted there; 0 = none */
	char broken[FAIL_BYTES];  /* why config.xml is unusable; "" = it is in use */
	int keeper_said;          /* the state logged last; -1 = none */
	char keeper_text[KEEPER_TEXT_MOST]; /* its reason */
	bool standby_shown;                 /* run/NAME.standby may exist */
	uint32_t rings;                     /* of its bell, before the step */
	bool rung;                          /* a ring ended the last sleep */
	bool deaf;                          /* logged: it cannot listen */
	bool restarted; /* in place of a process whose configuration was valid */
};

/* Tells the process that restart_with() executes what it takes the place of. */
static const char restarted_mark[] = "LOCUS_DAEMON_RESTARTED";

static enum err read_conf(struct instance *r, struct fail *f)
{
	char *dir;
	struct conf *conf;
	struct conf_remark *remarks;
	size_t n;
	struct owner owner = { 0 };

	TRY(conf_find_project(&r->life, r->opt.project, &dir, f));
	TRY(owner_enter(&r->life, dir, false, &owner, NULL, f));
	r->conf_path = arena_printf(&r->life, "%s/config.xml", dir);
	fs_changed(r->conf_path, &r->conf_seen); /* before reading it */
	TRY(conf_load(&r->life, r->conf_path, &conf, &remarks, &n, f));
	TRY(identity_check(&r->life, conf, f));
	for (size_t i = 0; i < n; i++)
		log_debug("%s:%d: %s", conf->path, remarks[i].line, remarks[i].text);
	r->x.conf = conf;
	snprintf(r->key_path, sizeof(r->key_path), "%s/upload_private", conf->key_dir);
	fs_changed(r->key_path, &r->key_seen);
	return OK;
}

/*
 * Reads config.xml. A restart for one change may meet the next change, and that one
 * may be invalid. The daemon then waits for a valid file: ending with E_CONFIG is
 * final for the supervisor.
 */
static enum err await_conf(struct instance *r, struct fail *f)
{
	enum err e = read_conf(r, f);

	if (e == OK || !r->restarted || r->conf_path == NULL)
		return e;
	log_err("config.xml cannot be used; waiting until it is mended: %s", f->detail);
	notify_ready();
	notify_status("waits for a valid config.xml: %s", f->detail);
	while (e != OK && !proc_stopping) {
		notify_alive();
		clock_nap_ms(SLICE_MS);
		if (fs_changed(r->conf_path, &r->conf_seen))
			e = read_conf(r, f);
	}
	return e;
}

/*
 * The lock is held until the process ends, so whoever can take it knows that no
 * instance of this name runs.
 */
static enum err take_lock(struct instance *r, struct fail *f)
{
	const struct conf *conf = r->x.conf;
	const char *dir = project_path(&r->life, conf, conf->run_dir);
	const char *lock = arena_printf(&r->life, "%s/%s.lock", dir, r->opt.name);

	r->pid_path = arena_printf(&r->life, "%s/%s.pid", dir, r->opt.name);
	TRY(fs_mkdirs(dir, 0755, f));
	return fs_lock(lock, &r->lock_fd, f);
}

/* Is the process to end? */
static bool loop_ending(const struct daemon_ctx *x)
{
	char path[4200];

	notify_alive(); /* asked between items, and while the loop sleeps */
	if (proc_stopping)
		return true;
	/* An admin may run a single pass in a stopped project. */
	if (x->one_pass || x->conf == NULL)
		return false;
	snprintf(path, sizeof(path), "%s/stop_daemons", x->conf->project_dir);
	return fs_exists(path);
}

bool daemon_stopping(const struct daemon_ctx *x)
{
	return loop_ending(x) || (x->keeper != NULL && !keeper_may_work(x->keeper));
}

static void loop_nap(const struct daemon_ctx *x, int64_t ms)
{
	int64_t end = clock_mono_ms() + ms;

	for (int64_t left = ms; left > 0 && !loop_ending(x);
	     left = end - clock_mono_ms())
		clock_nap_ms(left < SLICE_MS ? (int)left : SLICE_MS);
}

/*
 * A lasting failure is logged once and then every ten minutes: without a database or
 * with a full disk a different item fails each time.
 */
static void log_trouble(struct instance *r, const char *what)
{
	const struct fail *f = &r->x.fail;
	int64_t now = clock_mono_ms();
	bool lasts = f->code == E_DB || f->code == E_DISK_FULL;

	r->failures++;
	notify_status("%s: %s", what, f->detail);
	if (r->said.code == f->code && now < r->said_ms + SAY_AGAIN_MS &&
	    (lasts || strcmp(r->said.detail, f->detail) == 0))
		return;
	log_fail(what, f);
	r->said = *f;
	r->said_ms = now;
}

static void nap_after_failure(const struct instance *r)
{
	loop_nap(&r->x, pause_doubled(BACKOFF_FIRST_MS, r->failures, BACKOFF_MOST_MS));
}

static void trouble_over(struct instance *r)
{
	if (r->failures > 1)
		log_info("works again after %d failures", r->failures);
	r->failures = 0;
	r->said.code = OK;
}

void daemon_trouble(struct daemon_ctx *x, const char *fmt, ...)
{
	char text[TROUBLE_MOST];
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	x->trouble = arena_strdup(&x->a, text);
}

/*
 * Tells locus status of this step's trouble, before the step's arena is reset: of one
 * in a second, unless the step failed as a whole. If the file cannot be written, the
 * log still has the trouble.
 */
static void show_trouble(struct instance *r, bool step_failed, bool did)
{
	struct daemon_ctx *x = &r->x;
	struct trouble t = { r->opt.name, x->now, arena_strdup(&x->a, r->shown) };
	struct fail f = { 0 };
	bool failed = x->aside || (x->backoff != NULL && x->backoff->used > 0);

	if (x->trouble != NULL && strcmp(x->trouble, r->shown) != 0 &&
	    (step_failed || x->now != r->shown_at)) {
		r->shown_at = x->now;
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
		log_fail("writing the trouble that locus status shows", &f);
	x->trouble = NULL;
}

/* Keeps the configuration in use; each fault of the new file is logged once. */
static void keep_old_conf(struct instance *r, const struct fail *f)
{
	if (strcmp(r->broken, f->detail) == 0)
		return;
	snprintf(r->broken, sizeof(r->broken), "%s", f->detail);
	log_err(
	    "config.xml cannot be used; the previous configuration stays in force: %s",
	    r->broken);
}

static void conf_mended(struct instance *r)
{
	struct fail f = { 0 };

	if (r->broken[0] == '\0')
		return;
	r->broken[0] = r->shown[0] = '\0';
	if (trouble_clear(&r->x.a, r->x.conf, r->opt.name, &f) != OK)
		log_fail("clearing the trouble that locus status shows", &f);
}

/*
 * Everything a daemon holds depends on its configuration: the connection, the upload
 * key, paths, whatever start() made. So the process executes itself again, which is
 * safe between two steps because a daemon may be killed at any moment.
 */
static void restart_with(struct instance *r, const char *why)
{
	struct daemon_ctx *x = &r->x;

	log_info("%s has changed: restarting", why);
	conf_mended(r);
	notify_reloading();
	handlers_close(x->handlers);
	keeper_close(x->keeper, false);
	x->keeper = NULL;
	if (x->db != NULL)
		db_close(x->db);
	x->db = NULL;
	setenv(restarted_mark, "1", 1);
	log_end();
	proc_reexec(r->argv);
	if (!loop_ending(x))
		log_err("cannot restart: %s", strerror(errno));
	proc_stopping = proc_stopping == 0 ? SIGTERM : proc_stopping;
}

/*
 * Restarts the daemon if config.xml or the upload key has changed; called between two
 * steps. A single pass keeps the configuration it started with.
 */
static void reload_if_changed(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	bool key = fs_changed(r->key_path, &r->key_seen);
	bool conf = fs_changed(x->conf->path, &r->conf_seen) || r->broken[0] != '\0';
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct conf *cf;
	enum err e;

	if (x->one_pass || (!key && !conf))
		return;
	e = conf_load(&a, x->conf->path, &cf, NULL, NULL, &f);
	if (e == OK)
		e = identity_check(&a, cf, &f);
	if (e != OK)
		keep_old_conf(r, &f);
	else if (strcmp(cf->hash, x->conf->hash) != 0)
		restart_with(r, "config.xml");
	else if (key && !cf->dont_generate_upload_certificates)
		restart_with(r, "the upload key");
	else
		conf_mended(r);
	arena_free(&a);
}

/*
 * Waits for the database as long as it takes; gives up only if the schema version is
 * wrong or for a single pass.
 */
static enum err open_db(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	enum err e;

	for (;;) {
		e = db_open(x->conf, DB_DAEMON, &x->db, &x->fail);
		if (e == OK || e == E_CONFIG || x->one_pass || loop_ending(x))
			return e;
		log_trouble(r, "opening the database");
		/* It does what it can, and the supervisor need not wait. */
		notify_ready();
		nap_after_failure(r);
		reload_if_changed(r);
	}
}

static enum err loop_start(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	enum err e;

	for (;;) {
		x->now = clock_now();
		e = r->daemon->start == NULL ? OK : r->daemon->start(x);
		arena_reset(&x->a);
		if (e == OK || e == E_CONFIG || x->one_pass || loop_ending(x))
			return e;
		log_trouble(r, "starting");
		nap_after_failure(r);
		reload_if_changed(r);
	}
}

/*
 * Notes the time of a pass without an error, at most once a second, for locus metrics.
 * A failure only makes the daemon look late.
 */
static void note_pass(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	const char *name = r->opt.name;
	struct fail f = { 0 };

	if (x->now == r->counted_at)
		return;
	r->counted_at = x->now;
	if (r->counters.file.map == NULL &&
	    counters_open(&r->counters,
		arena_printf(&x->a, "%s/" COUNTERS_FILE, x->conf->run_dir), &f) != OK)
		return;
	if (counters_set(&r->counters, metric_series(&x->a, METRIC_DAEMON_PASS, &name),
		(uint64_t)x->now, &f) == E_NOTFOUND)
		shared_close(&r->counters.file); /* an admin removed it */
}

static enum err one_step(struct instance *r, size_t *done)
{
	struct daemon_ctx *x = &r->x;
	enum err e;

	*done = 0;
	x->now = clock_now();
	x->fail = (struct fail){ 0 };
	e = db_ready(x->db, &x->fail);
	if (e == OK)
		e = r->daemon->step(x, done);
	if (e != OK)
		daemon_trouble(x, "%s", x->fail.detail);
	else if (r->broken[0] != '\0')
		daemon_trouble(x, "config.xml is not in force: %s", r->broken);
	show_trouble(r, e != OK, *done > 0 || (e == OK && r->said.code != OK));
	if (e == OK)
		note_pass(r);
	arena_reset(&x->a);
	return e;
}

/* Shows in locus status, too, why this instance does not work. */
static void show_standby(struct instance *r, const char *text)
{
	struct trouble t = { r->opt.name, clock_now(), r->keeper_text };
	struct fail f = { 0 };

	snprintf(r->keeper_text, sizeof(r->keeper_text), "%s", text);
	if (text[0] != '\0')
		standby_write(&r->x.a, r->x.conf, &t, &f);
	else if (r->standby_shown)
		standby_clear(&r->x.a, r->x.conf, r->opt.name, &f);
	r->standby_shown = text[0] != '\0';
	if (f.code != OK)
		log_fail("writing the standby that locus status shows", &f);
	arena_reset(&r->x.a);
}

/*
 * May the next step begin? A drained instance gives its lease up; a single pass ends
 * when a living instance has the lease, see wait_for_lease().
 */
static bool has_lease(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	char text[KEEPER_TEXT_MOST];
	enum keeper_state s;

	if (x->keeper == NULL)
		return true;
	s = keeper_state(x->keeper, text);
	if ((int)s == r->keeper_said &&
	    (s == KEEPER_WORKS || strcmp(text, r->keeper_text) == 0))
		return s == KEEPER_WORKS;
	if (s == KEEPER_DRAINED && r->keeper_said != (int)s)
		keeper_release(x->keeper);
	if (s != KEEPER_WORKS && r->keeper_said != (int)s)
		log_info("does not work: %s", text);
	else if (s == KEEPER_WORKS && r->keeper_said >= 0)
		log_info("works again");
	r->keeper_said = (int)s;
	show_standby(r, text);
	return s == KEEPER_WORKS;
}

/*
 * A single pass waits until it has the lease, and gives up when it sees that another
 * instance renews it.
 */
static enum err wait_for_lease(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	char text[KEEPER_TEXT_MOST];

	for (;;) {
		enum err e = keeper_turn(x->keeper, &x->fail);
		if (e != OK && e != E_RETRY)
			return e;
		if (keeper_state(x->keeper, text) == KEEPER_WORKS || loop_ending(x))
			return OK;
		if (keeper_holder_lives(x->keeper))
			return FAIL(&x->fail, E_RACE, "%s and does this work", text);
		loop_nap(x, LEASE_LOOK_MS);
	}
}

void daemon_ring(struct daemon_ctx *x, enum doorbell bell)
{
	if (!x->dry_run)
		doorbell_ring(&x->doorbells, x->conf, bell);
}

/* Returns the rings so far; opens the doorbells if they are absent or were replaced. */
static uint32_t listen_to_bell(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	struct fail f = { 0 };
	enum err e;

	if (r->daemon->bell == DOORBELL_NONE || x->one_pass)
		return 0;
	e = doorbells_listen(&x->doorbells, x->conf, &f);
	if (e != OK && !r->deaf)
		log_fail("cannot be woken, and looks for work now and then", &f);
	r->deaf = e != OK;
	return bells_count(&x->doorbells.bells, r->daemon->bell);
}

/*
 * Waits for work, but not longer than the lease lasts. A ring that brought nothing, as
 * one for a validator of another app does, puts off the next by RING_GAP_MS.
 */
static void idle_nap(struct instance *r)
{
	double ms = r->opt.sleep_s > 0 ? r->opt.sleep_s * 1000 : r->daemon->idle_ms;
	int64_t end = clock_mono_ms() + (int64_t)ms;

	if (r->rung)
		clock_nap_ms(ms < RING_GAP_MS ? (int)ms : RING_GAP_MS);
	r->rung = false;
	for (int64_t left = end - clock_mono_ms();
	     left > 0 && !r->rung && !daemon_stopping(&r->x);
	     left = end - clock_mono_ms())
		r->rung = bells_wait(&r->x.doorbells.bells, r->daemon->bell, r->rings,
			      left < SLICE_MS ? (int)left : SLICE_MS) ||
		          listen_to_bell(r) != r->rings;
}

/* Sees to the lease before a step; *may: the step may begin. */
static enum err before_step(struct instance *r, bool *may)
{
	reload_if_changed(r);
	*may = false;
	if (loop_ending(&r->x))
		return OK;
	*may = has_lease(r);
	if (!*may && r->x.one_pass)
		return wait_for_lease(r);
	if (!*may)
		loop_nap(&r->x, SLICE_MS);
	return OK;
}

static enum err run_loop(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	size_t done;
	bool may;

	while (!loop_ending(x)) {
		enum err e;

		TRY(before_step(r, &may));
		if (!may)
			continue;
		r->rings = listen_to_bell(r); /* before it looks for work */
		e = one_step(r, &done);
		r->rung = r->rung && done == 0;
		if (e != OK && x->keeper != NULL && !keeper_may_work(x->keeper))
			continue; /* cut off: another instance has the lease by now */
		if (e != OK && x->one_pass)
			return e;
		if (e != OK) {
			log_trouble(r, "step");
			nap_after_failure(r);
			continue;
		}
		trouble_over(r);
		if (done > 0)
			notify_status("handled %zu items in the last pass", done);
		else
			notify_status("nothing to do");
		if (x->one_pass && (done == 0 || x->dry_run))
			return OK;
		if (done == 0)
			idle_nap(r);
	}
	return OK;
}

/*
 * The lock makes the name of an instance unique on its machine, so claims that carry
 * this name are left over from an earlier process.
 */
static void find_triggers(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	struct node here;
	struct fail f = { 0 };

	if (node_here(&r->life, x->conf, &here, &f) != OK)
		here.name = "localhost";
	x->triggers = triggers_of(
	    x->conf, x->db, arena_printf(&r->life, "%s/%s", here.name, r->opt.name));
}

static enum err open_lease(struct instance *r)
{
	struct daemon_ctx *x = &r->x;
	const struct keeper_terms t = { .conf = x->conf,
		.lease = r->daemon->claims_items || r->opt.no_lease ? NULL :
		                                                      r->opt.work,
		.service = r->opt.name,
		.one_pass = x->one_pass };

	if (x->dry_run)
		return OK;
	TRY(keeper_open(&r->life, &t, &x->keeper, &x->fail));
	r->keeper_said = -1;
	r->standby_shown = true; /* an earlier process may have left it */
	if (x->one_pass)
		TRY(wait_for_lease(r));
	else if (keeper_turn(x->keeper, &x->fail) != OK)
		log_fail("reading the lease", &x->fail);
	return keeper_start(x->keeper, &x->fail);
}

/*
 * Waits while the file stop_daemons exists, without the lock, as a daemon that does not
 * work. The supervisor would start the daemon again and again.
 */
static void wait_while_stopped(const struct daemon_ctx *x)
{
	if (!daemon_stopping(x))
		return;
	notify_ready();
	notify_status("waits until stop_daemons is removed");
	while (!proc_stopping && daemon_stopping(x))
		clock_nap_ms(SLICE_MS);
}

/* Does everything that precedes the first step. */
static enum err loop_set_up(struct instance *r, struct fail *f)
{
	struct daemon_ctx *x = &r->x;
	const char *pid;
	uint64_t seed;
	enum err e;

	proc_no_core();
	proc_signals();
	random_bytes(&seed, sizeof(seed));
	x->rng = rng_seed(seed);
	x->life = &r->life;
	x->name = r->opt.name;
	x->one_pass = r->opt.one_pass || r->opt.dry_run;
	x->dry_run = r->opt.dry_run;
	r->troubled = true; /* an earlier process may have left it */
	x->mod_n = r->opt.mod[0];
	x->mod_i = r->opt.mod[1];
	r->restarted = getenv(restarted_mark) != NULL;
	unsetenv(restarted_mark); /* not for the programs that it starts */
	TRY(await_conf(r, f));
	if (notify_wanted() && !x->one_pass)
		wait_while_stopped(x);
	TRY(take_lock(r, f));
	log_debug(
	    "seed=%llu project=%s", (unsigned long long)seed, x->conf->project_dir);
	pid = arena_printf(&r->life, "%ld\n", (long)getpid());
	TRY(fs_write(r->pid_path, pid, strlen(pid), 0644, f));
	e = open_db(r);
	find_triggers(r);
	if (e == OK)
		e = open_lease(r);
	if (e == OK)
		e = loop_start(r);
	*f = x->fail;
	return e;
}

static int run_daemon(struct instance *r)
{
	struct fail f = { 0 };
	enum err e = loop_set_up(r, &f);
	int status;

	if (e == OK) {
		log_info("started pid=%ld", (long)getpid());
		notify_ready();
		e = run_loop(r);
		f = r->x.fail;
	}
	notify_stopping();
	status = e == E_RACE ? 75 : err_exit(e);
	if (loop_ending(&r->x))
		status = 0;
	if (status == 75 && r->lock_fd < 0)
		log_err(
		    "another instance named %s runs in this project; give this one a different --name",
		    r->opt.name);
	else if (status != 0)
		log_fail("ending", &f);
	if (r->lock_fd >= 0)
		fs_unlink(r->pid_path, &f);
	if (e == OK || status == 0)
		log_info("ended");
	handlers_close(r->x.handlers);
	doorbells_close(&r->x.doorbells);
	if (r->daemon->end != NULL)
		r->daemon->end(&r->x);
	if (r->x.keeper != NULL)
		show_standby(r, "");
	keeper_close(r->x.keeper, true);
	db_close(r->x.db);
	arena_free(&r->x.a);
	return status;
}

int daemon_main(const struct daemon *d, int argc, char **argv)
{
	static const enum log_level levels[] = { LOG_ERR, LOG_WARN, LOG_INFO,
		LOG_DEBUG };
	struct instance r = { .daemon = d, .argv = argv, .lock_fd = -1 };
	int status;

	r.x.own = arena_alloc(&r.life, d->own_size);
	status = options_read(&r.life, d, &r.opt, r.x.own, argc, argv);
	if (status < 0) {
		log_open(r.opt.name, r.opt.log, levels[r.opt.debug]);
		status = run_daemon(&r);
		log_end();
	}
	arena_free(&r.life);
	return status;
}
