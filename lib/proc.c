/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Children by posix_spawn: no shell, default signals, no descriptor of ours but 0 to 2
 * (and 3 for one that is started by its open file),
 * a process group of their own so that one kill reaches all that they start.
 * Standard input comes from a memory file: it cannot block and cannot raise SIGPIPE.
 */
#include "lib/proc.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include "config.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/text.h"

enum {
	TICK_MAX_MS = 50,
	PIPE_BYTES = 64 << 10,
	OWN_MAPPING = 256 << 10, /* bytes of a block that is mapped by itself */
	KEPT_FREE = 1 << 20,     /* at the end of the heap */
};

atomic_int proc_stopping;
static struct rlimit core_before; /* of proc_no_core() */
static bool core_off;

void
proc_no_core(void)
{
	struct rlimit none;

	if (core_off || getrlimit(RLIMIT_CORE, &core_before) < 0)
		return;
	none = core_before; /* the hard one stays: children may need it */
	none.rlim_cur = 0;
	core_off = setrlimit(RLIMIT_CORE, &none) == 0;
}

static void
on_stop(int sig)
{
	proc_stopping = sig;
}

void
proc_signals(void)
{
	static const int stops[] = { SIGTERM, SIGINT, SIGHUP };
	struct sigaction stop = { .sa_handler = on_stop },
			 ignore = { .sa_handler = SIG_IGN };

	/* No SA_RESTART: a blocking accept() is to end too. */
	for (size_t i = 0; i < N(stops); i++)
		sigaction(stops[i], &stop, NULL);
	sigaction(SIGPIPE, &ignore, NULL);
	/* A limit on file sizes is an error of write(), like a full disk. */
	sigaction(SIGXFSZ, &ignore, NULL);
}

/* What becomes of descriptors 0, 1 and 2; -1 = /dev/null (0, 1) or ours (2). */
struct stdio {
	int in, out;
	const char *log; /* instead of out, and for 2 */
	int program;     /* > 0: the file to run, becomes 3 */
};
enum { PROGRAM_FD = 3 };
static const char program_path[] = "/proc/self/fd/3";

static void
wire_up(posix_spawn_file_actions_t *fa, const struct stdio *io, const char *dir)
{
	if (io->in >= 0)
		posix_spawn_file_actions_adddup2(fa, io->in, 0);
	else
		posix_spawn_file_actions_addopen(fa, 0, "/dev/null", O_RDONLY, 0);
	if (io->log != NULL) {
		posix_spawn_file_actions_addopen(
		    fa, 1, io->log, O_WRONLY | O_CREAT | O_APPEND, 0644);
		posix_spawn_file_actions_adddup2(fa, 1, 2);
	} else if (io->out >= 0) {
		posix_spawn_file_actions_adddup2(fa, io->out, 1);
	} else {
		posix_spawn_file_actions_addopen(fa, 1, "/dev/null", O_WRONLY, 0);
	}
	if (dir != NULL)
		posix_spawn_file_actions_addchdir_np(fa, dir);
	if (io->program > 0)
		posix_spawn_file_actions_adddup2(fa, io->program, PROGRAM_FD);
#ifdef HAVE_POSIX_SPAWN_FILE_ACTIONS_ADDCLOSEFROM_NP
	posix_spawn_file_actions_addclosefrom_np(
	    fa, io->program > 0 ? PROGRAM_FD + 1 : PROGRAM_FD);
#endif
}

static enum err
start(const char *const *argv, const char *const *env, const char *dir,
    const struct stdio *io, pid_t *pid, struct fail *f)
{
	static const int defaults[] = { SIGTERM, SIGINT, SIGHUP, SIGPIPE, SIGXFSZ,
		SIGCHLD };
	posix_spawn_file_actions_t fa;
	posix_spawnattr_t at;
	sigset_t set;

	assert(argv[0] != NULL);
	posix_spawn_file_actions_init(&fa);
	wire_up(&fa, io, dir);
	posix_spawnattr_init(&at);
	posix_spawnattr_setflags(&at,
	    POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK);
	sigemptyset(&set);
	posix_spawnattr_setsigmask(&at, &set);
	for (size_t i = 0; i < N(defaults); i++)
		sigaddset(&set, defaults[i]);
	posix_spawnattr_setsigdefault(&at, &set);

	/* posix_spawn takes char *const * for history's sake; it changes nothing. */
	union {
		const char *const *in;
		char *const *out;
	} args = { argv }, vars = { env };
	errno = posix_spawnp(pid, io->program > 0 ? program_path : argv[0], &fa, &at,
	    args.out, env == NULL ? environ : vars.out);
	posix_spawnattr_destroy(&at);
	posix_spawn_file_actions_destroy(&fa);
	if (errno != 0)
		return FAIL_ERRNO(
		    f, "starting %s in %s", argv[0], dir == NULL ? "." : dir);
	if (core_off)
		prlimit(*pid, RLIMIT_CORE, &core_before, NULL);
	return OK;
}

