/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs: run one and wait, or start one and look after it. */
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
	size_t out_max; /* keep at most so many bytes of its output */
	char
	    *last_words; /* [PROC_LAST_WORDS]: the end of its standard error, or NULL */
	int timeout_s;   /* 0 = none; past it the group is killed */
};
/*
 * Runs it to the end, in a process group of its own.  *status is its exit code, or 128
 * + signal; *out (may be NULL) its standard output.  Standard error goes to ours, by
 * way of this process if its last words are asked for.  What it left in the background
 * is not waited for.  E_SYS if it cannot be started or timed out.
 */
enum err proc_run(struct arena *, const struct proc_run *, int *status, char **out,
    size_t *out_n, struct fail *);

/*
 * Splits a command line at blanks; '...' and "..." group.  No expansion, no shell.
 * NULL-terminated.  E_BADREQ if it is empty or a quote is open.
 */
enum err proc_split(struct arena *, const char *cmd, char ***argv, struct fail *);

/*
 * Starts a child in a process group of its own with stdout and stderr appended to log
 * (NULL = ours) and an empty standard input.  Who starts it waits for it.
 */
enum err proc_spawn(
    const char *const *argv, const char *dir, const char *log, pid_t *, struct fail *);
/* The same with the descriptor in as its standard input; -1: an empty one. */
enum err proc_spawn_on(int in, const char *const *argv, const char *dir,
    const char *log, pid_t *, struct fail *);

/*
 * The same, of the open file program, whatever its name leads to by now; argv[0] is
 * what it is called.  Descriptor 3 of the child is that file: the interpreter of a
 * script reads it there.
 */
enum err proc_spawn_file(int program, const char *const *argv, const char *dir,
    const char *log, pid_t *, struct fail *);

/*
 * After proc_signals() SIGTERM, SIGINT and SIGHUP store their number in proc_stopping
 * and interrupt blocking calls (EINTR); SIGPIPE is ignored.  Children start with the
 * defaults.
 */
extern atomic_int proc_stopping;
void proc_signals(void);
/*
 * The process begins anew as the same one: its own program with argv, from main() on.
 * A signal that asks it to end is not lost on the way.  Returns only if it is to stop,
 * or cannot (errno).  Descriptors with O_CLOEXEC are closed, and their locks let go.
 */
void proc_reexec(char *const *argv);

/*
 * For a process with keys or passwords in memory: if it crashes no core is written.
 * Children have the limit that was there before.
 */
void proc_no_core(void);

/*
 * For a process that serves many requests: memory that a large one needed goes back to
 * the system when it is freed.  Otherwise glibc takes the largest block ever freed as a
 * reason to keep up to twice as much for ever.
 */
void proc_tune_malloc(void);

#endif
