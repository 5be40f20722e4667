/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of file_upload_handler. */
#ifndef SCHED_UPLOAD_UPLOAD_OPTIONS_H
#define SCHED_UPLOAD_UPLOAD_OPTIONS_H

struct upload_options {
	const char *project, *socket, *log; /* NULL: not given */
};

/* -1: go on; else the exit code, and what there is to say was said. */
int upload_options(int argc, char **argv, struct upload_options *);

#endif
