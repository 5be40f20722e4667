/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes, durations and names as people read them. */
#ifndef LIB_HUMAN_H
#define LIB_HUMAN_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"

char *human_bytes(struct arena *, double bytes); /* "4.2 MB": powers of 1000 */
char *human_span(struct arena *, int64_t s);     /* "2m10s", "3h05m", "4d02h" */
/* "2m10s ago", "in 3h05m", or "never" for 0. */
char *human_ago(struct arena *, int64_t time, int64_t now);
/*
 * A text of a stranger on one line, which cannot steer the terminal: a tab becomes a
 * blank, what must not be shown (text_shown()) becomes "?", a newline at the end goes.
 */
char *human_text(struct arena *, const char *);
/* Reads "90", "90s", "30m", "1h", "2d" or "1w", above 0; false if it is none of these.
 */
bool human_span_parse(const char *, int64_t *s);

#endif
