/* SPDX-License-Identifier: Apache-2.0 */
/* Runs other programs: to their end, or in the background. */
#ifndef LIB_PROC_H
#define LIB_PROC_H

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"

enum { PROC_LAST_WORDS = 2048 };

enum proc_how {
	PROC_NULL,   /* /dev/null */
	PROC_OURS,   /* the same as ours */
	PROC_FD,     /* a descriptor; for err, 1 is where the program's output goes */
	PROC_FILE,   /* appended to the file at text */
	PROC_MEMORY, /* in: reads text, n bytes; out, err: a file in memory, no limit */
	PROC_PIPE,   /* our end does not block */
	PROC_STREAM, /* our end blocks */
	PROC_TEE     /* a pipe; proc_collect() passes on to ours what it reads */
};
struct proc_io {
	enum proc_how how;
	int fd;
	const char *text;
	size_t n;
};
/* Output and errors go to a log. */
#define PROC_LOG(path) .out = { PROC_FILE, .text = (path) }, .err = { PROC_FD, .fd = 1 }

struct proc_run {
	const char *const *argv; /* argv[0] is looked up in PATH; no shell */
	const char *dir;         /* working directory, NULL = ours */
	const char *const *env;  /* "K=V" added to ours, NULL-terminated */
	/*
	 * > 0: the program as an open file, whatever its name leads to by now; argv[0]
	 * is its name in messages. It is descriptor 3 of the child, where the
	 * interpreter of a script reads it.
	 */
	int program;
	/* Text of a file that it can open as /dev/fd/3 and only this account can read.
	 */
	const char *given;
	struct proc_io in, out, err;
};
struct proc_child {
	pid_t pid;        /* 0 = does not run */
	int in, out, err; /* our ends of its pipes, its files in memory; -1 = none */
};
/*
 * Starts a program in a process group of its own, with default signals. Who feeds it
 * ignores SIGPIPE. After a failure nothing runs and nothing is open.
 */
enum err proc_start(const struct proc_run *, struct proc_child *, struct fail *);
/*
 * Has it ended? Then *status is its exit status, or 128 + signal (-1: it is no child of
 * ours), and its pid 0.
 */
bool proc_ended(struct proc_child *, int *status);
/*
 * Closes the pipes, which tells it to end, waits for at most grace_ms (-1: as long as
 * it takes), then kills its group. Returns its status, as above; 0 if it did not run.
 */
int proc_end(struct proc_child *, int grace_ms);

struct proc_told {
	int status; /* its exit status, or 128 + signal */
	char *out;  /* what it wrote to PROC_PIPE, then '\0' */
	size_t out_n;
	char words[PROC_LAST_WORDS]; /* the end of its standard error */
};
/*
 * Runs it to its end; at most out_max bytes of its output are kept. After timeout_s (0
 * = no limit) its group is killed. Processes that it left in the background are not
 * waited for. E_SYS if it cannot be started or timed out.
 */
enum err proc_collect(struct arena *, const struct proc_run *, int timeout_s,
    size_t out_max, struct proc_told *, struct fail *);

/*
 * Runs a function in a child process, whose standard output is out (-1: ours).
 * *status: what it returned, 0 to 255, or 128 + signal. The child gets the terminal's
 * signals, too, and decides; until then they only set proc_stopping here.
 */
enum err proc_call(int (*work)(void *), void *arg, int out, int *status, struct fail *);

/*
 * Splits a command line at blanks; '...' and "..." group. No expansion, no shell. The
 * result is NULL-terminated. E_BADREQ if cmd is empty or a quote is open.
 */
enum err proc_split(struct arena *, const char *cmd, char ***argv, struct fail *);

/*
 * After proc_signals(), SIGTERM, SIGINT and SIGHUP store their number in proc_stopping
 * and interrupt blocking calls (EINTR); SIGPIPE is ignored. Children start with default
 * signals.
 */
extern atomic_int proc_stopping;
void proc_signals(void);
/*
 * Replaces this process by a new execution of its own program, with argv. A stop signal
 * that arrives meanwhile is not lost. Returns only if the process is to stop, or if it
 * fails (errno). Descriptors with O_CLOEXEC are closed, so their locks are released.
 */
void proc_reexec(char *const *argv);

/*
 * Disables core dumps of this process, for processes with keys or passwords in memory.
 * Children get the original limit.
 */
void proc_no_core(void);

/*
 * Makes malloc return the memory of a large request to the system when it is freed, for
 * processes that serve many requests. Otherwise glibc keeps up to twice the largest
 * block ever freed.
 */
void proc_tune_malloc(void);

#endif
