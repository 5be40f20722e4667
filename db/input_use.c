/* SPDX-License-Identifier: Apache-2.0 */
#include "db/input_use.h"

#include <stdlib.h>
#include <string.h>
#include "db/stmts.h"
#include "lib/order.h"
#include "lib/banned.h"

/* How many of the sorted names are the same as the first one? */
static size_t
times_of(char *const *names, size_t n)
{
	size_t same = 1;

	while (same < n && strcmp(names[same], names[0]) == 0)
		same++;
	return same;
}

enum err
inputs_use(struct db *db, struct arena *a, char **names, size_t n, struct fail *f)
{
	struct db_batch *b = db_batch(a, SQL_INPUT_USE);

	if (n > 0)
		qsort(names, n, sizeof(*names), name_order);
	for (size_t i = 0, same; i < n; i += same) {
		same = times_of(names + i, n - i);
		db_batch_add(b, INPUT_USE, .name = names[i], .n = (int64_t)same);
	}
	return db_batch_run(db, b, NULL, f);
}

enum err
inputs_release(struct db *db, struct arena *a, char **names, size_t n, struct fail *f)
{
	struct db_batch *b = db_batch(a, SQL_INPUT_RELEASE);

	if (n > 0)
		qsort(names, n, sizeof(*names), name_order);
	for (size_t i = 0, same; i < n; i += same) {
		same = times_of(names + i, n - i);
		db_batch_add(b, INPUT_RELEASE, .n = (int64_t)same, .name = names[i]);
	}
	return db_batch_run(db, b, NULL, f);
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

static char **
input_names(struct arena *a, const struct row_text *rows, size_t n)
{
	char **names = NEWN(a, char *, n + 1);

	for (size_t i = 0; i < n; i++)
		names[i] = rows[i].s;
	return names;
}

enum err
inputs_unused(struct db *db, struct arena *a, size_t max, char ***names, size_t *n,
    struct fail *f)
{
	struct row_text *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, INPUTS_UNUSED, .max = max));
	*names = input_names(a, rows, *n);
	return OK;
}

enum err
inputs_unused_lock(struct db *db, struct arena *a, char *const *names, size_t n,
    char ***unused, size_t *nunused, struct fail *f)
{
	struct row_text *rows = NULL;

	TRY(db_query(
	    db, a, f, &rows, nunused, INPUTS_UNUSED_LOCK, .names = db_names(names, n)));
	*unused = input_names(a, rows, *nunused);
	return OK;
}

enum err
inputs_forget(struct db *db, char *const *names, size_t n, struct fail *f)
{
	return n == 0 ?
	           OK :
	           db_exec(db, f, NULL, INPUTS_FORGET, .names = db_names(names, n));
}

enum err
inputs_count_wanted(struct db *db, bool *wanted, struct fail *f)
{
	int64_t n = 0;

	TRY(db_number(db, f, &n, PROJECT_COUNT_INPUTS));
	*wanted = n != 0;
	return OK;
}

enum err
inputs_count_want(struct db *db, bool wanted, struct fail *f)
{
	return db_exec(db, f, NULL, PROJECT_SET_COUNT_INPUTS, .count_inputs = wanted);
}

enum err
inputs_miscounted(struct db *db, struct arena *a, int64_t from, int64_t to,
    int64_t **ids, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, WUS_MISCOUNTED, .from = from, .to = to));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err
inputs_note_counted(struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	int64_t changed = 0;

	if (n == 0)
		return OK;
	TRY(db_exec(db, f, &changed, WUS_COUNT_INPUTS, .ids = db_ids(ids, n)));
	return changed == (int64_t)n ?
	           OK :
	           FAIL(f, E_RACE, "the inputs of a workunit are counted by now");
}

enum err
input_correct(struct db *db, const char *name, int64_t difference, struct fail *f)
{
	return db_exec(db, f, NULL, INPUT_USE, .name = name, .n = difference);
}

enum err
inputs_counted_docs(struct db *db, struct arena *a, struct workunit *const *wus,
    size_t n, struct counted_docs *c, struct fail *f)
{
	c->n = 0;
	for (size_t i = 0; i < n; i++)
		if (wus[i]->inputs_counted)
			c->ids[c->n++] = wus[i]->id;
	return c->n == 0 ? OK : workunits_xml_docs(db, a, c->ids, c->n, c->docs, f);
}

enum err
inputs_take_off(struct db *db, struct arena *a, const struct counted_docs *c,
    char **names, size_t n, struct fail *f)
{
	if (c->n == 0)
		return OK;
	TRY(inputs_note_counted(db, c->ids, c->n, f));
	return inputs_release(db, a, names, n, f);
}
