/* SPDX-License-Identifier: Apache-2.0 */
#include "model/web_peer.h"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <unistd.h>
#include "lib/banned.h"

static const char *const usual[WEB_PEERS_MOST] = { "www-data", "nginx", "apache",
	"http" };

static void
peer_add(struct web_peer *p, const char *account)
{
	const struct passwd *pw = getpwnam(account);

	if (pw == NULL)
		return;
	if (p->n == 0)
		p->group = pw->pw_gid;
	p->uids[p->n++] = pw->pw_uid;
}

struct web_peer
web_peer_of(const struct conf *cf)
{
	struct web_peer p = { .group = (gid_t)WEB_GROUP_NONE };

	if (cf->web_server_account[0] != '\0')
		peer_add(&p, cf->web_server_account);
	else if (!cf->private_servers)
		for (size_t i = 0; i < N(usual); i++)
			peer_add(&p, usual[i]);
	return p;
}

const char *
web_peer_group(const struct conf *cf)
{
	const struct web_peer p = web_peer_of(cf);
	const struct group *g = p.n == 0 ? NULL : getgrgid(p.group);

	return g == NULL ? NULL : g->gr_name;
}

bool
web_peer_allows(const struct web_peer *p, int fd, uid_t *uid)
{
	struct ucred peer;
	socklen_t n = sizeof(peer);

	*uid = (uid_t)-1;
	if (getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &n) < 0)
		return false;
	*uid = peer.uid;
	for (size_t i = 0; i < p->n; i++)
		if (p->uids[i] == peer.uid)
			return true;
	return peer.uid == geteuid() || peer.uid == 0;
}
