/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A loop that steps every service ten times a second. Stopping is the same loop with no
 * service wanted, one kind of service at a time.
 */
#include "tools/supervisor/supervise.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/journal.h"
#include "lib/log.h"
#include "lib/notify.h"
#include "lib/privilege.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "model/owner.h"
#include "model/trouble.h"
#include "tools/foreign.h"
#include "tools/procfs.h"
#include "tools/dir_cure.h"
#include "tools/program.h"
#include "tools/supervisor/sup.h"
#include "tools/upstream.h"
#include "lib/banned.h"

/* Orders for single services, which are files in the run directory (tools/state.h). */

/* Is any other service than those that are held to answer on the socket? */
static bool socket_is_served(const struct sup *x, const char *path)
{
	for (size_t i = 0; i < x->n; i++) {
		const struct proc *p = &x->procs[i];

		if (p->s.listen != NULL && p->wanted && !p->held &&
		    strcmp(p->s.listen, path) == 0)
			return true;
	}
	return false;
}

/* Lets it start at once, whatever it waits for. */
static void try_now(struct sup *x, struct proc *p, int64_t now_ms)
{
	p->failures = 0;
	p->next_ms = now_ms;
	p->restarts = 0;
	p->note[0] = '\0';
	if (p->state == PROC_FAILED || p->state == PROC_STOPPED)
		sup_set_state(x, p, PROC_DOWN);
	else if (p->state == PROC_ENDING)
		p->exit = 0; /* it gave up before the order */
}

static void take_hold(struct sup *x, struct proc *p, int64_t now_ms)
{
	bool held;

	if (!p->wanted) /* the project is being stopped, or config.xml lacks it */
		return;
	held = state_is_held(&x->round, x->cf, p->s.name);
	if (held == p->held)
		return;
	p->held = held;
	log_info("%s %s by its name", p->s.name, held ? "is stopped" : "is started");
	if (held)
		sup_end(x, p, now_ms);
	else
		try_now(x, p, now_ms);
}

/*
 * Follows locus stop, start and restart of single services: stops those that are held,
 * closes a socket whose services are all held, so that the web server answers for them,
 * and ends processes that are to be replaced.
 */
static void sup_take_orders(struct sup *x)
{
	int64_t now_ms = clock_mono_ms();

	if (!fs_changed(state_dir(&x->round, x->cf), &x->orders_seen))
		return;
	for (size_t i = 0; i < x->n; i++)
		take_hold(x, &x->procs[i], now_ms);
	for (size_t i = 0; i < x->n; i++) {
		struct proc *p = &x->procs[i];

		if (p->held && p->s.listen != NULL && !socket_is_served(x, p->s.listen))
			sup_unlisten(x, p->s.listen);
		if (state_take_restart(&x->round, x->cf, p->s.name)) {
			log_info("%s is replaced by order", p->s.name);
			sup_end(x, p, now_ms);
			try_now(x, p, now_ms);
		}
	}
	arena_reset(&x->round);
}

enum { TICK_MS = 100, RELOAD_MS = 1000, TASKS_MS = 10000 };

/* --- the list of services --- */

static bool same_command(char **a, char **b)
{
	if (a == NULL || b == NULL)
		return a == b;
	for (; *a != NULL && *b != NULL; a++, b++)
		if (strcmp(*a, *b) != 0)
			return false;
	return *a == *b;
}

/*
 * Sets the list of wanted services: new ones will be started, missing and changed ones
 * stopped. Services that were given up are tried again, also if config.xml has its old
 * contents: a service may have given up over contents that were replaced before the
 * supervisor read them.
 */
static void set_wanted(struct sup *x, const struct service *s, size_t n)
{
	int64_t now_ms = clock_mono_ms();

	x->wanted_ms = now_ms;
	for (size_t i = 0; i < x->n; i++)
		x->procs[i].wanted = false;
	for (size_t i = 0; i < n; i++) {
		struct proc *p = sup_find(x, s[i].name);
		bool other;

		if (p == NULL) {
			PUSH(x->a, x->procs, x->n, x->cap) = (struct proc){
				.s = s[i], .wanted = true, .since = clock_now()
			};
			continue;
		}
		p->wanted = true;
		other = !same_command(p->s.argv, s[i].argv) ||
		        strcmp(p->s.log, s[i].log) != 0;
		if (other)
			sup_end(x, p, now_ms);
		if (p->state == PROC_FAILED)
			p->state = PROC_DOWN;
		p->s = s[i];
	}
	for (size_t i = 0; i < x->n; i++)
		if (!x->procs[i].wanted)
			sup_end(x, &x->procs[i], now_ms);
	x->changed = true;
}

static void forget_ended(struct sup *x)
{
	size_t k = 0;

	for (size_t i = 0; i < x->n; i++) {
		struct proc *p = &x->procs[i];

		if (p->wanted || p->pid != 0)
			x->procs[k++] = *p;
		else /* one of that name that comes later is another */
			state_hold(&x->round, x->cf, p->s.name, false, NULL);
	}
	x->changed = x->changed || k != x->n;
	x->n = k;
}

