/* SPDX-License-Identifier: Apache-2.0 */
/* Large files, the file sets that workunits use, and which hosts hold them. */
#include "db/file.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/buf.h"
#include "lib/names.h"
#include "model/rows.h"
#include "model/tally.h"
#include "lib/banned.h"

/* How many of the sorted names are the same as the first one? */
static size_t times_of(char *const *names, size_t n)
{
	size_t same = 1;

	while (same < n && strcmp(names[same], names[0]) == 0)
		same++;
	return same;
}

enum err inputs_use(
    struct db *db, struct arena *a, char **names, size_t n, struct fail *f)
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

enum err inputs_release(
    struct db *db, struct arena *a, char **names, size_t n, struct fail *f)
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

static enum err some_counted(struct db *db, struct arena *a, char *const *names,
    size_t n, bool *counted, struct fail *f)
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

enum err inputs_counted(struct db *db, struct arena *a, char *const *names, size_t n,
    bool *counted, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_MAX)
		TRY(some_counted(db, a, names + i,
		    n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX, counted + i, f));
	return OK;
}

static char **input_names(struct arena *a, const struct row_text *rows, size_t n)
{
	char **names = NEWN(a, char *, n + 1);

	for (size_t i = 0; i < n; i++)
		names[i] = rows[i].s;
	return names;
}

enum err inputs_unused(struct db *db, struct arena *a, size_t max, char ***names,
    size_t *n, struct fail *f)
{
	struct row_text *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, INPUTS_UNUSED, .max = max));
	*names = input_names(a, rows, *n);
	return OK;
}

enum err inputs_unused_lock(struct db *db, struct arena *a, char *const *names,
    size_t n, char ***unused, size_t *nunused, struct fail *f)
{
	struct row_text *rows = NULL;

	TRY(db_query(
	    db, a, f, &rows, nunused, INPUTS_UNUSED_LOCK, .names = db_names(names, n)));
	*unused = input_names(a, rows, *nunused);
	return OK;
}

enum err inputs_forget(struct db *db, char *const *names, size_t n, struct fail *f)
{
	return n == 0 ?
	           OK :
	           db_exec(db, f, NULL, INPUTS_FORGET, .names = db_names(names, n));
}

enum err inputs_count_wanted(struct db *db, bool *wanted, struct fail *f)
{
	int64_t n = 0;

	TRY(db_number(db, f, &n, PROJECT_COUNT_INPUTS));
	*wanted = n != 0;
	return OK;
}

enum err inputs_count_want(struct db *db, bool wanted, struct fail *f)
{
	return db_exec(db, f, NULL, PROJECT_SET_COUNT_INPUTS, .count_inputs = wanted);
}

enum err inputs_miscounted(struct db *db, struct arena *a, int64_t from, int64_t to,
    int64_t **ids, size_t *n, struct fail *f)
{
	struct row_number *rows = NULL;

	TRY(db_query(db, a, f, &rows, n, WUS_MISCOUNTED, .from = from, .to = to));
	*ids = row_numbers(a, rows, *n);
	return OK;
}

enum err inputs_note_counted(
    struct db *db, const int64_t *ids, size_t n, struct fail *f)
{
	int64_t changed = 0;

	if (n == 0)
		return OK;
	TRY(db_exec(db, f, &changed, WUS_COUNT_INPUTS, .ids = db_ids(ids, n)));
	return changed == (int64_t)n ?
	           OK :
	           FAIL(f, E_RACE, "the inputs of a workunit are counted by now");
}

enum err input_correct(
    struct db *db, const char *name, int64_t difference, struct fail *f)
{
	return db_exec(db, f, NULL, INPUT_USE, .name = name, .n = difference);
}

enum err inputs_counted_docs(struct db *db, struct arena *a,
    struct workunit *const *wus, size_t n, struct counted_docs *c, struct fail *f)
{
	c->n = 0;
	for (size_t i = 0; i < n; i++)
		if (wus[i]->inputs_counted)
			c->ids[c->n++] = wus[i]->id;
	return c->n == 0 ? OK : workunits_xml_docs(db, a, c->ids, c->n, c->docs, f);
}

