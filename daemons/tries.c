/* SPDX-License-Identifier: Apache-2.0 */
/* Failed items and their pauses, in a fixed table. */
#include "daemons/tries.h"

#include <assert.h>
#include "lib/banned.h"

/* Index of key, or used if it is not there. */
static size_t
find(const struct tries *t, int64_t key)
{
	size_t i = 0;

	while (i < t->used && t->item[i].key != key)
		i++;
	return i;
}

static struct try_item *
slot(struct tries *t)
{
	size_t late = 0;

	if (t->used < TRIES_MOST)
		return &t->item[t->used++];
	for (size_t i = 1; i < TRIES_MOST; i++)
		if (t->item[i].next_at > t->item[late].next_at)
			late = i;
	return &t->item[late];
}

static struct try_item *
item(struct tries *t, int64_t key)
{
	size_t i = find(t, key);
	struct try_item *it = &t->item[i];

	assert(key != 0);
	if (i == t->used) {
		it = slot(t);
		*it = (struct try_item){ .key = key };
	}
	return it;
}

int32_t
tries_failed(struct tries *t, int64_t key, int64_t now)
{
	struct try_item *it = item(t, key);
	int64_t pause = t->first_s;

	it->n++;
	for (int32_t i = 1; i < it->n && pause < t->most_s; i++)
		pause *= 2;
	it->next_at = now + (pause < t->most_s ? pause : t->most_s);
	return it->n;
}

void
tries_wait(struct tries *t, int64_t key, int64_t now)
{
	item(t, key)->next_at = now + t->first_s;
}

int32_t
tries_count(const struct tries *t, int64_t key)
{
	size_t i = find(t, key);

	return i < t->used ? t->item[i].n : 0;
}

void
tries_park(struct tries *t, int64_t key)
{
	size_t i = find(t, key);

	if (i < t->used)
		t->item[i].next_at = INT64_MAX;
}

void
tries_forget(struct tries *t, int64_t key)
{
	size_t i = find(t, key);

	if (i < t->used)
		t->item[i] = t->item[--t->used];
}

bool
tries_must_wait(const struct tries *t, int64_t key, int64_t now)
{
	size_t i = find(t, key);

	return i < t->used && now < t->item[i].next_at;
}
