/* SPDX-License-Identifier: Apache-2.0 */
/* The command line of file_upload_handler. */
#ifndef SCHED_UPLOAD_UPLOAD_OPTIONS_H
#define SCHED_UPLOAD_UPLOAD_OPTIONS_H

struct upload_options {
	const char *project, *socket, *log; /* NULL = not given */
};

/*
 * Parses the command line.  Returns -1 to go on; otherwise the exit status, after
 * writing what there is to say.
 */
int upload_options(int argc, char **argv, struct upload_options *);

#endif
