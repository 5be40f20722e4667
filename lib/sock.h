/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets that others connect to. */
#ifndef LIB_SOCK_H
#define LIB_SOCK_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/err.h"

/*
 * Listens on path, with this mode whatever the umask says, and as long a queue as the
 * kernel allows.  The name is taken over in one step from whoever has it: a connection
 * finds the old socket or the new one.  Close-on-exec, not blocking.  E_CONFIG: the
 * path is too long for a socket.
 */
enum err sock_listen(const char *path, mode_t mode, int *fd, struct fail *);

/* Does somebody listen there? */
bool sock_answers(const char *path);

/* Is this descriptor a socket that listens? */
bool sock_listens(int fd);

#endif
