/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One step of one service: down, starting, running, ending. A service adopted from a
 * killed supervisor is not our child and is looked up in /proc instead.
 */
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/clamp.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/journal.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "tools/procfs.h"
#include "tools/program.h"
#include "tools/run_task.h"
#include "tools/supervisor/sup.h"
#include "lib/banned.h"

/*
 * Takes over from a killed supervisor: by the state that it wrote, and for services
 * that it had no time to note, by the marks in their environment.
 */

static void adopt(struct sup *x, struct proc *p, const struct procfs *st)
{
	p->pid = st->pid;
	p->start = st->start;
	p->session = st->session;
	p->born_ms = p->alive_ms = clock_mono_ms();
	p->failures = 0;
	p->told = true; /* to the supervisor that started it */
	sup_set_state(x, p, PROC_STARTING);
	log_info("%s runs already, pid %d", p->s.name, (int)p->pid);
}

static void sup_died(struct sup *x, struct proc *p, int64_t now_ms);

static void adopt_known(struct sup *x, const struct state_proc *sp)
{
	struct proc *p = sup_find(x, sp->name), *fresh;
	struct group g = { x->cf->project_dir, sp->name, sp->pid, sp->session };
	struct procfs st = {
		.pid = sp->pid, .session = sp->session, .start = sp->start
	};
	pid_t *pids;

	if (sp->pid == 0)
		return;
	if (p == NULL) { /* no longer configured: will be stopped */
		struct service s = { .name = arena_strdup(x->a, sp->name),
			.kind = SERVICE_DAEMON,
			.stop_signal = SIGTERM,
			.grace_s = 5 };

		fresh = &PUSH(x->a, x->procs, x->n, x->cap);
		*fresh = (struct proc){ .s = s };
		p = fresh;
	}
	p->restarts = sp->restarts;
	if (procfs_alive(sp->pid, sp->start)) {
		adopt(x, p, &st);
	} else if (group_members(&x->round, &g, &pids) > 0) {
		adopt(x, p, &st);
		snprintf(p->note, sizeof(p->note), "gone");
		sup_died(x, p, clock_mono_ms());
	}
}

/*
 * True if the process's command line ends with argv, as an interpreter may precede it.
 */
static bool runs_command(struct arena *a, pid_t pid, char **argv)
{
	struct buf want_line = buf_new(a);
	char *have;
	size_t n;

	for (; argv != NULL && *argv != NULL; argv++)
		buf_put(&want_line, *argv, strlen(*argv) + 1);
	if (fs_read(a, arena_printf(a, "/proc/%d/cmdline", (int)pid), 1 << 20, &have,
		&n, NULL) != OK)
		return false;
	return want_line.n > 0 && n >= want_line.n &&
	       memcmp(have + n - want_line.n, want_line.p, want_line.n) == 0;
}

/* Adopts services that were started by a supervisor which was killed before it could
 * note them. */
static void adopt_marked(struct sup *x)
{
	pid_t *pids;
	size_t n = group_marked(&x->round, x->cf->project_dir, &pids);

	for (size_t i = 0; i < n; i++) {
		const char *name = procfs_getenv(&x->round, pids[i], MARK_SERVICE);
		struct proc *p = name == NULL ? NULL : sup_find(x, name);
		struct procfs st;

		if (p != NULL && p->pid == 0 && procfs_read(pids[i], &st) &&
		    st.pgrp == st.pid &&
		    runs_command(&x->round, st.pid, service_command(&x->round, &p->s)))
			adopt(x, p, &st);
	}
}

void sup_take_over(struct sup *x)
{
	struct state old;

	if (state_read(&x->round, x->cf, &old, NULL) == OK)
		for (size_t i = 0; i < old.n; i++)
			adopt_known(x, &old.procs[i]);
	adopt_marked(x);
	for (size_t i = 0; i < x->n; i++)
		if (!x->procs[i].wanted)
			sup_end(x, &x->procs[i], clock_mono_ms());
}

