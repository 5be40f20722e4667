/* SPDX-License-Identifier: Apache-2.0 */
/* Passwords of accounts: read from a file, or made; never on the command line. */
#ifndef TOOLS_USER_H
#define TOOLS_USER_H

#include "tools/cmd.h"

/*
 * Returns what is stored of a password for this address: clients send the MD5 of both,
 * and a hash of that is stored (protocol.md 7.4).
 */
enum err user_password_hash(
    struct cmd_ctx *, const char *password, const char *email, char **hash);
/*
 * Returns the first line of a file, NULL without one.  Called before the project is
 * entered: the file may be for root's eyes only, or a pipe of root's shell.
 */
enum err user_password_read(struct cmd_ctx *, const char *file, char **password);
/* user_password_hash() of a password from a file. E_BADREQ: it is too short. */
enum err user_password_take(
    struct cmd_ctx *, const char *password, const char *email, char **hash);

#endif
