/* SPDX-License-Identifier: Apache-2.0 */
#include "db/input_use.h"

#include <string.h>
#include "db/stmts.h"
#include "lib/banned.h"

enum err
input_use(struct db *db, const char *name, int64_t n, struct fail *f)
{
	return db_exec(db, f, NULL, INPUT_USE, .name = name, .n = n);
}

enum err
input_release(struct db *db, const char *name, int64_t n, struct fail *f)
{
	return db_exec(db, f, NULL, INPUT_RELEASE, .n = n, .name = name);
}

static enum err
some_counted(struct db *db, struct arena *a, char *const *names, size_t n,
    bool *counted, struct fail *f)
{
	struct row_text *rows = NULL;
	size_t nrows = 0;

	TRY(db_query(
	    db, a, f, &rows, &nrows, INPUTS_COUNTED, .names = db_names(names, n)));
	for (size_t i = 0; i < n; i++) {
		counted[i] = false;
		for (size_t k = 0; k < nrows && !counted[i]; k++)
			counted[i] = strcmp(rows[k].s, names[i]) == 0;
	}
	return OK;
}

enum err
inputs_counted(struct db *db, struct arena *a, char *const *names, size_t n,
    bool *counted, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_MAX)
		TRY(some_counted(db, a, names + i,
		    n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, counted + i, f));
	return OK;
}

enum err
inputs_unused(struct db *db, struct arena *a, int64_t max, struct row_text **rows,
    size_t *n, struct fail *f)
{
	*rows = NULL;
	return db_query(db, a, f, rows, n, INPUTS_UNUSED, .max = max);
}

enum err
input_forget(struct db *db, const char *name, bool *gone, struct fail *f)
{
	int64_t affected = 0;

	TRY(db_exec(db, f, &affected, INPUT_FORGET, .name = name));
	*gone = affected > 0;
	return OK;
}
