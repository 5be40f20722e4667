/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a backup: entries, and the lists of their digests. */
#include "tools/backup/backup.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <unistd.h>
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { LIST_MOST = 256 << 10, CHUNK_BYTES = 256 << 10, JSON_FLAGS = JSON_INDENT(1) };

void list_add(
    struct buf *list, const struct tar_entry *t, bool torn, struct sha256 *data)
{
	static const char kinds[] = {
		[TAR_FILE] = 'f', [TAR_DIR] = 'd', [TAR_LINK] = 'l'
	};
	char digest[SHA256_HEX];

	sha256_end(data, digest);
	buf_printf(list, "%c %03o %lld %s ", torn ? 't' : kinds[t->kind],
	    t->kind == TAR_LINK ? 0777 : t->mode,
	    t->kind == TAR_FILE ? (long long)t->size : 0LL, digest);
	for (const char *p = t->name; *p != '\0'; p++)
		if ((unsigned char)*p <= ' ' || *p == '%' || *p == 127)
			buf_printf(list, "%%%02X", (unsigned char)*p);
		else
			buf_put(list, p, 1);
	buf_puts(list, "\n");
}

enum err backup_out_begin(
    struct cmd_ctx *x, int fd, struct backup_out *b, struct fail *f)
{
	struct stat st;

	*b = (struct backup_out){ .x = x };
	b->list = buf_new(&b->list_arena);
	b->entry = sha256_new(x->a);
	b->lists = sha256_new(x->a);
	if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode)) {
		b->own_dev = st.st_dev;
		b->own_ino = st.st_ino;
	}
	return tar_create(fd, &b->tar, f);
}

void backup_out_free(struct backup_out *b)
{
	tar_free(b->tar);
	b->tar = NULL;
	arena_free(&b->list_arena);
}

/* Puts an entry that no list names: the head, a list, the end. */
static enum err put_unlisted(
    struct backup_out *b, const char *name, const void *p, size_t n, struct fail *f)
{
	const struct tar_entry t = { .name = name,
		.kind = TAR_FILE,
		.size = (int64_t)n,
		.mtime = clock_now(),
		.mode = 0600 };

	TRY(tar_begin(b->tar, &t, f));
	return tar_write(b->tar, p, n, f);
}

static enum err put_list(struct backup_out *b, struct fail *f)
{
	char name[32];

	if (b->list.n == 0)
		return OK;
	sha256_add(b->lists, b->list.p, b->list.n);
	snprintf(name, sizeof(name), LIST_PREFIX "%08lld", (long long)++b->nlists);
	TRY(put_unlisted(b, name, b->list.p, b->list.n, f));
	arena_reset(&b->list_arena);
	b->list = buf_new(&b->list_arena);
	return OK;
}

/* Lists the entry whose data b->entry has digested. */
static enum err entry_ended(
    struct backup_out *b, const struct tar_entry *t, bool torn, struct fail *f)
{
	list_add(&b->list, t, torn, b->entry);
	b->entries++;
	b->bytes += t->kind == TAR_FILE ? t->size : 0;
	return b->list.n < LIST_MOST ? OK : put_list(b, f);
}

enum err backup_put_bytes(struct backup_out *b, const char *name, const void *p,
    size_t n, const struct stat *st, struct fail *f)
{
	const struct tar_entry t = { .name = name,
		.kind = TAR_FILE,
		.size = (int64_t)n,
		.mtime = st == NULL ? clock_now() : st->st_mtim.tv_sec,
		.mode = st == NULL ? 0600 : st->st_mode & 0777 };

	TRY(tar_begin(b->tar, &t, f));
	sha256_add(b->entry, p, n);
	TRY(tar_write(b->tar, p, n, f));
	return entry_ended(b, &t, false, f);
}

/* Puts the data of a file; *torn: it had less than its size. */
static enum err put_data(
    struct backup_out *b, int fd, const struct tar_entry *t, bool *torn, struct fail *f)
{
	char chunk[CHUNK_BYTES];

