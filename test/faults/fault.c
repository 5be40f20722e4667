/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An LD_PRELOAD library that counts the calls of one of our programs by kind and makes
 * one of them fail, or ends the program at that call.
 *
 *   FAULT_KIND=KIND    kind of the call to fail: see kinds[]
 *   FAULT_AT=N         the N-th call of this kind fails, counted from 1
 *   FAULT_HOW=HOW      see hows[]
 *   FAULT_FROM=accept  starts counting at the first accepted connection
 *   FAULT_LOG=FILE     gets a line for each call: kind, number, function; and a line
 * with "injected" for the call that failed
 *
 * Calls inside the C library are not seen. Only allocations of the program itself
 * count, not those of libraries.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <mysql.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include "lib/banned.h"
#undef malloc /* replaced below */
#undef calloc

enum { FDS = 4096 };
enum kind {
	WRITE,
	FSYNC,
	RENAME,
	OPEN,
	CHANGE,
	READ,
	SOCKET,
	SEND,
	RECV,
	STATEMENT,
	MEMORY,
	KINDS
};
static const char *const kinds[] = { "write", "fsync", "rename", "open", "change",
	"read", "socket", "send", "recv", "statement", "memory" };

/* Values of `how` that are not an errno. */
enum { SHORT = 1000, END, DIE, DIE_AFTER, LOST, LOST_AFTER };
static const struct {
	const char *name;
	int code;
} hows[] = { { "ENOSPC", ENOSPC }, { "EDQUOT", EDQUOT }, { "EIO", EIO },
	{ "EINTR", EINTR }, { "EMFILE", EMFILE }, { "ENOMEM", ENOMEM },
	{ "ECONNRESET", ECONNRESET }, { "ECONNREFUSED", ECONNREFUSED },
	{ "SHORT", SHORT }, /* transfers half of the bytes */
	{ "END", END },     /* transfers 0 bytes: end of file */
	{ "DIE", DIE },
	{ "DIE_AFTER", DIE_AFTER }, /* kill -9 before or after the call */
	/* for statements: an error of the server, or a lost connection */
	{ "DISK_FULL", 1114 }, { "LOCK_WAIT", 1205 }, { "DEADLOCK", 1213 },
	{ "LOST", LOST }, { "LOST_AFTER", LOST_AFTER } };

static int kind = -1, how;
static long at;
static int log_fd = -1;
static atomic_bool armed;
static atomic_long counts[KINDS];
static _Thread_local bool busy;  /* inside a call of this library's own */
static _Thread_local int inside; /* depth of calls into the database's client library */
static uintptr_t program_from, program_to;
static atomic_bool fd_of_machine[FDS];
static struct { /* the injected error of a connection or statement */
	const void *of;
	unsigned code;
} told;

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t);

static int find_program(struct dl_phdr_info *p, size_t n, void *arg)
{
	(void)n, (void)arg;
	for (int i = 0; i < p->dlpi_phnum; i++) {
		const ElfW(Phdr) *h = &p->dlpi_phdr[i];
		uintptr_t from = p->dlpi_addr + h->p_vaddr;

		if (h->p_type == PT_LOAD && (h->p_flags & PF_X) != 0) {
			program_from = from;
			program_to = from + h->p_memsz;
		}
	}
	return 1; /* the first object is the program itself */
}

__attribute__((constructor)) static void begin(void)
{
	const char *k = getenv("FAULT_KIND"), *h = getenv("FAULT_HOW"),
		   *n = getenv("FAULT_AT"), *path = getenv("FAULT_LOG");

	for (int i = 0; k != NULL && i < KINDS; i++)
		if (strcmp(k, kinds[i]) == 0)
			kind = i;
	for (size_t i = 0; h != NULL && i < sizeof(hows) / sizeof(hows[0]); i++)
		if (strcmp(h, hows[i].name) == 0)
			how = hows[i].code;
	at = n == NULL ? 0 : strtol(n, NULL, 10);
	if (at > 0 && (kind < 0 || how == 0)) {
		dprintf(2, "fault: no such FAULT_KIND or FAULT_HOW\n");
		_exit(2);
	}
	if (path != NULL)
		log_fd = (int)syscall(SYS_openat, AT_FDCWD, path,
		    O_WRONLY | O_CREAT | O_TRUNC | O_APPEND | O_CLOEXEC, 0644);
	dl_iterate_phdr(find_program, NULL);
	unsetenv("LD_PRELOAD");
	armed = getenv("FAULT_FROM") == NULL;
}

