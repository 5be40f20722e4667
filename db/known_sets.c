/* SPDX-License-Identifier: Apache-2.0 */
#include "db/known_sets.h"

#include <string.h>
#include "lib/banned.h"

enum {
	/*
	 * How long something is remembered grows with the number of names, so that
	 * reading it again costs at most a hundred sets a second. Of few names nothing
	 * is remembered, as reading them all costs little.
	 */
	NAMES_FEW = 64,
	KEEP_MS_PER_NAME = 10,
	KEEP_MOST_MS = 60000,
	FILES_KEPT = 16,     /* a file's sets change more rarely than a set's state */
	NAMES_MOST = 200000, /* about 60 MB */
	READY_SHARE = 200,   /* looking for sets with work takes 1/200 of the time */
};

enum { KEY_BYTES = 17 };

/* The key of the set in the table of names. */
static void set_id_key(char key[KEY_BYTES], int64_t id)
{
	uint64_t rest = (uint64_t)id;

	for (int i = KEY_BYTES - 2; i >= 0; i--, rest >>= 4)
		key[i] = "0123456789abcdef"[rest & 15];
	key[KEY_BYTES - 1] = '\0';
}

void known_sets_free(struct known_sets *k)
{
	arena_free(&k->a);
	arena_free(&k->ready_a);
	*k = (struct known_sets){ 0 };
}

int64_t known_keep_ms(const struct known_sets *k)
{
	int64_t ms = (int64_t)k->nfile * KEEP_MS_PER_NAME;

	if (k->nfile <= NAMES_FEW)
		return 0;
	return ms < KEEP_MOST_MS ? ms : KEEP_MOST_MS;
}

bool known_sets_full(const struct known_sets *k)
{
	return k->nfile > NAMES_MOST || k->nset > NAMES_MOST;
}

size_t known_set_of(struct known_sets *k, int64_t id)
{
	char key[KEY_BYTES];
	size_t at;

	set_id_key(key, id);
	if (names_find(&k->sets, key, &at))
		return at;
	names_put(&k->a, &k->sets, arena_strdup(&k->a, key), k->nset);
	PUSH(&k->a, k->set, k->nset, k->set_cap) = (struct known_set){ .id = id,
		.name = arena_strdup(&k->a, "") };
	return k->nset - 1;
}

struct known_file *known_file_of(struct known_sets *k, const char *name)
{
	size_t at;

	if (!names_find(&k->files, name, &at)) {
		at = k->nfile;
		names_put(&k->a, &k->files, arena_strdup(&k->a, name), at);
		PUSH(&k->a, k->file, k->nfile, k->file_cap) = (struct known_file){ 0 };
	}
	return &k->file[at];
}

void known_link(struct known_sets *k, struct known_file *file, size_t set)
{
	for (size_t i = 0; i < file->nsets; i++)
		if (file->sets[i] == set)
			return;
	PUSH(&k->a, file->sets, file->nsets, file->cap) = set;
}

size_t known_set_of_row(struct known_sets *k, const struct row_set_file *r)
{
	size_t at = known_set_of(k, r->fileset_id);
	struct known_set *set = &k->set[at];

	if (strcmp(set->name, r->set_name) != 0)
		set->name = arena_strdup(&k->a, r->set_name);
	set->ready = r->has_unsent != 0;
	return at;
}

enum held_is known_set_is(
    const struct known_sets *k, const struct known_set *set, int64_t now_ms)
{
	int64_t keep = known_keep_ms(k);
	bool noted = set->noted != HELD_UNKNOWN && now_ms - set->noted_ms < keep;

	if (set->ready && keep > 0)
		return noted && set->noted == HELD_CLOSED ? HELD_CLOSED : HELD_READY;
	return noted ? set->noted : HELD_UNKNOWN;
}

bool known_file_is_due(
    const struct known_sets *k, const struct known_file *file, int64_t now_ms)
{
	bool due = true;

	if (now_ms - file->read_ms >=
	    known_keep_ms(k) * (file->id == 0 ? 1 : FILES_KEPT))
		return true;
	for (size_t i = 0; i < file->nsets && due; i++)
		due = known_set_is(k, &k->set[file->sets[i]], now_ms) == HELD_UNKNOWN;
	return due && file->id != 0;
}

void known_ready(struct known_sets *k, const struct row_number *rows, size_t n,
    int64_t began_ms, int64_t took_ms)
{
	struct ids ready = { 0 };

	arena_reset(&k->ready_a);
	ready.v = k->ready = NEWN(&k->ready_a, int64_t, n + 1);
	ready.n = k->nready = n;
	for (size_t i = 0; i < n; i++)
		k->ready[i] = rows[i].v;
	k->ready_ms = began_ms;
	k->ready_took_ms = took_ms;
	for (size_t i = 0; i < k->nset; i++)
		k->set[i].ready = ids_has(&ready, k->set[i].id);
}

bool known_work_is_due(const struct known_sets *k, int64_t now_ms)
{
	return k->ready_ms == 0 ||
	       now_ms - k->ready_ms >= (1 + k->ready_took_ms) * READY_SHARE;
}
