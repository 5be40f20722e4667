/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots: the directory in which a task's program runs, the files placed there for it
 * and the files that it leaves there (protocol.md 13.6.4).
 */
#include "client/app.h"
#include "client/client.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum { STDERR_MAX = 60 << 10, WORD_MAX = 4096, BRIEF_NICE = 10 };

/* --- what is placed there --- */

const char *slot_open_name(const struct rp_file_ref *ref)
{
	return ref->open_name[0] != '\0' ? ref->open_name : ref->file_name;
}

static const struct rp_file_ref *main_program(const struct rp_app_version *v)
{
	for (size_t i = 0; i < v->nrefs; i++)
		if (v->refs[i].main_program)
			return &v->refs[i];
	return NULL;
}

/* Writes a link file, which names the real one. */
static enum err write_link(struct client *c, const struct cproject *p, const char *path,
    const struct rp_file_ref *ref)
{
	const char *text = arena_printf(&c->scratch,
	    "<soft_link>../../projects/%s/%s</soft_link>\n",
	    url_to_dir(&c->scratch, p->master_url), ref->file_name);

	return fs_write(path, text, strlen(text), 0644, &c->fail);
}

static enum err open_path(
    struct client *c, const char *dir, const struct rp_file_ref *ref, char **path)
{
	const char *name = slot_open_name(ref);

	if (strchr(name, '/') != NULL || strstr(name, "..") != NULL ||
	    strcmp(name, ".") == 0)
		return FAIL(
		    &c->fail, E_BADREQ, "open name \"%s\" leaves the slot", name);
	*path = arena_printf(&c->scratch, "%s/%s", dir, name);
	return OK;
}

/*
 * The project's files that may run must be what the project signed (protocol.md 13.7).
 * Verified whenever they are to run: a file arrives only once, and its project may have
 * called it data at that time.
 */

/* Is the open file what the project signed? E_RETRY: it was changed after the
 * download, or never signed; the file is fetched again, or has failed. */
static enum err check_app_file(struct client *c, const struct cproject *p,
    struct cfile *f, int fd, const char *path)
{
	char md5[MD5_HEX];
	int32_t error;
	int64_t n;

	TRY(md5_fd(fd, path, md5, &n, &c->fail));
	if ((f->info.nbytes > 0 && (double)n != f->info.nbytes) ||
	    (f->md5 != NULL && f->md5[0] != '\0' && strcmp(f->md5, md5) != 0)) {
		transfer_again(c, p, f, "it differs from what was downloaded");
		return FAIL(&c->fail, E_RETRY, "%s was changed", path);
	}
	error = signature_error(c, p, f, md5);
	if (error != 0) {
		log_fail("application file", &c->fail);
		transfer_give_up(c, p, f, error);
		return FAIL(&c->fail, E_RETRY, "%s is not signed", path);
	}
	f->md5 = arena_strdup(&c->keep, md5);
	if (fchmod(fd, f->info.executable ? 0755 : 0644) != 0)
		return FAIL_ERRNO(&c->fail, "setting the mode of %s", path);
	return OK;
}

/* Opens the file at path, which is f, a file of a version, or a copy of it, and
 * verifies the open file. E_RETRY: it is not what the project signed; f will be
 * fetched again, or has failed. */
static enum err app_file_open(struct client *c, const struct cproject *p,
    struct cfile *f, const char *path, int *fd)
{
	enum err e = fs_open_file(path, fd, &c->fail);

	if (e == E_NOTFOUND || e == E_BADREQ) {
		transfer_again(c, p, f, arena_strdup(&c->scratch, c->fail.detail));
		return FAIL(&c->fail, E_RETRY, "%s is missing", path);
	}
	if (e != OK)
		return e;
	e = check_app_file(c, p, f, *fd, path);
	if (e != OK)
		close(*fd);
	return e;
}

/* Places a file of the version where its program will find it, verified. */
static enum err place_app_file(struct client *c, const struct cproject *p,
    const char *dir, const struct rp_file_ref *ref)
{
	struct cfile *f = state_file(p, ref->file_name);
	const char *from = transfer_file_path(c, p, ref->file_name);
	char *path;
	int fd;
	enum err e = open_path(c, dir, ref, &path);

	if (e == OK)
		e = ref->copy_file ? fs_copy(from, path, 0644, &c->fail) :
		                     write_link(c, p, path, ref);
	if (e != OK && e != E_NOTFOUND)
		return e;
	e = app_file_open(c, p, f, ref->copy_file && e == OK ? path : from, &fd);
	if (e == OK)
		close(fd);
	return e;
}

/* Returns the path for a task's file; E_BADREQ if it would replace a file that was
 * signed. */
static enum err task_path(struct client *c, const struct rp_app_version *v,
    const char *dir, const struct rp_file_ref *ref, char **path)
{
	for (size_t i = 0; i < v->nrefs; i++)
		if (!v->refs[i].main_program &&
		    strcmp(slot_open_name(&v->refs[i]), slot_open_name(ref)) == 0)
			return FAIL(&c->fail, E_BADREQ,
			    "%s would replace the application's file \"%s\"",
			    ref->file_name, slot_open_name(ref));
	return open_path(c, dir, ref, path);
}