static void note(enum kind k, long n, const char *what)
{
	char line[200];
	int len = snprintf(line, sizeof(line), "%s %ld %s\n", kinds[k], n, what);

	if (len >= (int)sizeof(line)) { /* a long statement */
		len = (int)sizeof(line) - 1;
		line[len - 1] = '\n';
	}
	if (log_fd >= 0)
		syscall(SYS_write, log_fd, line, (size_t)len);
}

static void die(void)
{
	kill(getpid(), SIGKILL);
	for (;;)
		pause();
}

/*
 * Counts a call. If it is the one to fail, ends the program or sets errno and returns
 * true.
 */
static bool hit(enum kind k, const char *what)
{
	int was = errno;
	long n;

	if (!armed || busy)
		return false;
	busy = true;
	n = atomic_fetch_add(&counts[k], 1) + 1;
	note(k, n, what);
	if ((int)k == kind && n == at)
		note(k, n, "injected");
	busy = false;
	errno = was;
	if ((int)k != kind || n != at)
		return false;
	if (how == DIE)
		die();
	errno = how;
	return true;
}

#define REAL(f)                                                                        \
	static __typeof__(f) *real;                                                    \
	if (real == NULL) {                                                            \
		bool was = busy;                                                       \
		busy = true;                                                           \
		real = (__typeof__(f) *)dlsym(RTLD_NEXT, #f);                          \
		busy = was;                                                            \
	}

/* A call without partial results: it fails, or is the last call of the program. */
#define PLAIN(type, f, params, args, k)                                                \
	type f params                                                                  \
	{                                                                              \
		REAL(f)                                                                \
		if (hit(k, #f)) {                                                      \
			if (how != DIE_AFTER)                                          \
				return -1;                                             \
			(void)!(real args);                                            \
			die();                                                         \
		}                                                                      \
		return real args;                                                      \
	}

PLAIN(int, fsync, (int fd), (fd), FSYNC)
PLAIN(int, fdatasync, (int fd), (fd), FSYNC)
PLAIN(int, rename, (const char *from, const char *to), (from, to), RENAME)
PLAIN(int, renameat2,
    (int fd, const char *from, int to_fd, const char *to, unsigned flags),
    (fd, from, to_fd, to, flags), RENAME)
PLAIN(int, mkostemp, (char *name, int flags), (name, flags), OPEN)
PLAIN(int, unlink, (const char *path), (path), CHANGE)
PLAIN(int, ftruncate, (int fd, off_t n), (fd, n), CHANGE)
PLAIN(int, fchmod, (int fd, mode_t mode), (fd, mode), CHANGE)
PLAIN(int, mkdir, (const char *path, mode_t mode), (path, mode), CHANGE)
PLAIN(int, rmdir, (const char *path), (path), CHANGE)
PLAIN(int, flock, (int fd, int op), (fd, op), CHANGE)
PLAIN(
    int, socket, (int domain, int type, int protocol), (domain, type, protocol), SOCKET)
PLAIN(
    int, connect, (int fd, const struct sockaddr *sa, socklen_t n), (fd, sa, n), SOCKET)

/* Files below /proc are not counted: how many are read depends on the machine. */
static bool of_machine(const char *path)
{
	return strncmp(path, "/proc/", 6) == 0;
}

static int seen(int fd, const char *path)
{
	if (fd >= 0 && fd < FDS)
		fd_of_machine[fd] = of_machine(path);
	return fd;
}

int open(const char *path, int flags, ...)
{
	REAL(open)
	mode_t mode = 0;
	va_list ap;

	va_start(ap, flags);
	if ((flags & O_CREAT) != 0)
		mode = (mode_t)va_arg(ap, int);
	va_end(ap);
	if (!of_machine(path) && hit(OPEN, path)) {
		if (how != DIE_AFTER)
			return -1;
		real(path, flags, mode);
		die();
	}
	return seen(real(path, flags, mode), path);
}

static bool of_machine_fd(int fd)
{
	return fd >= 0 && fd < FDS && fd_of_machine[fd];
}

/* A call that transfers bytes, possibly only half of them. */
#define BYTES(f, params, some, args, k)                                                \
	ssize_t f params                                                               \
	{                                                                              \
		REAL(f)                                                                \
		if (!of_machine_fd(fd) && hit(k, #f)) {                                \
			if (how == END)                                                \
				return 0;                                              \
			if (how == DIE_AFTER || how == SHORT) {                        \
				ssize_t done = how == SHORT ? real some : real args;   \
				if (how == DIE_AFTER)                                  \
					die();                                         \
				return done;                                           \
			}                                                              \
			return -1;                                                     \
		}                                                                      \
		return real args;                                                      \
	}
#define HALF(n) ((n) > 1 ? (n) / 2 : (n))

BYTES(write, (int fd, const void *p, size_t n), (fd, p, HALF(n)), (fd, p, n), WRITE)
BYTES(pwrite, (int fd, const void *p, size_t n, off_t where), (fd, p, HALF(n), where),
    (fd, p, n, where), WRITE)
BYTES(pwritev, (int fd, const struct iovec *v, int n, off_t where),
    (fd, v, HALF(n), where), (fd, v, n, where), WRITE)
BYTES(read, (int fd, void *p, size_t n), (fd, p, HALF(n)), (fd, p, n), READ)
BYTES(send, (int fd, const void *p, size_t n, int flags), (fd, p, HALF(n), flags),
    (fd, p, n, flags), SEND)
BYTES(recv, (int fd, void *p, size_t n, int flags), (fd, p, HALF(n), flags),
    (fd, p, n, flags), RECV)

int accept(int fd, struct sockaddr *sa, socklen_t *n)
{
	REAL(accept)
	int got = real(fd, sa, n);

	if (got >= 0)
		armed = true;
	return got;
}

int accept4(int fd, struct sockaddr *sa, socklen_t *n, int flags)
{
	REAL(accept4)
	int got = real(fd, sa, n, flags);

	if (got >= 0)
		armed = true;
	return got;
}

/* --- memory --- */

static bool of_program(const void *caller)
{
	return (uintptr_t)caller >= program_from && (uintptr_t)caller < program_to;
}

void *malloc(size_t n)
{
	if (of_program(__builtin_return_address(0)) && hit(MEMORY, "malloc")) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_malloc(n);
}

void *calloc(size_t n, size_t size)
{
	if (of_program(__builtin_return_address(0)) && hit(MEMORY, "calloc")) {
		errno = ENOMEM;
		return NULL;
	}
	return __libc_calloc(n, size);
}

/* --- statements --- */

static void tell(const void *of, unsigned code)
{
	told.of = of;
	told.code = code;
}

unsigned int mysql_errno(MYSQL *my)
{
	REAL(mysql_errno)
	return told.of == my && inside == 0 ? told.code : real(my);
}

unsigned int mysql_stmt_errno(MYSQL_STMT *st)
{
	REAL(mysql_stmt_errno)
	return told.of == st && inside == 0 ? told.code : real(st);
}

const char *mysql_error(MYSQL *my)
{
	REAL(mysql_error)
	return told.of == my && inside == 0 ? "injected" : real(my);
}

const char *mysql_stmt_error(MYSQL_STMT *st)
{
	REAL(mysql_stmt_error)
	return told.of == st && inside == 0 ? "injected" : real(st);
}

static void hang_up(MYSQL *my)
{
	shutdown(mysql_get_socket(my), SHUT_RDWR);
}

/* Rolls back, as the server does after a deadlock. */
static void undo(MYSQL *my)
{
	bool was = busy;

	busy = true;
	inside++;
	mysql_real_query(my, "ROLLBACK", 8);
	inside--;
	busy = was;
}

/*
 * Makes the statement fail with the server's error, or closes the connection before the
 * server sees the statement, or after it was executed. Calls that the client library
 * makes internally are not counted.
 */
#define STATE(type, f, params, args, conn, handle, what)                               \
	type f params                                                                  \
	{                                                                              \
		REAL(f)                                                                \
		bool fails = inside == 0 && hit(STATEMENT, what);                      \
		type rc = 1;                                                           \
		told.of = NULL;                                                        \
		if (fails && how == LOST)                                              \
			hang_up(conn);                                                 \
		if (fails && how == 1213)                                              \
			undo(conn);                                                    \
		inside++;                                                              \
		if (!fails || how <= LOST_AFTER)                                       \
			rc = real args;                                                \
		inside--;                                                              \
		if (!fails || how == LOST)                                             \
			return rc;                                                     \
		if (how == DIE_AFTER)                                                  \
			die();                                                         \
		if (how == LOST_AFTER)                                                 \
			hang_up(conn);                                                 \
		tell(handle, how == LOST_AFTER ? 2013 : (unsigned)how);                \
		return 1;                                                              \
	}

STATE(int, mysql_stmt_execute, (MYSQL_STMT * st), (st), st->mysql, st, "execute")
STATE(int, mysql_real_query, (MYSQL * my, const char *sql, unsigned long n),
    (my, sql, n), my, my, sql)
STATE(my_bool, mysql_commit, (MYSQL * my), (my), my, my, "COMMIT")
STATE(my_bool, mysql_rollback, (MYSQL * my), (my), my, my, "ROLLBACK")
STATE(int, mysql_stmt_prepare, (MYSQL_STMT * st, const char *sql, unsigned long n),
    (st, sql, n), st->mysql, st, sql)
