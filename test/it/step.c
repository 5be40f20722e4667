/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Preloaded into a program of Locus (LD_PRELOAD), this stops it between two of its
 * steps: statements, COMMIT, ROLLBACK, and changes below locality_scheduling. A test
 * can run a whole other program between any two steps, or kill the program there,
 * without the program's knowledge.
 *
 *   STEP_AT=K      stops before step K (from 1)
 *   STEP_FROM=TEXT step 1 is the first statement that contains this text
 *   STEP_EACH=1    stops before each step, whatever STEP_AT says; CMD must wait for no
 * lock STEP_DO=CMD    when stopped, runs sh -c CMD to its end, or until it waits for a
 * database lock that only this program can release; then both go on STEP_SOCKET= socket
 * of that database STEP_AT alone  kills the program with SIGKILL STEP_LOG=FILE  gets a
 * line for every step STEP_LATER=S   sets the program's clock S seconds ahead, so that
 * files look older STEP_PARSE_MS=N makes each text take N ms longer to parse
 *
 * The program's monotonic clock stands still while it is stopped: the other program
 * must not use up the time budget of a request.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <mysql.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "lib/banned.h"
#undef clock_gettime /* replaced below */

enum { STMTS = 256, TEXT = 80, LOOK_MS = 20, BLOCKED_EVERY = 5, MOST_LOOKS = 15000 };

static long at, count, later;
static long stopped_ms; /* total */
static const char *command, *sock, *from;
static int log_fd = -1;
static bool each;
static bool busy; /* inside a step: calls made by it are no steps */
static pid_t other;
static struct {
	MYSQL_STMT *st;
	char text[TEXT];
} stmts[STMTS];
static size_t nstmts;

static void *libc_function(const char *name)
{
	return dlsym(RTLD_NEXT, name);
}

__attribute__((constructor)) static void preload_begin(void)
{
	const char *k = getenv("STEP_AT"), *path = getenv("STEP_LOG");

	const char *ahead = getenv("STEP_LATER");

	at = k == NULL ? 0 : strtol(k, NULL, 10);
	later = ahead == NULL ? 0 : strtol(ahead, NULL, 10);
	command = getenv("STEP_DO");
	sock = getenv("STEP_SOCKET");
	from = getenv("STEP_FROM");
	each = getenv("STEP_EACH") != NULL;
	if (path != NULL)
		log_fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	unsetenv("LD_PRELOAD"); /* not for programs that it starts */
}

__attribute__((destructor)) static void preload_end(void)
{
	if (other > 0)
		waitpid(other, NULL, 0);
}

int clock_gettime(clockid_t id, struct timespec *t)
{
	int (*f)(clockid_t, struct timespec *) = libc_function("clock_gettime");
	int rc = f(id, t);

	if (rc == 0 && id == CLOCK_REALTIME)
		t->tv_sec += later;
	if (rc == 0 && id == CLOCK_MONOTONIC) {
		t->tv_sec -= stopped_ms / 1000 + 1;
		t->tv_nsec += 1000000000L - stopped_ms % 1000 * 1000000L;
		if (t->tv_nsec >= 1000000000L) {
			t->tv_sec++;
			t->tv_nsec -= 1000000000L;
		}
	}
	return rc;
}

/* On a busy machine, parsing takes STEP_PARSE_MS longer. */
void *xmlCtxtReadMemory(void *parser, const char *text, int n, const char *url,
    const char *encoding, int options)
{
	void *(*f)(void *, const char *, int, const char *, const char *,
	    int) = libc_function("xmlCtxtReadMemory");
	const char *slower = getenv("STEP_PARSE_MS");

	if (slower != NULL)
		stopped_ms -= strtol(slower, NULL, 10);
	return f(parser, text, n, url, encoding, options);
}

static long mono_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

/* Tells whether the other program, the only other client, waits for a lock. */
static bool other_is_blocked(void)
{
	MYSQL *my = mysql_init(NULL);
	bool is = false;

	if (my == NULL || sock == NULL)
		return false;
	if (mysql_real_connect(my, NULL, "root", NULL, NULL, 0, sock, 0) != NULL &&
	    mysql_query(my, "SELECT 1 FROM information_schema.innodb_trx WHERE "
			    "trx_state = 'LOCK WAIT'") == 0) {
		MYSQL_RES *rows = mysql_store_result(my);
		is = rows != NULL && mysql_num_rows(rows) > 0;
		mysql_free_result(rows);
	}
	mysql_close(my);
	return is;
}