static bool
same_name(const char *x, const char *y)
{
	size_t n = strcspn(x, "=");

	return n == strcspn(y, "=") && memcmp(x, y, n) == 0;
}

/* Our environment with more added or put in place of ours. */
static const char *const *
env_merge(struct arena *a, const char *const *more)
{
	const char **env = NULL;
	size_t n = 0, cap = 0;

	for (char **e = environ; *e != NULL; e++) {
		const char *const *m = more;
		while (*m != NULL && !same_name(*m, *e))
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

/* Reads what is there now, and keeps what fits; false at the end of file. */
static bool
read_out(int fd, struct buf *out, size_t max)
{
	char chunk[PIPE_BYTES];
	ssize_t n = read(fd, chunk, sizeof(chunk));

	if (n < 0)
		return errno == EAGAIN || errno == EINTR;
	if (n > 0 && out->n < max)
		buf_put(
		    out, chunk, (size_t)n < max - out->n ? (size_t)n : max - out->n);
	return n > 0;
}

static int
exit_status(int st)
{
	return WIFEXITED(st) ? WEXITSTATUS(st) : 128 + WTERMSIG(st);
}

/*
 * Collects output until the child itself is gone; what it left running in the
 * background may keep the pipe open and is not waited for.
 */
static enum err
attend(const struct proc_run *r, pid_t pid, int fd, struct buf *out, int *status,
    struct fail *f)
{
	int64_t end = clock_mono_ms() + (int64_t)r->timeout_s * 1000;
	int st, tick = 1;
	bool open = fd >= 0;
	pid_t gone;

	while ((gone = waitpid(pid, &st, WNOHANG)) == 0) {
		if (r->timeout_s > 0 && clock_mono_ms() >= end) {
			kill(-pid, SIGKILL);
			while (waitpid(pid, &st, 0) < 0 && errno == EINTR)
				;
			return FAIL(f, E_SYS, "%s: not done after %d s, killed",
			    r->argv[0], r->timeout_s);
		}
		if (open) {
			struct pollfd p = { .fd = fd, .events = POLLIN };
			if (poll(&p, 1, tick) > 0)
				open = read_out(fd, out, r->out_max);
		} else {
			clock_nap_ms(tick);
		}
		tick = tick < TICK_MAX_MS ? tick * 2 : TICK_MAX_MS;
	}
	if (gone < 0)
		return FAIL_ERRNO(f, "waiting for %s", r->argv[0]);
	*status = exit_status(st);
	if (open)
		while (poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, 0) > 0 &&
		       read_out(fd, out, r->out_max))
			;
	return OK;
}

enum err
proc_run(struct arena *a, const struct proc_run *r, int *status, char **out,
    size_t *out_n, struct fail *f)
{
	const char *const *env = r->env == NULL ? NULL : env_merge(a, r->env);
	struct stdio io = { .in = -1, .out = -1 };
	int pipes[2] = { -1, -1 };
	struct buf text = buf_new(a);
	enum err e = OK;
	pid_t pid;

	if (r->in != NULL)
		e = memory_file(r->in, r->in_n, &io.in, f);
	if (e == OK && out != NULL && pipe2(pipes, O_CLOEXEC) < 0)
		e = FAIL_ERRNO(f, "making a pipe for %s", r->argv[0]);
	io.out = pipes[1];
	if (e == OK)
		e = start(r->argv, env, r->dir, &io, &pid, f);
	if (io.in >= 0)
		close(io.in);
	if (pipes[1] >= 0)
		close(pipes[1]);
	if (pipes[0] >= 0)
		fcntl(pipes[0], F_SETFL, O_NONBLOCK);
	if (e == OK)
		e = attend(r, pid, pipes[0], &text, status, f);
	if (pipes[0] >= 0)
		close(pipes[0]);
	if (e == OK && out != NULL)
		*out = text.p;
	if (e == OK && out_n != NULL)
		*out_n = text.n;
	return e;
}

/* Takes one word at *s; NULL if a quote is not closed. */
static char *
word(struct arena *a, const char **s)
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
		w = word(a, &p);
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
	struct stdio io = { .in = in, .out = STDOUT_FILENO, .log = log };

	return start(argv, NULL, dir, &io, pid, f);
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

	return start(argv, NULL, dir, &io, pid, f);
}

void
proc_give_back(void)
{
#ifdef M_MMAP_THRESHOLD
	/* Either of them set keeps both as they are.  Usual requests stay below. */
	mallopt(M_MMAP_THRESHOLD, OWN_MAPPING);
	mallopt(M_TRIM_THRESHOLD, KEPT_FREE);
#endif
}
