/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Tasks: slots, starting and reaping the project's program, outputs
 * (stock-client.md 6.4). A program ends well when it exits with 0 and has left
 * boinc_finish_called.
 */
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
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
#include "lib/proc.h"
#include "lib/text.h"
#include "lib/banned.h"

#define MARK "LOCUS_CLIENT_DIR"

enum {
	STDERR_MAX = 60 << 10,
	ENVIRON_MAX = 4 << 20,
	PIDS_MOST = 1 << 22,
	EXIT_SIGNAL = 193,
	EXIT_TIME_LIMIT = 197,
	EXIT_NO_FINISH = 204,
	ERR_TOO_BIG = -131,
	ERR_MISSING = -163,
	ERR_START = -185,
	LIMIT_LEAST_S = 120, /* a shorter time limit is a mistake, and is this: */
	LIMIT_ELSE_S = 12 * 3600,
	STOP_MS = 2000
};

/* Operations of a task that does not tell (stock-client.md 6.3). */
static const double FPOPS_EST = 6.048e14, FPOPS_BOUND = 2.4192e15;

static char *
slot_dir(struct client *c, const struct ctask *t)
{
	return arena_printf(&c->a, "%s/slots/%d", c->dir, t->slot);
}

bool
task_files_ready(
    struct client *c, const struct ctask *t, int32_t *error, const char **failed)
{
	const struct rp_workunit *wu = state_workunit(c->st, t->r.wu_name);
	const struct rp_app_version *v = task_version(c->st, t);
	struct {
		const struct rp_file_ref *refs;
		size_t n;
	} both[] = { { v->refs, v->nrefs }, { wu->refs, wu->nrefs } };
	bool ready = true;

	*error = 0;
	for (size_t k = 0; k < N(both); k++)
		for (size_t i = 0; i < both[k].n; i++) {
			const struct cfile *f = state_file(
			    c->st, both[k].refs[i].file_name);

			if (f->status == FS_FAILED) {
				*error = f->error;
				*failed = f->info.name;
			}
			ready = ready && f->status == FS_PRESENT;
		}
	return ready;
}

/* Seconds since it was started, without those in which it was paused. */
static int64_t
ran_s(const struct client *c, const struct ctask *t)
{
	return (t->paused ? t->paused_at : c->now) - t->started_at - t->paused_s;
}

double
task_remaining_s(const struct client *c, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(c->st, t->r.wu_name);
	const struct rp_app_version *v = task_version(c->st, t);
	double flops = v->flops > 0 ? v->flops : c->st->p_fpops;
	double ops = wu->rsc_fpops_est > 0 ? wu->rsc_fpops_est : FPOPS_EST;
	double left = ops / fmax(flops, 1);

	if (t->pid != 0)
		left -= (double)ran_s(c, t);
	return fmax(left, 1);
}

static const char *
open_name(const struct rp_file_ref *ref)
{
	return ref->open_name[0] != '\0' ? ref->open_name : ref->file_name;
}

/* What the program opens: a copy, or a file that says where the real one is. */
static enum err
link_in(struct client *c, const char *dir, const struct rp_file_ref *ref, bool input)
{
	const char *name = open_name(ref);
	const char *path = arena_printf(&c->a, "%s/%s", dir, name), *text;
	const struct cfile *f = state_file(c->st, ref->file_name);

	if (strchr(name, '/') != NULL || strstr(name, "..") != NULL ||
	    strcmp(name, ".") == 0)
		return FAIL(
		    &c->fail, E_BADREQ, "open name \"%s\" leaves the slot", name);
	if (ref->copy_file && !input)
		return OK; /* the program makes it here; it is moved at the end */
	if (ref->copy_file)
		return fs_copy(file_path(c, ref->file_name), path,
		    f->info.executable ? 0755 : 0644, &c->fail);
	text = arena_printf(&c->a, "<soft_link>../../projects/%s/%s</soft_link>\n",
	    strrchr(c->files_dir, '/') + 1, ref->file_name);
	return fs_write(path, text, strlen(text), 0644, &c->fail);
}

