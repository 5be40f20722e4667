/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: starts, stops and reaps the project's program, and takes its output
 * (protocol.md 13.6.4). A program ends well if it exits with 0 and has left
 * boinc_finish_called. If it exits with 0 without that file it is started again.
 */
#include "client/app.h"
#include "client/client.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/banned.h"

#define MARK "LOCUS_CLIENT_DIR"

enum {
	ENVIRON_MAX = 4 << 20,
	PIDS_MOST = 1 << 22,
	EXIT_SIGNAL = 193,
	EXIT_TIME_LIMIT = 197,
	ERR_TOO_BIG = -131,
	ERR_MISSING = -163,
	ERR_START = -185,
	ERR_RETURNS = -226,
	RETURNS_MOST = 100,
	STOP_MS = 2000,
	/* A program that listens to the client ends when it is not busy. */
	LISTENER_STOP_MS = 10000,
	DEAF_S = 10
};
static const double WAIT_MOST_S = 86400;

void task_start(struct client *c, struct cproject *p, struct ctask *t)
{
	enum err e = slot_launch(c, p, t);

	c->changed = true;
	/* Its files are fetched again, or have failed and the task with them. */
	if (e == E_RETRY) {
		log_warn("task %s was not started: %s", t->r.name, c->fail.detail);
		return;
	}
	if (e != OK) {
		task_fail(c, p, t, CLIENT_COMPUTE_ERROR, ERR_START, c->fail.detail);
		return;
	}
	t->run_since = c->now;
	if (t->started_at == 0)
		t->started_at = c->now;
	t->paused = false;
	event_log(c, "started result=%s", t->r.name);
}

void task_pause(struct client *c, struct ctask *t)
{
	if (t->pid == 0 || t->paused)
		return;
	/* A program that is to read the message must not rest. */
	if (kill(-(pid_t)t->pid, t->api ? SIGCONT : SIGSTOP) != 0)
		return;
	/* Ends an episode of running, for whatever reason. */
	t->ran_s = task_ran_s(c, t);
	t->run_since = c->now;
	t->paused = true;
	t->ask |= ASK_RUN_OR_PAUSE;
	t->asked_at = c->now;
	c->changed = true;
	event_log(c, "paused result=%s", t->r.name);
}

void task_resume(struct client *c, struct ctask *t)
{
	if (t->pid == 0 || !t->paused || kill(-(pid_t)t->pid, SIGCONT) != 0)
		return;
	t->paused = false;
	t->ask |= ASK_RUN_OR_PAUSE;
	t->asked_at = c->now;
	t->run_since = c->now;
	c->changed = true;
	event_log(c, "resumed result=%s", t->r.name);
}

static void task_finish(struct client *c, struct cproject *p, struct ctask *t,
    int32_t state, int32_t exit_status)
{
	if (state != CLIENT_ABORTED)
		standing_task_ended(c, p, t, state == CLIENT_UPLOADED);
	*(state == CLIENT_UPLOADED ? &p->nsucceeded : &p->nfailed) += 1;
	p->computed_s += t->elapsed_s;
	t->state = state;
	t->exit_status = exit_status;
	t->ready = true;
	t->ready_at = c->now;
	t->pid = 0;
	c->changed = true;
	event_log(c, "computed result=%s state=%d exit_status=%d", t->r.name, state,
	    exit_status);
}

void task_fail(struct client *c, struct cproject *p, struct ctask *t, int32_t state,
    int32_t exit_status, const char *why)
{
	char *text = t->slot >= 0 ? slot_stderr(c, t) : NULL;

	log_warn("task %s failed: %s", t->r.name, why);
	t->message = arena_printf(
	    &c->keep, "<message>\n%s\n</message>\n%s", why, text == NULL ? "" : text);
	slot_leave(c, t);
	task_finish(c, p, t, state, exit_status);
	if (state != CLIENT_ABORTED)
		c->errors++;
}

static void end_program(struct ctask *t)
{
	if (t->pid == 0)
		return;
	kill(-(pid_t)t->pid, SIGKILL);
	while (waitpid((pid_t)t->pid, NULL, 0) < 0 && errno == EINTR)
		;
	t->pid = 0;
	t->paused = false;
}

static double cpu_seconds(const struct rusage *use)
{
	return (double)use->ru_utime.tv_sec + (double)use->ru_utime.tv_usec / 1e6 +
	       (double)use->ru_stime.tv_sec + (double)use->ru_stime.tv_usec / 1e6;
}

/* The program is gone before the task is done: work since the last checkpoint is
 * lost. */
static void back_to_checkpoint(struct client *c, struct ctask *t)
{
	t->pid = 0;
	t->paused = false;
	t->ran_s = t->checkpointed_at != 0 ? t->saved_s : 0;
	t->cpu_s = t->checkpointed_at != 0 ? t->saved_cpu_s : 0;
	c->changed = true;
}

