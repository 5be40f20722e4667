/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which lines of a log are repetitions: of one kind, LOG_REPEAT_MOST are written in a
 * minute, and the others are counted. A failing disk or database would otherwise fill
 * the log within hours. Lines are of one kind if they were made by one format, whatever
 * names it was filled with; those of a format without words, such as "%s: %s", if they
 * differ only in their numbers.
 */
#ifndef LIB_LOG_REPEAT_H
#define LIB_LOG_REPEAT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	LOG_REPEAT_MOST = 10,     /* lines of one kind in */
	LOG_REPEAT_WINDOW_S = 60, /* so many seconds */
	LOG_REPEAT_KINDS = 64     /* that are remembered, the latest ones */
};

struct log_repeat {     /* all zero = free */
	uint64_t kind;  /* log_kind() and level */
	int level;      /* of its lines */
	int64_t from_s; /* the window's first second */
	unsigned written;
	uint64_t held;  /* lines that were counted, not written */
	char last[256]; /* the last of them */
};
struct log_repeats {
	struct log_repeat v[LOG_REPEAT_KINDS];
};

/* The kind of a line or failure: of its format, or of the text if that has no words. */
uint64_t log_kind(const char *format, const char *text);
/* May the line be written? If not, it is counted; now is in seconds. If more kinds than
 * LOG_REPEAT_KINDS are counted at once, the oldest count is lost. */
bool log_repeat_admit(
    struct log_repeats *, int level, uint64_t kind, const char *text, int64_t now);
/*
 * Moves a kind that has counted lines, and whose minute is over, to *due; false if
 * there is none. To be called before log_repeat_admit() until it returns false.
 */
bool log_repeat_due(struct log_repeats *, int64_t now, struct log_repeat *due);

#endif
