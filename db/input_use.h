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

#include "db/db.h"

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
