/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/dir_cure.h"

#include <errno.h>
#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/text.h"
#include "model/owner.h"
#include "tools/destroy_here.h"
#include "tools/service.h"
#include "tools/supervisor/supervise.h"
#include "lib/banned.h"

enum { OTHERS = S_IRWXO, OTHERS_READ = S_IROTH | S_IWOTH };

unsigned private_run_mode(const struct conf *cf)
{
	return web_peer_of(cf).n == 0 ? 0750 : 0711;
}

static void note_loose(
    struct loose_path *v, size_t *n, const char *path, mode_t type, mode_t forbidden)
{
	struct stat st;

	if (lstat(path, &st) < 0 || (st.st_mode & S_IFMT) != type ||
	    (st.st_mode & forbidden) == 0)
		return;
	v[(*n)++] = (struct loose_path){ path, st.st_mode & 07777,
		st.st_mode & forbidden };
}

enum { CLOSED = 8 };

static void closed_dirs(struct arena *a, const struct conf *cf, const char *v[CLOSED])
{
	const char *const all[CLOSED] = { cf->log_dir, cf->upload_dir,
		arena_printf(a, "%s/decisions", cf->run_dir),
		arena_printf(a, "%s/recording", cf->run_dir),
		project_path(a, cf, "recordings"), project_path(a, cf, "results"),
		project_path(a, cf, "archives"), project_path(a, cf, "tmp") };

	memcpy(v, all, sizeof(all));
}

/* Is the directory one of those that are closed to other accounts? */
static bool private_is_closed(struct arena *a, const struct conf *cf, const char *dir)
{
	const char *closed[CLOSED];
	bool is = strcmp(dir, cf->run_dir) == 0 && private_run_mode(cf) == 0750;

	closed_dirs(a, cf, closed);
	for (size_t i = 0; i < N(closed); i++)
		is = is || strcmp(dir, closed[i]) == 0;
	return is;
}

size_t private_loose(struct arena *a, const struct conf *cf, struct loose_path *v)
{
	static const char *const sockets[] = { "scheduler", "web", "upload" };
	const char *closed[CLOSED];
	const gid_t group = web_peer_of(cf).group;
	size_t n = 0;

	closed_dirs(a, cf, closed);
	note_loose(v, &n, cf->run_dir, S_IFDIR,
	    group == (gid_t)WEB_GROUP_NONE ? OTHERS : OTHERS_READ);
	for (size_t i = 0; i < N(closed); i++)
		note_loose(v, &n, closed[i], S_IFDIR, OTHERS);
	for (size_t i = 0; i < N(sockets); i++) {
		/* A socket that could not be given to the web server's group is open to
		 * all, and the service looks at who connects. */
		struct stat st;
		const char *path = service_socket(a, cf, sockets[i]);

		if (group == (gid_t)WEB_GROUP_NONE)
			note_loose(v, &n, path, S_IFSOCK, S_IRWXG | S_IRWXO);
		else if (lstat(path, &st) == 0 && st.st_gid == group)
			note_loose(v, &n, path, S_IFSOCK, S_IRWXO);
	}
	return n;
}

void private_close(struct arena *a, const struct conf *cf)
{
	struct loose_path v[PRIVATE_MOST];
	size_t n = private_loose(a, cf, v);
	struct stat st;

	if (!fs_exists(project_path(a, cf, CREATED_FILE)))
		return;
	for (size_t i = 0; i < n; i++)
		if (chmod(v[i].path, v[i].mode & ~v[i].excess) == 0)
			log_info("%s had mode %04o; it is closed to other accounts now",
			    v[i].path, (unsigned)v[i].mode);
	if (web_peer_of(cf).n > 0 && stat(cf->run_dir, &st) == 0 &&
	    (st.st_mode & S_IXOTH) == 0)
		(void)chmod(cf->run_dir, (st.st_mode & 07777) | S_IXOTH);
}

/*
 * The short directory for sockets. Its name was chosen at random when the project was
 * created, or given by the admin with db_socket. In the latter case it may contain
 * other files: only files with the names of our sockets and pid files are ever removed,
 * and the directory itself only if we created it and it is empty.
 */

enum { SOCKETS_MOST = 10000 };

/* Returns the short directory; NULL if the database's socket is in the run directory.
 */
static char *short_dir(struct arena *a, const struct conf *cf)
{
	char *dir = database_socket_dir(a, cf);

	return strcmp(dir, cf->run_dir) == 0 ? NULL : dir;
}

enum err short_dir_make(struct arena *a, const struct conf *cf, struct fail *f)
{
	const char *dir = short_dir(a, cf);
	struct stat st;