/* Places an input file; never executable, whatever the project says. */
static enum err place_input(struct client *c, const struct cproject *p,
    const struct rp_app_version *v, const char *dir, const struct rp_file_ref *ref)
{
	char *path;

	TRY(task_path(c, v, dir, ref, &path));
	return ref->copy_file ? fs_copy(transfer_file_path(c, p, ref->file_name), path,
				    0644, &c->fail) :
	                        write_link(c, p, path, ref);
}

/* Places a link to an output file. With copy_file the program creates the file in the
 * slot; it is moved at the end. */
static enum err place_output(struct client *c, const struct cproject *p,
    const struct rp_app_version *v, const char *dir, const struct rp_file_ref *ref)
{
	char *path;
	enum err e = task_path(c, v, dir, ref, &path);

	if (e != OK)
		return e;
	/* Output of an earlier try must not pass for this one's. */
	e = fs_unlink(transfer_file_path(c, p, ref->file_name), &c->fail);
	return e == OK && !ref->copy_file ? write_link(c, p, path, ref) : e;
}

static enum err fill_slot(
    struct client *c, const struct cproject *p, const struct ctask *t, const char *dir)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app_version *v = task_version(p, t);

	TRY(slots_make(c));
	TRY(fs_rmtree(dir, &c->fail));
	TRY(fs_mkdirs(dir, 0755, &c->fail));
	for (size_t i = 0; i < wu->nrefs; i++)
		TRY(place_input(c, p, v, dir, &wu->refs[i]));
	for (size_t i = 0; i < t->r.nrefs; i++)
		TRY(place_output(c, p, v, dir, &t->r.refs[i]));
	return OK;
}

static bool slot_is_taken(const struct state *st, int32_t slot)
{
	for (size_t i = 0; i < st->nprojects; i++)
		for (size_t k = 0; k < st->projects[i].ntasks; k++)
			if (st->projects[i].tasks[k].slot == slot)
				return true;
	return false;
}

/* The machine's other programs come first. A program that feeds a coprocessor, or one
 * that is not CPU-intensive, takes little of a CPU, and must not wait long for it. */
static void be_nice(
    const struct client *c, const struct cproject *p, const struct ctask *t)
{
	bool brief = version_resource(c, task_version(p, t)) != CW_CPU ||
	             task_app(p, t)->non_cpu_intensive;
	int nice = (int)c->options.nice;

	if (brief && nice > BRIEF_NICE)
		nice = BRIEF_NICE;
	if (nice <= getpriority(PRIO_PROCESS, 0))
		return; /* as nice as this process, which its children take over */
	if (setpriority(PRIO_PGRP, (id_t)t->pid, nice) != 0 && errno != ESRCH)
		log_warn("task %s: its priority was not lowered: %s", t->r.name,
		    strerror(errno));
}

/* Runs the very file that was verified; its name may lead to another file by then. */
static enum err spawn_program(struct client *c, const struct cproject *p,
    struct ctask *t, const char *dir, char **argv)
{
	const struct rp_file_ref *ref = main_program(task_version(p, t));
	struct proc_child child;
	int fd;
	enum err e;

	argv[0] = transfer_file_path(c, p, ref->file_name);
	e = app_file_open(c, p, state_file(p, ref->file_name), argv[0], &fd);
	if (e != OK)
		return e;
	if (fchmod(fd, 0755) != 0)
		e = FAIL_ERRNO(&c->fail, "making %s executable", argv[0]);
	if (e == OK)
		e = proc_start(
		    &(const struct proc_run){ .argv = (const char *const *)argv,
			.program = fd,
			.dir = dir,
			PROC_LOG(arena_printf(&c->scratch, "%s/stderr.txt", dir)) },
		    &child, &c->fail);
	close(fd);
	if (e != OK)
		return e;
	t->pid = child.pid;
	be_nice(c, p, t);
	return OK;
}

static enum err launch_program(
    struct client *c, struct cproject *p, struct ctask *t, const char *dir)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	const struct rp_app_version *v = task_version(p, t);
	char **argv;

	if (main_program(v) == NULL)
		return FAIL(&c->fail, E_BADREQ, "version %d of %s has no main program",
		    v->version_num, v->app_name);
	/* Tells the program of a coprocessor task which device to use, as stock clients
	 * do. */
	TRY(proc_split(&c->scratch,
	    arena_printf(&c->scratch, "program %s %s%s", wu->command_line, v->cmdline,
		version_resource(c, v) > CW_CPU && t->device >= 0 ?
		    arena_printf(&c->scratch, " --device %d", t->device) :
		    ""),
	    &argv, &c->fail));
	for (size_t i = 0; i < v->nrefs; i++)
		if (&v->refs[i] != main_program(v))
			TRY(place_app_file(c, p, dir, &v->refs[i]));

	TRY(app_channels(c, t));
	TRY(app_init_data(c, p, t));
	return spawn_program(c, p, t, dir, argv);
}

