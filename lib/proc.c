/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Starts programs with posix_spawn: no shell, default signals, no descriptors but 0 to
 * 2 (and 3, if they are given a file), and a process group of their own, so that one
 * kill reaches everything they start. A text comes from a memory file, which can
 * neither block nor raise SIGPIPE.
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
	OWN_MAPPING = 4 << 20, /* bytes; larger blocks are mapped individually */
	KEPT_FREE = 8 << 20,   /* bytes kept at the end of the heap */
};

atomic_int proc_stopping;
static struct rlimit core_before; /* limit found by proc_no_core() */
static bool core_off;

void proc_no_core(void)
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
static int spawn_with_core_limit(pid_t *pid, const char *path,
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

static void on_stop(int sig)
{
	proc_stopping = sig;
}

static const int stops[] = { SIGTERM, SIGINT, SIGHUP };

static void stops_mask(int how)
{
	sigset_t set;

	sigemptyset(&set);
	for (size_t i = 0; i < N(stops); i++)
		sigaddset(&set, stops[i]);
	pthread_sigmask(how, &set, NULL);
}

void proc_signals(void)
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

void proc_reexec(char *const *argv)
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

/* --- start --- */

enum { IN, OUT, ERR, EXTRA };
static const int defaults[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ, SIGCHLD };
static const char program_path[] = "/proc/self/fd/3";

static bool env_same_name(const char *x, const char *y)
{
	size_t n = strcspn(x, "=");

	return n == strcspn(y, "=") && memcmp(x, y, n) == 0;
}

/* Our environment, with the variables of more added or replaced. */
static const char *const *env_merge(struct arena *a, const char *const *more)
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

static void close_fd(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static enum err memory_file(const char *p, size_t n, int *fd, struct fail *f)
{
	*fd = memfd_create("child", MFD_CLOEXEC);
	if (*fd < 0 || fchmod(*fd, 0600) < 0)
		return FAIL_ERRNO(f, "making a file for a child");
	while (n > 0) {
		ssize_t put = write(*fd, p, n);
		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return FAIL_ERRNO(f, "writing a file for a child");
		p += put;
		n -= (size_t)put;
	}
	lseek(*fd, 0, SEEK_SET);
	return OK;
}

/*
 * Makes what leads to descriptor `as` of the child: *theirs, closed after the start,
 * and *ours.
 */
static enum err io_make(
    const struct proc_io *io, int as, int *ours, int *theirs, struct fail *f)
{
	int fd[2];

	if (io->how == PROC_MEMORY && as == IN)
		return memory_file(io->text, io->n, theirs, f);
	if (io->how == PROC_MEMORY) {
		TRY(memory_file(NULL, 0, ours, f));
		*theirs = fcntl(*ours, F_DUPFD_CLOEXEC, 0);
		return OK;
	}
	if (io->how < PROC_PIPE)
		return OK;
	if (pipe2(fd, O_CLOEXEC) < 0)
		return FAIL_ERRNO(f, "making a pipe for a child");
	*ours = fd[as == IN];
	*theirs = fd[as != IN];
	if (io->how != PROC_STREAM)
		fcntl(*ours, F_SETFL, O_NONBLOCK);
	return OK;
}

static void io_wire(
    posix_spawn_file_actions_t *fa, const struct proc_io *io, int as, int theirs)
{
	if (io->how == PROC_FILE)
		posix_spawn_file_actions_addopen(
		    fa, as, io->text, O_WRONLY | O_CREAT | O_APPEND, 0640);
	else if (io->how == PROC_NULL)
		posix_spawn_file_actions_addopen(
		    fa, as, "/dev/null", as == IN ? O_RDONLY : O_WRONLY, 0);
	else if (io->how != PROC_OURS)
		posix_spawn_file_actions_adddup2(
		    fa, io->how == PROC_FD ? io->fd : theirs, as);
}

/* theirs: what becomes each descriptor of the child, -1 = nothing. */
static enum err child_start(
    const struct proc_run *r, const int *theirs, struct proc_child *c, struct fail *f)
{
	int extra = r->program > 0 ? r->program : theirs[EXTRA];
	struct arena a = { 0 };
	/* posix_spawn() takes char *const * for historical reasons. */
	union {
		const char *const *in;
		char *const *out;
	} args = { r->argv }, vars = { r->env };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t set;

	assert(r->argv[0] != NULL);
	posix_spawn_file_actions_init(&fa);
	io_wire(&fa, &r->in, IN, theirs[IN]);
	io_wire(&fa, &r->out, OUT, theirs[OUT]);
	io_wire(&fa, &r->err, ERR, theirs[ERR]);
	if (r->dir != NULL)
		posix_spawn_file_actions_addchdir_np(&fa, r->dir);
	if (extra > 0)
		posix_spawn_file_actions_adddup2(&fa, extra, EXTRA);
#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
	posix_spawn_file_actions_addclosefrom_np(&fa, extra > 0 ? EXTRA + 1 : EXTRA);
#endif
	posix_spawnattr_init(&at);
	posix_spawnattr_setflags(&at,
	    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&at, &set);
	for (size_t i = 0; i < N(defaults); i++)
		sigaddset(&set, defaults[i]);
	posix_spawnattr_setsigdefault(&at, &set);
	if (r->env != NULL)
		vars.in = env_merge(&a, r->env);
	errno = spawn_with_core_limit(&c->pid,
	    r->program > 0 ? program_path : r->argv[0], &fa, &at, args.out,
	    r->env == NULL ? environ : vars.out);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	arena_free(&a);
	if (errno != 0)
		return FAIL_ERRNO(
		    f, "starting %s in %s", r->argv[0], r->dir == NULL ? "." : r->dir);
	return OK;
}

static void close_ours(struct proc_child *c)
{
	close_fd(&c->in);
	close_fd(&c->out);
	close_fd(&c->err);
}

static enum err start_with(
    const struct proc_run *r, int theirs[], struct proc_child *c, struct fail *f)
{
	TRY(io_make(&r->in, IN, &c->in, &theirs[IN], f));
	TRY(io_make(&r->out, OUT, &c->out, &theirs[OUT], f));
	TRY(io_make(&r->err, ERR, &c->err, &theirs[ERR], f));
	if (r->given != NULL)
		TRY(memory_file(r->given, strlen(r->given), &theirs[EXTRA], f));
	return child_start(r, theirs, c, f);
}

enum err proc_start(const struct proc_run *r, struct proc_child *c, struct fail *f)
{
	int theirs[] = { -1, -1, -1, -1 };
	enum err e;

	*c = (struct proc_child){ 0, -1, -1, -1 };
	e = start_with(r, theirs, c, f);
	for (size_t i = 0; i < N(theirs); i++)
		close_fd(&theirs[i]);
	if (e != OK) {
		close_ours(c);
		c->pid = 0;
	}
	return e;
}

/* --- end --- */

/* Returns false if the child runs, which only happens with WNOHANG. */
static bool child_wait(pid_t pid, int how, int *status)
{
	int st;
	pid_t gone;

	while ((gone = waitpid(pid, &st, how)) < 0 && errno == EINTR)
		;
	if (gone != 0)
		*status = gone < 0      ? -1 :
		          WIFEXITED(st) ? WEXITSTATUS(st) :
		                          128 + WTERMSIG(st);
	return gone != 0;
}

bool proc_ended(struct proc_child *c, int *status)
{
	if (c->pid <= 0 || !child_wait(c->pid, WNOHANG, status))
		return false;
	c->pid = 0;
	return true;
}

int proc_end(struct proc_child *c, int grace_ms)
{
	int64_t end = clock_mono_ms() + grace_ms;
	int status = 0;

	close_ours(c);
	while (c->pid > 0 && grace_ms >= 0 && !proc_ended(c, &status)) {
		if (clock_mono_ms() >= end) {
			kill(-c->pid, SIGKILL);
			break;
		}
		clock_nap_ms(1);
	}
	if (c->pid > 0)
		child_wait(c->pid, 0, &status);
	c->pid = 0;
	return status;
}

/* --- to its end --- */

struct child_output {
	struct proc_child c;
	struct buf text;
	size_t max, nwords;
	bool tee;
	struct proc_told *told;
};

/* Reads what is available; closes *fd at the end of file. */
static void output_read(struct child_output *o, int *fd)
{
	char chunk[PIPE_BYTES];
	ssize_t n = read(*fd, chunk, sizeof(chunk));

	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	if (n <= 0) {
		close_fd(fd);
	} else if (fd == &o->c.out) {
		size_t room = o->text.n < o->max ? o->max - o->text.n : 0;

		buf_put(&o->text, chunk, (size_t)n < room ? (size_t)n : room);
	} else {
		ssize_t passed = o->tee ? write(STDERR_FILENO, chunk, (size_t)n) : 0;

		(void)passed; /* it may be closed; keep the bytes all the same */
		text_keep_end(
		    o->told->words, PROC_LAST_WORDS, &o->nwords, chunk, (size_t)n);
	}
}

/* Waits at most ms for output and reads it; false: there was none. */
static bool output_poll(struct child_output *o, int ms)
{
	struct pollfd p[] = { { .fd = o->c.out, .events = POLLIN },
		{ .fd = o->c.err, .events = POLLIN } };

	if (o->c.out < 0 && o->c.err < 0) {
		if (ms > 0)
			clock_nap_ms(ms);
		return false;
	}
	if (poll(p, N(p), ms) <= 0)
		return false;
	if (p[0].revents != 0)
		output_read(o, &o->c.out);
	if (p[1].revents != 0)
		output_read(o, &o->c.err);
	return true;
}

enum err proc_collect(struct arena *a, const struct proc_run *r, int timeout_s,
    size_t out_max, struct proc_told *told, struct fail *f)
{
	struct child_output o = { .text = buf_new(a),
		.max = out_max,
		.tee = r->err.how == PROC_TEE,
		.told = told };
	int64_t end = clock_mono_ms() + (int64_t)timeout_s * 1000;
	int tick = 1;

	told->words[0] = '\0';
	TRY(proc_start(r, &o.c, f));
	while (!proc_ended(&o.c, &told->status)) {
		if (timeout_s > 0 && clock_mono_ms() >= end) {
			proc_end(&o.c, 0);
			return FAIL(f, E_SYS, "%s: timed out after %d s and was killed",
			    r->argv[0], timeout_s);
		}
		/* A caller that waits for a child does not hang. */
		notify_alive();
		output_poll(&o, tick);
		tick = tick < TICK_MAX_MS ? tick * 2 : TICK_MAX_MS;
	}
	/* Background processes may keep the pipes open, and go on writing. */
	for (end = clock_mono_ms() + AFTERWARDS_MS;
	     clock_mono_ms() < end && output_poll(&o, 0);)
		;
	close_ours(&o.c);
	told->out = o.text.p;
	told->out_n = o.text.n;
	if (told->status < 0)
		return FAIL(f, E_SYS, "waiting for %s: it is no child", r->argv[0]);
	return OK;
}

enum err proc_call(int (*work)(void *), void *arg, int out, int *status, struct fail *f)
{
	struct sigaction stop = { .sa_handler = on_stop }, before[N(stops)];
	pid_t pid;

	fflush(stdout);
	pid = fork();
	if (pid == 0) {
		if (out >= 0)
			dup2(out, STDOUT_FILENO);
		*status = work(arg);
		fflush(stdout);
		_exit(*status);
	}
	*status = -1;
	for (size_t i = 0; i < N(stops); i++)
		sigaction(stops[i], &stop, &before[i]);
	if (pid > 0)
		child_wait(pid, 0, status);
	for (size_t i = 0; i < N(stops); i++)
		sigaction(stops[i], &before[i], NULL);
	if (*status < 0)
		return FAIL_ERRNO(f, "running a child process");
	return OK;
}

/* --- words --- */

/* Takes one word at *s; NULL if a quote is not closed. */
static char *split_word(struct arena *a, const char **s)
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

enum err proc_split(struct arena *a, const char *cmd, char ***argv, struct fail *f)
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

void proc_tune_malloc(void)
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
