/* SPDX-License-Identifier: Apache-2.0 */
/* locus start, stop and restart. */
#include "tools/cmd.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/journal.h"
#include "lib/log.h"
#include "lib/log_reader.h"
#include "tools/doctor.h"
#include "tools/procfs.h"
#include "lib/privilege.h"
#include "tools/probe.h"
#include "tools/relocate.h"
#include "tools/running.h"
#include "tools/service_order.h"
#include "tools/state.h"
#include "tools/supervisor/supervise.h"
#include "tools/unit.h"
#include "lib/banned.h"

enum {
	WAIT_DEFAULT_S = 60,
	STOP_MOST_S = 150,
	TICK_MS = 50,
	FIND_MOST_MS = 5000,
	ASK_AGAIN_MS = 300
};

struct start_opts {
	bool foreground;
	int64_t wait;
};

static const struct field start_options[] = {
	{ "wait", FIELD_OF(struct start_opts, wait), "SECONDS",
	    "Maximum time to wait until the project answers, or the service runs; default 60." },
	{ "foreground", FIELD_OF(struct start_opts, foreground), NULL,
	    "Runs the supervisor in this process, for init systems; logs to standard error, and under systemd as all services do." },
	{ 0 },
};

static const struct field stop_options[] = {
	{ "wait", FIELD_OF(struct start_opts, wait), "SECONDS",
	    "Maximum time to wait until it is down; default 150, for a single service 60." },
	{ 0 },
};

/* --- the supervisor's process --- */

static enum err run_supervisor(struct cmd_ctx *x, const char *log)
{
	enum err e;

	log_open("supervisor", log, supervisor_log_level(x->cf));
	e = supervise(x->a, x->cf, x->f);
	if (e != OK)
		log_fail("supervisor", x->f);
	return e;
}

static char *supervisor_log(struct cmd_ctx *x)
{
	return arena_printf(x->a, "%s/supervisor.log", x->cf->log_dir);
}

/* Runs the supervisor in the child, in a session of its own without the terminal.
 * Returns only to end the process. */
static enum err run_detached(struct cmd_ctx *x)
{
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);

	setsid();
	if (null >= 0)
		for (int fd = 0; fd <= 2; fd++)
			dup2(null, fd);
	return run_supervisor(x, supervisor_log(x));
}

/* --- waiting until it is up --- */

static const char *service_log_tail(struct cmd_ctx *x, const char *name)
{
	return log_tail(x->a, arena_printf(x->a, "%s/%s.log", x->cf->log_dir, name));
}

static bool supervisor_lives(const struct state *s)
{
	return procfs_alive(s->supervisor, s->supervisor_start);
}

/* An error has no room for the end of a log. */
static enum err fail_supervisor(struct cmd_ctx *x)
{
	fprintf(stderr, "the end of the supervisor's log:\n%s\n",
	    service_log_tail(x, "supervisor"));
	return FAIL(x->f, E_SYS, "the supervisor has ended; see %s/supervisor.log",
	    x->cf->log_dir);
}

struct watch { /* which services were reported already, and proc_is_hopeless() */
	bool *shown;
	int *first;
	size_t n;
};

/* Reports each service once it runs; returns the number of services that are neither
 * running nor hopeless, and in *bad the number of hopeless ones. */
static size_t report_progress(
    struct cmd_ctx *x, const struct state *s, struct watch *w, size_t *bad)
{
	size_t open = 0;

	*bad = 0;
	if (w->n != s->n) {
		w->shown = NEWN(x->a, bool, s->n + 1);
		w->first = NEWN(x->a, int, s->n + 1);
		w->n = s->n;
	}
	for (size_t i = 0; i < s->n; i++) {
		const struct state_proc *p = &s->procs[i];
		bool hopeless = proc_is_hopeless(p, &w->first[i]);

		if (p->state == PROC_RUNNING) {
			if (!w->shown[i])
				ctx_progress(
				    x, "running", "%s, pid %d", p->name, (int)p->pid);
			w->shown[i] = true;
		} else if (p->state == PROC_STOPPED) {
			continue;
		} else if (hopeless) {
			(*bad)++;
		} else {
			open++;
		}
	}
	return open;
}