enum err inputs_take_off(struct db *db, struct arena *a, const struct counted_docs *c,
    char **names, size_t n, struct fail *f)
{
	if (c->n == 0)
		return OK;
	TRY(inputs_note_counted(db, c->ids, c->n, f));
	return inputs_release(db, a, names, n, f);
}

static enum err row_name_check(const char *what, const char *name, struct fail *f)
{
	if (name == NULL || name[0] == '\0' || strlen(name) > DB_NAME_MAX)
		return FAIL(f, E_BADREQ, "%s name \"%.40s\" must have 1 to %d bytes",
		    what, name != NULL ? name : "", DB_NAME_MAX);
	return OK;
}

enum err file_insert(struct db *db, struct file *file, struct fail *f)
{
	file->id = 0; /* assigned by the database, also on a retry */
	TRY(row_name_check("file", file->name, f));
	TRY(db_exec(db, f, NULL, FILE_INSERT, .file = file));
	file->id = db_insert_id(db);
	return OK;
}

enum err file_by_name(struct db *db, struct arena *a, const char *name,
    struct file **file, struct fail *f)
{
	return db_row(db, a, f, file, FILE_BY_NAME, .name = name);
}

enum err files_by_names(struct db *db, struct arena *a, const char *const *names,
    size_t n, struct file **files, size_t *nfiles, struct fail *f)
{
	size_t cap = 0, total = 0;
	struct file *all = NULL;

	for (size_t i = 0; i < n; i += DB_LIST_LONG) {
		size_t part = n - i < DB_LIST_LONG ? n - i : DB_LIST_LONG, got;
		struct file *rows = NULL;
		enum err e = db_query(db, a, f, &rows, &got, FILES_BY_NAMES,
		    .names = db_names(names + i, part));
		if (e != OK)
			return e;
		for (size_t k = 0; k < got; k++)
			PUSH(a, all, total, cap) = rows[k];
	}
	*files = all;
	*nfiles = total;
	return OK;
}

enum err fileset_insert(struct db *db, struct fileset *set, const int64_t *file_ids,
    size_t n, struct fail *f)
{
	set->id = 0; /* assigned by the database, also on a retry */
	TRY(row_name_check("file set", set->name, f));
	TRY(db_exec(db, f, NULL, FILESET_INSERT, .set = set));
	set->id = db_insert_id(db);
	return fileset_fill(db, set->id, file_ids, n, f);
}

enum err fileset_fill(
    struct db *db, int64_t id, const int64_t *file_ids, size_t n, struct fail *f)
{
	for (size_t i = 0; i < n; i++)
		TRY(db_exec(db, f, NULL, FILESET_FILE_INSERT, .fileset_id = id,
		    .file_id = file_ids[i]));
	return OK;
}

enum err fileset_by_name(struct db *db, struct arena *a, const char *name,
    struct fileset **set, struct fail *f)
{
	return db_row(db, a, f, set, FILESET_BY_NAME, .name = name);
}

enum err fileset_by_id(
    struct db *db, struct arena *a, int64_t id, struct fileset **set, struct fail *f)
{
	return db_row(db, a, f, set, FILESET_BY_ID, .id = id);
}

static int member_order(const void *a, const void *b)
{
	const struct row_member *x = a, *y = b;

	return strcmp(x->name, y->name);
}

enum err fileset_files(struct db *db, struct arena *a, int64_t id,
    struct row_member **files, size_t *n, struct fail *f)
{
	struct row_member *rows = NULL;

	TRY(db_query(
	    db, a, f, &rows, n, FILESET_MEMBERS, .fileset_ids = db_ids(&id, 1)));
	if (*n > 0)
		qsort(rows, *n, sizeof(struct row_member), member_order);
	*files = rows;
	return OK;
}

