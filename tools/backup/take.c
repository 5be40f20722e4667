/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads a backup. For each entry the line is written that its list must have; when the
 * list arrives it must be equal, but for files that it calls torn.
 */
#include "tools/backup/backup.h"

#include <stdlib.h>
#include <string.h>
#include "lib/buf.h"
#include "tools/backup/list.h"
#include "lib/banned.h"

enum { HEAD_MOST = 1 << 20, LIST_MOST = 64 << 20, CHUNK_BYTES = 256 << 10 };

const char *
backup_text(const json_t *root, const char *key)
{
	const char *s = json_string_value(json_object_get(root, key));

	return s == NULL ? "" : s;
}

void
backup_in_free(struct backup_in *b)
{
	tar_close(b->tar);
	b->tar = NULL;
	json_decref(b->head);
	json_decref(b->end);
	arena_free(&b->list_arena);
}

enum err
backup_read(struct backup_in *b, void *p, size_t max, size_t *n)
{
	TRY(tar_read(b->tar, p, max, n, b->f));
	sha256_add(b->entry, p, *n);
	b->left -= (int64_t)*n;
	if (*n == 0 && b->left != 0)
		return FAIL(
		    b->f, E_BADREQ, "%.200s in the archive is cut short", b->now.name);
	return OK;
}

enum err
backup_read_all(struct backup_in *b, struct arena *a, size_t max, char **p, size_t *n)
{
	if (b->now.size < 0 || (size_t)b->now.size > max)
		return FAIL(
		    b->f, E_BADREQ, "%.200s in the archive is too large", b->now.name);
	*p = arena_alloc(a, (size_t)b->now.size + 1);
	*n = 0;
	for (;;) {
		size_t got;

		TRY(backup_read(b, *p + *n, (size_t)b->now.size - *n, &got));
		*n += got;
		if (got == 0 || *n == (size_t)b->now.size)
			return OK;
	}
}

/* Reads what the caller has left of the current entry. */
static enum err
skip_rest(struct backup_in *b)
{
	char chunk[CHUNK_BYTES];
	size_t n = 0;

	if (b->now.name == NULL || b->now.kind != TAR_FILE)
		return OK;
	do
		TRY(backup_read(b, chunk, sizeof(chunk), &n));
	while (n > 0);
	return OK;
}

/* Keeps the name at the end of a line (list_add()). */
static void
keep_torn(struct backup_in *b, const char *line, size_t n)
{
	const char *end = line + n - 1, *p = line;
	struct buf name = buf_new(b->a);

	for (int blanks = 0; p < end && blanks < 4; p++)
		blanks += *p == ' ';
	for (; p < end; p++) {
		char hex[3] = { 0 };

		if (*p != '%' || end - p < 3) {
			buf_put(&name, p, 1);
			continue;
		}
		memcpy(hex, p + 1, 2);
		hex[0] = (char)strtol(hex, NULL, 16);
		buf_put(&name, hex, 1);
		p += 2;
	}
	PUSH(b->a, b->torn, b->ntorn, b->torn_cap) = name.p;
}

/* Lines are equal, or differ only in that theirs says "torn". */
static bool
same_line(struct backup_in *b, const char *ours, const char *theirs, size_t n)
{
	if (memcmp(ours, theirs, n) == 0)
		return true;
	if (ours[0] != 'f' || theirs[0] != 't' ||
	    memcmp(ours + 1, theirs + 1, n - 1) != 0)
		return false;
	keep_torn(b, theirs, n);
	return true;
}

static enum err
compare_lists(struct backup_in *b, const char *list, size_t n)
{
	const char *ours = b->list.p, *theirs = list;

	while (*ours != '\0') {
		size_t m = strcspn(ours, "\n") + 1;

		if ((size_t)(theirs - list) + m > n || !same_line(b, ours, theirs, m))
			return FAIL(b->f, E_BADREQ,
			    "the archive is damaged: its list of digests does not have the line \"%.*s\"",
			    (int)(m < 200 ? m - 1 : 200), ours);
		ours += m;
		theirs += m;
	}
	if ((size_t)(theirs - list) != n)
		return FAIL(b->f, E_BADREQ,
		    "the archive is damaged: it lacks an entry that its list of digests has: %.200s",
		    theirs);
	return OK;
}

