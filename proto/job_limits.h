/* SPDX-License-Identifier: Apache-2.0 */
/* <max_jobs_in_progress> of config_aux.xml (scheduling.md 2.8). */
#ifndef PROTO_JOB_LIMITS_H
#define PROTO_JOB_LIMITS_H

#include "lib/arena.h"
#include "lib/err.h"
#include "model/job_limits.h"

#define JOB_LIMITS_FILE "config_aux.xml" /* in the project directory */

/*
 * E_CONFIG with file, line and cause if the text is not XML, or if the block has an
 * unknown element or an invalid number: limits apply as a whole or not at all. Other
 * elements beside the block are ignored. path is for messages.
 */
enum err job_limits_parse(struct arena *, const char *path, const char *text, size_t n,
    struct job_limits **, struct fail *);
/* The same from a file; E_NOTFOUND if it does not exist. */
enum err job_limits_load(
    struct arena *, const char *path, struct job_limits **, struct fail *);

#endif
