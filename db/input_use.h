/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How many workunits still need an ordinary input file, which several of them may share
 * (table input_use).  Whoever makes workunits counts them; file_deleter takes them off
 * and removes a file that none needs.  A file without a row was made by other programs.
 */
#ifndef DB_INPUT_USE_H
#define DB_INPUT_USE_H

#include "db/db.h"

/* Adds n workunits to those that need the file, in the caller's transaction. */
enum err input_use(struct db *, const char *name, int64_t n, struct fail *);
/* Takes n off, in the caller's transaction. */
enum err input_release(struct db *, const char *name, int64_t n, struct fail *);
/* Sets counted[] for each of the names: has it a row? */
enum err inputs_counted(struct db *, struct arena *, char *const *names, size_t n,
    bool *counted, struct fail *);
/* Lists at most max files that no workunit needs. */
enum err inputs_unused(struct db *, struct arena *, int64_t max, struct row_text **,
    size_t *n, struct fail *);
/* Deletes the row of a file that no workunit needs, in the caller's transaction; *gone
 * is false if one needs it again. */
enum err input_forget(struct db *, const char *name, bool *gone, struct fail *);

#endif
