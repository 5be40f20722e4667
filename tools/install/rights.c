/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/install/rights.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/words.h"
#include "tools/privilege.h"
#include "lib/banned.h"

enum { MODE_BITS = 07777 };

static const struct {
	const char *path;
	enum right_kind kind;
	enum right_holder owner, group;
	unsigned mode;
	enum { ALWAYS, MAYBE } needed;
} rows[] = {
#define RIGHT(path, kind, owner, group, mode, needed, who)                             \
	{ path, RIGHT_##kind, RIGHT_##owner, RIGHT_##group, mode, needed },
#include "tools/install/rights.def"
#undef RIGHT
};

struct right *
rights_of(struct arena *a, const struct installation *p, size_t *n)
{
	const struct word name = { "NAME", p->name };
	struct right *all = NEWN(a, struct right, N(rows));

	for (size_t i = 0; i < N(rows); i++)
		all[i] = (struct right){ words_fill(a, rows[i].path, &name, 1),
			rows[i].kind, rows[i].owner, rows[i].group, rows[i].mode,
			rows[i].needed == MAYBE };
	*n = N(rows);
	return all;
}

/* The account of Debian's Apache. */
static const char web_account[] = "www-data";

const char *
right_holder_name(const struct installation *p, enum right_holder h)
{
	switch (h) {
	case RIGHT_ROOT:
		break;
	case RIGHT_PROJECT:
		return p->account;
	case RIGHT_ADM:
		return "adm";
	case RIGHT_WEB:
		return web_account;
	}
	return "root";
}

static bool
find_uid(const char *name, uid_t *uid)
{
	const struct passwd *p = getpwnam(name);

	if (p != NULL)
		*uid = p->pw_uid;
	return p != NULL;
}

static bool
find_gid(const char *name, gid_t *gid)
{
	const struct group *g = getgrnam(name);

	if (g != NULL)
		*gid = g->gr_gid;
	return g != NULL;
}

static bool
is_kind(mode_t mode, enum right_kind kind)
{
	return kind == RIGHT_DIR  ? S_ISDIR(mode) :
	       kind == RIGHT_FILE ? S_ISREG(mode) :
	                            S_ISSOCK(mode);
}

char *
right_wrong(struct arena *a, const struct installation *p, const struct right *r)
{
	static const char *const kinds[] = { "directory", "file", "socket" };
	const char *owner = right_holder_name(p, r->owner);
	const char *group = right_holder_name(p, r->group);
	uid_t uid;
	gid_t gid;
	struct stat st;

	if (lstat(r->path, &st) < 0)
		return errno == ENOENT && r->maybe ?
		           NULL :
		           arena_printf(a, "cannot be looked at: %s", strerror(errno));
	if (!is_kind(st.st_mode, r->kind))
		return arena_printf(a, "is not a %s", kinds[r->kind]);
	if (!find_uid(owner, &uid) || !find_gid(group, &gid))
		return arena_printf(a,
		    "should belong to %s:%s, which this machine lacks", owner, group);
	if (st.st_uid != uid || st.st_gid != gid)
		return arena_printf(a, "belongs to %u:%u, not to %s:%s",
		    (unsigned)st.st_uid, (unsigned)st.st_gid, owner, group);
	if ((st.st_mode & MODE_BITS & ~r->mode) != 0 ||
	    (r->kind == RIGHT_DIR && (st.st_mode & MODE_BITS) != r->mode))
		return arena_printf(a, "has mode %04o, not %04o",
		    (unsigned)st.st_mode & MODE_BITS, r->mode);
	return NULL;
}

enum err
right_set(struct arena *a, const struct installation *p, const struct right *r,
    struct fail *f)
{
	const char *owner = right_holder_name(p, r->owner);
	const char *group = right_holder_name(p, r->group);
	enum err e = OK;
	uid_t uid;
	gid_t gid;
	int fd;

	(void)a;
	if (!find_uid(owner, &uid) || !find_gid(group, &gid))
		return FAIL(f, E_CONFIG,
		    "this machine lacks the account %s or the group %s", owner, group);
	fd = open(r->path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC |
			       (r->kind == RIGHT_DIR ? O_DIRECTORY : 0));
	if (fd < 0)
		return FAIL_ERRNO(f, "opening %s", r->path);
	/* Changing the owner clears the bit that gives new files the group. */
	if ((geteuid() == 0 && fchown(fd, uid, gid) < 0) || fchmod(fd, r->mode) < 0)
		e = FAIL_ERRNO(f, "giving %s to %s:%s with mode %04o", r->path, owner,
		    group, r->mode);
	close(fd);
	return e;
}
