/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The supervisor holds the sockets of services, so that connections wait while a
 * process is replaced, instead of being refused.
 */
#include "tools/supervisor/sup.h"

#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/sock.h"
#include "model/owner.h"
#include "lib/banned.h"

void
sup_unlisten(struct sup *x, const char *path)
{
	for (size_t i = 0; i < x->nsockets; i++) {
		if (strcmp(x->sockets[i].path, path) != 0)
			continue;
		fs_unlink(path, NULL);
		close(x->sockets[i].fd);
		x->sockets[i] = x->sockets[--x->nsockets];
		return;
	}
}

enum err
sup_listen(struct sup *x, const char *path, int *fd, struct fail *f)
{
	if (!fs_exists(path)) /* somebody removed the name */
		sup_unlisten(x, path);
	for (size_t i = 0; i < x->nsockets; i++)
		if (strcmp(x->sockets[i].path, path) == 0) {
			*fd = x->sockets[i].fd;
			return OK;
		}
	TRY(sock_listen(path, web_peer_of(x->cf).group, fd, f));
	PUSH(x->a, x->sockets, x->nsockets,
	    x->sockets_cap) = (struct listening){ arena_strdup(x->a, path), *fd };
	return OK;
}

void
sup_unlisten_all(struct sup *x)
{
	for (size_t i = 0; i < x->n; i++) /* those of a killed supervisor too */
		if (x->procs[i].s.listen != NULL)
			fs_unlink(x->procs[i].s.listen, NULL);
	for (size_t i = 0; i < x->nsockets; i++) {
		fs_unlink(x->sockets[i].path, NULL);
		close(x->sockets[i].fd);
	}
	x->nsockets = 0;
}