static const char *init_data_path(struct client *c, const struct ctask *t)
{
	return arena_printf(&c->scratch, "%s/init_data.xml", slot_dir(c, t));
}

enum err slot_spoil(struct client *c, const struct ctask *t)
{
	return fs_unlink(init_data_path(c, t), &c->fail);
}

/* Files by which a program speaks of the end of one run. */
static enum err forget_last_run(struct client *c, const char *dir)
{
	static const char *const names[] = { "boinc_finish_called",
		"boinc_temporary_exit", "fraction_done" };

	for (size_t i = 0; i < N(names); i++)
		TRY(fs_unlink(
		    arena_printf(&c->scratch, "%s/%s", dir, names[i]), &c->fail));
	return OK;
}

enum err slot_launch(struct client *c, struct cproject *p, struct ctask *t)
{
	/* It is written when the slot is complete; see slot_spoil(). */
	bool filled = t->slot >= 0 && fs_exists(init_data_path(c, t));
	const char *dir;

	if (t->slot < 0) {
		/* The lowest slot that no task has. */
		int32_t slot = 0;

		while (slot_is_taken(c->state, slot))
			slot++;
		t->slot = slot;
	}
	if (!filled || t->checkpointed_at == 0) {
		t->checkpointed_at = 0;
		t->ran_s = t->saved_s = t->fraction_done = t->fraction_ran_s =
		    t->cpu_s = t->saved_cpu_s = 0;
	}
	t->api = false;
	t->ask = 0;
	t->reported_cpu_s = 0;
	dir = slot_dir(c, t);
	TRY(filled ? forget_last_run(c, dir) : fill_slot(c, p, t, dir));
	return launch_program(c, p, t, dir);
}

void slot_leave(struct client *c, struct ctask *t)
{
	if (t->slot >= 0 &&
	    (slot_spoil(c, t) != OK || fs_rmtree(slot_dir(c, t), &c->fail) != OK))
		log_fail("slot", &c->fail);
	t->slot = -1;
}

/* --- what is read there --- */

/* Returns the number in the program's file of that name; -1 if there is none. */
static double number_in(struct client *c, const struct ctask *t, const char *name)
{
	struct fail f;
	char *text, *end;
	double x;

	if (fs_read(&c->scratch,
		arena_printf(&c->scratch, "%s/%s", slot_dir(c, t), name), WORD_MAX,
		&text, NULL, &f) != OK)
		return -1;
	x = strtod(text, &end);
	return end != text && isfinite(x) ? x : -1;
}

void slot_look(struct client *c, struct ctask *t)
{
	double done = number_in(c, t, "fraction_done");
	int64_t saved = fs_mtime(
	    arena_printf(&c->scratch, "%s/checkpoint", slot_dir(c, t)));

	if (done > 0 && done <= 1 && done != t->fraction_done) {
		t->fraction_done = done;
		t->fraction_ran_s = task_ran_s(c, t);
	}
	if (saved > c->now)
		saved = c->now;
	if (saved > 0 && saved != t->checkpointed_at) {
		t->checkpointed_at = saved;
		t->saved_s = fmax(0, task_ran_s(c, t) - (double)(c->now - saved));
		t->saved_cpu_s = t->cpu_s + usage_of(t->pid).cpu_s;
		t->nreturns = 0;
		c->accounts_changed = true;
	}
}

bool slot_finished(struct client *c, const struct ctask *t, int32_t *status)
{
	char *text;
	struct fail f;

	if (fs_read(&c->scratch,
		arena_printf(&c->scratch, "%s/boinc_finish_called", slot_dir(c, t)),
		WORD_MAX, &text, NULL, &f) != OK)
		return false;
	*status = (int32_t)strtol(text, NULL, 10);
	return true;
}

bool slot_wants_pause(struct client *c, const struct ctask *t, double *s, char **why)
{
	char *text, *end;
	struct fail f;

	if (fs_read(&c->scratch,
		arena_printf(&c->scratch, "%s/boinc_temporary_exit", slot_dir(c, t)),
		WORD_MAX, &text, NULL, &f) != OK)
		return false;
	*s = strtod(text, &end);
	if (end == text || !(*s >= 0))
		*s = 0;
	*why = arena_memdup(&c->scratch, end + strspn(end, " \n"),
	    strcspn(end + strspn(end, " \n"), "\n"));
	return true;
}

/* Returns the end of a text file, at most max bytes; "" if there is none. */
static char *read_tail(struct arena *a, const char *path, size_t max)
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

char *slot_stderr(struct client *c, const struct ctask *t)
{
	char *text;

	if (t->slot < 0)
		return arena_strdup(&c->scratch, "");
	text = read_tail(&c->scratch,
	    arena_printf(&c->scratch, "%s/stderr.txt", slot_dir(c, t)), STDERR_MAX);
	return arena_printf(&c->scratch, "<stderr_txt>\n%s\n</stderr_txt>\n", text);
}
