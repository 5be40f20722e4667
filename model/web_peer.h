/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The web server's account, as the services know it. A request says by itself from
 * which address and with which headers it came, so it is believed only if the web
 * server, the project's own account or root has made the connection.
 */
#ifndef MODEL_WEB_PEER_H
#define MODEL_WEB_PEER_H

#include <stdbool.h>
#include <sys/types.h>
#include "model/conf.h"

enum { WEB_PEERS_MOST = 4, WEB_GROUP_NONE = -1 };

struct web_peer {
	uid_t uids[WEB_PEERS_MOST]; /* beside this process's account and root */
	size_t n;
	gid_t group; /* (gid_t)WEB_GROUP_NONE: the project's own account only */
};

/*
 * Finds the accounts of the web server: web_server_account of config.xml; without it,
 * those of the usual web servers that the machine has, or none if the project's Apache
 * is private and so runs as the project's account.
 */
struct web_peer web_peer_of(const struct conf *);

/*
 * The group of the web server's account, as the unit files name it; NULL if there is
 * none. Valid until the next call of getgrgid(3).
 */
const char *web_peer_group(const struct conf *);

/* May the process at the other end of a connection name addresses? */
bool web_peer_allows(const struct web_peer *, int fd, uid_t *uid);

#endif
