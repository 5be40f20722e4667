/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of this process: with proc.c the only file-scope state, just as there is one
 * standard error. Message texts may come from anywhere, so control bytes are written as
 * \xNN: nobody can forge a line.
 */
#include "lib/log.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/journal.h"
#include "lib/log_repeat.h"
#include "lib/text.h"

enum { LINE_MAX_BYTES = 4096 };

static struct {
	char program[64];
	char path[1024];
	enum log_level most;
	int fd;
	int64_t looked_s;
	/* lines that could not be written since the last successful write */
	uint64_t lost;
	int why;                    /* errno of the first lost line */
	bool torn;                  /* a lost line was written in part */
	bool journal;               /* standard error is systemd's journal */
	struct log_repeats repeats; /* of warnings and errors */
} lg = { .program = "locus", .most = LOG_INFO, .fd = STDERR_FILENO };
static struct {
	void (*hear)(void *ctx, enum log_level, const char *text);
	void *ctx;
} listener;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER; /* protects both */
static _Thread_local char own_prefix[256];

static const char *const levels[] = {
	[LOG_ERR] = "error",
	[LOG_WARN] = "warning",
	[LOG_INFO] = "info",
	[LOG_DEBUG] = "debug",
};
static const int priorities[] = {
	/* of syslog(3) */
	[LOG_ERR] = 3,
	[LOG_WARN] = 4,
	[LOG_INFO] = 6,
	[LOG_DEBUG] = 7,
};

/* Makes a standard stream follow the log to its new file, if it led to the old one:
 * libraries and children write there. */
static void take_along(int stream, int to)
{
	struct stat its, ours;

	if (lg.fd != STDERR_FILENO && fstat(stream, &its) == 0 &&
	    fstat(lg.fd, &ours) == 0 && its.st_ino == ours.st_ino &&
	    its.st_dev == ours.st_dev)
		(void)dup2(to, stream);
}

/*
 * Opens the file that path names now; if that fails, logging stays with the old file.
 */
static bool log_reopen(void)
{
	int fd = open(lg.path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0640);

	if (fd < 0)
		return false;
	take_along(STDOUT_FILENO, fd);
	take_along(STDERR_FILENO, fd);
	if (lg.fd != STDERR_FILENO)
		close(lg.fd);
	lg.fd = fd;
	return true;
}

void log_open(const char *program, const char *path, enum log_level most)
{
	bool failed;

	pthread_mutex_lock(&lock);
	lg.most = most;
	lg.looked_s = 0;
	lg.journal = journal_is_stderr();
	snprintf(lg.program, sizeof(lg.program), "%s", program);
	snprintf(lg.path, sizeof(lg.path), "%s", path == NULL ? "" : path);
	/* Streams that lead to the old file are still taken along. */
	failed = lg.path[0] != '\0' && !log_reopen();
	if (failed || lg.path[0] == '\0') {
		if (lg.fd != STDERR_FILENO)
			close(lg.fd);
		lg.fd = STDERR_FILENO;
	}
	pthread_mutex_unlock(&lock);
	if (failed)
		log_warn("cannot open log %s: logging to standard error", path);
}

void log_set_level(enum log_level most)
{
	pthread_mutex_lock(&lock);
	lg.most = most;
	pthread_mutex_unlock(&lock);
}

void log_prefix(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	vsnprintf(own_prefix, sizeof(own_prefix), fmt, ap);
	va_end(ap);
}

/*
 * Reopens the log if path is another file by now, or none; checks at most once a
 * second.
 */
static void follow_rotation(int64_t now)
{
	if (lg.path[0] == '\0' || now == lg.looked_s)
		return;
	lg.looked_s = now;
	if (!fs_is_file(lg.path, lg.fd))
		(void)log_reopen();
}

/* Appends text to a line, what must not be shown as \xNN, until the line is full. */
static size_t log_line_append(char *line, size_t n, size_t room, const char *text)
{
	static const char hex[] = "0123456789abcdef";

	for (size_t bytes; *text != '\0'; text += bytes) {
		bool raw = text_shown(text, &bytes);

		if (n + bytes * (raw ? 1 : 4) > room)
			return n;
		for (size_t i = 0; i < bytes; i++) {
			unsigned char c = (unsigned char)text[i];

			if (raw) {
				line[n++] = (char)c;
				continue;
			}
			line[n++] = '\\';
			line[n++] = 'x';
			line[n++] = hex[c >> 4];
			line[n++] = hex[c & 15];
		}
	}
	return n;
}

/* Writes the whole line, or counts it as not written. */
static bool log_write(const char *line, size_t n)
{
	ssize_t done;

	errno = ENOSPC; /* for a write that ends early */
	done = write(lg.fd, line, n);
	if (done == (ssize_t)n)
		return true;
	if (lg.lost == 0)
		lg.why = errno;
	lg.torn = lg.torn || done > 0;
	return false;
}

/*
 * Before the first line after a loss: reports how many were lost and why, and ends a
 * torn line.
 */
