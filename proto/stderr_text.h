/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client reports in <stderr_out> (protocol.md 10.1): its version, its own
 * message about how the task ended, and the program's standard error. Pure.
 */
#ifndef PROTO_STDERR_TEXT_H
#define PROTO_STDERR_TEXT_H

#include <stdint.h>
#include "lib/arena.h"

struct stderr_text {   /* each "" if it is absent */
	char *client;  /* "7.20.5" */
	char *message; /* "process exited with code 1 (0x1, -255)" */
	char *text; /* standard error of the program; all the rest in unusual reports */
};

/* Reads the column stderr_out, NULL as "". Anything is accepted. */
struct stderr_text stderr_text_of(struct arena *, const char *stderr_out);
/*
 * What went wrong with an output file after the program had succeeded, the error code
 * of the client's <file_xfer_error> (-161: it was not there); 0 = nothing is said.
 */
int64_t stderr_file_error(const struct stderr_text *);
/* Which file that was; "" = nothing is said, or a name with which a shell could do
 * something else. */
char *stderr_file_name(struct arena *, const struct stderr_text *);
/*
 * The line that tells best why the program failed: the last one with a word such as
 * "error", else the last one. Numbers, addresses and times become "#", so that the same
 * failure of other tasks reads the same; at most 120 bytes. The client's message stands
 * in if the program wrote nothing.
 */
char *stderr_signature(struct arena *, const struct stderr_text *);

#endif
