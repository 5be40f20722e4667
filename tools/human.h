/* SPDX-License-Identifier: Apache-2.0 */
/* Formats sizes and durations for people. */
#ifndef TOOLS_HUMAN_H
#define TOOLS_HUMAN_H

#include <stdint.h>
#include "lib/arena.h"

char *human_bytes(struct arena *, double bytes); /* "4.2 MB": powers of 1000 */
char *human_span(struct arena *, int64_t s);     /* "2m10s", "3h05m", "4d02h" */

#endif
