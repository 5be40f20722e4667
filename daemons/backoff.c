/* SPDX-License-Identifier: Apache-2.0 */
/* A fixed table of failed items and their pauses. */
#include "daemons/backoff.h"

#include <assert.h>
#include "lib/banned.h"

/* Returns the index of key, or t->used if it is absent. */
static size_t
item_backoff_find(const struct item_backoff *t, int64_t key)
{
	size_t i = 0;

	while (i < t->used && t->item[i].key != key)
		i++;
	return i;
}

static struct try_item *
item_backoff_slot(struct item_backoff *t)
{
	size_t late = 0;

	if (t->used < BACKOFF_ITEMS_MOST)
		return &t->item[t->used++];
	for (size_t i = 1; i < BACKOFF_ITEMS_MOST; i++)
		if (t->item[i].next_at > t->item[late].next_at)
			late = i;
	return &t->item[late];
}

static struct try_item *
item_backoff_get(struct item_backoff *t, struct item item)
{
	size_t i = item_backoff_find(t, item.key);
	bool found = i < t->used;
	struct try_item *it = found ? &t->item[i] : item_backoff_slot(t);

	assert(item.key != 0);
	if (!found || it->retries != item.retries)
		*it = (struct try_item){ .key = item.key, .retries = item.retries };
	return it;
}

int32_t
item_backoff_failed(struct item_backoff *t, struct item item, int64_t now)
{
	struct try_item *it = item_backoff_get(t, item);
	int64_t pause = t->first_s;

	it->n++;
	for (int32_t i = 1; i < it->n && pause < t->most_s; i++)
		pause *= 2;
	it->next_at = now + (pause < t->most_s ? pause : t->most_s);
	return it->n;
}

void
item_backoff_wait(struct item_backoff *t, struct item item, int64_t now)
{
	item_backoff_get(t, item)->next_at = now + t->first_s;
}

int32_t
item_backoff_count(const struct item_backoff *t, int64_t key)
{
	size_t i = item_backoff_find(t, key);

	return i < t->used ? t->item[i].n : 0;
}

void
item_backoff_park(struct item_backoff *t, int64_t key)
{
	size_t i = item_backoff_find(t, key);

	if (i < t->used)
		t->item[i].next_at = INT64_MAX;
}

void
item_backoff_forget(struct item_backoff *t, int64_t key)
{
	size_t i = item_backoff_find(t, key);

	if (i < t->used)
		t->item[i] = t->item[--t->used];
}

bool
item_backoff_must_wait(struct item_backoff *t, struct item item, int64_t now)
{
	size_t i = item_backoff_find(t, item.key);

	if (i < t->used && t->item[i].retries != item.retries) {
		item_backoff_forget(t, item.key);
		return false;
	}
	return i < t->used && now < t->item[i].next_at;
}
