/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What rows say of the file sets of a project, in memory.  A look reads a bounded part
 * of them, so that it costs the same however many there are; all have been looked at
 * again after so many looks.
 */
#ifndef DAEMONS_SET_STATES_H
#define DAEMONS_SET_STATES_H

#include "daemons/loop.h"
#include "db/wu_updates.h"

enum { SETS_PER_LOOK = 500 };

struct set_states {
	struct row_fileset_state *v; /* by id; in x->life */
	size_t n, cap;
	int64_t at; /* where the next look goes on; 0 = at the first set */
	bool all;   /* every set was looked at once */
};

/*
 * The next part of them, and those that are new.  whole: all of them, as the first
 * time. *changed is set if any is another than before.
 */
enum err set_states_read_next(
    struct daemon_ctx *, struct set_states *, bool whole, bool *changed);
/* These by name (sorted), now. */
enum err set_states_read_named(struct daemon_ctx *, struct set_states *,
    char *const *names, size_t n, bool *changed);
/* The manager's own change. */
void set_states_note_dropped(struct set_states *, const char *name, int64_t now);

#endif
