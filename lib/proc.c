/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts children with posix_spawn: no shell, default signals, no descriptors but 0 to
 * 2 (and 3, if the program is given as an open file), and a process group of their own,
 * so that one kill reaches everything they start. Standard input comes from a memory
 * file, which can neither block nor raise SIGPIPE.
 */
#include "lib/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <malloc.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>
#include "config.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/notify.h"
#include "lib/text.h"

enum {
	TICK_MAX_MS = 50,
	PIPE_BYTES = 64 << 10,
	AFTERWARDS_MS = 1000, /* limit for reading what a child wrote before it ended */
	OWN_MAPPING = 256 << 10, /* bytes; larger blocks are mapped individually */
	KEPT_FREE = 1 << 20,     /* bytes kept at the end of the heap */
};

atomic_int proc_stopping;
static struct rlimit core_before; /* limit found by proc_no_core() */
static bool core_off;

void
proc_no_core(void)
{
	struct rlimit none;

	if (core_off || getrlimit(RLIMIT_CORE, &core_before) < 0)
		return;
	none = core_before; /* the hard limit stays: children may need it */
	none.rlim_cur = 0;
	core_off = setrlimit(RLIMIT_CORE, &none) == 0;
}

/*
 * Like posix_spawn(), with the core limit that this process was started with. A child
 * inherits the limit in force during the spawn; setting the limit afterwards would
 * override one that the child sets for itself.
 */
static int
spawn_with_core_limit(pid_t *pid, const char *path,
    const posix_spawn_file_actions_t *fa, const posix_spawnattr_t *at,
    char *const *argv, char *const *env)
{
	static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;
	struct rlimit none = { .rlim_cur = 0, .rlim_max = core_before.rlim_max };
	int rc;

	if (!core_off)
		return posix_spawnp(pid, path, fa, at, argv, env);
	pthread_mutex_lock(&one_at_a_time);
	setrlimit(RLIMIT_CORE, &core_before);
	rc = posix_spawnp(pid, path, fa, at, argv, env);
	setrlimit(RLIMIT_CORE, &none);
	pthread_mutex_unlock(&one_at_a_time);
	return rc;
}

static void
on_stop(int sig)
{
	proc_stopping = sig;
}

static const int stops[] = { SIGTERM, SIGINT, SIGHUP };

static void
stops_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N(stops); i++)
		sigaddset(&set, stops[i]);
	pthread_sigmask(how, &set, NULL);
}

void
proc_signals(void)
{
	struct sigaction stop = { .sa_handler = on_stop },
			 ignore = { .sa_handler = SIG_IGN };

	/* No SA_RESTART: a blocking accept() must end, too. */
	for (size_t i = 0; i < N(stops); i++)
		sigaction(stops[i], &stop, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	/* Exceeding a file size limit becomes an error of write(), like a full disk. */
	sigaction(SIGXFSZ, &ignore, NULL);
	stops_mask(SIG_UNBLOCK); /* delivers what proc_reexec() held back */
}

void
proc_reexec(char *const *argv)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	stops_mask(SIG_BLOCK);
	if (core_off) /* children must get the original limit */
		setrlimit(RLIMIT_CORE, &core_before);
	if (proc_stopping == 0) { /* by path, so that the process keeps its name */
		path[n > 0 ? n : 0] = '\0';
		execv(path, argv);
		execv("/proc/self/exe", argv); /* the file was removed meanwhile */
	}
	stops_mask(SIG_UNBLOCK);
}

/*
 * Where descriptors 0, 1 and 2 of a child lead; -1 = /dev/null (0, 1) or inherited (2).
 */
struct stdio {
	int in, out, err;
	const char *log; /* replaces out; also receives descriptor 2 */
	int program;     /* > 0: the program as an open file, becomes descriptor 3 */
	int given;       /* > 0: a file for the program, becomes descriptor 3 */
};
enum { EXTRA_FD = 3 };
static const char program_path[] = "/proc/self/fd/3";