enum err sup_listen_all(struct sup *x, struct fail *f)
{
	for (size_t i = 0; i < x->n; i++) {
		struct proc *p = &x->procs[i];
		int fd;

		if (p->s.listen == NULL || p->held)
			continue;
		if (sup_listen(x, p->s.listen, &fd, f) != OK)
			return f->code;
		if (p->pid != 0)
			log_info(
			    "%s is replaced, as its socket was held by another supervisor",
			    p->s.name);
		sup_end(x, p, clock_mono_ms());
	}
	return OK;
}

enum {
	DELAY_FIRST_MS = 200, /* backoff: doubles from here ... */
	DELAY_MOST_MS = 30000,
	SETTLED_MS = 10000, /* ... and is reset after a service has run this long */
	TERM_MS = 1000, /* time for the remaining processes of a dead service to end */
	ABORT_MS = 10000, /* time for one that hangs to leave a core */
	SAID_MS = 5000    /* what services say is written this often at most */
};

struct proc *sup_find(struct sup *x, const char *name)
{
	for (size_t i = 0; i < x->n; i++)
		if (strcmp(x->procs[i].s.name, name) == 0)
			return &x->procs[i];
	return NULL;
}

static struct group proc_group(const struct sup *x, const struct proc *p)
{
	return (struct group){ x->cf->project_dir, p->s.name, p->pid, p->session };
}

void sup_set_state(struct sup *x, struct proc *p, enum proc_state state)
{
	p->state = state;
	p->since = clock_now();
	x->changed = true;
}

static void sup_save(struct sup *x)
{
	struct state_proc *list = NEWN(&x->round, struct state_proc, x->n + 1);
	struct state s = { x->self.pid, x->self.start, x->last->hash, list, x->n,
		NEWN(&x->round, struct state_option, conf_nopts), 0 };
	struct fail f = { 0 };

	for (size_t i = 0; i < x->n; i++) {
		struct proc *p = &x->procs[i];
		bool says = p->state == PROC_RUNNING && p->restarts == 0;

		list[i] = (struct state_proc){ p->s.name, p->state, p->pid, p->session,
			p->start, p->since, p->restarts, false,
			says ? p->said : p->note };
	}
	for (size_t i = 0; i < conf_nopts; i++)
		if (conf_needs_restart(x->cf, &conf_opts[i]))
			s.options[s.noptions++] = (struct state_option){
				conf_opts[i].name,
				field_get(&x->round, &conf_opts[i], x->cf)
			};
	x->changed = state_write(&x->round, x->cf, &s, &f) !=
	             OK; /* if it failed, try again next time */
	if (x->changed && !x->unsaved)
		log_fail("state", &f);
	x->unsaved = x->changed;
	x->heard = false;
	x->saved_ms = clock_mono_ms();
}

/* --- one service, one step --- */

/* The command line whose output goes on to the log when that was rotated. */
static char **command_logged(struct sup *x, const struct service *s)
{
	return s->ours ? service_command(&x->round, s) :
	                 run_logged_command(
			     &x->round, program_self(&x->round), s->log, s->argv);
}

/* It could not be started, or has died. */
static void proc_failed(struct proc *p, int64_t now_ms)
{
	if (now_ms - p->born_ms >= SETTLED_MS)
		p->failures = 0;
	p->next_ms = now_ms +
	             pause_doubled(DELAY_FIRST_MS, ++p->failures, DELAY_MOST_MS);
}

/*
 * Under systemd our programs write their logs to files, and what is left for standard
 * error to the journal, each under its own name. Returns that stream, or -1.
 */
static int to_journal(struct sup *x, const struct proc *p, struct proc_run *run)
{
	int fd = -1;

	if (x->journal && p->s.ours)
		fd = journal_stream(arena_printf(&x->round, "%s@%s",
		    conf_installation(&x->round, x->cf).unit, p->s.name));
	if (fd >= 0)
		run->out = run->err = (struct proc_io){ PROC_FD, .fd = fd };
	return fd;
}

