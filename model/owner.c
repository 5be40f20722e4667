/* SPDX-License-Identifier: Apache-2.0 */
#include "model/owner.h"

#include <errno.h>
#include <fcntl.h>
#include <pwd.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

static const char *const usual[WEB_PEERS_MOST] = { "www-data", "nginx", "apache",
	"http" };

static void peer_add(struct web_peer *p, const char *account)
{
	const struct passwd *pw = getpwnam(account);

	if (pw == NULL)
		return;
	if (p->n == 0)
		p->group = pw->pw_gid;
	p->uids[p->n++] = pw->pw_uid;
}

struct web_peer web_peer_of(const struct conf *cf)
{
	struct web_peer p = { .group = (gid_t)WEB_GROUP_NONE };

	if (cf->web_server_account[0] != '\0')
		peer_add(&p, cf->web_server_account);
	else if (!cf->private_servers)
		for (size_t i = 0; i < N(usual); i++)
			peer_add(&p, usual[i]);
	return p;
}

bool web_peer_allows(const struct web_peer *p, int fd, uid_t *uid)
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

enum { NAMES_MOST = 10000 };

/* A directory and the config.xml in it, opened once. */
struct opened {
	const char *dir, *path;
	int dir_fd, fd; /* -1 = not opened */
	struct stat dir_is, is;
};

/* May somebody other than root and its owner write to it? */
static bool others_change(const struct stat *st)
{
	return (st->st_mode & S_IWOTH) != 0 ||
	       ((st->st_mode & S_IWGRP) != 0 && st->st_gid != 0);
}

static enum err open_config(struct opened *o, struct fail *f)
{
	o->fd = openat(
	    o->dir_fd, "config.xml", O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
	if (o->fd < 0 && errno == ELOOP)
		return FAIL(f, E_DENIED,
		    "%s is a link, through which root does not read: put the file itself there",
		    o->path);
	if (o->fd < 0 && errno == ENOENT)
		return FAIL(f, E_CONFIG, "%s does not exist", o->path);
	if (o->fd < 0 || fstat(o->fd, &o->is) < 0)
		return FAIL_ERRNO(f, "opening %s", o->path);
	if (!S_ISREG(o->is.st_mode))
		return FAIL(f, E_CONFIG, "%s is not a file", o->path);
	return OK;
}

static enum err become_uid(struct arena *a, uid_t uid, struct owner *w, struct fail *f)
{
	TRY(account_by_uid(a, uid, &w->as, f));
	return privilege_become(&w->as, f);
}

enum err owner_enter_place(
    struct arena *a, const char *path, bool suspend, struct owner *w, struct fail *f)
{
	uid_t uid;

	if (!privilege_is_root())
		return OK;
	TRY(fs_ruler(path, &uid, f));
	if (uid == 0)
		return OK;
	if (uid == FS_RULED_BY_MANY)
		return FAIL(f, E_DENIED,
		    "others than root can write to a directory of %s: root trusts no name in it; name another place, or close it (chmod go-w)",
		    path);
	TRY(account_by_uid(a, uid, &w->as, f));
	w->suspended = suspend;
	return suspend ? privilege_suspend(&w->as, f) : privilege_become(&w->as, f);
}

char *owner_open_way(struct arena *a, const char *mode, const char *closed)
{
	struct account who;
	struct fail ignored = { 0 };
	uid_t uid;
	enum err e = fs_ruler(closed, &uid, &ignored);

	/* What is closed is the last on the way that can be looked at. */
	if ((e != OK && e != E_DENIED) || uid == FS_RULED_BY_MANY)
		return arena_strdup(a, "others can exchange it, so look at it first");
	if (uid == 0)
		return arena_printf(a, "chmod %s %s", mode, closed);
	if (account_by_uid(a, uid, &who, &ignored) != OK)
		return arena_strdup(a, "its owner has no name on this machine");
	return arena_printf(a, "runuser -u %s -- chmod %s %s", who.name, mode, closed);
}

/* Moves dir to /srv. The way there leads through what is closed, where this process
 * cannot look, so root looks that it got where it wanted to. */
static char *move_cure(struct arena *a, const char *dir, const char *name)
{
	const char *above = arena_memdup(a, dir, (size_t)(name - dir));

	return arena_printf(
	    a, "(cd -P %s && [ \"$PWD\" = %s ] && mv .%s /srv)", above, above, name);
}

static enum err check_reach(
    struct arena *a, const struct owner *w, const char *dir, struct fail *f)
{
	const char *closed = privilege_closed(a, dir);
	const char *name = strrchr(dir, '/');

