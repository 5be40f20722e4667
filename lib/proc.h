/* SPDX-License-Identifier: Apache-2.0 */
/* Other programs: run one and wait, or start one and look after it. */
#ifndef LIB_PROC_H
#define LIB_PROC_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/arena.h"
#include "lib/err.h"

struct proc_run {
	const char *const *argv;  /* argv[0] is looked up in PATH; no shell    */
	const char *dir;          /* working directory, NULL = ours            */
	const char *const *env;   /* "K=V" added to ours, NULL-terminated      */
	const char *in;           /* standard input text, NULL = /dev/null     */
	size_t in_n;
	size_t out_max;           /* keep at most so many bytes of its output  */
	int timeout_s;            /* 0 = none; past it the group is killed     */
};
/*
 * Runs it to the end.  *status is its exit code, or 128 + signal; *out (may be NULL) its standard output.
 * Standard error goes to ours.  E_SYS if it cannot be started or timed out.
 */
enum err proc_run(struct arena *, const struct proc_run *, int *status, char **out, size_t *out_n, struct fail *);

/* Splits a command line at blanks; '...' and "..." group.  No expansion, no shell. NULL-terminated. */
enum err proc_split(struct arena *, const char *cmd, char ***argv, struct fail *);

/* Starts a child in a process group of its own with stdout and stderr appended to log (NULL = ours). */
enum err proc_spawn(const char *const *argv, const char *dir, const char *log, pid_t *, struct fail *);

/* SIGTERM, SIGINT and SIGHUP set proc_stopping; SIGPIPE is ignored. */
extern volatile int proc_stopping;
void proc_signals(void);

#endif