static void start_proc(struct sup *x, struct proc *p, int64_t now_ms)
{
	struct fail f = { 0 };
	struct procfs st;
	const char *const env[] = {
		arena_printf(&x->round, MARK_SERVICE "=%s", p->s.name), NULL
	};
	struct proc_run run = { .argv = (const char *const *)command_logged(x, &p->s),
		.dir = x->cf->project_dir,
		.env = env,
		PROC_LOG(p->s.log) };
	struct proc_child c = { 0 };
	int journal = to_journal(x, p, &run);

	if (p->s.pid_file != NULL)
		fs_unlink(p->s.pid_file, NULL);
	p->born_ms = p->alive_ms = now_ms;
	p->told = false;
	p->said[0] = '\0';
	if (p->s.listen != NULL)
		run.in.how = PROC_FD;
	if (p->s.listen == NULL || sup_listen(x, p->s.listen, &run.in.fd, &f) == OK)
		proc_start(&run, &c, &f);
	if (journal >= 0)
		close(journal);
	if (c.pid == 0) {
		p->pid = 0;
		log_fail(p->s.name, &f);
		snprintf(p->note, sizeof(p->note), "%.90s", f.detail);
		proc_failed(p, now_ms);
		x->changed = true;
		return;
	}
	p->pid = c.pid;
	p->child = true;
	p->session = x->self.session;
	p->start = procfs_read(p->pid, &st) ? st.start : 0;
	sup_set_state(x, p, PROC_STARTING);
	sup_save(x); /* save at once: if we were killed now, a process not noted could
	                  only be found by its mark */
	log_info("%s starts, pid %d", p->s.name, (int)p->pid);
}

/* Handles the end of the process itself; the processes that it left are ended before it
 * may start again. */
static void sup_died(struct sup *x, struct proc *p, int64_t now_ms)
{
	struct group g = proc_group(x, p);

	if (p->state == PROC_ENDING && !p->hung) {
		if (p->kill_ms > now_ms + TERM_MS)
			p->kill_ms = now_ms + TERM_MS;
		group_signal(&x->round, &g, SIGTERM);
		return;
	}
	p->hung = false;
	log_warn("%s is gone: %s", p->s.name, p->note);
	proc_failed(p, now_ms);
	p->kill_ms = now_ms + TERM_MS;
	p->restarts++;
	sup_set_state(x, p, PROC_ENDING);
	group_signal(&x->round, &g, SIGTERM);
}

void sup_end(struct sup *x, struct proc *p, int64_t now_ms)
{
	struct group g = proc_group(x, p);

	if (p->state != PROC_STARTING && p->state != PROC_RUNNING)
		return;
	p->kill_ms = now_ms + (int64_t)p->s.grace_s * 1000;
	sup_set_state(x, p, PROC_ENDING);
	if (procfs_alive(p->pid, p->start))
		kill(p->pid, p->s.stop_signal);
	else
		group_signal(&x->round, &g, SIGTERM);
}

/* Kills a service that hangs; it then counts as one that has died. */
static void end_hung(struct sup *x, struct proc *p, int64_t now_ms, int for_s)
{
	log_warn("%s has not said for %d s that it %s: it is killed", p->s.name, for_s,
	    p->state == PROC_STARTING ? "is ready" : "goes on");
	p->hung = true;
	p->kill_ms = now_ms + ABORT_MS;
	sup_set_state(x, p, PROC_ENDING);
	kill(p->pid, SIGABRT);
}

/*
 * True for exit codes that a restart would only repeat; locus(1) lists them. Database
 * servers have other exit codes: MySQL exits with 2 when it crashes, for example on a
 * full disk. A service that was started before config.xml changed may have given up
 * over its earlier contents.
 */
static bool exit_is_final(const struct sup *x, const struct proc *p)
{
	if (p->born_ms < x->wanted_ms)
		return false;
	return (p->exit == 2 && p->s.kind != SERVICE_DATABASE) || p->exit == 77 ||
	       p->exit == 78;
}

static void step_ending(struct sup *x, struct proc *p, int64_t now_ms)
{
	bool hopeless = exit_is_final(x, p) && p->wanted && !p->held;
	struct group g = proc_group(x, p);
	pid_t *pids;

	if (now_ms >= p->kill_ms)
		group_signal(&x->round, &g, SIGKILL);
	/* A child is reaped first, to learn how it ended. */
	if (p->child || group_members(&x->round, &g, &pids) > 0)
		return;
	p->pid = 0;
	/* At once, as "locus stop NAME" ends now, and status is asked next. */
	sup_set_state(x, p,
	    hopeless             ? PROC_FAILED :
	    p->wanted && p->held ? PROC_STOPPED :
				   PROC_DOWN);
	if (hopeless)
		log_err(
		    "%s: %s; it is not started again until config.xml changes or \"locus restart\"",
		    p->s.name, p->note);
}