/* Logs each remark once, however often config.xml is read again. */
static void log_once(struct sup *x, char **lines, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (text_among(lines[i], x->logged, x->nlogged))
			continue;
		log_warn("%s", lines[i]);
		PUSH(x->a, x->logged, x->nlogged, x->logged_cap) = lines[i];
	}
}

static void say_upstream(struct sup *x, const struct conf *cf)
{
	struct fail f = { 0 };
	char **lines;
	size_t n;

	if (upstream_says(x->a, cf, &lines, &n, &f) == OK)
		log_once(x, lines, n);
	if (foreign_says(x->a, cf, &lines, &n, &f) == OK)
		log_once(x, lines, n);
}

/* Returns the names of the changed options of that kind; NULL if there are none. */
static const char *changed_options(
    struct sup *x, const struct conf *now, enum conf_taken kind)
{
	const char *all = NULL;

	for (size_t i = 0; i < conf_nopts; i++) {
		const struct field *o = &conf_opts[i];
		enum conf_taken taken = conf_trait(o)->taken;

		taken = taken != CONF_PRIVATE        ? taken :
		        conf_needs_restart(x->cf, o) ? CONF_RESTART :
		                                       CONF_AT_ONCE;

		if (taken == kind && strcmp(field_get(&x->round, o, x->last),
					 field_get(&x->round, o, now)) != 0)
			all = all == NULL ?
			          o->name :
			          arena_printf(&x->round, "%s, %s", all, o->name);
	}
	return all;
}

/* Lets locus status report why config.xml is not in force; NULL = it is in force. */
static void report_conf_trouble(struct sup *x, const struct fail *why)
{
	struct trouble t = { arena_strdup(&x->round, "supervisor"), clock_now(), NULL };
	struct fail f = { 0 };

	if (why == NULL) {
		trouble_clear(&x->round, x->cf, t.daemon, &f);
	} else {
		t.text = arena_printf(
		    &x->round, "config.xml is not in force: %s", why->detail);
		trouble_write(&x->round, x->cf, &t, &f);
	}
	if (f.code != OK)
		log_fail("reporting the state of config.xml to locus status", &f);
}

enum log_level supervisor_log_level(const struct conf *cf)
{
	return cf->sched_debug_level > 2 ? LOG_DEBUG : LOG_INFO;
}

struct reading { /* result of reading config.xml */
	struct conf *as_written;
	struct service *services; /* the services to run until a restart */
	size_t n;
};

static enum err read_again(struct sup *x, struct reading *r, struct fail *f)
{
	struct conf *cf;

	TRY(conf_load(x->a, x->cf->path, &r->as_written, NULL, NULL, f));
	cf = arena_memdup(x->a, r->as_written, sizeof(*cf));
	/* Restores the options that wait for a restart to their values at start. */
	for (const struct field *o = conf_opts; o->name != NULL; o++)
		if (conf_needs_restart(x->cf, o))
			field_copy(o, cf, x->cf);
	TRY(services_of(x->a, cf, &r->services, &r->n, f));
	/* Services may write there before the supervisor does. */
	TRY(fs_mkdirs(r->as_written->run_dir, private_run_mode(r->as_written), f));
	TRY(fs_mkdirs(r->as_written->log_dir, 0750, f));
	say_upstream(x, cf);
	return OK;
}

/* Takes over the services of config.xml if it has changed. A faulty file changes
 * nothing. */
static void sup_reload(struct sup *x)
{
	int64_t now_ms = clock_mono_ms();
	struct fail f = { 0 };
	struct reading r;
	bool other;

	if (now_ms < x->reload_ms)
		return;
	x->reload_ms = now_ms + RELOAD_MS;
	if (!fs_changed(x->cf->path, &x->conf_seen))
		return;
	if (read_again(x, &r, &f) != OK) {
		log_fail("the previous config.xml stays in force", &f);
		report_conf_trouble(x, &f);
		return;
	}
	report_conf_trouble(x, NULL);
	other = strcmp(r.as_written->hash, x->last->hash) != 0;
	if (other) { /* its contents changed, not only its time */
		log_info("config.xml has changed; there are %zu services", r.n);
		const char *at_once = changed_options(x, r.as_written, CONF_AT_ONCE),
			   *replace = changed_options(x, r.as_written, CONF_REPLACE),
			   *restart = changed_options(x, r.as_written, CONF_RESTART);

		if (at_once != NULL)
			log_info("config.xml: in force at once: %s", at_once);
		if (replace != NULL)
			log_info("config.xml: processes are replaced for %s", replace);
		if (restart != NULL)
			log_warn(
			    "config.xml: in force only after \"locus restart\": %s",
			    restart);
		log_set_level(supervisor_log_level(r.as_written));
	}
	x->last = r.as_written;
	set_wanted(x, r.services, r.n);
	sup_set_tasks(x, r.as_written);
}

/* --- life of the supervisor --- */

static bool any_left(const struct sup *x, enum service_kind kind)
{
	for (size_t i = 0; i < x->n; i++)
		if (x->procs[i].s.kind == kind && x->procs[i].pid != 0)
			return true;
	return false;
}

