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

struct proc_run {
	const char *const *argv; /* argv[0] is looked up in PATH; no shell */
	const char *dir;         /* working directory, NULL = ours */
	const char *const *env;  /* "K=V" added to ours, NULL-terminated */
	const char *in;          /* standard input text, NULL = /dev/null */
	size_t in_n;
	size_t out_max; /* keep at most this many bytes of its output */
	/* [PROC_LAST_WORDS]: receives the end of its standard error; may be NULL */
	char *last_words;
	bool hush;     /* with last_words: nothing goes to our standard error */
	int timeout_s; /* 0 = no limit; after it the process group is killed */
};
/*
 * Runs a program to its end, in a process group of its own. *status is its exit status,
 * or 128 + signal; *out (may be NULL) its standard output. Its standard error goes to
 * ours, through this process if last_words is set. Processes that it left in the
 * background are not waited for. E_SYS if it cannot be started or timed out.
 */
enum err proc_run(struct arena *, const struct proc_run *, int *status, char **out,
    size_t *out_n, struct fail *);

/*
 * Splits a command line at blanks; '...' and "..." group. No expansion, no shell. The
 * result is NULL-terminated. E_BADREQ if cmd is empty or a quote is open.
 */
enum err proc_split(struct arena *, const char *cmd, char ***argv, struct fail *);

/*
 * Starts a child in a process group of its own with stdout and stderr appended to log
 * (NULL = ours) and an empty standard input. The caller waits for it.
 */
enum err proc_spawn(
    const char *const *argv, const char *dir, const char *log, pid_t *, struct fail *);
/* The same with descriptor in as its standard input; -1: an empty one. */
enum err proc_spawn_on(int in, const char *const *argv, const char *dir,
    const char *log, pid_t *, struct fail *);

/*
 * The same for a program given as an open file, whatever its name leads to by now;
 * argv[0] is its name in messages. The file is descriptor 3 of the child, where the
 * interpreter of a script reads it.
 */
enum err proc_spawn_file(int program, const char *const *argv, const char *dir,
    const char *log, pid_t *, struct fail *);

/* A program whose output is read, or whose input is written, while it runs. */
struct proc_stream {
	pid_t pid;
	int fd;    /* our end of the pipe; blocks */
	int words; /* its standard error, as a memory file */
};
/*
 * Starts it. feed: fd leads to its standard input, and its output goes to /dev/null;
 * else fd is its output. given_text becomes a file that it can open as /dev/fd/3,
 * readable by this account only: options with a password. SIGPIPE must be ignored to
 * feed a program.
 */
enum err proc_stream_open(const char *const *argv, bool feed, const char *given_text,
    struct proc_stream *, struct fail *);
/*
 * Closes the pipe and waits for the program's end. Unless its exit status is 0, E_SYS
 * with the last words of its standard error. kill: ends it at once, if it still runs;
 * then OK.
 */
enum err proc_stream_close(
    struct proc_stream *, const char *name, bool kill, struct fail *);

/* A program that is asked and answers while it runs. */
struct proc_dialog {
	pid_t pid;        /* 0 = does not run */
	int in, out, err; /* our ends of its pipes; none blocks; -1 = closed */
};
/*
 * Starts it in dir (NULL = ours), in a process group of its own. SIGPIPE must be
 * ignored.
 */
enum err proc_dialog_open(
    const char *const *argv, const char *dir, struct proc_dialog *, struct fail *);
/* Has it ended? Then *status is its exit status, or 128 + signal. */
bool proc_dialog_ended(struct proc_dialog *, int *status);
/*
 * Closes the pipes, which tells it to end, waits for at most grace_ms, and then kills
 * its group. Does nothing if it does not run.
 */
void proc_dialog_close(struct proc_dialog *, int grace_ms);

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
