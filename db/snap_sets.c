/* SPDX-License-Identifier: Apache-2.0 */
/* Adds file sets with their files to the snapshot, by id. Names that are not in the
 * file table go no further than here. */
#include "db/snap_sets.h"

#include <stdlib.h>
#include <string.h>
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/order.h"
#include "model/rows.h"
#include "trigger/cache.h"
#include "lib/banned.h"

/* Adds the bytes of the file; the set is held only if all its files are. */
static void
member_add(struct snap_file *file, const struct snap_member *m)
{
	file->bytes += m->bytes;
	file->bytes_missing += m->held ? 0 : m->bytes;
	file->held = file->held && m->held;
}

enum err
snap_members_read(struct db *db, struct arena *a, const struct request *rq,
    const int64_t *ids, size_t n, struct supply_rows *out, struct fail *f)
{
	const struct names *held = request_held(a, rq);
	struct row_member *rows = NULL;
	size_t nrows;

	TRY(db_query(
	    db, a, f, &rows, &nrows, FILESET_MEMBERS, .fileset_ids = db_ids(ids, n)));
	out->members = NEWN(a, struct snap_member, nrows + 1);
	for (size_t i = 0; i < nrows; i++)
		out->members[out->n++] = (struct snap_member){
			.fileset_id = rows[i].fileset_id,
			.file_id = rows[i].file_id,
			.name = rows[i].name,
			.bytes = (int64_t)rows[i].size,
			.held = names_has(held, rows[i].name)
		};
	return OK;
}

const struct row_set_file *
set_rows_first(const struct set_rows *rows, int64_t fileset_id)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].fileset_id == fileset_id)
			return &rows->v[i];
	return NULL;
}

/* Copies the array on growth, as a request has few rounds. */
void
set_rows_append(
    struct arena *a, struct set_rows *to, const struct row_set_file *v, size_t n)
{
	struct row_set_file *all = NEWN(a, struct row_set_file, to->n + n + 1);

	if (to->n > 0)
		memcpy(all, to->v, to->n * sizeof(*all));
	if (n > 0)
		memcpy(all + to->n, v, n * sizeof(*all));
	to->v = all;
	to->n += n;
}

enum err
snap_sets_read(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct set_rows *to, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_LONG) {
		size_t part = n - i < DB_LIST_LONG ? n - i : DB_LIST_LONG, got;
		struct row_set_file *rows = NULL;

		TRY(db_query(db, a, f, &rows, &got, SETS_WITH_FILES,
		    .ids = db_ids(ids + i, part)));
		set_rows_append(a, to, rows, got);
	}
	return OK;
}

/* Reads which of these sets the generator has given up. */
static enum err
read_given_up(struct db *db, struct arena *a, const struct sets_to_add *what,
    bool **no_work, struct fail *f)
{
	const struct triggers t = triggers_of(what->conf, db, NULL);
	char **names = NEWN(a, char *, what->n + 1);

	*no_work = NEWN(a, bool, what->n + 1);
	for (size_t i = 0; i < what->n; i++)
		names[i] = set_rows_first(what->rows, what->ids[i])->set_name;
	return no_work_there(&t, a, what->ids, names, what->n, *no_work, f);
}

static struct snap_file
snap_file_of_row(const struct row_set_file *r, enum set_origin origin)
{
	return (struct snap_file){
		.fileset_id = r->fileset_id,
		.name = r->set_name,
		.from_working_set = origin == SET_PICKED,
		.searched = origin == SET_SEARCHED,
		.paused = r->paused == FILESET_PAUSED,
		.draining = r->paused == FILESET_DRAINING,
		.demand_time = r->demand_time,
		.has_unsent = r->has_unsent != 0,
		.has_open_wu = r->has_unsent != 0, /* not asked in this case */
		.has_any_wu = r->has_unsent != 0,
	};
}

/* Reads whether the sets without unsent results may get some. */
static enum err
read_open_workunits(
    struct db *db, struct arena *a, struct snap_file *files, size_t n, struct fail *f)
{
	int64_t ids[DB_LIST_LONG];
	size_t nids = 0;

