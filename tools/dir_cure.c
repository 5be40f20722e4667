/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/dir_cure.h"

#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include "lib/banned.h"

char *
room_cure(struct arena *a, const char *dir)
{
	return arena_printf(a,
	    "du -xam %s | sort -n | tail  # the largest: remove what nobody needs",
	    dir);
}

char *
inode_cure(struct arena *a, const char *dir)
{
	return arena_printf(a,
	    "find %s -xdev -printf '%%h\\n' | sort | uniq -c | sort -n | tail  # the fullest: remove what nobody needs",
	    dir);
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
	    dir, account);
}

char *
file_cure(struct arena *a, const struct conf *cf, const char *path, const char *account)
{
	const struct passwd *own = getpwnam(account);
	size_t n = strlen(cf->key_dir);
	bool key = strncmp(path, cf->key_dir, n) == 0 && path[n] == '/';
	struct stat st;

	if (own != NULL && lstat(path, &st) == 0 && st.st_uid == own->pw_uid)
		return arena_printf(a, "chmod u+r %s", path);
	return arena_printf(a, "chown -hR %s %s && runuser -u %s -- chmod u+r %s",
	    account, key ? cf->key_dir : path, account, path);
}

char *
dir_cure(struct arena *a, const char *dir, const char *account, enum err why)
{
	struct statvfs fs;
	struct stat st;

	if (why == E_DISK_FULL)
		return full_cure(a, dir, account);
	if (stat(dir, &st) < 0)
		return arena_printf(a, "mkdir -p %s", dir);
	if (!S_ISDIR(st.st_mode))
		return arena_printf(a, "mv %s %s.bad && mkdir %s", dir, dir, dir);
	if (statvfs(dir, &fs) == 0 && (fs.f_flag & ST_RDONLY) != 0)
		return arena_printf(a,
		    "mount -o remount,rw \"$(findmnt -no TARGET --target %s)\"", dir);
	return arena_printf(a, "chown -R %s %s && chmod u+rwx %s", account, dir, dir);
}
