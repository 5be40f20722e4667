/* SPDX-License-Identifier: Apache-2.0 */
/* A writer owns its file (by a lock that the kernel releases); readers need no lock. */
#include "lib/ring.h"

#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/hash.h"
#include "lib/banned.h"

enum { HEAD = 64, ALIGN = 8, READ_MOST = 1 << 30, SHARE = 4 };

static const char file_magic[] = "LOCRING1";
static const uint32_t frame_magic = 0x4d52464c;

struct head {
	char magic[8];
	uint64_t bytes, key;
};

struct frame {
	uint32_t magic, bytes; /* bytes of the record that follows */
	uint64_t number, sum;
};

/* The file's key is part of it. */
static uint64_t frame_checksum(uint64_t key, const struct frame *f, const char *p)
{
	return hash_bytes(
	    HASH_SEED ^ key ^ f->number ^ (uint64_t)f->bytes << 32, p, f->bytes);
}

static size_t frame_size(size_t n)
{
	return (sizeof(struct frame) + n + ALIGN - 1) / ALIGN * ALIGN;
}

/* Returns the complete record at this offset; NULL if there is none. */
static const char *frame_at(
    const char *file, size_t bytes, uint64_t key, size_t at, struct frame *f)
{
	if (bytes - at < sizeof(*f) ||
	    memcmp(file + at, &frame_magic, sizeof(frame_magic)) != 0)
		return NULL;
	memcpy(f, file + at, sizeof(*f));
	if (f->bytes > bytes - at - sizeof(*f) ||
	    f->sum != frame_checksum(key, f, file + at + sizeof(*f)))
		return NULL;
	return file + at + sizeof(*f);
}

/* Positions the ring behind its newest record. */
static void ring_find_end(struct ring *r, const char *file)
{
	size_t at = HEAD;
	struct frame f;

	while (at < r->file.bytes) {
		if (frame_at(file, r->file.bytes, r->key, at, &f) == NULL) {
			at += ALIGN;
			continue;
		}
		at += frame_size(f.bytes);
		if (f.number >= r->number) {
			r->number = f.number + 1;
			r->at = at;
		}
	}
}

/*
 * Goes on with the records of the file, or gives a new file its key. The file is
 * mapped only while looking for its end.
 */
static enum err ring_resume(struct ring *r, struct fail *f)
{
	struct head h;

	memcpy(&h, r->file.map, sizeof(h));
	r->at = HEAD;
	r->number = 1;
	if (h.bytes == r->file.bytes) {
		r->key = h.key;
		ring_find_end(r, r->file.map);
	}
	munmap(r->file.map, r->file.bytes);
	r->file.map = NULL;
	if (h.bytes == r->file.bytes)
		return OK;
	h.bytes = r->file.bytes;
	random_bytes(&r->key, sizeof(r->key));
	h.key = r->key;
	if (pwrite(r->file.fd, &h, sizeof(h), 0) != (ssize_t)sizeof(h))
		return FAIL_ERRNO(f, "writing the head of a ring");
	return OK;
}

enum err ring_open(
    struct ring *r, const char *dir, int64_t most, size_t bytes, struct fail *f)
{
	const struct shared_form form = { .magic = file_magic,
		.bytes = bytes / ALIGN * ALIGN,
		.mode = 0660,
		.alone = true };
	struct arena a = { 0 };
	enum err e = E_RACE;

	*r = (struct ring){ 0 };
	TRY(fs_mkdirs(dir, 0750, f));
	(void)chmod(dir, 0750); /* earlier releases left it open */
	for (int64_t i = 0; i < most && e == E_RACE; i++)
		e = shared_open(&r->file,
		    arena_printf(&a, "%s/ring-%lld", dir, (long long)i), &form, f);
	arena_free(&a);
	if (e == E_RACE)
		return FAIL(f, E_RACE, "all rings are in use");
	if (e == OK)
		e = ring_resume(r, f);
	if (e != OK)
		shared_close(&r->file);
	return e;
}

enum err ring_put(struct ring *r, const void *p, size_t n, struct fail *f)
{
	struct frame fr = { .magic = frame_magic, .number = r->number };
	const struct iovec parts[] = { { &fr, sizeof(fr) },
		{ (void *)(uintptr_t)p, n } };

	if (n > r->file.bytes / SHARE)
		return FAIL(f, E_BADREQ, "a record of %zu bytes is too large", n);
	/* Otherwise records would go to a file that nobody reads. */
	if (shared_gone(&r->file))
		return FAIL(f, E_NOTFOUND, "the ring was removed or truncated");
	if (r->file.bytes - r->at < frame_size(n))
		r->at = HEAD;
	fr.bytes = (uint32_t)n;
	fr.sum = frame_checksum(r->key, &fr, p);
	if (pwritev(r->file.fd, parts, N(parts), (off_t)r->at) !=
	    (ssize_t)(sizeof(fr) + n))
		return FAIL_ERRNO(f, "writing into a ring");
	r->at += frame_size(n);
	r->number++;
	return OK;
}

enum err ring_read(const char *path,
    void (*each)(void *ctx, uint64_t number, const char *p, size_t n), void *ctx,
    struct fail *f)
{
	struct arena a = { 0 };
	struct head h = { 0 };
	struct frame fr;
	char *file;
	size_t n, at = HEAD;
	enum err e = fs_read_regular(&a, path, READ_MOST, &file, &n, f);

	if (e == OK && n >= sizeof(h))
		memcpy(&h, file, sizeof(h));
	if (e == OK && memcmp(h.magic, file_magic, sizeof(h.magic)) != 0)
		e = FAIL(f, E_BADREQ, "%s is not a ring file", path);
	while (e == OK && at < n) {
		const char *p = frame_at(file, n, h.key, at, &fr);

		if (p == NULL) {
			at += ALIGN;
			continue;
		}
		each(ctx, fr.number, arena_memdup(&a, p, fr.bytes), fr.bytes);
		at += frame_size(fr.bytes);
	}
	arena_free(&a);
	return e;
}
