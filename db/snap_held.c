/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the file sets of the files that the host holds. A file may be in any number
 * of sets, and a host may name every file of the project, so all reads are bounded;
 * the snapshot marks what was not read.
 */
#include "db/snap_held.h"

#include <stdlib.h>
#include <string.h>
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "lib/names.h"
#include "model/rows.h"
#include "trigger/cache.h"
#include "lib/banned.h"

/* Adds file sets with their files to the snapshot, by id. Names that are not in the
 * file table go no further than here. */

/* Adds the bytes of the file; the set is held only if all its files are. */
static void member_add(struct snap_file *file, const struct snap_member *m)
{
	file->bytes += m->bytes;
	file->bytes_missing += m->held ? 0 : m->bytes;
	file->held = file->held && m->held;
}

enum err snap_members_read(struct db *db, struct arena *a, const struct request *rq,
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

/* Reads which of these sets the generator has given up. */
static enum err read_given_up(struct db *db, struct arena *a,
    const struct sets_to_add *what, bool **no_work, struct fail *f)
{
	const struct triggers t = triggers_of(what->conf, db, NULL);
	char **names = NEWN(a, char *, what->n + 1);

	*no_work = NEWN(a, bool, what->n + 1);
	for (size_t i = 0; i < what->n; i++)
		names[i] =
		    set_rows_of(what->rows, what->ids[i], &(size_t){ 0 })->set_name;
	return no_work_there(&t, a, what->ids, names, what->n, *no_work, f);
}

static struct snap_file snap_file_of_row(
    const struct row_set_file *r, enum set_origin origin)
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
static enum err read_open_workunits(
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

static bool app_drains(const struct catalog *cat, int64_t appid)
{
	const struct app *app = cat == NULL ? NULL : catalog_app(cat, appid);

	return app != NULL && app->drain_time != 0;
}

/*
 * Adds the files of one set to the snapshot. Those that the host holds may be in other
 * sets, of which the caller knows.
 */
static void add_members_of_set(const struct names *held, const struct set_rows *rows,
    struct snap_file *file, struct snapshot *s)
{
	size_t n;
	const struct row_set_file *r = set_rows_of(rows, file->fileset_id, &n);

	file->held = n > 0 && r->file_id != 0;
	for (; n > 0; n--, r++) {
		struct snap_member m = { .fileset_id = r->fileset_id,
			.file_id = r->file_id,
			.name = r->file_name,
			.bytes = (int64_t)r->size };

		if (r->file_id == 0)
			continue;
		m.held = m.has_others = names_has(held, m.name);
		member_add(file, &m);
		s->members[s->nmembers++] = m;
	}
}

/* Appends the sets and their files to the snapshot. */
static enum err snap_sets_add(struct db *db, struct arena *a,
    const struct sets_to_add *what, struct snapshot *s, struct fail *f)
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
		    set_rows_of(what->rows, what->ids[i], &(size_t){ 0 }),
		    what->origin);
		to->no_work_available = no_work[i];
		to->app_drained = app_drains(s->cat,
		    set_rows_of(what->rows, what->ids[i], &(size_t){ 0 })->appid);
		to->paused = to->paused || to->app_drained;
		add_members_of_set(what->held, what->rows, to, s);
	}
	return read_open_workunits(db, a, files + s->nfiles - n, n, f);
}

/* Selects the sets that exist, and that are open if the query demands it, up to its
 * limit. */
static size_t select_sets(const struct catalog *cat, const struct supply_query *q,
    const struct set_rows *rows, int64_t *ids)
{
	size_t n = 0;

	for (size_t i = 0; i < q->nids && n < q->most; i++) {
		const struct row_set_file *r = set_rows_of(
		    rows, q->ids[i], &(size_t){ 0 });

		if (r != NULL && (!q->open_only || (r->paused == FILESET_OPEN &&
						       !app_drains(cat, r->appid))))
			ids[n++] = q->ids[i];
	}
	return n;
}

enum err snap_sets_query(struct db *db, struct arena *a, const struct conf *cf,
    const struct request *rq, const struct supply_query *q, struct snapshot *s,
    struct fail *f)
{
	struct set_rows rows = { 0 };
	int64_t *ids = NEWN(a, int64_t, q->nids + 1);
	size_t n;