static enum err
fill_slot(struct client *c, const struct ctask *t, const char *dir)
{
	const struct rp_workunit *wu = state_workunit(c->st, t->r.wu_name);
	const struct rp_app_version *v = task_version(c->st, t);
	enum err e = fs_rmtree(dir, &c->fail);

	if (e == OK)
		e = fs_mkdirs(dir, 0755, &c->fail);
	for (size_t i = 0; i < v->nrefs && e == OK; i++)
		if (!v->refs[i].main_program)
			e = link_in(c, dir, &v->refs[i], true);
	for (size_t i = 0; i < wu->nrefs && e == OK; i++)
		e = link_in(c, dir, &wu->refs[i], true);
	for (size_t i = 0; i < t->r.nrefs && e == OK; i++) {
		/* What an earlier try wrote must not pass for this one's. */
		e = fs_unlink(file_path(c, t->r.refs[i].file_name), &c->fail);
		if (e == OK)
			e = link_in(c, dir, &t->r.refs[i], false);
	}
	return e;
}

static const char *
main_program(const struct rp_app_version *v)
{
	for (size_t i = 0; i < v->nrefs; i++)
		if (v->refs[i].main_program)
			return v->refs[i].file_name;
	return NULL;
}

static int32_t
free_slot(const struct state *st)
{
	for (int32_t slot = 0;; slot++) {
		bool taken = false;

		for (size_t i = 0; i < st->ntasks; i++)
			taken = taken || st->tasks[i].slot == slot;
		if (!taken)
			return slot;
	}
}

static enum err
launch(struct client *c, struct ctask *t, const char *dir)
{
	const struct rp_workunit *wu = state_workunit(c->st, t->r.wu_name);
	const struct rp_app_version *v = task_version(c->st, t);
	const char *program = main_program(v);
	char **argv;
	pid_t pid;
	enum err e;

	if (program == NULL)
		return FAIL(&c->fail, E_BADREQ, "version %d of %s has no main program",
		    v->version_num, v->app_name);
	e = proc_split(&c->a,
	    arena_printf(&c->a, "program %s %s", wu->command_line, v->cmdline), &argv,
	    &c->fail);
	if (e != OK)
		return e;
	argv[0] = file_path(c, program);
	e = proc_spawn((const char *const *)argv, dir,
	    arena_printf(&c->a, "%s/stderr.txt", dir), &pid, &c->fail);
	if (e == OK)
		t->pid = pid;
	return e;
}

void
task_start(struct client *c, struct ctask *t)
{
	const char *dir;
	enum err e;

	if (t->slot < 0)
		t->slot = free_slot(c->st);
	dir = slot_dir(c, t);
	e = fill_slot(c, t, dir);
	if (e == OK)
		e = launch(c, t, dir);
	c->changed = true;
	if (e != OK) {
		task_fail(c, t, CLIENT_COMPUTE_ERROR, ERR_START, c->fail.detail);
		return;
	}
	t->started_at = c->now;
	t->paused = false;
	t->paused_s = 0;
	event(c, "started result=%s", t->r.name);
}

void
task_pause(struct client *c, struct ctask *t)
{
	if (t->pid == 0 || t->paused || kill(-(pid_t)t->pid, SIGSTOP) != 0)
		return;
	t->paused = true;
	t->paused_at = c->now;
	c->changed = true;
	event(c, "paused result=%s", t->r.name);
}

void
task_resume(struct client *c, struct ctask *t)
{
	if (t->pid == 0 || !t->paused || kill(-(pid_t)t->pid, SIGCONT) != 0)
		return;
	t->paused = false;
	t->paused_s += c->now - t->paused_at;
	c->changed = true;
	event(c, "resumed result=%s", t->r.name);
}

static void
leave_slot(struct client *c, struct ctask *t)
{
	if (t->slot >= 0 && fs_rmtree(slot_dir(c, t), &c->fail) != OK)
		log_fail("slot", &c->fail);
	t->slot = -1;
}

static void
finish(struct client *c, struct ctask *t, int32_t state, int32_t exit_status)
{
	t->state = state;
	t->exit_status = exit_status;
	t->ready = true;
	t->ready_at = c->now;
	t->pid = 0;
	c->changed = true;
	event(c, "computed result=%s state=%d exit_status=%d", t->r.name, state,
	    exit_status);
}

void
task_fail(struct client *c, struct ctask *t, int32_t state, int32_t exit_status,
    const char *why)
{
	char *text = t->slot >= 0 ? task_stderr(c, t) : NULL;
	struct state *st = c->st;
	int64_t wait;

	log_warn("task %s failed: %s", t->r.name, why);
	t->message = arena_printf(
	    &c->keep, "<message>\n%s\n</message>\n%s", why, text == NULL ? "" : text);
	leave_slot(c, t);
	finish(c, t, state, exit_status);
	if (state == CLIENT_ABORTED)
		return;
	c->errors++;
	st->ntask_failures++;
	wait = c->now +
	       (int64_t)ceil(backoff_s(&c->o.rpc_backoff, st->ntask_failures, &c->rng));
	if (wait > st->min_rpc_time)
		st->min_rpc_time = wait;
}