enum err fileset_set_next(
    struct db *db, int64_t id, int32_t expect_next, int32_t next, struct fail *f)
{
	int64_t affected;

	TRY(db_exec(db, f, &affected, FILESET_SET_NEXT, .gen_next = next, .id = id,
	    .was = expect_next));
	if (affected == 0)
		return FAIL(f, E_RACE,
		    "file set %lld: another generator has advanced it", (long long)id);
	return OK;
}

enum err fileset_target(struct db *db, int64_t id, int64_t *results, struct fail *f)
{
	return db_number(db, f, results, FILESET_ANY_TARGET, .fileset_id = id);
}

enum err fileset_dropped(struct db *db, const char *name, int64_t now, struct fail *f)
{
	return db_exec(db, f, NULL, FILESET_DROPPED, .now = now, .name = name);
}

static enum err set_hold(struct db *db, int64_t id, int32_t paused, const char *reason,
    int64_t remove_time, struct fail *f)
{
	int64_t affected;

	TRY(db_exec(db, f, &affected, FILESET_SET_PAUSED, .paused = paused,
	    .reason = reason, .remove_time = remove_time, .id = id));
	if (affected == 0)
		return FAIL(f, E_NOTFOUND, "no file set %lld", (long long)id);
	return OK;
}

enum err fileset_set_paused(
    struct db *db, int64_t id, int32_t paused, const char *reason, struct fail *f)
{
	return set_hold(db, id, paused, reason, 0, f);
}

enum err fileset_order_removal(struct db *db, int64_t id, int64_t now, struct fail *f)
{
	return set_hold(db, id, FILESET_DRAINING, "to be removed", now, f);
}

enum err fileset_source(struct db *db, struct arena *a, int64_t id,
    struct row_fileset_source *source, struct fail *f)
{
	struct row_fileset_source *rows = NULL;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, FILESET_SOURCE, .fileset_id = id));
	*source = n > 0 ? rows[0] :
	                  (struct row_fileset_source){ .fileset_id = id,
				  .generator = arena_strdup(a, "") };
	return OK;
}

enum err fileset_source_set(
    struct db *db, const struct row_fileset_source *source, struct fail *f)
{
	return db_exec(db, f, NULL, FILESET_SOURCE_SET,
	    .fileset_id = source->fileset_id, .generator = source->generator,
	    .low_water = source->low_water);
}

enum err filesets_low(struct db *db, struct arena *a, int64_t appid,
    struct row_named **rows, size_t *n, struct fail *f)
{
	*rows = NULL;
	return db_query(db, a, f, rows, n, FILESETS_LOW, .appid = appid);
}

enum err fileset_use(
    struct db *db, struct arena *a, int64_t id, struct fileset_use *u, struct fail *f)
{
	struct row_tally *results;
	struct row_wu_counts *wus;

	TRY(db_row(db, a, f, &results, FILE_TALLY, .fileset_id = id));
	TRY(db_row(db, a, f, &wus, FILE_WU_COUNTS, .fileset_id = id));
	*u = (struct fileset_use){ .unsent = results->unsent,
		.in_progress = results->in_progress,
		.unfinished = wus->total - wus->assimilated };
	return OK;
}

bool fileset_is_needed(const struct fileset_use *u)
{
	return u->unsent > 0 || u->in_progress > 0 || u->unfinished > 0;
}

enum err filesets_leaving(struct db *db, struct arena *a, int64_t ordered_before,
    int64_t max, struct row_named **rows, size_t *n, struct fail *f)
{
	*rows = NULL;
	return db_query(db, a, f, rows, n, FILESETS_LEAVING,
	    .ordered_before = ordered_before, .max = max);
}

enum err fileset_leave(
    struct db *db, struct arena *a, struct fileset_leaving *l, struct fail *f)
{
	struct row_number *rows = NULL;
	struct workunit *wus;
	int64_t *ids, unfolded = 0;
	size_t n = 0, nwus;

