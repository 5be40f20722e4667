/* SPDX-License-Identifier: Apache-2.0 */
/* Counting takes no lock; entering a new name takes the file's lock. */
#include "lib/counters.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/hash.h"
#include "lib/banned.h"

struct counter {
	char name[COUNTERS_NAME]; /* "": free, as are all entries behind it */
	uint64_t value;
};
struct counters_file {
	char magic[8];
	uint64_t places;
	struct counter at[COUNTERS_PLACES];
};
static const char file_magic[] = "LOCCNT1\n";

static bool
counters_are_valid(const struct counters_file *p)
{
	return memcmp(p->magic, file_magic, sizeof(p->magic)) == 0 &&
	       p->places == COUNTERS_PLACES;
}

static enum err
counters_reserve(struct counters *c, struct fail *f)
{
	struct stat st;
	int rc;

	if (fstat(c->fd, &st) < 0)
		return FAIL_ERRNO(f, "counters");
	if (st.st_size == (off_t)sizeof(struct counters_file))
		return OK;
	rc = ftruncate(c->fd, 0) < 0 ?
	         errno :
	         posix_fallocate(c->fd, 0, sizeof(struct counters_file));
	if (rc == 0)
		return OK;
	errno = rc;
	return FAIL_ERRNO(f, "reserving room for counters");
}

static enum err
counters_map(struct counters *c, struct fail *f)
{
	void *p = mmap(NULL, sizeof(struct counters_file), PROT_READ | PROT_WRITE,
	    MAP_SHARED, c->fd, 0);

	if (p == MAP_FAILED)
		return FAIL_ERRNO(f, "mapping counters");
	c->map = p;
	if (!counters_are_valid(c->map)) {
		memset(c->map, 0, sizeof(*c->map));
		memcpy(c->map->magic, file_magic, sizeof(c->map->magic));
		c->map->places = COUNTERS_PLACES;
	}
	return OK;
}

enum err
counters_open(struct counters *c, const char *path, struct fail *f)
{
	enum err e = OK;

	*c = (struct counters){ .fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0640) };
	if (c->fd < 0)
		return FAIL_ERRNO(f, "opening %s", path);
	fs_close_to_others(c->fd);
	if (flock(c->fd, LOCK_EX) < 0)
		e = FAIL_ERRNO(f, "locking %s", path);
	if (e == OK)
		e = counters_reserve(c, f);
	if (e == OK)
		e = counters_map(c, f);
	flock(c->fd, LOCK_UN);
	if (e != OK) {
		close(c->fd);
		*c = (struct counters){ 0 };
	}
	return e;
}

void
counters_close(struct counters *c)
{
	if (c->map == NULL)
		return;
	munmap(c->map, sizeof(*c->map));
	close(c->fd);
	*c = (struct counters){ 0 };
}

/*
 * Index of the named counter, or of the first free entry; COUNTERS_PLACES if the name
 * is new and the file is full.
 */
static size_t
counters_find(const struct counters_file *p, const char *name)
{
	size_t i = 0;

	while (i < COUNTERS_PLACES && p->at[i].name[0] != '\0' &&
	       strncmp(p->at[i].name, name, COUNTERS_NAME) != 0)
		i++;
	return i;
}

/* Rereads under the lock, because another process may have entered the same name. */
static size_t
counters_insert(struct counters *c, const char *name)
{
	struct counters_file *p = c->map;
	size_t i, n = strlen(name);

	if (flock(c->fd, LOCK_EX) < 0)
		return COUNTERS_PLACES;
	i = counters_find(p, name);
	if (i < COUNTERS_PLACES && p->at[i].name[0] == '\0') {
		memcpy(p->at[i].name + 1, name + 1,
		    n); /* the first byte goes last, as readers take no lock */
		__atomic_store_n(&p->at[i].name[0], name[0], __ATOMIC_RELEASE);
	}
	flock(c->fd, LOCK_UN);
	return i;
}

/* Finds or makes the counter's place; most names are where they were last time. */
static enum err
counters_place(struct counters *c, const char *name, size_t *place, struct fail *f)
{
	struct stat st;
	size_t hint, i;

	if (name[0] == '\0' || strlen(name) >= COUNTERS_NAME)
		return FAIL(f, E_BADREQ, "not a counter name: %.100s", name);
	if (fstat(c->fd, &st) < 0 || st.st_nlink == 0 ||
	    st.st_size != (off_t)sizeof(*c->map))
		return FAIL(
		    f, E_NOTFOUND, "the counters file was removed or truncated");
	hint = (size_t)hash_text(HASH_SEED, name) & (COUNTERS_HINTS - 1);
	i = c->hint[hint];
	if (i == 0 || strncmp(c->map->at[i - 1].name, name, COUNTERS_NAME) != 0) {
		i = counters_find(c->map, name);
		if (i < COUNTERS_PLACES && c->map->at[i].name[0] == '\0')
			i = counters_insert(c, name);
		if (i == COUNTERS_PLACES)
			return FAIL(
			    f, E_BADREQ, "no room is left for counter %s", name);
		c->hint[hint] = (uint16_t)(i + 1);
	} else {
		i--;
	}
	*place = i;
	return OK;
}

enum err
counters_add(struct counters *c, const char *name, uint64_t by, struct fail *f)
{
	size_t i;

	TRY(counters_place(c, name, &i, f));
	__atomic_fetch_add(&c->map->at[i].value, by, __ATOMIC_RELAXED);
	return OK;
}

enum err
counters_set(struct counters *c, const char *name, uint64_t value, struct fail *f)
{
	size_t i;

	TRY(counters_place(c, name, &i, f));
	__atomic_store_n(&c->map->at[i].value, value, __ATOMIC_RELAXED);
	return OK;
}

enum err
counters_read(struct arena *a, const char *path,
    void (*each)(void *ctx, const char *name, uint64_t value), void *ctx,
    struct fail *f)
{
	struct counters_file *p = NEW(a, struct counters_file);
	char *text;
	size_t n;

	TRY(fs_read(a, path, sizeof(*p) + 1, &text, &n, f));
	if (n == sizeof(*p))
		memcpy(p, text, n);
	if (!counters_are_valid(p))
		return FAIL(f, E_BADREQ, "%s is not a counters file", path);
	for (size_t i = 0; i < COUNTERS_PLACES && p->at[i].name[0] != '\0'; i++) {
		p->at[i].name[COUNTERS_NAME - 1] = '\0';
		each(ctx, p->at[i].name, p->at[i].value);
	}
	return OK;
}
