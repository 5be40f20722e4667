/* SPDX-License-Identifier: Apache-2.0 */
/* Unix sockets for other programs to connect to. */
#ifndef LIB_SOCK_H
#define LIB_SOCK_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/err.h"

/*
 * Listens on path, for this process's account and the members of a group ((gid_t)-1 =
 * nobody else), with the longest queue that the kernel allows. If this account may not
 * give the socket to the group, everybody can connect, and the caller has to look at
 * who does. Takes the name over from its owner in one step: a connection
 * reaches the old socket or the new one. Close-on-exec, non-blocking. E_CONFIG: the
 * path is too long for a socket.
 */
enum err sock_listen(const char *path, gid_t group, int *fd, struct fail *);

/*
 * Listens for this machine only, on TCP port of 127.0.0.1; 0: any free port. *got is
 * the port. Close-on-exec, non-blocking.
 */
enum err sock_listen_loopback(int port, int *fd, int *got, struct fail *);

/* Does a server listen on path? */
bool sock_answers(const char *path);

/* Is this descriptor a listening socket? */
bool sock_listens(int fd);

#endif