static void
stdio_wire(posix_spawn_file_actions_t *fa, const struct stdio *io, const char *dir)
{
	int extra = io->program > 0 ? io->program : io->given;

	if (io->in >= 0)
		posix_spawn_file_actions_adddup2(fa, io->in, 0);
	else
		posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDONLY, 0);
	if (io->log != NULL) {
		posix_spawn_file_actions_addopen(
		    fa, 1, io->log, O_WRONLY | O_CREAT | O_APPEND, 0640);
		posix_spawn_file_actions_adddup2(fa, 1, 2);
	} else if (io->out >= 0) {
		posix_spawn_file_actions_adddup2(fa, io->out, 1);
	} else {
		posix_spawn_file_actions_addopen(fa, 1, "/dev/null", O_WRONLY, 0);
	}
	if (io->log == NULL && io->err >= 0)
		posix_spawn_file_actions_adddup2(fa, io->err, 2);
	if (dir != NULL)
		posix_spawn_file_actions_addchdir_np(fa, dir);
	if (extra > 0)
		posix_spawn_file_actions_adddup2(fa, extra, EXTRA_FD);
#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
	posix_spawn_file_actions_addclosefrom_np(
	    fa, extra > 0 ? EXTRA_FD + 1 : EXTRA_FD);
#endif
}

static enum err
child_start(const char *const *argv, const char *const *env, const char *dir,
    const struct stdio *io, pid_t *pid, struct fail *f)
{
	static const int defaults[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ,
		SIGCHLD };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t set;

	assert(argv[0] != NULL);
	posix_spawn_file_actions_init(&fa);
	stdio_wire(&fa, io, dir);
	posix_spawnattr_init(&at);
	posix_spawnattr_setflags(&at,
	    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&at, &set);
	for (size_t i = 0; i < N(defaults); i++)
		sigaddset(&set, defaults[i]);
	posix_spawnattr_setsigdefault(&at, &set);

	/*
	 * posix_spawn() takes char *const * for historical reasons; it changes nothing.
	 */
	union {
		const char *const *in;
		char *const *out;
	} args = { argv }, vars = { env };
	errno = spawn_with_core_limit(pid, io->program > 0 ? program_path : argv[0],
	    &fa, &at, args.out, env == NULL ? environ : vars.out);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	if (errno != 0)
		return FAIL_ERRNO(
		    f, "starting %s in %s", argv[0], dir == NULL ? "." : dir);
	return OK;
}

static bool
env_same_name(const char *x, const char *y)
{
	size_t n = strcspn(x, "=");

	return n == strcspn(y, "=") && memcmp(x, y, n) == 0;
}

/* Our environment, with the variables of more added or replaced. */
static const char *const *
env_merge(struct arena *a, const char *const *more)
{
	const char **env = NULL;
	size_t n = 0, cap = 0;

	for (char **e = environ; *e != NULL; e++) {
		const char *const *m = more;
		while (*m != NULL && !env_same_name(*m, *e))
			m++;
		if (*m == NULL)
			PUSH(a, env, n, cap) = *e;
	}
	for (; *more != NULL; more++)
		PUSH(a, env, n, cap) = *more;
	PUSH(a, env, n, cap) = NULL;
	return env;
}

