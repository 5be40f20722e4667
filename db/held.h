/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which registered files a host holds, and in which sets they are.
 *
 * A host may name thousands of files, few of which matter to one request. A connection
 * remembers which sets each name is in, and which sets have unsent results; the request
 * then reads the rows of the few sets that it needs (rules/sched/held.h). What is
 * remembered only chooses what is read. A file that could be deleted is read afresh,
 * because a delete order rests on facts of this request.
 */
#ifndef DB_HELD_H
#define DB_HELD_H

#include "db/db.h"
#include "lib/names.h"
#include "model/decision.h"

struct set_rows { /* rows of file sets with their files, by set, then by file */
	struct row_set_file *v;
	size_t n, cap;
};

struct held_link { /* a held file belongs to a set */
	size_t file, set;
};

struct held_sets { /* of one request */
	/* set by the caller */
	const struct names *held; /* what request_held() says */
	bool afresh;              /* use nothing that is remembered */
	bool awaited;             /* results have just been made: look for them */

	size_t *known;      /* by name: its place in what is remembered, or SIZE_MAX */
	struct file *files; /* the registered ones; md5sum is not read */
	size_t nfiles;
	struct held_set *sets;
	size_t nsets;
	struct held_link *links;
	size_t nlinks, links_cap;
	bool *others;    /* by file: it may be in sets that are not listed here */
	bool sets_cut;   /* a file is in too many sets to list them */
	bool remembered; /* not all of this was read in this request */

	struct held_choice choice;   /* set by the caller, which asks held_choose() */
	const struct set_rows *rows; /* of the chosen sets, and maybe of others */
};

/* Finds the files and sets of each request; *rows, which is empty, gets what was read.
 */
enum err held_sets_read(struct db *, struct arena *, struct held_sets *, size_t n,
    struct set_rows *rows, struct fail *);
/* Reads the sets that were chosen to be read now, for all requests together, as far as
 * their rows are not there. */
enum err chosen_sets_read(struct db *, struct arena *, struct held_sets *, size_t n,
    struct set_rows *rows, struct fail *);

/*
 * Remembers for a while what a set was when its row was read: HELD_DRAINS or
 * HELD_CLOSED; HELD_UNKNOWN forgets it.
 */
void known_set_note(struct db *, int64_t fileset_id, enum held_is);

/* Appends the rows of the sets with these ids; absent sets have none. The rows are in
 * no order until set_rows_sort(). */
enum err set_rows_read(struct db *, struct arena *, const int64_t *ids, size_t n,
    struct set_rows *, struct fail *);
void set_rows_sort(struct set_rows *);
/* The rows of one set: *n of them; NULL if there are none. */
const struct row_set_file *set_rows_of(
    const struct set_rows *, int64_t fileset_id, size_t *n);

#endif