	if (closed == NULL || name == NULL)
		return OK;
	return FAIL(f, E_DENIED,
	    "the account %s, as which everything of this project runs, cannot enter %s: open the way (%s), or move the project to a directory that it can reach (%s && locus -p /srv%s relocate --moved)",
	    w->as.name, closed, owner_open_way(a, "a+x", closed),
	    move_cure(a, dir, name), name);
}

/* An account may not name another one. */
static enum err check_own(const struct conf *cf, const struct owner *w, struct fail *f)
{
	/*
	 * Cures name the project's directories, and root puts them into a shell: none
	 * may be more than a path.
	 */
	const char *const paths[] = { cf->path, cf->project_dir, cf->key_dir,
		cf->download_dir, cf->upload_dir, cf->log_dir, cf->run_dir,
		cf->debug_req_reply_dir, cf->db_socket };

	for (size_t i = 0; i < N(paths); i++)
		if (!text_is_plain(paths[i]))
			return FAIL(f, E_DENIED,
			    "\"%s\" in %s has blanks or characters of the shell: root would put this path into commands; rename the directory",
			    paths[i], cf->path);

	if (conf_is_installed(cf))
		return FAIL(f, E_DENIED,
		    "%s says <service_manager>systemd</service_manager>, but the account %s could change it: only a file and a directory of root may say so",
		    cf->path, w->as.name);
	if (cf->run_user[0] != '\0' && strcmp(cf->run_user, w->as.name) != 0)
		return FAIL(f, E_DENIED,
		    "%s names the account %s as run_user, but belongs to %s; only root may choose: give file and directory to root (chown root), or remove run_user",
		    cf->path, cf->run_user, w->as.name);
	return OK;
}

/* Finds the first name below dir that somebody but root rules; *left = names to look
 * at. */
static enum err find_of_others(
    struct arena *a, const char *dir, size_t *left, char **found, struct fail *f)
{
	struct stat st;
	char **names;
	size_t n;

	TRY(fs_list(a, dir, *left, &names, &n, f));
	*left -= n;
	if (*left == 0)
		return FAIL(f, E_DENIED,
		    "%s belongs to root and has more files than root looks through: give the whole project to the account that it is to run as (chown -R www-data)",
		    dir);
	for (size_t i = 0; i < n && *found == NULL; i++) {
		char *path = arena_printf(a, "%s/%s", dir, names[i]);
		enum err e = OK;

		/* The project's programs make names and remove them all the time. */
		if (lstat(path, &st) < 0) {
			if (errno == ENOENT)
				continue;
			return FAIL_ERRNO(f, "looking at %s", path);
		}
		/* Somebody but root can put something there. The mode of a link means
		 * nothing, and that of a socket says who may connect to the service. */
		if (st.st_uid != 0 || (!S_ISLNK(st.st_mode) && !S_ISSOCK(st.st_mode) &&
					  others_change(&st)))
			*found = path;
		else if (S_ISDIR(st.st_mode))
			e = find_of_others(a, path, left, found, f);
		if (e != OK && e != E_NOTFOUND)
			return e;
	}
	return OK;
}

/* A project of root alone, which nobody else can have a hand in. */
static enum err check_all_of_root(
    struct arena *a, const struct conf *cf, struct fail *f)
{
	const char *dir = cf->project_dir;
	size_t left = NAMES_MOST;
	char *found = NULL;

	TRY(find_of_others(a, dir, &left, &found, f));
	if (found == NULL)
		return OK;
	return FAIL(f, E_DENIED,
	    "%s belongs to root, but others can write to %s in it: give the whole project to the account that it is to run as (chown -R www-data %s)",
	    dir, found + strlen(dir) + 1, dir);
}

static enum err refuse_root(const struct conf *cf, struct fail *f)
{
	return FAIL(f, E_CONFIG,
	    "%s names root as run_user, but nothing of a project runs as root",
	    cf->path);
}

enum err owner_take(struct arena *a, const struct conf *cf, bool suspend,
    struct owner *w, struct fail *f)
{
	if (!w->of_root)
		return OK;
	if (cf->run_user[0] == '\0')
		return check_all_of_root(a, cf, f);
	if (w->may_lack && getpwnam(cf->run_user) == NULL) {
		w->lacking = true;
		return OK;
	}
	TRY(account_find(a, cf->run_user, &w->as, f));
	if (w->as.uid == 0)
		return refuse_root(cf, f);
	w->suspended = suspend && conf_is_installed(cf);
	TRY(w->suspended ? privilege_suspend(&w->as, f) : privilege_become(&w->as, f));
	return check_reach(a, w, cf->project_dir, f);
}

/* Reads config.xml from the descriptor whose owner was looked at. */
static enum err read_opened(
    struct arena *a, struct opened *o, struct conf **cf, struct fail *f)
{
	char *text;
	size_t n;