static enum err fail_not_running(struct cmd_ctx *x, const struct state *s)
{
	for (size_t i = 0; i < s->n; i++) {
		const struct state_proc *p = &s->procs[i];

		if (p->state == PROC_RUNNING || p->state == PROC_STOPPED)
			continue;
		fprintf(stderr, "%s does not run (%s, %s); the end of its log:\n%s\n",
		    p->name, proc_state_name(p->state), p->note,
		    service_log_tail(x, p->name));
	}
	return FAIL(x->f, E_SYS,
	    "not all services run; the others continue: see locus status, the logs in %s, locus stop",
	    x->cf->log_dir);
}

static enum err fail_not_up(struct cmd_ctx *x, int64_t wait_s, const struct probe *p)
{
	if (p->why != NULL)
		return FAIL(x->f, E_SYS,
		    "all services run but the project does not serve: %s; %s", p->why,
		    p->mend);
	return FAIL(x->f, E_SYS,
	    "not up after %lld s; see locus status and the logs in %s",
	    (long long)wait_s, x->cf->log_dir);
}

/* True if no supervisor runs any more. Our own may have ended because another one was
 * started first; that one will do. */
static bool is_gone(const struct cmd_ctx *x, pid_t *child)
{
	int st;

	if (*child > 0 && waitpid(*child, &st, WNOHANG) == *child)
		*child = -1;
	return *child <= 0 && !state_supervised(x->a, x->cf);
}

/*
 * Waits until all services run and the scheduler answers; child is 0 if another process
 * supervises. E_RETRY: that supervisor has ended, as it was about to when it was found.
 */
static enum err wait_until_up(struct cmd_ctx *x, pid_t child, int64_t wait_s)
{
	int64_t end = clock_mono_ms() + wait_s * 1000;
	struct watch w = { 0 };
	struct arena round = { 0 };
	struct state s = { 0 };
	struct probe p = { 0 };
	size_t bad = 0;
	bool up = false;

	while (!up && clock_mono_ms() < end) {
		if (is_gone(x, &child)) {
			arena_free(&round);
			return child == 0 ? E_RETRY : fail_supervisor(x);
		}
		arena_reset(&round);
		if (state_read(&round, x->cf, &s, NULL) == OK && supervisor_lives(&s) &&
		    strcmp(s.config, x->cf->hash) == 0 &&
		    report_progress(x, &s, &w, &bad) == 0) {
			if (bad > 0)
				return fail_not_running(x, &s);
			TRY(running_fail_held(x, &s));
			/*
			 * The services of a dead supervisor still answer for a while.
			 */
			p = probe_project(x, x->a);
			up = p.why == NULL && supervisor_lives(&s);
			if (!up)
				clock_nap_ms(ASK_AGAIN_MS);
			if (p.lasts)
				break;
		}
		if (!up)
			clock_nap_ms(TICK_MS);
	}
	arena_free(&round);
	if (!up)
		return fail_not_up(x, wait_s, &p);
	ctx_progress(x, "answers", "%s", x->cf->master_url);
	return OK;
}

/* A running supervisor may not use what config.xml says now. */
static void report_restart(struct cmd_ctx *x)
{
	const char *text = NULL;
	struct state s;

	if (state_read(x->a, x->cf, &s, NULL) == OK)
		text = state_restart_text(x->a, x->cf, &s);
	if (text != NULL)
		printf("%-9s %s\n", "restart", text);
}

static int64_t start_wait_s(const struct start_opts *o)
{
	return o->wait > 0 ? o->wait : WAIT_DEFAULT_S;
}

/* Orders for the service that was named. */
static enum err order_run(struct cmd_ctx *x, const struct start_opts *o,
    const char *name, enum service_order what)
{
	if (o->foreground)
		return ctx_usage(
		    x, "--foreground runs the supervisor, not a single service");
	TRY(ctx_conf(x));
	return service_order(x, name, what, start_wait_s(o));
}

/* --- the unit of systemd --- */

static enum err unit_may(struct cmd_ctx *x)
{
	const char *name = conf_installation(x->a, x->cf).name;

	if (!systemd_runs())
		return FAIL(x->f, E_SYS,
		    "systemd, which runs %s, does not run here; in a container, run: runuser -u %s -- locus -p %s start --foreground",
		    x->cf->project_dir, conf_installation(x->a, x->cf).account, name);
	if (!ctx_may_be_root(x))
		return FAIL(x->f, E_DENIED,
		    "systemd obeys root only: sudo locus -p %s %s", name, x->cmd->name);
	return OK;
}

/* Gives the verb to systemd, as root, with the unit that config.xml needs. */
static enum err unit_order(struct cmd_ctx *x, void *verb)
{
	const struct installation in = conf_installation(x->a, x->cf);