static enum err
memory_file(const char *p, size_t n, int *fd, struct fail *f)
{
	*fd = memfd_create("stdin", MFD_CLOEXEC);
	if (*fd < 0)
		return FAIL_ERRNO(f, "making the standard input of a child");
	while (n > 0) {
		ssize_t put = write(*fd, p, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return FAIL_ERRNO(f, "writing the standard input of a child");
		p += put;
		n -= (size_t)put;
	}
	lseek(*fd, 0, SEEK_SET);
	return OK;
}

/* Output of a child: the pipe ends that are read here, -1 = closed or not wanted. */
struct child_output {
	int out, err;
	struct buf text;
	size_t max;
	char *last_words;
	size_t nwords;
	bool hush;
};

static void
close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void
output_keep_stdout(struct child_output *o, const char *p, size_t n)
{
	size_t room = o->text.n < o->max ? o->max - o->text.n : 0;

	if (room > 0)
		buf_put(&o->text, p, n < room ? n : room);
}

/* Passes the bytes on unless hushed, and keeps the last of them. */
static void
output_keep_stderr(struct child_output *o, const char *p, size_t n)
{
	ssize_t passed = o->hush ? 0 : write(STDERR_FILENO, p, n);

	(void)passed; /* standard error may be closed; keep the bytes all the same */
	text_keep_end(o->last_words, PROC_LAST_WORDS, &o->nwords, p, n);
}

/* Reads what is available; closes *fd at the end of file. */
static void
output_read(struct child_output *o, int *fd)
{
	char chunk[PIPE_BYTES];
	ssize_t n = read(*fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0)
		close_fd(fd);
	else if (fd == &o->out)
		output_keep_stdout(o, chunk, (size_t)n);
	else
		output_keep_stderr(o, chunk, (size_t)n);
}

/* Waits at most ms for output and reads it; false: there was none. */
static bool
output_poll(struct child_output *o, int ms)
{
	struct pollfd p[] = { { .fd = o->out, .events = POLLIN },
		{ .fd = o->err, .events = POLLIN } };

	if (o->out < 0 && o->err < 0) {
		if (ms > 0)
			clock_nap_ms(ms);
		return false;
	}
	if (poll(p, N(p), ms) <= 0)
		return false;
	if (p[0].revents != 0)
		output_read(o, &o->out);
	if (p[1].revents != 0)
		output_read(o, &o->err);
	return true;
}

static int
child_exit_status(int st)
{
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/*
 * Collects output until the child itself has ended. What it left running in the
 * background may keep the pipes open and is not waited for.
 */
static enum err
child_wait(const struct proc_run *r, pid_t pid, struct child_output *o, int *status,
    struct fail *f)
{
	int64_t end = clock_mono_ms() + (int64_t)r->timeout_s * 1000;
	int st, tick = 1;
	pid_t gone;

	while ((gone = waitpid(pid, &st, WNOHANG)) == 0) {
		if (r->timeout_s > 0 && clock_mono_ms() >= end) {
			kill(-pid, SIGKILL);
			while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
				;
			return FAIL(f, E_SYS, "%s: timed out after %d s and was killed",
			    r->argv[0], r->timeout_s);
		}
		/* A caller that waits for a child does not hang. */
		notify_alive();
		output_poll(o, tick);
		tick = tick < TICK_MAX_MS ? tick * 2 : TICK_MAX_MS;
	}
	if (gone < 0)
		return FAIL_ERRNO(f, "waiting for %s", r->argv[0]);
	*status = child_exit_status(st);
	/* Background processes may go on writing. */
	for (end = clock_mono_ms() + AFTERWARDS_MS;
	     clock_mono_ms() < end && output_poll(o, 0);)
		;
	return OK;
}

/* Makes a pipe from the child, if wanted; *ours does not block. */
static enum err
pipe_from_child(bool wanted, int *ours, int *theirs, struct fail *f)
{
	int fd[2];

	*ours = *theirs = -1;
	if (!wanted)
		return OK;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return FAIL_ERRNO(f, "making a pipe for a child");
	*ours = fd[0];
	*theirs = fd[1];
	fcntl(fd[0], F_SETFL, O_NONBLOCK);
	return OK;
}

enum err
proc_run(struct arena *a, const struct proc_run *r, int *status, char **out,
    size_t *out_n, struct fail *f)
{
	const char *const *env = r->env == NULL ? NULL : env_merge(a, r->env);
	struct stdio io = { .in = -1, .out = -1, .err = -1 };
	struct child_output o = { .out = -1,
		.err = -1,
		.text = buf_new(a),
		.max = r->out_max,
		.last_words = r->last_words,
		.hush = r->hush };
	enum err e = OK;
	pid_t pid;

	if (o.last_words != NULL)
		o.last_words[0] = '\0';
	if (r->in != NULL)
		e = memory_file(r->in, r->in_n, &io.in, f);
	if (e == OK)
		e = pipe_from_child(out != NULL, &o.out, &io.out, f);
	if (e == OK)
		e = pipe_from_child(r->last_words != NULL, &o.err, &io.err, f);
	if (e == OK)
		e = child_start(r->argv, env, r->dir, &io, &pid, f);
	close_fd(&io.in);
	close_fd(&io.out);
	close_fd(&io.err);
	if (e == OK)
		e = child_wait(r, pid, &o, status, f);
	close_fd(&o.out);
	close_fd(&o.err);
	if (e == OK && out != NULL)
		*out = o.text.p;
	if (e == OK && out_n != NULL)
		*out_n = o.text.n;
	return e;
}

/* Takes one word at *s; NULL if a quote is not closed. */
static char *
split_word(struct arena *a, const char **s)
{
	struct buf w = buf_new(a);
	const char *p = *s;

	while (*p != '\0' && !text_white(*p)) {
		char quote = *p;
		if (quote != '\'' && quote != '"') {
			buf_put(&w, p++, 1);
			continue;
		}
		const char *end = strchr(p + 1, quote);
		if (end == NULL)
			return NULL;
		buf_put(&w, p + 1, (size_t)(end - p - 1));
		p = end + 1;
	}
	*s = p;
	return w.p;
}

enum err
proc_split(struct arena *a, const char *cmd, char ***argv, struct fail *f)
{
	size_t n = 0, cap = 0;
	const char *p = cmd;
	char **v = NULL, *w;

	for (;;) {
		while (text_white(*p))
			p++;
		if (*p == '\0')
			break;
		w = split_word(a, &p);
		if (w == NULL)
			return FAIL(
			    f, E_BADREQ, "command \"%s\": a quote is not closed", cmd);
		PUSH(a, v, n, cap) = w;
	}
	if (n == 0)
		return FAIL(f, E_BADREQ, "the command is empty");
	PUSH(a, v, n, cap) = NULL;
	*argv = v;
	return OK;
}

enum err
proc_spawn_on(int in, const char *const *argv, const char *dir, const char *log,
    pid_t *pid, struct fail *f)
{
	struct stdio io = { .in = in, .out = STDOUT_FILENO, .err = -1, .log = log };

	return child_start(argv, NULL, dir, &io, pid, f);
}

enum err
proc_spawn(const char *const *argv, const char *dir, const char *log, pid_t *pid,
    struct fail *f)
{
	return proc_spawn_on(-1, argv, dir, log, pid, f);
}

enum err
proc_spawn_file(int program, const char *const *argv, const char *dir, const char *log,
    pid_t *pid, struct fail *f)
{
	struct stdio io = {
		.in = -1, .out = STDOUT_FILENO, .log = log, .program = program
	};

	return child_start(argv, NULL, dir, &io, pid, f);
}

/* --- streams --- */

/* Makes a file of the text that only this account may read. */
static enum err
given_file(const char *text, int *fd, struct fail *f)
{
	TRY(memory_file(text, strlen(text), fd, f));
	if (fchmod(*fd, 0600) < 0)
		return FAIL_ERRNO(f, "protecting the options of a child");
	return OK;
}

enum err
proc_stream_open(const char *const *argv, bool feed, const char *given_text,
    struct proc_stream *s, struct fail *f)
{
	struct stdio io = { .in = -1, .out = -1, .err = -1 };
	int fd[2], given = -1;
	enum err e = given_file(given_text, &given, f);

	*s = (struct proc_stream){ .fd = -1, .words = -1 };
	if (e == OK && pipe2(fd, O_CLOEXEC) < 0)
		e = FAIL_ERRNO(f, "making a pipe for a child");
	if (e != OK) {
		close_fd(&given);
		return e;
	}
	s->words = memfd_create("stderr", MFD_CLOEXEC);
	s->fd = feed ? fd[1] : fd[0];
	*(feed ? &io.in : &io.out) = feed ? fd[0] : fd[1];
	io.err = s->words;
	io.given = given;
	e = child_start(argv, NULL, NULL, &io, &s->pid, f);
	close(feed ? fd[0] : fd[1]);
	close_fd(&given);
	if (e != OK) {
		close_fd(&s->fd);
		close_fd(&s->words);
	}
	return e;
}

/* Returns the end of what the child wrote to the memory file, on one line. */
static void
stream_words(int fd, char *words, size_t max)
{
	off_t end = lseek(fd, 0, SEEK_END);
	off_t from = end > (off_t)max - 1 ? end - (off_t)max + 1 : 0;
	ssize_t n = pread(fd, words, max - 1, from);

	words[n < 0 ? 0 : n] = '\0';
	while (n > 0 && text_white(words[n - 1]))
		words[--n] = '\0';
	for (char *p = words; *p != '\0'; p++)
		if (*p == '\n')
			*p = ' ';
}

enum err
proc_stream_close(struct proc_stream *s, const char *name, bool kill_it, struct fail *f)
{
	char words[FAIL_BYTES];
	int st = 0;
	pid_t gone;

	if (s->pid <= 0)
		return OK;
	close_fd(&s->fd);
	if (kill_it)
		kill(-s->pid, SIGKILL);
	while ((gone = waitpid(s->pid, &st, 0)) < 0 && errno == EINTR)
		;
	s->pid = 0;
	stream_words(s->words, words, sizeof(words));
	close_fd(&s->words);
	if (kill_it)
		return OK;
	if (gone < 0)
		return FAIL_ERRNO(f, "waiting for %s", name);
	if (child_exit_status(st) != 0)
		return FAIL(f, E_SYS, "%s ended with status %d: %.250s", name,
		    child_exit_status(st), words);
	return OK;
}

/* --- dialogs --- */

/* As pipe_from_child(), in the other direction. */
static enum err
pipe_to_child(int *ours, int *theirs, struct fail *f)
{
	int fd[2];

	*ours = *theirs = -1;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return FAIL_ERRNO(f, "making a pipe for a child");
	*theirs = fd[0];
	*ours = fd[1];
	fcntl(fd[1], F_SETFL, O_NONBLOCK);
	return OK;
}

enum err
proc_dialog_open(
    const char *const *argv, const char *dir, struct proc_dialog *d, struct fail *f)
{
	struct stdio io = { .in = -1, .out = -1, .err = -1 };
	enum err e;

	*d = (struct proc_dialog){ .in = -1, .out = -1, .err = -1 };
	e = pipe_to_child(&d->in, &io.in, f);
	if (e == OK)
		e = pipe_from_child(true, &d->out, &io.out, f);
	if (e == OK)
		e = pipe_from_child(true, &d->err, &io.err, f);
	if (e == OK)
		e = child_start(argv, NULL, dir, &io, &d->pid, f);
	close_fd(&io.in);
	close_fd(&io.out);
	close_fd(&io.err);
	if (e == OK)
		return OK;
	close_fd(&d->in);
	close_fd(&d->out);
	close_fd(&d->err);
	d->pid = 0;
	return e;
}

bool
proc_dialog_ended(struct proc_dialog *d, int *status)
{
	int st;

	if (d->pid <= 0 || waitpid(d->pid, &st, WNOHANG) != d->pid)
		return false;
	d->pid = 0;
	*status = child_exit_status(st);
	return true;
}

void
proc_dialog_close(struct proc_dialog *d, int grace_ms)
{
	int64_t end = clock_mono_ms() + grace_ms;
	int status;

	close_fd(&d->in);
	close_fd(&d->out);
	close_fd(&d->err);
	while (d->pid > 0 && !proc_dialog_ended(d, &status)) {
		if (clock_mono_ms() >= end) {
			kill(-d->pid, SIGKILL);
			while (waitpid(d->pid, &status, 0) < 0 && errno == EINTR)
				;
			d->pid = 0;
			return;
		}
		clock_nap_ms(1);
	}
}

void
proc_tune_malloc(void)
{
#ifdef M_MMAP_THRESHOLD
	/*
	 * Setting either one stops glibc from adjusting both. Most requests need
	 * smaller blocks.
	 */
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING);
	mallopt(M_TRIM_THRESHOLD, KEPT_FREE);
#endif
}
