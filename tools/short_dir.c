/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The short directory for sockets. Its name was chosen at random when the project was
 * created, or given by the admin with db_socket. In the latter case it may contain
 * other files: only files with the names of our sockets and pid files are ever removed,
 * and the directory itself only if we created it and it is empty.
 */
#include "tools/supervisor/supervise.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/log.h"
#include "tools/private_dirs.h"
#include "tools/service.h"
#include "lib/banned.h"

enum { SOCKETS_MOST = 10000 };

/* Returns the short directory; NULL if the database's socket is in the run directory.
 */
static char *
short_dir(struct arena *a, const struct conf *cf)
{
	char *dir = database_socket_dir(a, cf);

	return strcmp(dir, cf->run_dir) == 0 ? NULL : dir;
}

enum err
short_dir_make(struct arena *a, const struct conf *cf, struct fail *f)
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
static void
remove_named(struct arena *a, const char *dir, const char *name, mode_t type)
{
	const char *path = arena_printf(a, "%s/%s", dir, name);
	struct stat st;

	if (lstat(path, &st) == 0 && (st.st_mode & S_IFMT) == type &&
	    st.st_uid == geteuid())
		unlink(path);
}

static void
remove_sockets(struct arena *a, const char *dir)
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

void
short_dir_remove(struct arena *a, const struct conf *cf)
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