/* Waits for a program that was asked to end, and kills it after the deadline. */
static void wait_for_end(struct client *c, struct ctask *t, int64_t end)
{
	pid_t gone;

	while ((gone = waitpid((pid_t)t->pid, NULL, WNOHANG)) == 0 &&
	       clock_mono_ms() < end)
		clock_nap_ms(20);
	kill(-(pid_t)t->pid, SIGKILL);
	if (gone == 0)
		end_program(t);
	back_to_checkpoint(c, t);
}

static void ask_to_end(struct client *c, const struct ctask *t, const char *how)
{
	if (t->api)
		app_say_end(c, t, how);
	else
		kill(-(pid_t)t->pid, SIGTERM);
	kill(-(pid_t)t->pid, SIGCONT);
}

/* How long a program may take to end, in milliseconds. */
static int64_t stop_ms(const struct ctask *t)
{
	return t->api ? LISTENER_STOP_MS : STOP_MS;
}

void task_quit(struct client *c, struct ctask *t)
{
	if (t->pid == 0)
		return;
	slot_look(c, t);
	ask_to_end(c, t, "<quit/>");
	wait_for_end(c, t, clock_mono_ms() + stop_ms(t));
	event_log(c, "quit result=%s", t->r.name);
}

void task_abort(struct client *c, struct cproject *p, struct ctask *t,
    int32_t exit_status, const char *why)
{
	if (t->pid != 0 && t->api) { /* it may have to end programs of its own */
		ask_to_end(c, t, "<abort/>");
		wait_for_end(c, t, clock_mono_ms() + stop_ms(t));
	}
	end_program(t);
	task_fail(c, p, t, CLIENT_ABORTED, exit_status, why);
}

void task_drop(struct client *c, struct ctask *t)
{
	end_program(t);
	slot_leave(c, t);
}

/* Takes an output file: its place, size and checksum. Returns 0 or a BOINC error
 * number; c->fail has the text. */
static int32_t take_output(struct client *c, const struct cproject *p,
    const struct ctask *t, const struct rp_file_ref *ref)
{
	struct cfile *f = state_file(p, ref->file_name);
	const char *path = transfer_file_path(c, p, ref->file_name);
	char md5[MD5_HEX];
	int64_t n;
	int fd;
	enum err e = OK;

	if (ref->copy_file)
		e = fs_rename(arena_printf(&c->scratch, "%s/%s", slot_dir(c, t),
				  slot_open_name(ref)),
		    path, &c->fail);
	if (e == OK)
		e = fs_open_file(path, &fd, &c->fail);
	if (e == OK) {
		e = md5_fd(fd, path, md5, &n, &c->fail);
		close(fd);
	}
	if (e == E_NOTFOUND && ref->optional)
		return 0;
	if (e != OK)
		return ERR_MISSING;
	if (f->info.max_nbytes > 0 && (double)n > f->info.max_nbytes) {
		FAIL(&c->fail, E_BADREQ, "output file %s is too big: %lld bytes",
		    slot_open_name(ref), (long long)n);
		return ERR_TOO_BIG;
	}
	f->md5 = arena_strdup(&c->keep, md5);
	f->size = (double)n;
	f->status = FS_PRESENT;
	return 0;
}

static void take_outputs(struct client *c, struct cproject *p, struct ctask *t)
{
	if (slot_spoil(c, t) != OK)
		log_fail("slot", &c->fail);
	for (size_t i = 0; i < t->r.nrefs; i++) {
		int32_t error = take_output(c, p, t, &t->r.refs[i]);

		if (error == 0)
			continue;
		task_fail(c, p, t, CLIENT_COMPUTE_ERROR, error,
		    arena_strdup(&c->scratch, c->fail.detail));
		return;
	}
	t->message = arena_strdup(&c->keep, slot_stderr(c, t));
	estimates_learn(c, p, t);
	slot_leave(c, t);
	/* Reported when its uploads are done. */
	task_finish(c, p, t, CLIENT_UPLOADED, 0);
}

/* The program ended before its task was done, and is to be started again: when it said
 * so, or else soon, longer after each time in a row. */
static void program_returns(struct client *c, struct cproject *p, struct ctask *t)
{
	char *why;
	double s;

	t->nreturns++;
	if (!slot_wants_pause(c, t, &s, &why)) {
		s = t->nreturns;
		why = arena_strdup(
		    &c->scratch, "exited with zero status but no 'finished' file");
	}
	if (t->nreturns >= RETURNS_MOST) {
		task_fail(c, p, t, CLIENT_COMPUTE_ERROR, ERR_RETURNS,
		    arena_printf(
			&c->scratch, "too many exits with zero status: %s", why));
		return;
	}
	back_to_checkpoint(c, t);
	t->again_at = c->now + (int64_t)ceil(fmin(s, WAIT_MOST_S));
	event_log(
	    c, "postponed result=%s seconds=%.0f", t->r.name, fmin(s, WAIT_MOST_S));
	log_info(
	    "task %s postponed for %.0f s: %s", t->r.name, fmin(s, WAIT_MOST_S), why);
}

