/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The names of the working set, for a process that asks for them again and again: read
 * once while their directory stands still, which is one look instead of a reading of
 * all its entries.
 */
#ifndef DB_WORKING_SET_H
#define DB_WORKING_SET_H

#include "db/trigger.h"

struct working_set { /* all 0 to begin with; of a struct db, which frees its arena */
	struct fs_seen dir;
	struct arena a;
	char **names;
	size_t n;
	bool kept;
};

/* Sorted bytewise; the caller may order the list anew.  The names stand until the next
 * call. */
enum err working_set_names(
    const struct triggers *, struct arena *, char ***names, size_t *n, struct fail *);

#endif
