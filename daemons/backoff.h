/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What failed, how often, and when it may be tried again: one bad item is put aside
 * with growing pauses while the others go on.  Process memory; after a restart
 * everything is tried afresh.
 */
#ifndef DAEMONS_BACKOFF_H
#define DAEMONS_BACKOFF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { BACKOFF_ITEMS_MOST = 1024 };

struct item_backoff {
	int64_t first_s, most_s; /* pauses: set by the owner */
	struct try_item {
		int64_t key; /* id; 0 = free slot */
		int64_t next_at;
		int32_t n;
	} item[BACKOFF_ITEMS_MOST];
	size_t used; /* slots in use */
};

/*
 * Notes a failure of key != 0; how many there were.  Its n-th pause is first_s *
 * 2^(n-1), at most most_s.  When all slots are taken the one that waits longest makes
 * room.
 */
int32_t item_backoff_failed(struct item_backoff *, int64_t key, int64_t now);
/* The first pause again, without counting a failure: the item asked to be left for
 * later. */
void item_backoff_wait(struct item_backoff *, int64_t key, int64_t now);
int32_t item_backoff_count(const struct item_backoff *, int64_t key);
void item_backoff_park(
    struct item_backoff *, int64_t key); /* not again in this process */
void item_backoff_forget(struct item_backoff *, int64_t key);
bool item_backoff_must_wait(const struct item_backoff *, int64_t key, int64_t now);

#endif
