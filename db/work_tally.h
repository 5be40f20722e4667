/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table work_tally: how many workunits each app, batch and file set has in each
 * state, and their results, so that nobody has to read all workunits to count them.
 *
 * Everything that changes the state of a workunit makes it due for the transitioner,
 * which counts it again in the transaction that handles it. A purge counts it out. So
 * the counts are exact for all workunits that are not due, and readers correct them by
 * the few that are.
 */
#ifndef DB_WORK_TALLY_H
#define DB_WORK_TALLY_H

#include "db/db.h"
#include "model/tally.h"

/* Workunits that are counted anew in a transaction, which must have locked them. */
struct tally_moves;
struct tally_moves *tally_moves_new(struct arena *);
/* Counts a workunit out as it was read, and in as it becomes; NULL = it is deleted. */
void tally_moved(
    struct tally_moves *, const struct workunit *was, const struct workunit *becomes);
/* Writes the rows of one part; the last statements of the transaction. */
enum err tally_moves_save(
    struct db *, struct tally_moves *, int64_t part, struct fail *);

struct work_tallies {
	struct row_work_tally *v; /* by id and code, one row each */
	size_t n;
	bool behind; /* too many are due: some are counted as they were before */
};
/*
 * Reads the counts of one id, or of all ids of a kind (0), as of now. Workunits of no
 * batch or no file set then have id 0. Opens and ends a transaction of its own.
 */
enum err work_tallies_read(struct db *, struct arena *, enum tally_kind, int64_t id,
    int64_t now, struct work_tallies *, struct fail *);

/*
 * Programs of an earlier release move workunits without counting them. An upgrade says
 * that this may have happened, and the first transitioner of this release sees to it.
 */
enum err work_recount_wanted(struct db *, bool *wanted, struct fail *);
enum err work_recount_want(struct db *, bool wanted, struct fail *);
/* Marks those workunits as due, with ids above from and up to to, whose counts are not
 * right and which are not due by the time at. */
enum err work_recount(struct db *, int64_t from, int64_t to, int64_t at, struct fail *);

/* Results of the whole project. */
struct result_counts {
	int64_t total, inactive, unsent, in_progress, over, success, valid, sent;
};
struct work_counts {
	struct work_tallies apps;
	struct row_wu_counts wus;
	int64_t wus_live; /* workunits with an unsent result or one in progress */
	int64_t to_assimilate;
	struct result_counts results;
};
/*
 * Counts the project's workunits and results. Results in progress are counted by an
 * index of the hosts: there are as many as the hosts have.
 */
enum err work_counts_read(
    struct db *, struct arena *, int64_t now, struct work_counts *, struct fail *);

#endif