	if (strcmp(verb, "stop") != 0)
		TRY(unit_sync(x->a, x->cf, x->f));
	return systemctl(x->a, verb, unit_name(x->a, &in), x->f);
}

static enum err unit_start(struct cmd_ctx *x, char *verb, int64_t wait_s)
{
	enum err e;

	TRY(unit_may(x));
	ctx_progress(x, "project", "%s in %s", x->cf->long_name, x->cf->project_dir);
	TRY(ctx_as_root(x, unit_order, verb));
	TRY(ctx_become_owner(x));
	report_restart(x);
	e = wait_until_up(x, 0, wait_s);
	return e == E_RETRY ? fail_supervisor(x) : e;
}

static enum err unit_stop(struct cmd_ctx *x, bool *was_running)
{
	static char stop[] = "stop";
	struct state s = { 0 };

	TRY(unit_may(x));
	*was_running = state_supervised(x->a, x->cf);
	if (*was_running)
		state_read(x->a, x->cf, &s, NULL);
	TRY(ctx_as_root(x, unit_order, stop));
	if (*was_running)
		ctx_progress(x, "stopped", "%zu services and the supervisor", s.n);
	return OK;
}

/* --- start --- */

static enum err start_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	static char start[] = "start";
	const struct start_opts *o = opts;
	enum err e = ctx_conf(x);
	bool installed;

	if (n > 0)
		return order_run(x, o, args[0], ORDER_START);
	if (e != OK)
		return e;
	installed = conf_is_installed(x->cf);
	if (installed && !o->foreground)
		return unit_start(x, start, start_wait_s(o));
	TRY(ctx_become_owner(x));
	if (privilege_is_root())
		return FAIL(x->f, E_CONFIG,
		    "%s belongs to root, and nothing of a project runs as root: give it to an account (chown -R www-data %s)",
		    x->cf->project_dir, x->cf->project_dir);
	ctx_progress(x, "project", "%s in %s", x->cf->long_name, x->cf->project_dir);
	/* The place of an installed project is noted by root. */
	if (!installed)
		TRY(relocate_settle(x));
	TRY(state_mean_to_run(x->a, x->cf, true, x->f));
	do {
		pid_t pid = 0;

		if (state_supervised(x->a, x->cf)) {
			ctx_progress(x, "found", "a running supervisor");
			report_restart(x);
		} else if (o->foreground) {
			return run_supervisor(x, installed && journal_is_stderr() ?
						     supervisor_log(x) :
						     NULL);
		} else {
			pid = fork();
			if (pid < 0)
				return FAIL_ERRNO(x->f, "starting the supervisor");
			if (pid == 0)
				return run_detached(x);
		}
		e = wait_until_up(x, pid, start_wait_s(o));
	} while (e == E_RETRY);
	return e == OK ? doctor_short(x) : e;
}

/* --- stop --- */

/* A supervisor that has just been started holds its lock before it says who it is. */
static bool find_supervisor(struct cmd_ctx *x, struct state *s)
{
	int64_t end = clock_mono_ms() + FIND_MOST_MS;

	while (state_read(x->a, x->cf, s, x->f) != OK || !supervisor_lives(s)) {
		if (clock_mono_ms() > end || !state_supervised(x->a, x->cf))
			return false;
		clock_nap_ms(TICK_MS);
	}
	return true;
}

/* Ends the supervisor that is there now; somebody else may start another one meanwhile.
 */
static enum err stop_supervisor(struct cmd_ctx *x, int64_t most_s)
{
	int64_t end = clock_mono_ms() + most_s * 1000;
	struct state s;

	if (!find_supervisor(x, &s))
		return !state_supervised(x->a, x->cf) ?
		           OK :
		           FAIL(x->f, E_SYS,
			       "a supervisor holds %s, but cannot be found",
			       state_lock_path(x->a, x->cf));
	if (kill(s.supervisor, SIGTERM) < 0 && errno == EPERM)
		return FAIL(x->f, E_DENIED, "process %d belongs to another account",
		    (int)s.supervisor);
	while (supervisor_lives(&s)) {
		if (clock_mono_ms() > end)
			return FAIL(x->f, E_SYS,
			    "not down after %lld s; see %s/supervisor.log",
			    (long long)most_s, x->cf->log_dir);
		clock_nap_ms(TICK_MS / 10);
	}
	ctx_progress(x, "stopped", "%zu services and the supervisor", s.n);
	return OK;
}

static enum err stop_project(
    struct cmd_ctx *x, const struct start_opts *o, bool *was_running)
{
	pid_t *pids;
	size_t n;