/* Holds daemons back until the database runs, as they would only die again. */
static bool may_start(const struct sup *x, const struct proc *p)
{
	if (p->s.kind != SERVICE_DAEMON)
		return true;
	for (size_t i = 0; i < x->n; i++)
		if (x->procs[i].s.kind == SERVICE_DATABASE &&
		    x->procs[i].state != PROC_RUNNING)
			return false;
	return true;
}

static void step_living(struct sup *x, struct proc *p, int64_t now_ms)
{
	int for_s;

	if (!procfs_alive(p->pid, p->start)) {
		if (p->child)
			return; /* it is reaped first, for its exit code */
		snprintf(p->note, sizeof(p->note), "gone");
		sup_died(x, p, now_ms);
	} else if (sup_hangs(p, now_ms, &for_s)) {
		end_hung(x, p, now_ms, for_s);
	} else if (p->state == PROC_STARTING && (p->told || service_ready(&p->s))) {
		sup_set_state(x, p, PROC_RUNNING);
		log_info("%s is ready after %lld ms", p->s.name,
		    (long long)(now_ms - p->born_ms));
	}
}

static void step_proc(struct sup *x, struct proc *p, int64_t now_ms)
{
	switch (p->state) {
	case PROC_DOWN:
		if (p->wanted && p->held)
			sup_set_state(x, p, PROC_STOPPED);
		if (!p->wanted || p->held || x->ending || now_ms < p->next_ms)
			return;
		if (p->s.argv == NULL) {
			snprintf(p->note, sizeof(p->note), "%.90s", p->s.why);
			log_err("%s: %s", p->s.name, p->s.why);
			sup_set_state(x, p, PROC_FAILED);
		} else if (may_start(x, p)) {
			start_proc(x, p, now_ms);
		}
		return;
	case PROC_STARTING:
	case PROC_RUNNING:
		step_living(x, p, now_ms);
		return;
	case PROC_ENDING:
		step_ending(x, p, now_ms);
		return;
	case PROC_FAILED:
		if (p->held)
			sup_set_state(x, p, PROC_STOPPED);
		return;
	case PROC_STOPPED:
	case PROC__MAX:
		return;
	}
}

static void reap_children(struct sup *x, int64_t now_ms)
{
	pid_t pid;
	int st;

	while ((pid = waitpid(-1, &st, WNOHANG)) > 0) {
		sup_task_ended(x, pid);
		for (size_t i = 0; i < x->n; i++) {
			struct proc *p = &x->procs[i];

			if (p->pid != pid || !p->child)
				continue;
			p->child = false;
			p->exit = WIFEXITED(st) ? WEXITSTATUS(st) : 0;
			snprintf(p->note, sizeof(p->note), "%s %d%s",
			    WIFEXITED(st) ? "exit" : "killed by signal",
			    WIFEXITED(st) ? WEXITSTATUS(st) : WTERMSIG(st),
			    p->hung ? " (watchdog)" : "");
			/* Detects a crash of a service that was being stopped; as
			 * nobody acts on its exit status, it would pass for a clean
			 * exit. */
			if (p->state == PROC_ENDING && !p->hung && WIFSIGNALED(st) &&
			    WTERMSIG(st) != SIGTERM && WTERMSIG(st) != SIGKILL &&
			    WTERMSIG(st) != p->s.stop_signal)
				log_warn("%s crashed as it was stopped: %s", p->s.name,
				    p->note);
			sup_died(x, p, now_ms);
		}
	}
}

void sup_tick(struct sup *x)
{
	int64_t now_ms = clock_mono_ms();

	sup_hear(x);
	reap_children(x, now_ms);
	for (size_t i = 0; i < x->n; i++)
		step_proc(x, &x->procs[i], now_ms);
	sup_tick_tasks(x);
	if (x->changed || (x->heard && now_ms >= x->saved_ms + SAID_MS))
		sup_save(x);
	sup_tell(x);
	arena_reset(&x->round);
}
