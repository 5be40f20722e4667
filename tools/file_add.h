/* SPDX-License-Identifier: Apache-2.0 */
/* Many files at once: finding them below directories, and taking their digests. */
#ifndef TOOLS_FILE_ADD_H
#define TOOLS_FILE_ADD_H

#include "lib/crypt.h"
#include "tools/cmd.h"

struct file_paths {
	const char **v;
	size_t n, cap;
};

struct file_digest {
	const char *path;
	int64_t size; /* as expected, for the bar */
	char md5[MD5_HEX];
	int64_t nbytes;
};

/*
 * Makes the compressed copy PATH.gz of a staged file, unless it is there and current.
 * E_BADREQ: another staged file has this name.
 */
enum err file_gzip(struct cmd_ctx *, const char *path);

#endif
