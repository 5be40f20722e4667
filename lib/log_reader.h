/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads log files: lines of log.h, and those of other programs as far as their time can
 * be told. A reader begins at a time, found by bisection, and may follow its file, also
 * through rotation. A rotated file may be compressed.
 */
#ifndef LIB_LOG_READER_H
#define LIB_LOG_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/log.h"

struct log_entry {
	int64_t time; /* s UTC; of a line without time: that of the line before, or 0 */
	enum log_level level;
	char program[64];    /* of a line of log.h; else "" */
	const char *message; /* what follows program and level, or the whole line */
	const char *line;    /* without its newline */
};

/*
 * Understands "2026-11-20T23:40:57Z scheduler[812] info text", and of other programs
 * the times "2026-11-20 23:40:57" and "[Fri Nov 20 23:40:57.123456 2026]" in local time
 * and the words error and warning in brackets. Leaves the time alone if there is none.
 * Pure but for the time zone.
 */
void log_entry_parse(const char *line, struct log_entry *);
const char *log_level_name(enum log_level); /* "error" */
/* False if there is no such level. */
bool log_level_named(const char *, enum log_level *);

struct log_reader;
/*
 * Opens a log; NULL with errno if it cannot be read. Lines before since (s UTC) are
 * skipped as far as the file's lines ascend; a compressed file is read from its
 * beginning.
 */
struct log_reader *log_reader_open(struct arena *, const char *path, int64_t since);
void log_reader_close(struct log_reader *); /* NULL is allowed */
/* The next line, which stays until the following call; NULL at the end. A line without
 * its newline is not complete yet, unless the file has been replaced. */
const struct log_entry *log_reader_next(struct log_reader *);
/* At the end: why the rest of a compressed file cannot be read; NULL = it was read. */
const char *log_reader_damage(const struct log_reader *);
/* At the end: opens the path again if it is another file by now, or was truncated. */
void log_reader_follow(struct log_reader *);

/* Finds out from its log why a program ended. */

/*
 * Returns the last bytes of a log, from the beginning of a line; "" if there is none.
 */
char *log_tail(struct arena *, const char *path);
/* Returns the first line with "[ERROR]" near the log's end, at most 250 bytes; else its
 * tail. */
char *log_find_error(struct arena *, const char *path);

#endif
