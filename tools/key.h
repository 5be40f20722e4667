/* SPDX-License-Identifier: Apache-2.0 */
/* The files of a project's key directory. */
#ifndef TOOLS_KEY_H
#define TOOLS_KEY_H

#include "tools/cmd.h"

/*
 * Old public keys of uploads, old_upload_public_0, _1, ...: the upload handler accepts
 * certificates that were made with them.
 */
enum { OLD_UPLOAD_KEYS = 10 };

/* Returns what to do about a key file that is absent: it was lost or, in an installed
 * project, never made. */
char *key_absent_cure(struct arena *, const struct conf *, const char *path);
char *key_file_path(struct cmd_ctx *, const char *name);
/*
 * Makes a new pair of upload keys and keeps the public key of the present one as the
 * next old one.
 */
enum err key_rotate_upload(struct cmd_ctx *, bool dry);

#endif
