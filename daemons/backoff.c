/* SPDX-License-Identifier: Apache-2.0 */
/* A sorted table of failed items and their pauses. */
#include "daemons/backoff.h"

#include <string.h>
#include "rules/daemon/transition.h"
#include "lib/banned.h"

/* Returns the index of the first item whose key is not below key. */
static size_t
item_backoff_place(const struct item_backoff *t, int64_t key)
{
	size_t lo = 0, hi = t->used;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->item[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool
item_backoff_has(const struct item_backoff *t, size_t i, int64_t key)
{
	return i < t->used && t->item[i].key == key;
}

static struct try_item *
item_backoff_get(struct item_backoff *t, int64_t key)
{
	size_t i = item_backoff_place(t, key), after;

	if (item_backoff_has(t, i, key))
		return &t->item[i];
	after = t->used - i;
	PUSH(t->a, t->item, t->used, t->cap) = (struct try_item){ 0 };
	memmove(&t->item[i + 1], &t->item[i], after * sizeof(*t->item));
	t->item[i] = (struct try_item){ .key = key };
	return &t->item[i];
}

int32_t
item_backoff_failed(struct item_backoff *t, int64_t key, int64_t now)
{
	struct try_item *it = item_backoff_get(t, key);

	it->n++;
	it->next_at = now + pause_doubled_s(t->first_s, it->n, t->most_s);
	return it->n;
}

void
item_backoff_wait(struct item_backoff *t, int64_t key, int64_t now)
{
	item_backoff_get(t, key)->next_at = now + t->first_s;
}

void
item_backoff_forget(struct item_backoff *t, int64_t key)
{
	size_t i = item_backoff_place(t, key);

	if (!item_backoff_has(t, i, key))
		return;
	t->used--;
	memmove(&t->item[i], &t->item[i + 1], (t->used - i) * sizeof(*t->item));
}

bool
item_backoff_must_wait(const struct item_backoff *t, int64_t key, int64_t now)
{
	size_t i = item_backoff_place(t, key);

	return item_backoff_has(t, i, key) && now < t->item[i].next_at;
}