	TRY(fs_read_fd(a, o->fd, o->path, CONF_FILE_MAX, &text, &n, f));
	return conf_parse(a, o->path, text, n, cf, NULL, NULL, f);
}

static enum err enter_opened(struct arena *a, struct opened *o, bool suspend,
    struct owner *w, struct conf **cf, struct fail *f)
{
	if (fstat(o->dir_fd, &o->dir_is) < 0)
		return FAIL_ERRNO(f, "looking at %s", o->dir);
	if (o->dir_is.st_uid == 0) {
		/* In a directory of root the owner of config.xml decides. */
		if (others_change(&o->dir_is))
			return FAIL(f, E_DENIED,
			    "others than root can write to %s: root trusts no config.xml in it; give the directory to the project's account (chown), or run: chmod go-w %s",
			    o->dir, o->dir);
		TRY(open_config(o, f));
		w->of_root = o->is.st_uid == 0;
		if (!w->of_root) {
			TRY(become_uid(a, o->is.st_uid, w, f));
			TRY(read_opened(a, o, cf, f));
			TRY(check_own(*cf, w, f));
			return check_reach(a, w, (*cf)->project_dir, f);
		}
		if (others_change(&o->is))
			return FAIL(f, E_DENIED,
			    "others than root can write to %s; run: chmod go-w %s",
			    o->path, o->path);
		TRY(read_opened(a, o, cf, f));
		return owner_take(a, *cf, suspend, w, f);
	}
	TRY(become_uid(a, o->dir_is.st_uid, w, f));
	TRY(check_reach(a, w, o->dir, f));
	TRY(conf_load(a, o->path, cf, NULL, NULL, f));
	return check_own(*cf, w, f);
}

/* Who alone decides what config.xml says: its owner, if its directory is root's. */
static enum err find_ruler(
    struct arena *a, const struct conf *cf, uid_t *uid, struct fail *f)
{
	const char *dir = arena_memdup(
	    a, cf->path, strlen(cf->path) - strlen(text_base_name(cf->path)));
	struct stat st;

	if (stat(dir, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", dir);
	if (st.st_uid == 0 && lstat(cf->path, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", cf->path);
	*uid = st.st_uid;
	return OK;
}

static enum err check_named_account(
    struct arena *a, const struct conf *now, struct fail *f)
{
	struct account as;

	if (now->run_user[0] == '\0')
		return check_all_of_root(a, now, f);
	TRY(account_find(a, now->run_user, &as, f));
	return as.uid == 0 ? refuse_root(now, f) : OK;
}

enum err owner_keeps(
    struct arena *a, const struct conf *was, const struct conf *now, struct fail *f)
{
	struct owner w = { 0 };
	struct fail why = { 0 };
	uid_t uid = 0;
	enum err e = OK;

	if (conf_is_installed(was) != conf_is_installed(now))
		return FAIL(f, E_CONFIG,
		    "service_manager belongs to an installation: locus create NAME --url URL makes one, and locus destroy removes it");
	if (conf_is_installed(was) && strcmp(was->run_user, now->run_user) != 0)
		return FAIL(f, E_CONFIG,
		    "run_user of an installed project is the account that locus create made for it");
	TRY(find_ruler(a, was, &uid, f));
	if (uid != 0) {
		TRY(account_by_uid(a, uid, &w.as, f));
		e = check_own(was, &w, &why) == OK ? check_own(now, &w, &why) : OK;
	} else if (strcmp(was->run_user, now->run_user) != 0) {
		e = check_named_account(a, now, &why);
	}
	return e == OK ? OK : FAIL(f, E_CONFIG, "%s", why.detail);
}

/*
 * The umask of a shell neither closes what the web server reads nor opens the rest; one
 * that lets the group write, and nobody else, is for accounts that share a project.
 */
static mode_t own_umask(void)
{
	mode_t was = umask(022);

	if ((was & 022) == 002)
		umask(002);
	return was;
}

enum err owner_enter(struct arena *a, const char *dir, bool suspend, struct owner *w,
    struct conf **cf, struct fail *f)
{
	struct opened o = { .dir = dir, .fd = -1 };
	struct conf *read = NULL;
	enum err e;

	*w = (struct owner){ .may_lack = w->may_lack, .umask = own_umask() };
	o.path = arena_printf(a, "%s/config.xml", dir);
	privilege_guard_path();
	if (!privilege_is_root())
		return cf == NULL ? OK : conf_load(a, o.path, cf, NULL, NULL, f);
	o.dir_fd = open(dir, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (o.dir_fd < 0)
		return FAIL_ERRNO(f, "opening %s", dir);
	e = enter_opened(a, &o, suspend, w, &read, f);
	if (cf != NULL)
		*cf = read;
	if (o.fd >= 0)
		close(o.fd);
	close(o.dir_fd);
	return e;
}

enum err owner_root(const struct owner *w, struct fail *f)
{
	return w->suspended ? privilege_resume(f) : OK;
}

enum err owner_account(const struct owner *w, struct fail *f)
{
	return w->suspended ? privilege_suspend(&w->as, f) : OK;
}