	TRY(ctx_conf(x));
	ctx_progress(x, "stopping", "%s in %s", x->cf->long_name, x->cf->project_dir);
	if (conf_is_installed(x->cf) && systemd_runs())
		return unit_stop(x, was_running);
	TRY(ctx_become_owner(x));
	*was_running = true;
	TRY(state_mean_to_run(x->a, x->cf, false, x->f));
	if (state_supervised(x->a, x->cf))
		return stop_supervisor(x, o->wait > 0 ? o->wait : STOP_MOST_S);
	TRY(supervise_end_orphans(x->a, x->cf, &n, x->f));
	*was_running = n > 0;
	if (n > 0)
		ctx_progress(x, "stopped", "%zu services without a supervisor", n);
	n = group_marked(x->a, x->cf->project_dir, &pids);
	if (n > 0)
		return FAIL(x->f, E_SYS, "%zu processes are left; the first one is %d",
		    n, (int)pids[0]);
	return OK;
}

static enum err stop_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	bool was_running;

	if (n > 0)
		return order_run(x, opts, args[0], ORDER_STOP);
	TRY(stop_project(x, opts, &was_running));
	if (!was_running)
		ctx_progress(x, "nothing", "was running");
	return OK;
}

static enum err restart_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	static char restart[] = "restart";
	const struct start_opts *o = opts;
	bool was_running;

	if (n > 0)
		return order_run(x, o, args[0], ORDER_RESTART);
	TRY(ctx_conf(x));
	if (conf_is_installed(x->cf))
		return unit_start(x, restart, start_wait_s(o));
	TRY(stop_project(x, o, &was_running));
	return start_run(x, opts, args, n);
}

const struct cmd cmd_start = { .name = "start",
	.args = "[SERVICE]",
	.max_args = 1,
	.purpose = "start the project and supervise it",
	.about =
	    "Starts a supervisor, which starts the project's servers and daemons, restarts those\n"
	    "that die, and takes over those that a killed supervisor left running. Waits until a\n"
	    "request through the web server comes back as work or with a reason, appears in the\n"
	    "decision log and has written to every directory that it needs; otherwise reports the\n"
	    "problem and its cure. That request changes no row and no statistics. Then makes the\n"
	    "short form of locus doctor and exits with 1 if a check fails. It is not an error if\n"
	    "the project runs already. With the name of a service, which locus status shows, it\n"
	    "starts that one of a running project and touches no other. Exit status 3: there is no\n"
	    "such service, or the project does not run.",
	.details =
	    "The supervisor picks up changes of config.xml; those that wait for a restart are\n"
	    "reported here, by locus status and in the supervisor's log, see config.xml(5). In a\n"
	    "project that locus create installed, only root may start it: writes the unit of\n"
	    "systemd anew if config.xml needs another one, lets systemd start it, and waits in the\n"
	    "same way. A single service its account starts as well.",
	.opts = start_options,
	.opts_size = sizeof(struct start_opts),
	.as_root = true,
	.run = start_run };

const struct cmd cmd_stop = { .name = "stop",
	.args = "[SERVICE]",
	.max_args = 1,
	.purpose = "stop the project",
	.about =
	    "Stops the web server, the upload handler, the daemons and the database, in this order;\n"
	    "each may finish what it is doing within a limited time. Also works if the supervisor\n"
	    "is dead. Leaves no process behind. In an installed project, systemd stops the\n"
	    "supervisor; this machine's web and database server stay. With the name of a service it\n"
	    "stops that one and touches no other.",
	.details =
	    "It stays stopped, whatever the supervisor or systemd do, until locus start SERVICE,\n"
	    "until the project is stopped or restarted, or until the machine is; <disabled> in\n"
	    "config.xml is for good. While the scheduler is stopped, the web server tells hosts to\n"
	    "ask again in a minute.",
	.opts = stop_options,
	.opts_size = sizeof(struct start_opts),
	.as_root = true,
	.run = stop_run };

const struct cmd cmd_restart = { .name = "restart",
	.args = "[SERVICE]",
	.max_args = 1,
	.purpose = "stop and start the project",
	.about =
	    "Stops the project and starts it again. In an installed project, the sockets stay open\n"
	    "meanwhile, so that no request is lost. With the name of a service it replaces the\n"
	    "process of that one alone; its socket stays open.",
	.as_root = true,
	.opts = start_options,
	.opts_size = sizeof(struct start_opts),
	.run = restart_run };