	for (size_t i = 0; i < n; i++) {
		enum err e;
		size_t got;
		struct row_pair *v = NULL;

		if (!files[i].has_unsent)
			ids[nids++] = files[i].fileset_id;
		if (nids == 0 || (nids < N(ids) && i + 1 < n))
			continue;
		e = db_query(
		    db, a, f, &v, &got, SETS_WORKUNITS, .ids = db_ids(ids, nids));
		if (e != OK)
			return e;
		nids = 0;
		for (size_t k = 0; k < n; k++)
			for (size_t m = 0; m < got; m++) {
				const struct row_pair *row = v + m;

				if (row->a != files[k].fileset_id)
					continue;
				files[k].has_open_wu = row->b >= 2;
				files[k].has_any_wu = row->b >= 1;
			}
	}
	return OK;
}

static bool
app_drains(const struct catalog *cat, int64_t appid)
{
	const struct app *app = cat == NULL ? NULL : catalog_app(cat, appid);

	return app != NULL && app->drain_time != 0;
}

/* Adds the files of one set to the snapshot. */
static void
add_members_of_set(const struct names *held, const struct set_rows *rows,
    struct snap_file *file, struct snapshot *s)
{
	bool any = false;

	for (size_t i = 0; i < rows->n; i++) {
		const struct row_set_file *r = &rows->v[i];
		struct snap_member m = { .fileset_id = r->fileset_id,
			.file_id = r->file_id,
			.name = r->file_name,
			.bytes = (int64_t)r->size };

		if (r->fileset_id != file->fileset_id || r->file_id == 0)
			continue;
		m.held = names_has(held, m.name);
		file->held = file->held || !any;
		any = true;
		member_add(file, &m);
		s->members[s->nmembers++] = m;
	}
}

enum err
snap_sets_add(struct db *db, struct arena *a, const struct sets_to_add *what,
    struct snapshot *s, struct fail *f)
{
	size_t n = what->n;
	struct snap_file *files = NEWN(a, struct snap_file, s->nfiles + n + 1);
	struct snap_member *all = NEWN(
	    a, struct snap_member, s->nmembers + what->rows->n + 1);
	bool *no_work;

	TRY(read_given_up(db, a, what, &no_work, f));
	if (s->nfiles > 0)
		memcpy(files, s->files, s->nfiles * sizeof(*files));
	if (s->nmembers > 0)
		memcpy(all, s->members, s->nmembers * sizeof(*all));
	s->files = files;
	s->members = all;
	for (size_t i = 0; i < n; i++) {
		struct snap_file *to = &files[s->nfiles++];

		*to = snap_file_of_row(
		    set_rows_first(what->rows, what->ids[i]), what->origin);
		to->no_work_available = no_work[i];
		to->app_drained = app_drains(
		    s->cat, set_rows_first(what->rows, what->ids[i])->appid);
		to->paused = to->paused || to->app_drained;
		add_members_of_set(what->held, what->rows, to, s);
	}
	return read_open_workunits(db, a, files + s->nfiles - n, n, f);
}

/* Selects the sets that exist, and that are open if the query demands it, up to its
 * limit. */
static size_t
select_sets(const struct catalog *cat, const struct supply_query *q,
    const struct set_rows *rows, int64_t *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < q->nids && n < q->most; i++) {
		const struct row_set_file *r = set_rows_first(rows, q->ids[i]);

		if (r != NULL && (!q->open_only || (r->paused == FILESET_OPEN &&
						       !app_drains(cat, r->appid))))
			ids[n++] = q->ids[i];
	}
	return n;
}

enum err
snap_sets_query(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, const struct supply_query *q, struct snapshot *s,
    struct fail *f)
{
	struct set_rows rows = { 0 };
	int64_t *ids = NEWN(a, int64_t, q->nids + 1);
	size_t n;

	TRY(snap_sets_read(db, a, q->ids, q->nids, &rows, f));
	n = select_sets(s->cat, q, &rows, ids);
	if (n == 0)
		return OK;
	return snap_sets_add(db, a,
	    &(struct sets_to_add){ .conf = cf,
		.held = request_held(a, rq),
		.rows = &rows,
		.ids = ids,
		.n = n,
		.origin = q->origin },
	    s, f);
}
