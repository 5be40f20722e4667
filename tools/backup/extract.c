/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the files of a backup to the directories of the restored project. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/backup/restore.h"
#include "lib/banned.h"

enum { CHUNK_BYTES = 256 << 10, LINKS_MOST = 100000 };

/* Has a part of the name that would lead out of the directory? */
static bool leads_out(const char *name)
{
	for (const char *p = name; *p != '\0';) {
		size_t n = strcspn(p, "/");

		if (n == 0 || (n <= 2 && strspn(p, ".") == n))
			return true;
		p += n + (p[n] == '/');
	}
	return false;
}

/* Returns where an entry belongs; NULL if no directory of the project has it. */
static char *path_of(struct arena *a, const struct conf *cf, const char *name)
{
	const struct {
		const char *prefix, *dir;
	} dirs[] = { { "project", cf->project_dir }, { "keys", cf->key_dir },
		{ "upload", cf->upload_dir }, { "download", cf->download_dir } };

	for (size_t i = 0; i < N(dirs) && !leads_out(name); i++) {
		const char *rest = text_below(dirs[i].prefix, name);

		if (rest != NULL)
			return arena_printf(a, "%s%s", dirs[i].dir, rest);
	}
	return NULL;
}

static enum err extract_data(struct restore *r, int fd, const char *path)
{
	char chunk[CHUNK_BYTES];
	size_t n;

	for (;;) {
		const char *p = chunk;

		TRY(backup_read(&r->in, chunk, sizeof(chunk), &n));
		if (n == 0)
			return OK;
		while (n > 0) {
			ssize_t put = write(fd, p, n);

			if (put < 0 && errno == EINTR)
				continue;
			if (put < 0)
				return FAIL_ERRNO(r->x->f, "writing %s", path);
			p += put;
			n -= (size_t)put;
		}
	}
}

static enum err extract_file(struct restore *r, const char *path)
{
	const struct tar_entry *t = &r->in.now;
	const struct timespec times[2] = { { .tv_sec = t->mtime },
		{ .tv_sec = t->mtime } };
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	enum err e;

	if (fd < 0)
		return FAIL_ERRNO(r->x->f, "creating %s", path);
	e = extract_data(r, fd, path);
	if (e == OK && (fchmod(fd, t->mode) < 0 || futimens(fd, times) < 0))
		e = FAIL_ERRNO(r->x->f, "writing %s", path);
	if (close(fd) < 0 && e == OK)
		e = FAIL_ERRNO(r->x->f, "writing %s", path);
	return e;
}

static enum err extract_at(struct restore *r, char *path)
{
	const struct tar_entry *t = &r->in.now;

	switch (t->kind) {
	case TAR_DIR:
		TRY(fs_mkdirs(path, 0700, r->x->f));
		return chmod(path, t->mode | 0700) == 0 ?
		           OK :
		           FAIL_ERRNO(r->x->f, "making %s", path);
	case TAR_LINK:
		if (r->nlinks == LINKS_MOST)
			return FAIL(
			    r->x->f, E_BADREQ, "the archive has too many links");
		PUSH(r->x->a, r->links, r->nlinks, r->links_cap) = (struct late_link){
			arena_strdup(r->x->a, path), arena_strdup(r->x->a, t->target)
		};
		return OK;
	default:
		return extract_file(r, path);
	}
}

enum err restore_extract(struct restore *r)
{
	struct arena a = { 0 };
	char *path = path_of(&a, r->x->cf, r->in.now.name);
	enum err e =
	    path == NULL ?
		FAIL(r->x->f, E_BADREQ,
		    "%.200s in the archive belongs to no directory of a project",
		    r->in.now.name) :
		extract_at(r, path);

	arena_free(&a);
	return e;
}

enum err restore_extract_end(struct restore *r)
{
	for (size_t i = 0; i < r->nlinks; i++)
		if (symlink(r->links[i].target, r->links[i].path) < 0)
			return FAIL_ERRNO(
			    r->x->f, "making the link %s", r->links[i].path);
	for (size_t i = 0; i < r->in.ntorn; i++) {
		char *path = path_of(r->x->a, r->x->cf, r->in.torn[i]);

		if (path != NULL)
			TRY(fs_unlink(path, r->x->f));
	}
	return OK;
}

static enum err extract_all(struct restore *r)
{
	enum err e;

	TRY(backup_in_begin(r->x->a, r->fd, &r->in, r->x->f));
	while ((e = backup_next(&r->in)) == OK) {
		const char *name = r->in.now.name;

		if (strncmp(name, BACKUP_CONFIG, strlen(BACKUP_CONFIG)) != 0 &&
		    strncmp(name, BACKUP_DATABASE, strlen(BACKUP_DATABASE)) != 0)
			TRY(restore_extract(r));
	}
	return e == E_NOTFOUND ? restore_extract_end(r) : e;
}

enum err restore_read_files(struct restore *r)
{
	enum err e;

	backup_in_free(&r->in);
	if (lseek(r->fd, 0, SEEK_SET) < 0)
		return FAIL_ERRNO(r->x->f, "reading the archive again");
	e = extract_all(r);
	backup_in_free(&r->in);
	r->in = (struct backup_in){ 0 };
	return e;
}