static void program_ended(struct client *c, struct cproject *p, struct ctask *t, int st)
{
	int32_t said = 0;
	bool finished = slot_finished(c, t, &said);

	if (WIFSIGNALED(st))
		task_fail(c, p, t, CLIENT_COMPUTE_ERROR, EXIT_SIGNAL,
		    arena_printf(&c->scratch, "process got signal %d", WTERMSIG(st)));
	else if (WEXITSTATUS(st) != 0)
		task_fail(c, p, t, CLIENT_COMPUTE_ERROR, WEXITSTATUS(st),
		    arena_printf(
			&c->scratch, "process exited with code %d", WEXITSTATUS(st)));
	else if (!finished)
		program_returns(c, p, t);
	else if (said != 0)
		task_fail(c, p, t, CLIENT_COMPUTE_ERROR, said,
		    "exited with zero status but reported a failure");
	else
		take_outputs(c, p, t);
}

void task_poll(struct client *c, struct cproject *p, struct ctask *t)
{
	struct rusage use;
	int st;
	pid_t gone = wait4((pid_t)t->pid, &st, WNOHANG, &use);

	if (gone == 0) {
		app_talk(c, p, t);
		slot_look(c, t);
		if (t->paused && t->api && app_is_deaf(c, t, DEAF_S))
			kill(-(pid_t)t->pid, SIGSTOP);
		if (task_ran_s(c, t) <= task_time_limit_s(c, p, t))
			return;
		t->elapsed_s = task_ran_s(c, t);
		end_program(t);
		task_fail(c, p, t, CLIENT_COMPUTE_ERROR, EXIT_TIME_LIMIT,
		    "exceeded elapsed time limit");
		return;
	}
	if (gone < 0) { /* not a child of this process: started by an earlier client */
		back_to_checkpoint(c, t);
		return;
	}
	app_talk(c, p, t); /* its last words */
	t->cpu_s = fmax(t->cpu_s + cpu_seconds(&use), t->reported_cpu_s);
	t->elapsed_s = fmax(task_ran_s(c, t), t->cpu_s);
	/* Kills what the program left in the background. */
	kill(-(pid_t)t->pid, SIGKILL);
	program_ended(c, p, t, st);
}

/* Lists the tasks that have a program, running or stopped. */
static struct ctask **list_programs(struct client *c, size_t *n)
{
	struct ctask **all = NULL;
	size_t cap = 0;

	*n = 0;
	for (size_t i = 0; i < c->state->nprojects; i++)
		for (size_t k = 0; k < c->state->projects[i].ntasks; k++)
			if (c->state->projects[i].tasks[k].pid != 0)
				PUSH(&c->scratch, all, *n,
				    cap) = &c->state->projects[i].tasks[k];
	return all;
}

void task_stop_all(struct client *c)
{
	size_t n;
	struct ctask **all = list_programs(c, &n);
	int64_t start = clock_mono_ms();

	for (size_t i = 0; i < n; i++)
		ask_to_end(c, all[i], "<quit/>");
	for (size_t i = 0; i < n; i++)
		wait_for_end(c, all[i], start + stop_ms(all[i]));
}

/* --- programs left by a killed client --- */

void task_mark(struct client *c)
{
	setenv(MARK, c->dir, 1);
}

/* Did a client of this directory start the process? A pid in the state may belong
 * to another process by now, or may be missing; the mark in the environment is
 * reliable. */
static bool has_our_mark(struct client *c, const char *pid)
{
	const char *mark = arena_printf(&c->scratch, MARK "=%s", c->dir);
	char *env;
	size_t n, len = strlen(mark) + 1;
	struct fail f;

	if (fs_read(&c->scratch, arena_printf(&c->scratch, "/proc/%s/environ", pid),
		ENVIRON_MAX, &env, &n, &f) != OK)
		return false;
	for (const char *p = env; (p = memmem(p, n - (size_t)(p - env), mark, len));
	     p++)
		if (p == env || p[-1] == '\0')
			return true;
	return false;
}

/* Kills the processes with our mark; returns their number. */
static size_t kill_ours(struct client *c)
{
	char **pids;
	size_t n, ours = 0;

	if (fs_list(&c->scratch, "/proc", PIDS_MOST, &pids, &n, &c->fail) != OK)
		return 0;
	for (size_t i = 0; i < n; i++) {
		int64_t pid;

		if (!text_i64(pids[i], 2, INT32_MAX, &pid) || pid == getpid() ||
		    !has_our_mark(c, pids[i]))
			continue;
		kill((pid_t)pid, SIGKILL);
		ours++;
	}
	return ours;
}

void task_clean_up(struct client *c)
{
	int64_t end = clock_mono_ms() + STOP_MS;
	struct ctask **all;
	size_t n;

	while (kill_ours(c) > 0 && clock_mono_ms() < end)
		clock_nap_ms(20);
	all = list_programs(c, &n);
	for (size_t i = 0; i < n; i++)
		back_to_checkpoint(c, all[i]);
}
