/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/private_dirs.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/log.h"
#include "model/owner.h"
#include "tools/destroy_here.h"
#include "tools/service.h"
#include "lib/banned.h"

enum { OTHERS = S_IRWXO, OTHERS_READ = S_IROTH | S_IWOTH };

unsigned
private_run_mode(const struct conf *cf)
{
	return web_peer_of(cf).n == 0 ? 0750 : 0711;
}

static void
note_loose(
    struct loose_path *v, size_t *n, const char *path, mode_t type, mode_t forbidden)
{
	struct stat st;

	if (lstat(path, &st) < 0 || (st.st_mode & S_IFMT) != type ||
	    (st.st_mode & forbidden) == 0)
		return;
	v[(*n)++] = (struct loose_path){ path, st.st_mode & 07777,
		st.st_mode & forbidden };
}

/* A socket that could not be given to the web server's group is open to all, and the
 * service looks at who connects. */
static void
note_loose_socket(struct loose_path *v, size_t *n, const char *path, gid_t group)
{
	struct stat st;

	if (group == (gid_t)WEB_GROUP_NONE)
		note_loose(v, n, path, S_IFSOCK, S_IRWXG | S_IRWXO);
	else if (lstat(path, &st) == 0 && st.st_gid == group)
		note_loose(v, n, path, S_IFSOCK, S_IRWXO);
}

enum { CLOSED = 8 };

static void
closed_dirs(struct arena *a, const struct conf *cf, const char *v[CLOSED])
{
	const char *const all[CLOSED] = { cf->log_dir, cf->upload_dir,
		arena_printf(a, "%s/decisions", cf->run_dir),
		arena_printf(a, "%s/recording", cf->run_dir),
		project_path(a, cf, "recordings"), project_path(a, cf, "results"),
		project_path(a, cf, "archives"), project_path(a, cf, "tmp") };

	memcpy(v, all, sizeof(all));
}

bool
private_is_closed(struct arena *a, const struct conf *cf, const char *dir)
{
	const char *closed[CLOSED];
	bool is = strcmp(dir, cf->run_dir) == 0 && private_run_mode(cf) == 0750;

	closed_dirs(a, cf, closed);
	for (size_t i = 0; i < N(closed); i++)
		is = is || strcmp(dir, closed[i]) == 0;
	return is;
}

size_t
private_loose(struct arena *a, const struct conf *cf, struct loose_path *v)
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
	for (size_t i = 0; i < N(sockets); i++)
		note_loose_socket(v, &n, service_socket(a, cf, sockets[i]), group);
	return n;
}

void
private_close(struct arena *a, const struct conf *cf)
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