static enum err
take_list(struct backup_in *b)
{
	struct arena a = { 0 };
	char *list;
	size_t n;
	enum err e = backup_read_all(b, &a, LIST_MOST, &list, &n);
	char unused[SHA256_HEX];

	sha256_end(b->entry, unused);
	if (e == OK)
		e = compare_lists(b, list, n);
	if (e == OK)
		sha256_add(b->lists, list, n);
	arena_free(&a);
	arena_reset(&b->list_arena);
	b->list = buf_new(&b->list_arena);
	return e;
}

static enum err
take_json(struct backup_in *b, json_t **root)
{
	struct arena a = { 0 };
	char *text, unused[SHA256_HEX];
	size_t n;
	enum err e = backup_read_all(b, &a, HEAD_MOST, &text, &n);

	sha256_end(b->entry, unused);
	if (e == OK) {
		*root = json_loadb(text, n, 0, NULL);
		if (*root == NULL)
			e = FAIL(b->f, E_BADREQ, "%s in the archive is malformed",
			    b->now.name);
	}
	arena_free(&a);
	return e;
}

static int64_t
number_of(const json_t *root, const char *key)
{
	return json_integer_value(json_object_get(root, key));
}

/* Compares the archive with what its end says of it. */
static enum err
take_end(struct backup_in *b)
{
	char digest[SHA256_HEX];
	struct tar_entry none;

	TRY(take_json(b, &b->end));
	sha256_end(b->lists, digest);
	if (b->list.n > 0 || number_of(b->end, "entries") != b->entries ||
	    number_of(b->end, "bytes") != b->bytes ||
	    strcmp(backup_text(b->end, "sha256_of_lists"), digest) != 0)
		return FAIL(b->f, E_BADREQ,
		    "the archive is damaged: it has %lld entries with %lld bytes, but its end says %lld with %lld",
		    (long long)b->entries, (long long)b->bytes,
		    (long long)number_of(b->end, "entries"),
		    (long long)number_of(b->end, "bytes"));
	TRY(tar_next(b->tar, &none, b->f));
	return FAIL(b->f, E_BADREQ, "the archive goes on after its end");
}

/* Goes to the next entry of the archive. */
static enum err
step(struct backup_in *b)
{
	enum err e;

	b->now.name = NULL;
	e = tar_next(b->tar, &b->now, b->f);
	if (e == E_NOTFOUND)
		return FAIL(b->f, E_BADREQ,
		    "the archive is a partial one: it has no %s; the backup was interrupted, or the copy is not complete",
		    BACKUP_END);
	b->left = b->now.size;
	return e;
}

enum err
backup_next(struct backup_in *b)
{
	bool listed = strcmp(b->now.name, BACKUP_HEAD) != 0;

	TRY(skip_rest(b));
	if (listed) {
		if (b->now.kind == TAR_LINK)
			sha256_add(b->entry, b->now.target, strlen(b->now.target));
		b->entries++;
		b->bytes += b->now.kind == TAR_FILE ? b->now.size : 0;
		list_add(&b->list, &b->now, false, b->entry);
	}
	for (;;) {
		TRY(step(b));
		if (strcmp(b->now.name, BACKUP_END) == 0)
			return take_end(b);
		if (strncmp(b->now.name, LIST_PREFIX, strlen(LIST_PREFIX)) != 0)
			return OK;
		TRY(take_list(b));
	}
}

enum err
backup_in_begin(struct arena *a, int fd, struct backup_in *b, struct fail *f)
{
	enum err e;

	*b = (struct backup_in){ .a = a, .f = f };
	b->list = buf_new(&b->list_arena);
	b->entry = sha256_new(a);
	b->lists = sha256_new(a);
	e = tar_open(fd, &b->tar, f);
	if (e == OK)
		e = tar_next(b->tar, &b->now, f);
	if (e == E_BADREQ)
		return FAIL(f, E_BADREQ,
		    "this is not a backup, or its beginning is lost: %.250s",
		    f->detail);
	if (e == E_NOTFOUND || (e == OK && strcmp(b->now.name, BACKUP_HEAD) != 0))
		return FAIL(f, E_BADREQ,
		    "this is not a backup made by locus: it does not begin with %s",
		    BACKUP_HEAD);
	if (e != OK)
		return e;
	b->left = b->now.size;
	TRY(take_json(b, &b->head));
	if (number_of(b->head, "format") != BACKUP_FORMAT)
		return FAIL(f, E_BADREQ,
		    "the backup has format %lld, this program knows %d; use a newer Locus",
		    (long long)number_of(b->head, "format"), (int)BACKUP_FORMAT);
	return OK;
}