/*
 * Stops the services, the web server first and the database last; each kind is gone
 * before the next one is stopped. A machine that shuts down may end them all at once:
 * those that are gone before their turn are not started again.
 */
static void end_all(struct sup *x)
{
	x->ending = true;
	/* Tasks are ended before the services that they may use. */
	int64_t end_ms = clock_mono_ms() + TASKS_MS;
	bool any = sup_end_tasks(x, SIGTERM);

	while (any && clock_mono_ms() < end_ms) {
		sup_tick(x);
		sup_nap(x, TICK_MS / 5);
		any = sup_end_tasks(x, 0);
	}
	if (any) /* what they have left is swept at the end */
		sup_end_tasks(x, SIGKILL);
	for (int kind = SERVICE_WEB; kind >= (int)SERVICE_DATABASE; kind--) {
		for (size_t i = 0; i < x->n; i++) {
			struct proc *p = &x->procs[i];

			p->wanted = p->wanted && (int)p->s.kind < kind;
			if ((int)p->s.kind == kind)
				sup_end(x, p, clock_mono_ms());
		}
		while (any_left(x, (enum service_kind)kind)) {
			sup_tick(x);
			sup_nap(x, TICK_MS / 5);
		}
	}
	sup_unlisten_all(x);
	state_release_all(&x->round, x->cf, NULL);
	if (group_sweep(&x->round, x->cf->project_dir) > 0)
		log_warn("some processes had outlived their services and were killed");
	arena_reset(&x->round);
}

static void on_child(int sig)
{
	(void)sig; /* the signal only ends the nap */
}

static enum err open_sup(
    struct sup *x, struct arena *a, const struct conf *cf, int *lock, struct fail *f)
{
	enum err e = fs_mkdirs(cf->run_dir, private_run_mode(cf), f);
	struct service *s;
	size_t n;

	*x = (struct sup){ .a = a,
		.cf = cf,
		.last = cf,
		.hear_fd = -1,
		.journal = conf_is_installed(cf) && journal_is_stderr() };
	if (e != OK)
		return e;
	TRY(fs_mkdirs(cf->log_dir, 0750, f));
	TRY(fs_lock(state_lock_path(a, cf), lock, f));
	TRY(services_of(a, cf, &s, &n, f));
	procfs_read(getpid(), &x->self);
	set_wanted(x, s, n);
	sup_take_over(x);
	return OK;
}

/* Can this account, as which everything runs, reach the programs? locus is one of them,
 * and the others are beside it. */
static enum err check_own_programs(struct sup *x, struct fail *f)
{
	const char *self = program_self(x->a), *closed = privilege_closed(x->a, self);

	if (closed == NULL)
		return OK;
	return FAIL(f, E_DENIED,
	    "account %ld, as which everything of this project runs, cannot run %s: open the way (%s), or install Locus where everybody can reach it",
	    (long)geteuid(), self, owner_open_way(x->a, "a+rx", closed));
}

enum err supervise(struct arena *a, const struct conf *cf, struct fail *f)
{
	struct sigaction child = { .sa_handler = on_child };
	struct sup x;
	int lock = -1;

	proc_signals();
	sigaction(SIGCHLD, &child, NULL);
	/* Orphans of our services become our children, so that no zombie stays. */
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	setenv(MARK_PROJECT, cf->project_dir, 1);
	setenv("LOCUS_PROJECT", conf_dir(a, cf), 1);
	unsetenv(MARK_SERVICE); /* of a task that has started the project */
	/* What watches the supervisor, as a unit or a container may, does not watch its
	 * services: they are watched here. */
	notify_own();
	TRY(open_sup(&x, a, cf, &lock, f));
	TRY(check_own_programs(&x, f));
	TRY(short_dir_make(a, cf, f));
	TRY(sup_hear_open(&x, f));
	sup_take_kept(&x);
	sup_take_orders(&x);
	TRY(sup_listen_all(&x, f));
	log_info("supervisor of %s with %zu services", cf->project_dir, x.n);
	private_close(a, cf);
	say_upstream(&x, cf);
	sup_set_tasks(&x, cf);
	notify_ready();
	while (!proc_stopping) {
		sup_take_orders(&x);
		sup_tick(&x);
		sup_reload(&x);
		forget_ended(&x);
		sup_nap(&x, TICK_MS);
	}
	log_info("stopping, by signal %d", proc_stopping);
	notify_stopping();
	end_all(&x);
	sup_hear_close(&x);
	state_forget(a, cf);
	report_conf_trouble(&x, NULL);
	short_dir_remove(a, cf);
	log_end();
	log_info("stopped");
	close(lock);
	return OK;
}

enum err supervise_end_orphans(
    struct arena *a, const struct conf *cf, size_t *n, struct fail *f)
{
	int lock = -1;
	struct sup x;
	enum err e = open_sup(&x, a, cf, &lock, f);

	*n = 0;
	if (e != OK)
		return e;
	for (size_t i = 0; i < x.n; i++) {
		*n += x.procs[i].pid != 0;
		x.procs[i].wanted = false;
	}
	end_all(&x);
	state_forget(a, cf);
	short_dir_remove(a, cf);
	close(lock);
	return OK;
}
