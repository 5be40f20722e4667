/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many workunits still need an ordinary input file, which several of them may share
 * (table input_use).  Whoever makes workunits counts them, and says so in
 * workunit.inputs_counted; file_deleter takes them off and removes a file that none
 * needs.  A workunit that is not counted was made by another program, or by a release
 * that did not count.
 */
#ifndef DB_INPUT_USE_H
#define DB_INPUT_USE_H

#include "db/entity.h"

/*
 * Counts workunits that need these files, or takes them off, in the caller's
 * transaction: a name stands there once for each workunit.  Sorts the names: in one
 * order no two programs wait for each other's rows in turn.
 */
enum err inputs_use(struct db *, struct arena *, char **names, size_t n, struct fail *);
enum err inputs_release(
    struct db *, struct arena *, char **names, size_t n, struct fail *);
/* Sets counted[] for each of the names: has it a row? */
enum err inputs_counted(struct db *, struct arena *, char *const *names, size_t n,
    bool *counted, struct fail *);

/*
 * Programs of an earlier release make workunits without counting them, and finish some
 * without taking them off.  An upgrade says that this may have happened, and the first
 * file_deleter of this release sees to it.
 */
enum err inputs_count_wanted(struct db *, bool *wanted, struct fail *);
enum err inputs_count_want(struct db *, bool wanted, struct fail *);
/* Lists the workunits above id from, up to to, that are counted and need no inputs any
 * more, or need them and are not counted. */
enum err inputs_miscounted(struct db *, struct arena *, int64_t from, int64_t to,
    int64_t **ids, size_t *n, struct fail *);
/* Notes in at most DB_LIST_MAX of them that this has been corrected, in the caller's
 * transaction.  E_RACE: one of them was right already. */
enum err inputs_note_counted(struct db *, const int64_t *ids, size_t n, struct fail *);

/* Workunits that are counted, and their documents; NULL = the workunit is gone. */
struct counted_docs {
	int64_t ids[DB_LIST_MAX];
	const char *docs[DB_LIST_MAX];
	size_t n;
};
/* Finds those of at most DB_LIST_MAX workunits that are counted. */
enum err inputs_counted_docs(struct db *, struct arena *, struct workunit *const *wus,
    size_t n, struct counted_docs *, struct fail *);
/* Takes them off, with the names of their files as for inputs_release(), in the
 * caller's transaction. */
enum err inputs_take_off(struct db *, struct arena *, const struct counted_docs *,
    char **names, size_t n, struct fail *);

/* Adds to the count of one file, in the caller's transaction. */
enum err input_correct(
    struct db *, const char *name, int64_t difference, struct fail *);

/* Lists at most max files that no workunit needs. */
enum err inputs_unused(
    struct db *, struct arena *, size_t max, char ***names, size_t *n, struct fail *);
/* Of at most DB_LIST_MAX files, returns those that no workunit needs, and locks their
 * rows: a workunit that comes to need one is counted after the transaction. */
enum err inputs_unused_lock(struct db *, struct arena *, char *const *names, size_t n,
    char ***unused, size_t *nunused, struct fail *);
/* Deletes the rows of at most DB_LIST_MAX files, which are locked. */
enum err inputs_forget(struct db *, char *const *names, size_t n, struct fail *);

#endif