	for (int64_t left = t->size; left > 0;) {
		size_t want = left < CHUNK_BYTES ? (size_t)left : CHUNK_BYTES;
		ssize_t n = *torn ? 0 : read(fd, chunk, want);

		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return FAIL_ERRNO(f, "reading %s", t->name);
		if (n == 0) {
			*torn = true;
			n = (ssize_t)want;
			memset(chunk, 0, want);
		}
		sha256_add(b->entry, chunk, (size_t)n);
		TRY(tar_write(b->tar, chunk, (size_t)n, f));
		left -= n;
	}
	return OK;
}

static enum err put_file(
    struct backup_out *b, struct tar_entry *t, const char *path, struct fail *f)
{
	struct stat st;
	bool torn = false;
	int fd;
	enum err e = fs_open_file(path, &fd, f);

	if (e == E_NOTFOUND) {
		b->vanished++;
		return OK;
	}
	if (e != OK)
		return e;
	if (fstat(fd, &st) < 0) {
		close(fd);
		return FAIL_ERRNO(f, "looking at %s", path);
	}
	if (st.st_dev == b->own_dev && st.st_ino == b->own_ino) {
		close(fd);
		return OK;
	}
	t->size = st.st_size;
	t->mtime = st.st_mtim.tv_sec;
	t->mode = st.st_mode & 0777;
	e = tar_begin(b->tar, t, f);
	if (e == OK)
		e = put_data(b, fd, t, &torn, f);
	close(fd);
	b->torn += torn;
	return e == OK ? entry_ended(b, t, torn, f) : e;
}

enum err backup_put_path(
    struct backup_out *b, const char *name, const char *path, struct fail *f)
{
	struct tar_entry t = { .name = name };
	char target[PATH_MAX];
	struct stat st;
	ssize_t n;

	if (lstat(path, &st) < 0 && errno == ENOENT) {
		b->vanished++;
		return OK;
	}
	if (lstat(path, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", path);
	t.mtime = st.st_mtim.tv_sec;
	t.mode = st.st_mode & 0777;
	if (S_ISREG(st.st_mode))
		return put_file(b, &t, path, f);
	if (S_ISDIR(st.st_mode)) {
		t.kind = TAR_DIR;
	} else if (S_ISLNK(st.st_mode)) {
		n = readlink(path, target, sizeof(target) - 1);
		if (n < 0)
			return FAIL_ERRNO(f, "reading the link %s", path);
		target[n] = '\0';
		t.kind = TAR_LINK;
		t.target = target;
		sha256_add(b->entry, target, (size_t)n);
	} else {
		return OK; /* sockets and pipes are made anew */
	}
	TRY(tar_begin(b->tar, &t, f));
	return entry_ended(b, &t, false, f);
}

static int json_piece(const char *p, size_t n, void *arg)
{
	buf_put(arg, p, n);
	return 0;
}

enum err backup_put_json(
    struct backup_out *b, const char *name, json_t *root, struct fail *f)
{
	struct arena a = { 0 };
	struct buf text = buf_new(&a);
	enum err e;

	json_dump_callback(root, json_piece, &text, JSON_FLAGS);
	json_decref(root);
	buf_puts(&text, "\n");
	e = put_unlisted(b, name, text.p, text.n, f);
	arena_free(&a);
	return e;
}

enum err backup_out_end(struct backup_out *b, json_t *extra, struct fail *f)
{
	char digest[SHA256_HEX];
	enum err e = put_list(b, f);

	sha256_end(b->lists, digest);
	json_object_set_new(extra, "entries", json_integer(b->entries));
	json_object_set_new(extra, "bytes", json_integer(b->bytes));
	json_object_set_new(extra, "lists", json_integer(b->nlists));
	json_object_set_new(extra, "sha256_of_lists", json_string(digest));
	if (e != OK) {
		json_decref(extra);
		return e;
	}
	TRY(backup_put_json(b, BACKUP_END, extra, f));
	return tar_end(b->tar, f);
}
