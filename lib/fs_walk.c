/* SPDX-License-Identifier: Apache-2.0 */
/* Ways through directories that other accounts may change at the same time. */
#include "lib/fs.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/banned.h"

enum { DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC };

/* Resolves the longest part of the path that exists, and appends the rest. */
static enum err
resolve_once(const char *path, char out[PATH_MAX], struct fail *f)
{
	char part[PATH_MAX], real[PATH_MAX];
	size_t n = strlen(path);

	if (n == 0 || n >= sizeof(part))
		return FAIL(f, E_BADREQ, "path of %zu bytes: empty or too long", n);
	snprintf(part, sizeof(part), "%s", path);
	while (realpath(n == 0 ? (path[0] == '/' ? "/" : ".") : part, real) == NULL) {
		if (errno != ENOENT || n == 0)
			return FAIL_ERRNO(f, "looking at %s", path);
		while (n > 0 && part[n - 1] == '/')
			n--;
		while (n > 0 && part[n - 1] != '/')
			n--;
		part[n] = '\0';
	}
	if (snprintf(out, PATH_MAX, "%s/%s", real, path + n) >= PATH_MAX)
		return FAIL(f, E_BADREQ, "path of %zu bytes is too long", strlen(path));
	return OK;
}

/* on_the_way: in a sticky directory nobody else replaces root's own. */
static bool
only_root_writes(int fd, bool on_the_way)
{
	struct stat st;

	if (fstat(fd, &st) < 0 || st.st_uid != 0)
		return false;
	return (on_the_way && (st.st_mode & S_ISVTX) != 0) ||
	       ((st.st_mode & S_IWOTH) == 0 &&
		   ((st.st_mode & S_IWGRP) == 0 || st.st_gid == 0));
}

/* Goes one directory down; the descriptor of the upper one is closed. */
static enum err
step_down(int *fd, const char *name, unsigned mode, const char *path, struct fail *f)
{
	int next;
	enum err e = OK;

	if (mode != 0 && mkdirat(*fd, name, mode) < 0 && errno != EEXIST)
		return FAIL_ERRNO(f, "making %s of %s", name, path);
	next = openat(*fd, name, DIR_FLAGS);
	if (next < 0)
		e = FAIL_ERRNO(f, "opening %s of %s", name, path);
	close(*fd);
	*fd = next;
	return e;
}

enum err
fs_open_dir(const char *path, unsigned mode, int *fd, bool *of_root, struct fail *f)
{
	char real[PATH_MAX], *save = NULL;
	bool roots = true;

	*fd = -1;
	TRY(resolve_once(path, real, f));
	*fd = open("/", DIR_FLAGS);
	if (*fd < 0)
		return FAIL_ERRNO(f, "opening /");
	for (char *w = strtok_r(real, "/", &save); w != NULL;
	     w = strtok_r(NULL, "/", &save)) {
		enum err e;

		if (strcmp(w, ".") == 0)
			continue;
		roots = roots && only_root_writes(*fd, true);
		e = step_down(fd, w, mode, path, f);
		if (e != OK) {
			if (*fd >= 0)
				close(*fd);
			*fd = -1;
			return e;
		}
	}
	if (of_root != NULL)
		*of_root = roots && only_root_writes(*fd, false);
	return OK;
}

enum err
fs_remove_empty(const char *path, struct fail *f)
{
	char above[PATH_MAX], *slash;
	enum err e = OK;
	int fd;

	if (realpath(path, above) == NULL)
		return errno == ENOENT ? OK : FAIL_ERRNO(f, "looking at %s", path);
	slash = strrchr(above, '/');
	*slash = '\0';
	TRY(fs_open_dir(slash == above ? "/" : above, 0, &fd, NULL, f));
	if (unlinkat(fd, slash + 1, AT_REMOVEDIR) < 0 && errno != ENOENT)
		e = FAIL_ERRNO(f, "removing %s", path);
	close(fd);
	return e;
}
