/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Remembers the names in the working set, for a process that asks for them again and
 * again.  They are read once as long as their directory does not change, which costs
 * one check instead of reading all entries.
 */
#ifndef DB_WORKING_SET_H
#define DB_WORKING_SET_H

#include "db/trigger.h"

struct working_set { /* part of a struct db, which frees its arena; all 0 initially */
	struct fs_seen dir;
	struct arena a;
	char **names;
	size_t n;
	bool kept;
};

/*
 * Returns the names, sorted bytewise; the caller may reorder the list.  The names stay
 * until the next call.
 */
enum err working_set_names(
    const struct triggers *, struct arena *, char ***names, size_t *n, struct fail *);

#endif