static bool log_write_lost(int64_t now)
{
	char line[256], when[21], why[128];
	int n;

	if (lg.lost == 0)
		return true;
	n = snprintf(line, sizeof(line),
	    "%s%s %s[%ld] warning %llu lines of this log were lost: %s\n",
	    lg.torn ? "\n" : "", clock_text(now, when), lg.program, (long)getpid(),
	    (unsigned long long)lg.lost, strerror_r(lg.why, why, sizeof(why)));
	if (!log_write(line, (size_t)n))
		return false;
	lg.lost = 0;
	lg.torn = false;
	return true;
}

/*
 * Adds the message to the journal if standard error leads there: all messages if there
 * is no other log, otherwise warnings and errors. Returns true if it needs no line.
 */
static bool log_to_journal(enum log_level level, const char *message, size_t n)
{
	char text[LINE_MAX_BYTES];

	if (!lg.journal || (level > LOG_WARN && lg.fd != STDERR_FILENO))
		return false;
	memcpy(text, message, n);
	text[n] = '\0';
	journal_send(priorities[level], lg.program, text);
	return lg.fd == STDERR_FILENO;
}

/* Writes one line; cut says that the text is not all of the message. */
static void log_put(
    enum log_level level, int64_t now, const char *prefix, const char *text, bool cut)
{
	static const char ellipsis[] = " ...";
	char line[LINE_MAX_BYTES], when[21];
	size_t room = sizeof(line) - sizeof(ellipsis), n;
	int head = snprintf(line, room, "%s %s[%ld] %s ", clock_text(now, when),
	    lg.program, (long)getpid(), levels[level]);

	n = log_line_append(line, (size_t)head, room, prefix);
	if (prefix[0] != '\0')
		n = log_line_append(line, n, room, " ");
	n = log_line_append(line, n, room, text);
	if (cut || n + 4 > room) {
		memcpy(line + n, ellipsis, sizeof(ellipsis) - 1);
		n += sizeof(ellipsis) - 1;
	}
	follow_rotation(now);
	if (log_to_journal(level, line + head, n - (size_t)head))
		return;
	line[n++] = '\n';
	/*
	 * A failing log must not stop the program: count the line, and show it on
	 * standard error if that is not the log itself.
	 */
	if (log_write_lost(now) && log_write(line, n))
		return;
	lg.lost++;
	if (lg.fd != STDERR_FILENO)
		(void)!write(STDERR_FILENO, line, n);
}

/* Writes how many lines of each kind were only counted in the minute that is over; all:
 * or is not over yet. */
static void log_put_repeats(int64_t now, bool all)
{
	struct log_repeat due;
	char text[LINE_MAX_BYTES];

	while (log_repeat_due(&lg.repeats, all ? INT64_MAX : now, &due)) {
		snprintf(text, sizeof(text),
		    "%llu more lines of this kind in %lld s, the last: %s",
		    (unsigned long long)due.held, (long long)(now - due.from_s),
		    due.last);
		log_put((enum log_level)due.level, now, "", text, false);
	}
}

/* kind 0: that of the format, and only warnings and errors count as repetitions. The
 * caller holds the lock. Returns whether the line was written. */
__attribute__((format(printf, 3, 0))) static bool log_locked(
    enum log_level level, uint64_t kind, const char *fmt, va_list ap)
{
	char text[LINE_MAX_BYTES];
	bool counted = level <= LOG_WARN || kind != 0;
	int64_t now;
	int len;

	if (level > lg.most)
		return false;
	now = clock_now();
	len = vsnprintf(text, sizeof(text), fmt, ap);
	if (kind == 0)
		kind = log_kind(fmt, text);
	log_put_repeats(now, false);
	if (counted && !log_repeat_admit(&lg.repeats, (int)level, kind, text, now))
		return false;
	log_put(level, now, own_prefix, text, len >= (int)sizeof(text));
	if (listener.hear != NULL)
		listener.hear(listener.ctx, level, text);
	return true;
}

void log_listen(void (*hear)(void *ctx, enum log_level, const char *text), void *ctx)
{
	pthread_mutex_lock(&lock);
	listener.hear = hear;
	listener.ctx = ctx;
	pthread_mutex_unlock(&lock);
}

__attribute__((format(printf, 3, 4))) static void log_of_kind(
    enum log_level level, uint64_t kind, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pthread_mutex_lock(&lock);
	log_locked(level, kind, fmt, ap);
	pthread_mutex_unlock(&lock);
	va_end(ap);
}

void log_line(enum log_level level, const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	pthread_mutex_lock(&lock);
	log_locked(level, 0, fmt, ap);
	pthread_mutex_unlock(&lock);
	va_end(ap);
}

bool log_heard(const char *line, const char *fmt, ...)
{
	va_list ap;
	bool written;

	va_start(ap, fmt);
	pthread_mutex_lock(&lock);
	written = log_locked(LOG_INFO, log_kind("", line), fmt, ap);
	pthread_mutex_unlock(&lock);
	va_end(ap);
	return written;
}

void log_fail(const char *what, const struct fail *f)
{
	/* One thing that was tried may fail for several reasons, and one reason may
	 * make several things fail. */
	log_of_kind(LOG_ERR, f->kind ^ log_kind(what, what), "%s: %s in %s: %s", what,
	    err_name(f->code), f->where == NULL ? "?" : f->where, f->detail);
}

void log_end(void)
{
	pthread_mutex_lock(&lock);
	log_put_repeats(clock_now(), true);
	pthread_mutex_unlock(&lock);
}
