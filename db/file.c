/* SPDX-License-Identifier: Apache-2.0 */
/* Large files, the file sets that workunits use, and which hosts hold them. */
#include "db/entity.h"

#include <stdlib.h>
#include <string.h>
#include "db/stmts.h"
#include "model/rows.h"
#include "lib/banned.h"

static enum err
row_name_check(const char *what, const char *name, struct fail *f)
{
	if (name == NULL || name[0] == '\0' || strlen(name) > DB_NAME_MAX)
		return FAIL(f, E_BADREQ, "%s name \"%.40s\" must have 1 to %d bytes",
		    what, name != NULL ? name : "", DB_NAME_MAX);
	return OK;
}

enum err
file_insert(struct db *db, struct file *file, struct fail *f)
{
	enum err e = row_name_check("file", file->name, f);

	file->id = 0; /* assigned by the database, also on a retry */
	if (e == OK)
		e = db_exec(db, f, NULL, FILE_INSERT, .file = file);
	if (e == OK)
		file->id = db_insert_id(db);
	return e;
}

enum err
file_by_name(struct db *db, struct arena *a, const char *name, struct file **file,
    struct fail *f)
{
	return db_row(db, a, f, file, FILE_BY_NAME, .name = name);
}

enum err
files_by_names(struct db *db, struct arena *a, const char *const *names, size_t n,
    struct file **files, size_t *nfiles, struct fail *f)
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

enum err
fileset_insert(struct db *db, struct fileset *set, const int64_t *file_ids, size_t n,
    struct fail *f)
{
	enum err e = row_name_check("file set", set->name, f);

	set->id = 0; /* assigned by the database, also on a retry */
	if (e == OK)
		e = db_exec(db, f, NULL, FILESET_INSERT, .set = set);
	if (e != OK)
		return e;
	set->id = db_insert_id(db);
	return fileset_fill(db, set->id, file_ids, n, f);
}

enum err
fileset_fill(
    struct db *db, int64_t id, const int64_t *file_ids, size_t n, struct fail *f)
{
	for (size_t i = 0; i < n; i++)
		TRY(db_exec(db, f, NULL, FILESET_FILE_INSERT, .fileset_id = id,
		    .file_id = file_ids[i]));
	return OK;
}

enum err
fileset_by_name(struct db *db, struct arena *a, const char *name, struct fileset **set,
    struct fail *f)
{
	return db_row(db, a, f, set, FILESET_BY_NAME, .name = name);
}

enum err
fileset_by_id(
    struct db *db, struct arena *a, int64_t id, struct fileset **set, struct fail *f)
{
	return db_row(db, a, f, set, FILESET_BY_ID, .id = id);
}

static int
member_order(const void *a, const void *b)
{
	const struct row_member *x = a, *y = b;

	return strcmp(x->name, y->name);
}

enum err
fileset_files(struct db *db, struct arena *a, int64_t id, struct row_member **files,
    size_t *n, struct fail *f)
{
	struct row_member *rows = NULL;

	TRY(db_query(
	    db, a, f, &rows, n, FILESET_MEMBERS, .fileset_ids = db_ids(&id, 1)));
	if (*n > 0)
		qsort(rows, *n, sizeof(struct row_member), member_order);
	*files = rows;
	return OK;
}

enum err
fileset_set_next(
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

enum err
fileset_target(struct db *db, int64_t id, int64_t *results, struct fail *f)
{
	return db_number(db, f, results, FILESET_ANY_TARGET, .fileset_id = id);
}

enum err
fileset_dropped(struct db *db, const char *name, int64_t now, struct fail *f)
{
	return db_exec(db, f, NULL, FILESET_DROPPED, .now = now, .name = name);
}

static enum err
set_hold(struct db *db, int64_t id, int32_t paused, const char *reason,
    int64_t remove_time, struct fail *f)
{
	int64_t affected;

	TRY(db_exec(db, f, &affected, FILESET_SET_PAUSED, .paused = paused,
	    .reason = reason, .remove_time = remove_time, .id = id));
	if (affected == 0)
		return FAIL(f, E_NOTFOUND, "no file set %lld", (long long)id);
	return OK;
}

enum err
fileset_set_paused(
    struct db *db, int64_t id, int32_t paused, const char *reason, struct fail *f)
{
	return set_hold(db, id, paused, reason, 0, f);
}

enum err
fileset_order_removal(struct db *db, int64_t id, int64_t now, struct fail *f)
{
	return set_hold(db, id, FILESET_DRAINING, "to be removed", now, f);
}

enum err
fileset_source(struct db *db, struct arena *a, int64_t id,
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

enum err
fileset_source_set(
    struct db *db, const struct row_fileset_source *source, struct fail *f)
{
	return db_exec(db, f, NULL, FILESET_SOURCE_SET,
	    .fileset_id = source->fileset_id, .generator = source->generator,
	    .low_water = source->low_water);
}

enum err
filesets_low(struct db *db, struct arena *a, int64_t appid, struct row_named **rows,
    size_t *n, struct fail *f)
{
	*rows = NULL;
	return db_query(db, a, f, rows, n, FILESETS_LOW, .appid = appid);
}
