/* SPDX-License-Identifier: Apache-2.0 */
/* Sizes and durations as people write them. */
#ifndef TOOLS_HUMAN_H
#define TOOLS_HUMAN_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"

char *human_bytes(struct arena *, double bytes); /* "4.2 MB": powers of 1000 */
char *human_span(struct arena *, int64_t s);     /* "2m10s", "3h05m", "4d02h" */
/* Reads "90", "90s", "30m", "1h", "2d" or "1w", above 0; false if it is none of these.
 */
bool human_span_parse(const char *, int64_t *s);

#endif