	l->left = 0;
	TRY(db_query(db, a, f, &rows, &n, FILESET_WUS, .fileset_id = l->fileset_id,
	    .max = DB_LIST_MAX));
	if (n == 0)
		return OK;
	ids = row_numbers(a, rows, n);
	ids_sort(ids, n);
	TRY(workunits_lock(db, a, ids, n, &wus, &nwus, f));
	TRY(db_number(db, f, &unfolded, WUS_UNFOLDED, .workunitids = db_ids(ids, n)));
	if (unfolded > 0)
		return FAIL(f, E_RETRY,
		    "%lld jobs of the file are not in the ledger yet; is the transitioner running?",
		    (long long)unfolded);
	TRY(db_exec(db, f, NULL, WUS_LEAVE_FILESET, .ids = db_ids(ids, n)));
	TRY(db_exec(db, f, NULL, RESULTS_LEAVE_FILESET, .workunitids = db_ids(ids, n)));
	l->left = (int64_t)n;
	return OK;
}

enum err file_is_shared(
    struct db *db, struct arena *a, int64_t file_id, bool *shared, struct fail *f)
{
	struct row_text *rows = NULL;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, SETS_OF_FILE, .file_id = file_id));
	*shared = n > 1;
	return OK;
}

enum err filesets_to_retire(struct db *db, struct arena *a, int64_t after, int64_t max,
    struct row_retire **rows, size_t *n, struct fail *f)
{
	*rows = NULL;
	return db_query(
	    db, a, f, rows, n, FILESETS_TO_RETIRE, .after = after, .max = max);
}

enum err fileset_set_idle(struct db *db, int64_t id, int64_t since, struct fail *f)
{
	return db_exec(db, f, NULL, FILESET_SET_IDLE, .since = since, .id = id);
}

enum err fileset_is_used(
    struct db *db, struct arena *a, int64_t id, bool *used, struct fail *f)
{
	int64_t most = 1;
	struct row_number *rows = NULL;
	size_t n = 0;

	TRY(db_query(db, a, f, &rows, &n, FILESET_WUS, .fileset_id = id, .max = most));
	*used = n > 0;
	return OK;
}

enum err file_tell_holders(struct db *db, struct arena *a,
    const struct row_member *file, int64_t now, int64_t *told, struct fail *f)
{
	struct buf b = buf_new(a);
	int64_t n = 0;

	buf_tag(&b, "delete_file_info", file->name);
	TRY(db_exec(
	    db, f, &n, HOLDERS_TELL, .now = now, .xml = b.p, .file_id = file->file_id));
	*told += n;
	return OK;
}

enum err fileset_remove(struct db *db, struct arena *a, int64_t id,
    const struct row_member *files, size_t n, struct fail *f)
{
	int64_t kind = TALLY_OF_FILESET;

	(void)a;
	TRY(db_exec(db, f, NULL, TALLY_DELETE, .kind = kind, .id = id));
	TRY(db_exec(db, f, NULL, FILESET_UNTRIGGER, .id = id));
	TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILESET_UNLINK, FILESET_UNTRIGGER),
	    FILESET_UNTRIGGER, .id = id));
	TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILESET_UNSOURCE, FILESET_UNTRIGGER),
	    FILESET_UNTRIGGER, .id = id));
	TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILESET_DELETE, FILESET_UNTRIGGER),
	    FILESET_UNTRIGGER, .id = id));
	for (size_t i = 0; i < n; i++) {
		TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILE_UNHELD, FILESET_UNTRIGGER),
		    FILESET_UNTRIGGER, .id = files[i].file_id));
		TRY(db_exec_like(db, f, NULL, SQL_LIKE(FILE_DELETE, FILESET_UNTRIGGER),
		    FILESET_UNTRIGGER, .id = files[i].file_id));
	}
	return OK;
}
