/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How daemons process items: transactions with retries, and failures of one item that
 * do not stop the others (of workunits: queue.c).
 */
#ifndef DAEMONS_ITEMS_H
#define DAEMONS_ITEMS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"

struct item_backoff {
	struct arena *a;         /* holds the items, set by the owner */
	int64_t first_s, most_s; /* pauses, set by the owner */
	struct try_item {
		int64_t key;
		int64_t next_at;
		int32_t n;
	} * item; /* by key */
	size_t used, cap;
};

/*
 * Records a failure of the item and returns how often it has failed. The pause after
 * the n-th failure is first_s * 2^(n-1), at most most_s.
 */
int32_t item_backoff_failed(struct item_backoff *, int64_t key, int64_t now);
/*
 * Waits first_s without counting a failure: the item itself asked to be retried later.
 */
void item_backoff_wait(struct item_backoff *, int64_t key, int64_t now);
void item_backoff_forget(struct item_backoff *, int64_t key);
bool item_backoff_must_wait(const struct item_backoff *, int64_t key, int64_t now);

#endif