static void run_other(void)
{
	const struct timespec nap = { 0, LOOK_MS * 1000000L };

	other = fork();
	if (other == 0) {
		execl("/bin/sh", "sh", "-c", command, (char *)NULL);
		_exit(127);
	}
	for (int look = 1; look <= MOST_LOOKS; look++) {
		if (waitpid(other, NULL, WNOHANG) != 0) {
			other = 0;
			return;
		}
		if (look % BLOCKED_EVERY == 0 && other_is_blocked()) {
			if (log_fd >= 0)
				dprintf(log_fd, "# the other one waits for a lock\n");
			return;
		}
		nanosleep(&nap, NULL);
	}
}

static void at_step(const char *what)
{
	if (busy || (from != NULL && strstr(what, from) == NULL))
		return;
	from = NULL;
	busy = true;
	count++;
	if (log_fd >= 0)
		dprintf(log_fd, "%ld %s\n", count, what);
	if (count == at && command == NULL)
		kill(getpid(), SIGKILL);
	if (count == at || (each && command != NULL)) {
		long before = mono_ms();

		run_other();
		stopped_ms += mono_ms() - before;
	}
	busy = false;
}

int mysql_stmt_prepare(MYSQL_STMT *st, const char *sql, unsigned long n)
{
	int (*f)(MYSQL_STMT *, const char *, unsigned long) = libc_function(
	    "mysql_stmt_prepare");

	if (nstmts < STMTS) {
		stmts[nstmts].st = st;
		snprintf(stmts[nstmts++].text, TEXT, "%s", sql);
	}
	return f(st, sql, n);
}

int mysql_stmt_execute(MYSQL_STMT *st)
{
	int (*f)(MYSQL_STMT *) = libc_function("mysql_stmt_execute");
	const char *text = "a statement";

	for (size_t i = 0; i < nstmts; i++)
		if (stmts[i].st == st)
			text = stmts[i].text; /* the latest one at that address */
	at_step(text);
	return f(st);
}

int mysql_real_query(MYSQL *my, const char *sql, unsigned long n)
{
	int (*f)(MYSQL *, const char *, unsigned long) = libc_function(
	    "mysql_real_query");

	at_step(sql);
	return f(my, sql, n);
}

my_bool mysql_commit(MYSQL *my)
{
	my_bool (*f)(MYSQL *) = libc_function("mysql_commit");

	at_step("COMMIT");
	busy = true; /* it runs a query itself */
	my_bool bad = f(my);
	busy = false;
	return bad;
}

my_bool mysql_rollback(MYSQL *my)
{
	my_bool (*f)(MYSQL *) = libc_function("mysql_rollback");

	at_step("ROLLBACK");
	busy = true;
	my_bool bad = f(my);
	busy = false;
	return bad;
}

static bool is_trigger(const char *path)
{
	return path != NULL && strstr(path, "locality_scheduling/") != NULL;
}

int open(const char *path, int flags, ...)
{
	int (*f)(const char *, int, ...) = libc_function("open");
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & O_CREAT) != 0)
		mode = (mode_t)va_arg(ap, int);
	va_end(ap);
	if ((flags & O_CREAT) != 0 && is_trigger(path))
		at_step("creates a trigger");
	return f(path, flags, mode);
}

int unlink(const char *path)
{
	int (*f)(const char *) = libc_function("unlink");

	if (is_trigger(path))
		at_step("removes a trigger");
	return f(path);
}

int rename(const char *from, const char *to)
{
	int (*f)(const char *, const char *) = libc_function("rename");

	if (is_trigger(from))
		at_step("renames a trigger");
	return f(from, to);
}

int renameat2(int fd, const char *from, int to_fd, const char *to, unsigned flags)
{
	int (*f)(int, const char *, int, const char *, unsigned) = libc_function(
	    "renameat2");

	if (is_trigger(from))
		at_step("claims a trigger");
	return f(fd, from, to_fd, to, flags);
}
