/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The state of a project's file sets in memory, as read from their rows.  Each read
 * takes a bounded part of the table, so that a pass costs the same however many sets
 * there are; consecutive reads cover the whole table.
 */
#ifndef DAEMONS_SET_STATES_H
#define DAEMONS_SET_STATES_H

#include "daemons/loop.h"
#include "db/wu_updates.h"

enum { SETS_PER_LOOK = 500 };

struct set_states {
	struct row_fileset_state *v; /* by id; in x->life */
	size_t n, cap;
	int64_t at; /* the next read starts after this id; 0 = at the first set */
	bool all;   /* every set has been read at least once */
};

/*
 * Reads the next part of the table, and new sets. whole, or the first call: reads all
 * of it.  Sets *changed if any set differs from before.
 */
enum err set_states_read_next(
    struct daemon_ctx *, struct set_states *, bool whole, bool *changed);
/* Reads the sets with these names (sorted) at once. */
enum err set_states_read_named(struct daemon_ctx *, struct set_states *,
    char *const *names, size_t n, bool *changed);
/* Records that the manager itself has just dropped the set. */
void set_states_note_dropped(struct set_states *, const char *name, int64_t now);

#endif
