/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The log of a program that knows nothing of log.h: a process of its own copies what
 * the program writes to standard output and standard error to a file, and opens the
 * file again when it was rotated, between two lines.
 */
#ifndef LIB_LOG_PIPE_H
#define LIB_LOG_PIPE_H

#include "lib/err.h"

/*
 * Starts that process, which is no child of this one and shares its process group and
 * session, and connects standard output and standard error with it. It ignores the
 * signals that stop programs, and ends when everybody who can write has ended. What
 * cannot be written (the disk is full) is lost; a line then says how much.
 */
enum err log_pipe_start(const char *path, struct fail *);

#endif