static void
end_program(struct ctask *t)
{
	if (t->pid == 0)
		return;
	kill(-(pid_t)t->pid, SIGKILL);
	while (waitpid((pid_t)t->pid, NULL, 0) < 0 && errno == EINTR)
		;
	t->pid = 0;
}

void
task_abort(struct client *c, struct ctask *t, int32_t exit_status, const char *why)
{
	end_program(t);
	task_fail(c, t, CLIENT_ABORTED, exit_status, why);
}

/*
 * Output that the program wrote: its place, size and checksum.  0, or the error number
 * of what is wrong, which c->fail tells.
 */
static int32_t
take_output(struct client *c, const struct ctask *t, const struct rp_file_ref *ref)
{
	struct cfile *f = state_file(c->st, ref->file_name);
	const char *path = file_path(c, ref->file_name);
	char md5[MD5_HEX];
	int64_t n;
	enum err e = OK;

	if (ref->copy_file)
		e = fs_rename(
		    arena_printf(&c->a, "%s/%s", slot_dir(c, t), open_name(ref)), path,
		    &c->fail);
	if (e == OK)
		e = md5_file(path, md5, &n, &c->fail);
	if (e == E_NOTFOUND && ref->optional)
		return 0;
	if (e != OK)
		return ERR_MISSING;
	if (f->info.max_nbytes > 0 && (double)n > f->info.max_nbytes) {
		FAIL(&c->fail, E_BADREQ, "output file %s is too big: %lld bytes",
		    open_name(ref), (long long)n);
		return ERR_TOO_BIG;
	}
	f->md5 = arena_strdup(&c->keep, md5);
	f->size = (double)n;
	f->status = FS_PRESENT;
	return 0;
}

static void
succeed(struct client *c, struct ctask *t)
{
	for (size_t i = 0; i < t->r.nrefs; i++) {
		int32_t error = take_output(c, t, &t->r.refs[i]);

		if (error == 0)
			continue;
		task_fail(c, t, CLIENT_COMPUTE_ERROR, error,
		    arena_strdup(&c->a, c->fail.detail));
		return;
	}
	t->message = arena_strdup(&c->keep, task_stderr(c, t));
	c->st->ntask_failures = 0;
	leave_slot(c, t);
	finish(c, t, CLIENT_UPLOADED, 0); /* reported once its uploads are done */
}

/* First line of boinc_finish_called; -1 if the program did not leave it. */
static int32_t
finish_status(struct client *c, const struct ctask *t)
{
	char *text;
	struct fail f;

	if (fs_read(&c->a,
		arena_printf(&c->a, "%s/boinc_finish_called", slot_dir(c, t)), 4096,
		&text, NULL, &f) != OK)
		return -1;
	return (int32_t)strtol(text, NULL, 10);
}

static void
ended(struct client *c, struct ctask *t, int st)
{
	int32_t said = finish_status(c, t);

	if (WIFSIGNALED(st))
		task_fail(c, t, CLIENT_COMPUTE_ERROR, EXIT_SIGNAL,
		    arena_printf(&c->a, "process got signal %d", WTERMSIG(st)));
	else if (WEXITSTATUS(st) != 0)
		task_fail(c, t, CLIENT_COMPUTE_ERROR, WEXITSTATUS(st),
		    arena_printf(
			&c->a, "process exited with code %d", WEXITSTATUS(st)));
	else if (said != 0)
		task_fail(c, t, CLIENT_COMPUTE_ERROR, said > 0 ? said : EXIT_NO_FINISH,
		    "the program ended without saying that it finished");
	else
		succeed(c, t);
}

/* How long the program may run (stock-client.md 6.3). */
static int64_t
time_limit_s(const struct client *c, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(c->st, t->r.wu_name);
	const struct rp_app_version *v = task_version(c->st, t);
	double flops = v->flops > 0 ? v->flops : c->st->p_fpops;
	double bound = wu->rsc_fpops_bound > 0 ? wu->rsc_fpops_bound : FPOPS_BOUND;

	bound /= fmax(flops, 1);
	return bound < LIMIT_LEAST_S ? LIMIT_ELSE_S : (int64_t)fmin(bound, 1e15);
}