	if (dir == NULL)
		return OK;
	if (mkdir(dir, private_run_mode(cf)) == 0)
		return fs_mark_own(dir, f);
	if (errno != EEXIST)
		return FAIL_ERRNO(f, "making %s for sockets", dir);
	/* Other accounts may write to /tmp too: accept only a directory of our own. */
	if (lstat(dir, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return FAIL(f, E_CONFIG,
		    "%s exists and belongs to somebody else; remove it, or give the project another <db_socket> of at most 107 bytes",
		    dir);
	return OK;
}

/* Removes the file only if its type and owner are those of a file that we would have
 * put there. */
static void remove_named(
    struct arena *a, const char *dir, const char *name, mode_t type)
{
	const char *path = arena_printf(a, "%s/%s", dir, name);
	struct stat st;

	if (lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type &&
	    st.st_uid == geteuid())
		unlink(path);
}

static void remove_sockets(struct arena *a, const char *dir)
{
	struct fail f = { 0 };
	char **names;
	size_t n;

	if (fs_list(a, dir, SOCKETS_MOST, &names, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		remove_named(a, dir, names[i], S_IFSOCK);
	rmdir(dir);
}

void short_dir_remove(struct arena *a, const struct conf *cf)
{
	static const struct {
		const char *name;
		mode_t type;
	} ours[] = { { "scheduler.sock", S_IFSOCK }, { "web.sock", S_IFSOCK },
		{ "upload.sock", S_IFSOCK }, { "apache.pid", S_IFREG },
		{ "fcgid_shm", S_IFREG } };
	const char *dir = short_dir(a, cf), *database;
	struct fail f = { 0 };
	char **names;
	size_t n = 0;

	if (dir == NULL)
		return;
	database = cf->db_socket + strlen(dir) + 1;
	remove_named(a, dir, database, S_IFSOCK);
	remove_named(a, dir, arena_printf(a, "%s.lock", database), S_IFREG);
	for (size_t i = 0; i < N(ours); i++)
		remove_named(a, dir, ours[i].name, ours[i].type);
	remove_sockets(a, arena_printf(a, "%s/fcgid", dir));
	if (!fs_is_own(dir) || fs_list(a, dir, 2, &names, &n, &f) != OK)
		return;
	if (n > 1) {
		log_warn("%s is kept, as it contains other files", dir);
	} else {
		fs_unmark_own(dir, &f);
		rmdir(dir);
	}
}

/* What fills a file system may be outside of the directory that lacks room. */
static char *file_system(struct arena *a, const char *dir)
{
	return arena_printf(a, "\"$(findmnt -no TARGET --target %s)\"", dir);
}

char *room_cure(struct arena *a, const char *dir)
{
	return arena_printf(a,
	    "du -xam %s | sort -n | tail  # the largest: remove what nobody needs",
	    file_system(a, dir));
}

char *inode_cure(struct arena *a, const char *dir)
{
	return arena_printf(a,
	    "find %s -xdev -printf '%%h\\n' | sort | uniq -c | sort -n | tail  # the fullest: remove what nobody needs",
	    file_system(a, dir));
}

static char *full_cure(struct arena *a, const char *dir, const char *account)
{
	struct statvfs fs;

	if (statvfs(dir, &fs) < 0 || fs.f_bavail == 0)
		return room_cure(a, dir);
	if (fs.f_files > 0 && fs.f_favail == 0)
		return inode_cure(a, dir);
	return arena_printf(a,
	    "find %s -xdev -user %s -size +1M -ls  # a quota: raise it, or remove what nobody needs",
	    file_system(a, dir), account);
}

char *locus_command(struct arena *a, const struct conf *cf, const char *words)
{
	const char *slash = strrchr(cf->path, '/');
	const char *name = conf_is_installed(cf) ?
	                       conf_installation(a, cf).name :
	                       arena_memdup(a, cf->path, (size_t)(slash - cf->path));

	return arena_printf(a, "locus -p %s %s", text_shell_word(a, name), words);
}

char *owner_command(struct arena *a, const struct owner *o, const char *command)
{
	if (o->as.name == NULL)
		return arena_strdup(a, command);
	return arena_printf(a, "runuser -u %s -- %s", o->as.name, command);
}

/* Who carries a cure out for whom. */
struct mender {
	struct arena *a;
	const struct conf *cf;
	const char *account;
	const char *as; /* what goes before a command that the account is to run */
};

static struct mender mender_of(
    struct arena *a, const struct cmd_ctx *x, const char *account)
{
	const struct passwd *own = getpwnam(account);
	int64_t uid;

	if (own == NULL && text_i64(account, 0, UINT32_MAX, &uid))
		own = getpwuid((uid_t)uid);
	if (own != NULL)
		account = arena_strdup(a, own->pw_name);
	return (struct mender){ a, x->cf, account,
		x->owner.as.name != NULL ?
		    arena_printf(a, "runuser -u %s -- ", account) :
		    "" };
}

/*
 * Root gives a name in dir away: dir may be another one by then, if the account puts a
 * link into the way, so root goes there first and looks where it is.
 */
static char *give_cure(const struct mender *m, const char *dir, const char *name)
{
	char real[PATH_MAX];

	if (realpath(dir, real) == NULL)
		snprintf(real, sizeof(real), "%s", dir);
	return arena_printf(m->a, "(cd -P %s && [ \"$PWD\" = %s ] && chown -hR %s %s)",
	    real, real, m->account, name);
}

static bool is_of_account(const struct mender *m, const struct stat *st)
{
	const struct passwd *own = getpwnam(m->account);

	return own != NULL && st->st_uid == own->pw_uid;
}

char *file_cure(
    struct arena *a, const struct cmd_ctx *x, const char *path, const char *account)
{
	struct mender m = mender_of(a, x, account);
	const char *slash = strrchr(path, '/');
	struct stat st;

	if (slash == NULL || (lstat(path, &st) == 0 && is_of_account(&m, &st)))
		return arena_printf(a, "%schmod u+r %s", m.as, path);
	return arena_printf(a, "%s && runuser -u %s -- chmod u+r %s",
	    give_cure(&m, arena_memdup(a, path, (size_t)(slash - path)),
		arena_printf(a, ".%s", slash)),
	    m.account, path);
}

/* Root may lead the shell to a name only where nobody else can exchange it. */
static bool is_roots_way(const char *path)
{
	struct fail ignored = { 0 };
	uid_t uid;

	return fs_ruler(path, &uid, &ignored) == OK && uid == 0;
}

char *mode_cure(
    struct arena *a, const struct cmd_ctx *x, const char *mode, const char *path)
{
	const char *account = x->owner.as.name, *slash = strrchr(path, '/');
	char *command = arena_printf(a, "chmod %s %s", mode, path);
	struct mender m;
	struct stat st;

	if (account == NULL || slash == NULL || is_roots_way(path))
		return command;
	command = owner_command(a, &x->owner, command);
	m = mender_of(a, x, account);
	if (lstat(path, &st) < 0 || is_of_account(&m, &st))
		return command;
	return arena_printf(a, "%s && %s",
	    give_cure(&m, arena_memdup(a, path, (size_t)(slash - path)),
		arena_printf(a, ".%s", slash)),
	    command);
}

/* Makes an absent directory as create makes it. In a place of root's alone only root
 * can do so. */
static char *make_cure(const struct mender *m, const char *dir)
{
	const char *mode = private_is_closed(m->a, m->cf, dir) ? "750" : "755";

	if (m->as[0] != '\0' && is_roots_way(dir))
		return arena_printf(
		    m->a, "install -d -m %s -o %s %s", mode, m->account, dir);
	return arena_printf(m->a, "%smkdir -p -m %s %s", m->as, mode, dir);
}

char *dir_cure(struct arena *a, const struct cmd_ctx *x, const char *dir,
    const char *account, enum err why)
{
	struct mender m = mender_of(a, x, account);
	struct statvfs fs;
	struct stat st;

	if (why == E_DISK_FULL)
		return full_cure(a, dir, account);
	if (stat(dir, &st) < 0)
		return make_cure(&m, dir);
	if (!S_ISDIR(st.st_mode))
		return arena_printf(
		    a, "%smv -T %s %s.bad && %s", m.as, dir, dir, make_cure(&m, dir));
	if (statvfs(dir, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0)
		return arena_printf(a, "mount -o remount,rw %s", file_system(a, dir));
	if (is_of_account(&m, &st))
		return arena_printf(a, "%schmod u+rwx %s", m.as, dir);
	return arena_printf(a, "%s && runuser -u %s -- chmod u+rwx %s",
	    give_cure(&m, dir, "."), m.account, dir);
}

char *restore_cure(
    struct arena *a, const struct owner *o, const char *path, const char *mode)
{
	const char *to = text_shell_word(a, path);
	const char *from = text_shell_word(a, text_base_name(path));

	if (o->as.name == NULL)
		return arena_printf(
		    a, "install -m %s YOUR_BACKUP/%s %s", mode, from, to);
	return arena_printf(a,
	    "runuser -u %s -- sh -c 'umask 077 && rm -f \"$0\" && cat >\"$0\" && chmod %s \"$0\"' %s <YOUR_BACKUP/%s",
	    o->as.name, mode, to, from);
}
