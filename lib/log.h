/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One event, one line: "2026-11-20T23:40:57Z scheduler[812] info [HOST#7] send
 * result=99". A process opens its log once; rotation is noticed by the file's inode,
 * and the log is reopened, also for whatever else writes to it as standard output or
 * standard error.
 */
#ifndef LIB_LOG_H
#define LIB_LOG_H

#include <stdbool.h>
#include "lib/err.h"

enum log_level { LOG_ERR, LOG_WARN, LOG_INFO, LOG_DEBUG };

/*
 * path NULL = stderr. If stderr is systemd's journal, warnings and errors go there too,
 * with fields (journal.h); without a path, all lines do. Each line is appended by one
 * write() of at most 4096 bytes; control bytes in messages and prefixes are written as
 * \xNN. Of warnings and errors of one format, whatever they name, ten are written in a
 * minute; the others are counted, and a line says how many they were (log_repeat.h).
 * Lines that cannot be written (the disk is full) are counted, and the next one that
 * can be written says how many were lost. Safe for threads.
 */
void log_open(const char *program, const char *path, enum log_level most);
/* At the end of a program: writes how many lines were only counted so far. */
void log_end(void);
void log_set_level(enum log_level most); /* for all following lines */
/*
 * Sets the prefix of all following lines of this thread, e.g. "[HOST#7 rpc=81f3]";
 * ("%s", "") clears it.
 */
void log_prefix(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void log_line(enum log_level, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/*
 * Logs a line that somebody else wrote, at level info; its repetitions are counted like
 * those of errors. Returns whether it was written.
 */
bool log_heard(const char *line, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));
/* Logs an error line: what was tried, the code, where it happened and the detail. */
void log_fail(const char *what, const struct fail *);

/* Also hands every line that is written to hear(ctx, ...), which must not log; NULL
 * ends this. */
void log_listen(void (*hear)(void *ctx, enum log_level, const char *text), void *ctx);

#define log_err(...)   log_line(LOG_ERR, __VA_ARGS__)
#define log_warn(...)  log_line(LOG_WARN, __VA_ARGS__)
#define log_info(...)  log_line(LOG_INFO, __VA_ARGS__)
#define log_debug(...) log_line(LOG_DEBUG, __VA_ARGS__)

#endif
