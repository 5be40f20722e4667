/* SPDX-License-Identifier: Apache-2.0 */
/* Large files, the file sets that workunits use, and which hosts hold them. */
#ifndef DB_FILE_H
#define DB_FILE_H

#include "db/db.h"
#include "db/entity.h"

/*
 * How many workunits still need an ordinary input file, which several of them may share
 * (table input_use). Whoever makes workunits counts them, and says so in
 * workunit.inputs_counted; file_deleter takes them off and removes a file that none
 * needs. A workunit that is not counted was made by another program, or by a release
 * that did not count.
 */

/*
 * Counts workunits that need these files, or takes them off, in the caller's
 * transaction: a name stands there once for each workunit. Sorts the names: in one
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
 * without taking them off. An upgrade says that this may have happened, and the first
 * file_deleter of this release sees to it.
 */
enum err inputs_count_wanted(struct db *, bool *wanted, struct fail *);
enum err inputs_count_want(struct db *, bool wanted, struct fail *);
/* Lists the workunits above id from, up to to, that are counted and need no inputs any
 * more, or need them and are not counted. */
enum err inputs_miscounted(struct db *, struct arena *, int64_t from, int64_t to,
    int64_t **ids, size_t *n, struct fail *);
/* Notes in at most DB_LIST_MAX of them that this has been corrected, in the caller's
 * transaction. E_RACE: one of them was right already. */
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

/* Takes file sets out of the tables; each function in the caller's transaction. */

struct fileset_use {                 /* the work that still has a set */
	int64_t unsent, in_progress; /* results */
	int64_t unfinished;          /* workunits that are not assimilated */
};
enum err fileset_use(
    struct db *, struct arena *, int64_t id, struct fileset_use *, struct fail *);
bool fileset_is_needed(const struct fileset_use *);
/* Lists at most max sets whose removal was ordered at this time or before, s UTC; the
 * oldest orders first. */
enum err filesets_leaving(struct db *, struct arena *, int64_t ordered_before,
    int64_t max, struct row_named **, size_t *n, struct fail *);

struct fileset_leaving {
	int64_t fileset_id;
	int64_t left; /* workunits that left the set in this step; 0 = there are none */
};
/*
 * Makes some workunits of the set workunits without one, and their results. E_RETRY: a
 * job is not in the ledger yet, which the transitioner does within seconds.
 */
enum err fileset_leave(
    struct db *, struct arena *, struct fileset_leaving *, struct fail *);
/* Is the file in more than one set? */
enum err file_is_shared(
    struct db *, struct arena *, int64_t file_id, bool *shared, struct fail *);
/* Reads at most max sets after this id, with what decides about their end. */
enum err filesets_to_retire(struct db *, struct arena *, int64_t after, int64_t max,
    struct row_retire **, size_t *n, struct fail *);
/* Stores since when nothing needs the set, s UTC; 0 = something does. */
enum err fileset_set_idle(struct db *, int64_t id, int64_t since, struct fail *);
/* Has the set workunits? In a transaction, as of now. */
enum err fileset_is_used(
    struct db *, struct arena *, int64_t id, bool *used, struct fail *);
/* Leaves the hosts that hold the file a message by which they delete it; adds their
 * number to *told. */
enum err file_tell_holders(struct db *, struct arena *, const struct row_member *file,
    int64_t now, int64_t *told, struct fail *);
/* Deletes a set without workunits, and those of its files that are in no other one. */
enum err fileset_remove(struct db *, struct arena *, int64_t id,
    const struct row_member *files, size_t n, struct fail *);

#endif
