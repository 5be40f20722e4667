/* SPDX-License-Identifier: Apache-2.0 */
/* Counting takes no lock; entering a new name takes the file's lock. */
#include "lib/counters.h"

#include <string.h>
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

enum err counters_open(struct counters *c, const char *path, struct fail *f)
{
	static const struct shared_form form = { .magic = file_magic,
		.bytes = sizeof(struct counters_file),
		.mode = 0640,
		.wait_ms = SHARED_WAIT_MS };
	struct counters_file *p;

	*c = (struct counters){ 0 };
	TRY(shared_open(&c->file, path, &form, f));
	p = c->file.map;
	p->places = COUNTERS_PLACES;
	return OK;
}

/*
 * Index of the named counter, or of the first free entry; COUNTERS_PLACES if the name
 * is new and the file is full.
 */
static size_t counters_find(const struct counters_file *p, const char *name)
{
	size_t i = 0;

	while (i < COUNTERS_PLACES && p->at[i].name[0] != '\0' &&
	       strncmp(p->at[i].name, name, COUNTERS_NAME) != 0)
		i++;
	return i;
}

/* Rereads under the lock, because another process may have entered the same name. */
static size_t counters_insert(struct counters *c, const char *name)
{
	struct counters_file *p = c->file.map;
	size_t i, n = strlen(name);

	if (shared_lock(&c->file, 0, SHARED_WAIT_MS, NULL) != OK)
		return COUNTERS_PLACES;
	i = counters_find(p, name);
	if (i < COUNTERS_PLACES && p->at[i].name[0] == '\0') {
		memcpy(p->at[i].name + 1, name + 1,
		    n); /* the first byte goes last, as readers take no lock */
		__atomic_store_n(&p->at[i].name[0], name[0], __ATOMIC_RELEASE);
	}
	shared_unlock(&c->file, 0);
	return i;
}

/* Finds or makes the counter; most names are where they were last time. */
static enum err counters_place(
    struct counters *c, const char *name, uint64_t **value, struct fail *f)
{
	struct counters_file *p = c->file.map;
	size_t hint, i;

	if (name[0] == '\0' || strlen(name) >= COUNTERS_NAME)
		return FAIL(f, E_BADREQ, "not a counter name: %.100s", name);
	if (shared_gone(&c->file))
		return FAIL(
		    f, E_NOTFOUND, "the counters file was removed or truncated");
	hint = (size_t)hash_text(HASH_SEED, name) & (COUNTERS_HINTS - 1);
	i = c->hint[hint];
	if (i == 0 || strncmp(p->at[i - 1].name, name, COUNTERS_NAME) != 0) {
		i = counters_find(p, name);
		if (i < COUNTERS_PLACES && p->at[i].name[0] == '\0')
			i = counters_insert(c, name);
		if (i == COUNTERS_PLACES)
			return FAIL(
			    f, E_BADREQ, "no room is left for counter %s", name);
		c->hint[hint] = (uint16_t)(++i);
	}
	*value = &p->at[i - 1].value;
	return OK;
}

enum err counters_add(struct counters *c, const char *name, uint64_t by, struct fail *f)
{
	uint64_t *value;

	TRY(counters_place(c, name, &value, f));
	__atomic_fetch_add(value, by, __ATOMIC_RELAXED);
	return OK;
}

enum err counters_set(
    struct counters *c, const char *name, uint64_t value, struct fail *f)
{
	uint64_t *at;

	TRY(counters_place(c, name, &at, f));
	__atomic_store_n(at, value, __ATOMIC_RELAXED);
	return OK;
}

enum err counters_read(struct arena *a, const char *path,
    void (*each)(void *ctx, const char *name, uint64_t value), void *ctx,
    struct fail *f)
{
	struct counters_file *p = NEW(a, struct counters_file);
	char *text;
	size_t n;

	TRY(fs_read_regular(a, path, sizeof(*p) + 1, &text, &n, f));
	if (n == sizeof(*p))
		memcpy(p, text, n);
	if (memcmp(p->magic, file_magic, sizeof(p->magic)) != 0 ||
	    p->places != COUNTERS_PLACES)
		return FAIL(f, E_BADREQ, "%s is not a counters file", path);
	for (size_t i = 0; i < COUNTERS_PLACES && p->at[i].name[0] != '\0'; i++) {
		p->at[i].name[COUNTERS_NAME - 1] = '\0';
		each(ctx, p->at[i].name, p->at[i].value);
	}
	return OK;
}
