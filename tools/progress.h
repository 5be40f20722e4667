/* SPDX-License-Identifier: Apache-2.0 */
/* A progress bar on standard error, for what takes longer than two seconds. */
#ifndef TOOLS_PROGRESS_H
#define TOOLS_PROGRESS_H

#include <stdbool.h>
#include <stdint.h>

struct progress {
	const char *what; /* "adding workunits" */
	int64_t total;    /* 0 = not known */
	int64_t begin_ms, shown_ms;
	int64_t first;  /* what was done at the first call: it is no part of the rate */
	int64_t left_s; /* set by a caller that knows better than the rate; -1 = none */
	bool bytes;     /* counts bytes, not things */
	bool terminal;  /* else nothing is shown */
	int width;      /* of the line that is shown */
};

/* Nothing is shown if standard error is not a terminal. */
struct progress progress_begin(const char *what, int64_t total);
/* The same for bytes. */
struct progress progress_begin_bytes(const char *what, int64_t total);
/* Shows the bar at most ten times a second, with the rate and, if the total is known,
 * the time left. May be called often. */
void progress_set(struct progress *, int64_t done);
/* Erases the bar. To be called also after an error. */
void progress_end(struct progress *);

#endif
