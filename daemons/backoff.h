/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers which items failed, how often, and when each may be retried: a bad item is
 * put aside with growing pauses while the others go on.  Lives in process memory; after
 * a restart every item is tried afresh.
 */
#ifndef DAEMONS_BACKOFF_H
#define DAEMONS_BACKOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BACKOFF_ITEMS_MOST = 1024 };

struct item_backoff {
	int64_t first_s, most_s; /* pauses, set by the owner */
	struct try_item {
		int64_t key; /* id; 0 = free slot */
		int64_t retries;
		int64_t next_at;
		int32_t n;
	} item[BACKOFF_ITEMS_MOST];
	size_t used; /* slots in use */
};

/*
 * What may fail. retries: a number that changes when an admin wants the item tried
 * again (workunit.retries); what was remembered of the item is then forgotten.
 */
struct item {
	int64_t key; /* id, not 0 */
	int64_t retries;
};

/*
 * Records a failure of the item and returns how often it has failed.  The pause
 * after the n-th failure is first_s * 2^(n-1), at most most_s.  When the table is full,
 * the item with the longest wait makes room.
 */
int32_t item_backoff_failed(struct item_backoff *, struct item, int64_t now);
/*
 * Waits first_s without counting a failure: the item itself asked to be retried later.
 */
void item_backoff_wait(struct item_backoff *, struct item, int64_t now);
int32_t item_backoff_count(const struct item_backoff *, int64_t key);
void item_backoff_park(struct item_backoff *,
    int64_t key); /* not retried in this process, unless an admin asks */
void item_backoff_forget(struct item_backoff *, int64_t key);
bool item_backoff_must_wait(struct item_backoff *, struct item, int64_t now);

#endif