void
task_poll(struct client *c, struct ctask *t)
{
	struct rusage use;
	int st;
	pid_t gone = wait4((pid_t)t->pid, &st, WNOHANG, &use);

	if (gone == 0) {
		if (ran_s(c, t) <= time_limit_s(c, t))
			return;
		end_program(t);
		t->elapsed_s = (double)ran_s(c, t);
		task_fail(c, t, CLIENT_COMPUTE_ERROR, EXIT_TIME_LIMIT,
		    "the program took longer than the work's bound on operations "
		    "allows");
		return;
	}
	if (gone < 0) { /* not our child: a client before us started it */
		t->pid = 0;
		t->started_at = 0;
		c->changed = true;
		return;
	}
	t->cpu_s = (double)use.ru_utime.tv_sec + (double)use.ru_utime.tv_usec / 1e6 +
	           (double)use.ru_stime.tv_sec + (double)use.ru_stime.tv_usec / 1e6;
	t->elapsed_s = fmax((double)ran_s(c, t), t->cpu_s);
	kill(-(pid_t)t->pid, SIGKILL); /* what it may have left in the background */
	ended(c, t, st);
}

void
task_stop_all(struct client *c)
{
	int64_t end = clock_mono_ms() + STOP_MS;

	for (size_t i = 0; i < c->st->ntasks; i++)
		if (c->st->tasks[i].pid != 0) {
			kill(-(pid_t)c->st->tasks[i].pid, SIGTERM);
			kill(-(pid_t)c->st->tasks[i].pid, SIGCONT);
		}
	for (size_t i = 0; i < c->st->ntasks; i++) {
		struct ctask *t = &c->st->tasks[i];

		while (t->pid != 0 && waitpid((pid_t)t->pid, NULL, WNOHANG) == 0 &&
		       clock_mono_ms() < end)
			clock_nap_ms(20);
		if (t->pid != 0)
			kill(-(pid_t)t->pid, SIGKILL);
		t->pid = 0;
		c->changed = true;
	}
}

/* The end of a text file, at most max bytes; "" if there is none. */
static char *
tail(struct arena *a, const char *path, size_t max)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	char *text = arena_alloc(a, max + 1);
	int64_t size = fs_size(path);
	ssize_t n;

	if (fd < 0)
		return text;
	if (size > (int64_t)max)
		lseek(fd, size - (int64_t)max, SEEK_SET);
	n = read(fd, text, max);
	close(fd);
	for (ssize_t i = 0; i < n; i++)
		if (text[i] == '\0')
			text[i] = '?';
	return text;
}

char *
task_stderr(struct client *c, const struct ctask *t)
{
	char *text;

	if (t->slot < 0)
		return arena_strdup(&c->a, "");
	text = tail(
	    &c->a, arena_printf(&c->a, "%s/stderr.txt", slot_dir(c, t)), STDERR_MAX);
	return arena_printf(&c->a, "<stderr_txt>\n%s\n</stderr_txt>\n", text);
}

/* --- programs of a client that was killed --- */

void
task_mark(struct client *c)
{
	setenv(MARK, c->dir, 1);
}

/* Did a client of this directory start it?  Its pid in the state may be another's by
 * now, or not be there yet; the mark in its environment is sure. */
static bool
is_ours(struct client *c, const char *pid)
{
	const char *mark = arena_printf(&c->a, MARK "=%s", c->dir);
	char *env;
	size_t n, len = strlen(mark) + 1;
	struct fail f;

	if (fs_read(&c->a, arena_printf(&c->a, "/proc/%s/environ", pid), ENVIRON_MAX,
		&env, &n, &f) != OK)
		return false;
	for (const char *p = env; (p = memmem(p, n - (size_t)(p - env), mark, len));
	     p++)
		if (p == env || p[-1] == '\0')
			return true;
	return false;
}

/* How many of ours run; each is killed. */
static size_t
kill_ours(struct client *c)
{
	char **pids;
	size_t n, ours = 0;

	if (fs_list(&c->a, "/proc", PIDS_MOST, &pids, &n, &c->fail) != OK)
		return 0;
	for (size_t i = 0; i < n; i++) {
		int64_t pid;

		if (!text_i64(pids[i], 2, INT32_MAX, &pid) || pid == getpid() ||
		    !is_ours(c, pids[i]))
			continue;
		kill((pid_t)pid, SIGKILL);
		ours++;
	}
	return ours;
}

void
task_clean_up(struct client *c)
{
	int64_t end = clock_mono_ms() + STOP_MS;

	while (kill_ours(c) > 0 && clock_mono_ms() < end)
		clock_nap_ms(20);
	for (size_t i = 0; i < c->st->ntasks; i++) {
		struct ctask *t = &c->st->tasks[i];

		c->changed |= t->pid != 0;
		t->pid = 0;
	}
}
