/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slices of a table's ids by the number of rows in them. Daemons and commands that
 * look at a whole table go from slice to slice, so what they cost follows from the rows
 * that exist: ids of a project of years begin at thousands of millions, behind rows
 * that were purged long ago.
 */
#ifndef DB_ID_WALK_H
#define DB_ID_WALK_H

#include "db/db.h"

enum id_table {
	IDS_RESULTS,
	IDS_WORKUNITS,
	IDS_FILES,
	IDS_FILESETS,
	IDS_HOSTS,
	IDS_USERS,
	IDS_TEAMS,
	IDS_APPS,
	IDS_BATCHES,
	IDS__MAX
};
/* The first slice begins there. */
#define IDS_BEGIN INT64_MIN
/* No row has this id: a slice that ends there is the last one. */
#define IDS_END INT64_MAX

/*
 * Returns in *to the end of the slice (from, *to], which has the next `rows` rows of
 * the table. IDS_END: it has fewer. That slice is open, as rows are being added, and
 * as what is left of removed rows may have higher ids.
 */
enum err ids_ahead(
    struct db *, enum id_table, int64_t from, int64_t rows, int64_t *to, struct fail *);
/* The same for workunits, backwards: (*from, to], the newest first; IDS_BEGIN: the
 * last. */
enum err ids_behind(
    struct db *, int64_t to, int64_t rows, int64_t *from, struct fail *);

#endif
