/* SPDX-License-Identifier: Apache-2.0 */
/* <max_jobs_in_progress> of config_aux.xml (scheduling.md 2.8). */
#ifndef PROTO_JOB_LIMITS_H
#define PROTO_JOB_LIMITS_H

#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/job_limits.h"

#define JOB_LIMITS_FILE "config_aux.xml" /* in the project directory */

struct limits_read { /* what was made of the file */
	struct job_limits *limits;
	struct conf_remark *remarks; /* each an element that is lost or not as meant */
	size_t n;
};

/*
 * A limit whose number cannot be read is left out, and so are unknown elements; an
 * unclosed <jobs> counts with its number, since it restricts. E_CONFIG with file, line
 * and cause only if the text is not XML and cannot be mended. Other elements beside the
 * block are ignored. path is for messages.
 */
enum err job_limits_parse(struct arena *, const char *path, const char *text, size_t n,
    struct limits_read *, struct fail *);
/* The same from a file; E_NOTFOUND if it does not exist. */
enum err job_limits_load(
    struct arena *, const char *path, struct limits_read *, struct fail *);

#endif
