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
/* Old pairs of code signing keys: old_key_0 with old_private_0, ... */
enum { OLD_CODE_KEYS = 100 };
/* The answer (key_sheet.h) that a rotation of the code signing key carries out. */
#define KEY_ROTATION "code_sign_rotation"

/* Returns what to do about a key file that is absent: it was lost or, in an installed
 * project, never made. */
char *key_absent_cure(struct arena *, const struct cmd_ctx *, const char *path);
/* Does the private key sign what the public key verifies? False if one is no key. */
bool key_pair_fits(struct arena *, const char *private_text, const char *public_text);
char *key_file_path(struct cmd_ctx *, const char *name);
/* May this account change the key directory? */
enum err key_dir_check(struct cmd_ctx *);
/* Writes a file of the key directory with the mode that the file `like` has there, else
 * with this mode. */
enum err key_file_put(struct cmd_ctx *, const char *name, const char *like,
    const char *text, unsigned mode);
/* Was a rotation of the code signing key begun and not completed? */
bool key_rotation_began(struct arena *, const struct conf *);
/*
 * Makes a new pair of upload keys and keeps the public key of the present one as the
 * next old one.
 */
enum err key_rotate_upload(struct cmd_ctx *, bool dry);

#endif