	TRY(set_rows_read(db, a, q->ids, q->nids, &rows, f));
	set_rows_sort(&rows);
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

enum { HOLDERS_MOST = 16 }; /* holders of a file to look at */

/*
 * A generator may say that no more work can be made before the transitioner has
 * created the results of its last workunit; for NEWS_S seconds such a statement
 * counts as new.
 */
enum { NEWS_S = 60, DAY_S = 86400 };

/*
 * Marks the files that also belong to sets outside the snapshot, or may; such files are
 * never deleted.
 */
static void mark_other_sets(struct snapshot *s, const struct held_sets *h)
{
	for (size_t i = 0; i < h->nlinks; i++)
		if (snapshot_file(s, h->sets[h->links[i].set].id) == NULL)
			h->others[h->links[i].file] = true;
	for (size_t i = 0; i < h->nfiles; i++)
		for (size_t m = 0; m < s->nmembers; m++)
			if (s->members[m].file_id == h->files[i].id)
				s->members[m].has_others = h->others[i];
	s->search.left |= h->sets_cut || h->choice.cut;
}

static enum err read_no_work_ages(struct db *db, struct arena *a, const struct conf *cf,
    int64_t now, struct snapshot *s, struct fail *f)
{
	const struct triggers t = triggers_of(cf, db, NULL);
	struct snap_file **of = NEWN(a, struct snap_file *, s->nfiles + 1);
	char **names = NEWN(a, char *, s->nfiles + 1);
	int64_t *age_s = NEWN(a, int64_t, s->nfiles + 1);
	size_t n = 0;

	for (size_t i = 0; i < s->nfiles; i++) {
		struct snap_file *file = &s->files[i];

		if (!file->no_work_available || file->has_unsent)
			continue;
		names[n] = file->name;
		of[n++] = file;
	}
	enum err e = trigger_ages(
	    &t, a, TRIGGER_NO_WORK_AVAILABLE, names, n, now, age_s, f);
	for (size_t i = 0; e == OK && i < n; i++)
		of[i]->no_work_is_news = age_s[i] < NEWS_S;
	return e;
}

/* Notes whether one of the newest other holders of the file is active. */
static enum err find_active_holder(struct db *db, struct arena *a,
    const struct conf *cf, int64_t now, struct snapshot *s, struct snap_member *m,
    struct fail *f)
{
	int64_t ids[HOLDERS_MOST], id;
	struct row_number *rows = NULL;
	size_t n;
	enum err e = db_query(db, a, f, &rows, &n, FILE_OTHER_HOLDERS,
	    .file_id = m->file_id, .hostid = s->host.id, .max = HOLDERS_MOST);

	if (e != OK || n == 0)
		return e;
	for (size_t i = 0; i < n; i++)
		ids[i] = rows[i].v;
	e = db_number(db, f, &id, HOST_SEEN, .ids = db_ids(ids, n),
	    .since = now - cf->locality_active_host_days * DAY_S);
	m->elsewhere = e == OK;
	return e == E_NOTFOUND ? OK : e;
}

/* The first of the file's sets that has nothing unsent but may still get work; NULL
 * if there is none. */
static struct snap_member *set_awaiting_work(struct snapshot *s, int64_t file_id)
{
	for (size_t i = 0; i < s->nmembers; i++) {
		const struct snap_file *file;

		if (s->members[i].file_id != file_id)
			continue;
		file = snapshot_file(s, s->members[i].fileset_id);
		if (!file->has_unsent && file->has_open_wu)
			return &s->members[i];
	}
	return NULL;
}

/* Looks for other holders only of files that could be deleted although they may be
 * needed again; looks once per file, in however many sets it is. */
static enum err find_active_holders(struct db *db, struct arena *a,
    const struct conf *cf, int64_t now, struct snapshot *s, struct fail *f)
{
	for (size_t i = 0; i < s->nheld_files; i++) {
		struct snap_member *m = set_awaiting_work(s, s->held_files[i].id);

		if (m != NULL)
			TRY(find_active_holder(db, a, cf, now, s, m, f));
	}
	return OK;
}

enum err snapshot_files(struct db *db, struct arena *a, const struct conf *cf,
    const struct held_sets *h, int64_t now, struct snapshot *s, struct fail *f)
{
	int64_t *ids = NEWN(a, int64_t, h->choice.n + 1);
	size_t n = 0;

	s->held_files = h->files;
	s->nheld_files = h->nfiles;
	for (size_t i = 0; i < h->choice.n; i++)
		if (set_rows_of(h->rows, h->choice.now[i], &(size_t){ 0 }) != NULL)
			ids[n++] = h->choice.now[i];
	if (n > 0)
		TRY(snap_sets_add(db, a,
		    &(struct sets_to_add){ .conf = cf,
			.held = h->held,
			.rows = h->rows,
			.ids = ids,
			.n = n,
			.origin = SET_HELD },
		    s, f));
	mark_other_sets(s, h);
	TRY(read_no_work_ages(db, a, cf, now, s, f));
	if (cf->locality_keep_last_holder)
		TRY(find_active_holders(db, a, cf, now, s, f));
	return OK;
}
