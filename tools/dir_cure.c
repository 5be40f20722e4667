/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/dir_cure.h"

#include <limits.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/private_dirs.h"
#include "lib/banned.h"

/* What fills a file system may be outside of the directory that lacks room. */
static char *
file_system(struct arena *a, const char *dir)
{
	return arena_printf(a, "\"$(findmnt -no TARGET --target %s)\"", dir);
}

char *
room_cure(struct arena *a, const char *dir)
{
	return arena_printf(a,
	    "du -xam %s | sort -n | tail  # the largest: remove what nobody needs",
	    file_system(a, dir));
}

char *
inode_cure(struct arena *a, const char *dir)
{
	return arena_printf(a,
	    "find %s -xdev -printf '%%h\\n' | sort | uniq -c | sort -n | tail  # the fullest: remove what nobody needs",
	    file_system(a, dir));
}

static char *
full_cure(struct arena *a, const char *dir, const char *account)
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

char *
locus_command(struct arena *a, const struct conf *cf, const char *words)
{
	const char *slash = strrchr(cf->path, '/');
	const char *name = conf_is_installed(cf) ?
	                       conf_installation(a, cf).name :
	                       arena_memdup(a, cf->path, (size_t)(slash - cf->path));

	return arena_printf(a, "locus -p %s %s", text_shell_word(a, name), words);
}

char *
owner_command(struct arena *a, const struct owner *o, const char *command)
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

static struct mender
mender_of(struct arena *a, const struct cmd_ctx *x, const char *account)
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
static char *
give_cure(const struct mender *m, const char *dir, const char *name)
{
	char real[PATH_MAX];

	if (realpath(dir, real) == NULL)
		snprintf(real, sizeof(real), "%s", dir);
	return arena_printf(m->a, "(cd -P %s && [ \"$PWD\" = %s ] && chown -hR %s %s)",
	    real, real, m->account, name);
}

static bool
is_of_account(const struct mender *m, const struct stat *st)
{
	const struct passwd *own = getpwnam(m->account);

	return own != NULL && st->st_uid == own->pw_uid;
}

char *
file_cure(
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
static bool
is_roots_way(const char *path)
{
	struct fail ignored = { 0 };
	uid_t uid;

	return fs_ruler(path, &uid, &ignored) == OK && uid == 0;
}

char *
mode_cure(struct arena *a, const struct cmd_ctx *x, const char *mode, const char *path)
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
static char *
make_cure(const struct mender *m, const char *dir)
{
	const char *mode = private_is_closed(m->a, m->cf, dir) ? "750" : "755";

	if (m->as[0] != '\0' && is_roots_way(dir))
		return arena_printf(
		    m->a, "install -d -m %s -o %s %s", mode, m->account, dir);
	return arena_printf(m->a, "%smkdir -p -m %s %s", m->as, mode, dir);
}

char *
dir_cure(struct arena *a, const struct cmd_ctx *x, const char *dir, const char *account,
    enum err why)
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

char *
restore_cure(struct arena *a, const struct owner *o, const char *path, const char *mode)
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
