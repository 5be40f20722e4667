/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whom a project belongs to, for root: the one place where a process of root becomes
 * the account of the project, before it opens anything that this account rules.
 */
#ifndef MODEL_OWNER_H
#define MODEL_OWNER_H

#include <stdbool.h>
#include <sys/types.h>
#include "lib/privilege.h"
#include "model/conf.h"

/*
 * The web server's account, as the services know it. A request says by itself from
 * which address and with which headers it came, so it is believed only if the web
 * server, the project's own account or root has made the connection.
 */

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

/* May the process at the other end of a connection name addresses? */
bool web_peer_allows(const struct web_peer *, int fd, uid_t *uid);

struct owner {
	/* What this process has become; name NULL: it was not root, and is what it was.
	 */
	struct account as;
	/*
	 * Only root can change config.xml: it alone may name the account (run_user),
	 * and may be that of an installed project.
	 */
	bool of_root;
	bool suspended; /* owner_root() makes it root again */
	/*
	 * Set before: the account may be missing, as this command makes it. lacking: it
	 * is, so root stays root; nothing can belong to it yet.
	 */
	bool may_lack, lacking;
	mode_t umask; /* of whoever runs this: for what is no part of the project */
};

/*
 * Enters the project whose config.xml is in dir, and reads that file (cf may be NULL).
 * A process of root first becomes the account that owns dir. If dir is root's,
 * config.xml is opened once, not through a link, and read from that descriptor; its
 * owner or, if it is root's too, its run_user is the account. Without one, root goes on
 * as root if nothing in dir belongs to others. With suspend, and in an installed
 * project only, owner_root() leads back. The umask is 022, or 002 if it was one for a
 * group. E_DENIED, with the two ways out, if the account cannot reach the project, and
 * if others than root could change a config.xml that names an account; E_CONFIG if
 * there is no account; and as conf_load().
 */
enum err owner_enter(struct arena *, const char *dir, bool suspend, struct owner *,
    struct conf **cf, struct fail *);
/* The last step of owner_enter(), for a config.xml of root that could not be read then.
 */
enum err owner_take(
    struct arena *, const struct conf *, bool suspend, struct owner *, struct fail *);

/*
 * May the project's config.xml change from was to now? E_CONFIG if root would not
 * enter the project any more, and if something changes that belongs to its
 * installation.
 */
enum err owner_keeps(
    struct arena *, const struct conf *was, const struct conf *now, struct fail *);

/*
 * For what belongs to no project: before root opens or makes anything at path, it
 * becomes the account that decides what this path leads to (fs_ruler()). With suspend,
 * owner_root() leads back. E_DENIED if several accounts could decide.
 */
enum err owner_enter_place(
    struct arena *, const char *path, bool suspend, struct owner *, struct fail *);

/*
 * Root again, for root's own files and programs, until owner_account(). Both do nothing
 * in a process that has not suspended its rights.
 */
enum err owner_root(const struct owner *, struct fail *);
enum err owner_account(const struct owner *, struct fail *);

/*
 * Returns the command by which root lets everybody reach what is closed, with chmod's
 * mode: as who rules the way to it, so that a link in it leads root nowhere. Where
 * nobody can tell, it says why there is none.
 */
char *owner_open_way(struct arena *, const char *mode, const char *closed);

#endif
