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

/* The first row of a set; NULL if it has none. */
static const struct row_set_file *
set_rows_first(const struct set_rows *rows, int64_t fileset_id)
{
	for (size_t i = 0; i < rows->n; i++)
		if (rows->v[i].fileset_id == fileset_id)
			return &rows->v[i];
	return NULL;
}

/* Copies the array on growth, as a request has few rounds. */
static void
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

/* Appends the rows of the sets with these ids; absent sets have none. */
static enum err
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

/* Appends the sets and their files to the snapshot. */
static enum err
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

enum {
	SETS_MOST = 256,  /* sets held in part or whole that may serve one request */
	OF_SOME = 256,    /* sets to read for several files together */
	OF_EACH = 4,      /* sets to read per file, if there are many files */
	OF_ONE = 16,      /* newest sets to read of one file, if it has more */
	ALONE_MOST = 256, /* files to look up one by one */
	AT_ONCE = 4096,  /* pairs of a held file and a set to read with one statement */
	FILES_EACH = 64, /* more files of a request are not read with those of others */
	HOLDERS_MOST = 16, /* holders of a file to look at */
};

/*
 * A generator may say that no more work can be made before the transitioner has
 * created the results of its last workunit; for NEWS_S seconds such a statement
 * counts as new.
 */
enum { NEWS_S = 60, DAY_S = 86400 };

/* The most rows of FILES_WITH_SETS that are read for this number of files. */
static size_t
held_sets_limit(size_t nfiles)
{
	return OF_EACH * nfiles > OF_SOME ? OF_EACH * nfiles : OF_SOME;
}

struct link { /* a held file belongs to a set */
	int64_t fileset_id;
	size_t file; /* index into snapshot.held_files */
};
struct links {
	struct link *v;
	size_t n, cap;
	bool *cut; /* by file: not all of its sets were read */
	size_t alone;
	struct set_rows rows; /* of sets all of whose files are held */
};

struct group { /* a set, and how many of its files are held */
	int64_t fileset_id;
	size_t held;
};

static int
link_order(const void *pa, const void *pb)
{
	const struct link *a = pa, *b = pb;

	return (a->fileset_id > b->fileset_id) - (a->fileset_id < b->fileset_id);
}

static int
group_order(const void *pa, const void *pb)
{
	const struct group *a = pa, *b = pb;

	if (a->held != b->held)
		return a->held > b->held ? -1 : 1;
	return (a->fileset_id > b->fileset_id) - (a->fileset_id < b->fileset_id);
}

/* Reads the newest sets of one file. */
static enum err
links_of_one(struct db *db, struct arena *a, const struct snapshot *s, size_t file,
    struct links *l, struct fail *f)
{
	struct row_number *rows = NULL;
	size_t n = 0;

	l->cut[file] = l->alone++ >= ALONE_MOST;
	if (!l->cut[file])
		TRY(db_query(db, a, f, &rows, &n, FILESETS_OF_FILE,
		    .file_id = s->held_files[file].id, .max = OF_ONE + 1));
	l->cut[file] = l->cut[file] || n > OF_ONE;
	for (size_t i = 0; i < n && i < OF_ONE; i++)
		PUSH(a, l->v, l->n, l->cap) = (struct link){ rows[i].v, file };
	return OK;
}

/*
 * Reads the sets of the files [from, end), at most DB_LIST_LONG files. Reads them
 * file by file if there are too many sets, so that a file in thousands of sets does
 * not hide the sets of the others.
 */
static enum err
links_of_some(struct db *db, struct arena *a, const struct snapshot *s, size_t from,
    size_t end, struct links *l, struct fail *f)
{
	int64_t ids[DB_LIST_LONG];
	size_t most = held_sets_limit(end - from);
	struct row_pair *rows = NULL;
	size_t n;

	for (size_t i = from; i < end; i++)
		ids[i - from] = s->held_files[i].id;
	enum err e = db_query(db, a, f, &rows, &n, FILESETS_OF_FILES,
	    .file_ids = db_ids(ids, end - from), .max = most + 1);
	for (size_t k = 0; e == OK && n <= most && k < n; k++) {
		const struct row_pair *r = rows + k;

		for (size_t i = from; i < end; i++)
			if (s->held_files[i].id == r->a)
				PUSH(a, l->v, l->n, l->cap) = (struct link){ r->b, i };
	}
	for (size_t i = from; e == OK && n > most && i < end; i++)
		e = links_of_one(db, a, s, i, l, f);
	return e;
}

/* Reads the sets of all held files in lists of DB_LIST_LONG, where there are too
 * many sets for a single statement. */
static enum err
links_of_all(struct db *db, struct arena *a, const struct snapshot *s, struct links *l,
    struct fail *f)
{
	for (size_t i = 0; i < s->nheld_files; i += DB_LIST_LONG) {
		size_t end = i + DB_LIST_LONG;

		TRY(links_of_some(
		    db, a, s, i, end < s->nheld_files ? end : s->nheld_files, l, f));
	}
	return OK;
}

/* Ids of the sets of the held files, those with the most held files first. */
static void
sets_of_held(struct arena *a, struct links *l, int64_t **out, size_t *nout)
{
	struct group *g;
	size_t n = 0;

	if (l->n > 0)
		qsort(l->v, l->n, sizeof(*l->v), link_order);
	g = NEWN(a, struct group, l->n + 1);
	for (size_t i = 0; i < l->n; i++) {
		if (n == 0 || g[n - 1].fileset_id != l->v[i].fileset_id)
			g[n++] = (struct group){ l->v[i].fileset_id, 0 };
		g[n - 1].held++;
	}
	qsort(g, n, sizeof(*g), group_order);
	*out = NEWN(a, int64_t, n + 1);
	for (*nout = 0; *nout < n && *nout < SETS_MOST; (*nout)++)
		(*out)[*nout] = g[*nout].fileset_id;
}

/* Marks the files that also belong to sets outside the snapshot; such files are
 * never deleted. */
static void
mark_other_sets(struct snapshot *s, const struct links *l)
{
	for (size_t i = 0; i < l->n; i++)
		if (snapshot_file(s, l->v[i].fileset_id) == NULL)
			l->cut[l->v[i].file] = true;
	for (size_t i = 0; i < s->nheld_files; i++) {
		s->search.left |= l->cut[i];
		for (size_t m = 0; m < s->nmembers; m++)
			if (s->members[m].file_id == s->held_files[i].id)
				s->members[m].has_others = l->cut[i];
	}
}

static enum err
read_no_work_ages(struct db *db, struct arena *a, const struct conf *cf, int64_t now,
    struct snapshot *s, struct fail *f)
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
static enum err
find_active_holder(struct db *db, struct arena *a, const struct conf *cf, int64_t now,
    struct snapshot *s, struct snap_member *m, struct fail *f)
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
static struct snap_member *
set_awaiting_work(struct snapshot *s, int64_t file_id)
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
static enum err
find_active_holders(struct db *db, struct arena *a, const struct conf *cf, int64_t now,
    struct snapshot *s, struct fail *f)
{
	for (size_t i = 0; i < s->nheld_files; i++) {
		struct snap_member *m = set_awaiting_work(s, s->held_files[i].id);

		if (m != NULL)
			TRY(find_active_holder(db, a, cf, now, s, m, f));
	}
	return OK;
}

/* Reads the registered files that the host has under exactly this name; a collation
 * may match other spellings, too. */
static enum err
files_of_host(struct db *db, struct arena *a, const struct names *held,
    struct snapshot *s, struct fail *f)
{
	size_t kept = 0;
	enum err e = files_by_names(
	    db, a, held->v, held->n, &s->held_files, &s->nheld_files, f);

	for (size_t i = 0; e == OK && i < s->nheld_files; i++)
		if (names_has(held, s->held_files[i].name))
			s->held_files[kept++] = s->held_files[i];
	s->nheld_files = kept;
	return e;
}

static int
file_id_order(const void *pa, const void *pb)
{
	const struct row_set_file *a = pa, *b = pb;

	return (a->file_id > b->file_id) - (a->file_id < b->file_id);
}

/* Takes the held files, and the links to their sets, from rows in which a file
 * appears once per set. */
static void
collect_held_files(
    struct arena *a, struct set_rows *rows, struct snapshot *s, struct links *l)
{
	s->held_files = NEWN(a, struct file, rows->n + 1);
	if (rows->n > 0)
		qsort(rows->v, rows->n, sizeof(*rows->v), file_id_order);
	for (size_t i = 0; i < rows->n; i++) {
		const struct row_set_file *r = &rows->v[i];

		if (i == 0 || r->file_id != rows->v[i - 1].file_id) {
			s->held_files[s->nheld_files++] = (struct file){
				.id = r->file_id,
				.name = r->file_name,
				.md5sum = arena_strdup(a, ""),
				.size = r->size
			};
		}
		if (r->fileset_id != 0)
			PUSH(a, l->v, l->n, l->cap) = (struct link){ r->fileset_id,
				s->nheld_files - 1 };
	}
}

/*
 * Reads all that matters about the files of one statement's list, which these requests
 * hold; a collation may match other spellings, too.
 */
static enum err
read_files_with_sets(struct db *db, struct arena *a, const char *const *names,
    size_t nnames, struct held_sets *const *of, size_t n, struct fail *f)
{
	size_t most = held_sets_limit(nnames), got;
	struct row_set_file *rows = NULL;

	TRY(db_query(db, a, f, &rows, &got, FILES_WITH_SETS,
	    .names = db_names(names, nnames), .max = most + 1));
	for (size_t i = 0; i < n; i++) {
		struct held_sets *h = of[i];

		h->whole = h->whole && got <= most && h->n + got <= AT_ONCE;
		for (size_t k = 0; h->whole && k < got; k++)
			if (names_has(h->held, rows[k].file_name))
				PUSH(a, h->v, h->n, h->cap) = rows[k];
	}
	return OK;
}

static enum err
read_held_alone(struct db *db, struct arena *a, struct held_sets *h, struct fail *f)
{
	h->whole = true;
	for (size_t i = 0; h->whole && i < h->held->n; i += DB_LIST_LONG) {
		size_t left = h->held->n - i;

		TRY(read_files_with_sets(db, a, h->held->v + i,
		    left < DB_LIST_LONG ? left : DB_LIST_LONG, &h, 1, f));
	}
	return OK;
}

/* Reads for several requests whose names fit into one list; each by itself if their
 * files are in too many sets. */
static enum err
read_held_together(struct db *db, struct arena *a, struct held_sets *const *v, size_t n,
    struct fail *f)
{
	const char *names[DB_LIST_LONG];
	size_t nnames = 0;
	bool whole = n > 1;

	for (size_t i = 0; i < n && whole; i++) {
		v[i]->whole = true;
		for (size_t k = 0; k < v[i]->held->n; k++)
			names[nnames++] = v[i]->held->v[k];
	}
	if (whole && nnames > 0) {
		TRY(read_files_with_sets(db, a, names, nnames, v, n, f));
		whole = v[0]->whole;
	}
	for (size_t i = 0; i < n && !whole; i++)
		TRY(read_held_alone(db, a, v[i], f));
	return OK;
}

enum err
held_sets_read(
    struct db *db, struct arena *a, struct held_sets *v, size_t n, struct fail *f)
{
	struct held_sets **few = NEWN(a, struct held_sets *, n);
	size_t nfew = 0, names = 0;

	for (size_t i = 0; i < n; i++) {
		if (v[i].held->n > FILES_EACH) {
			TRY(read_held_alone(db, a, &v[i], f));
			continue;
		}
		if (names + v[i].held->n > DB_LIST_LONG) {
			TRY(read_held_together(db, a, few, nfew, f));
			nfew = names = 0;
		}
		few[nfew++] = &v[i];
		names += v[i].held->n;
	}
	return read_held_together(db, a, few, nfew, f);
}

/* Reads sets again whose other files the host lacks. */
static enum err
reread_incomplete_sets(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct links *l, struct fail *f)
{
	int64_t *part = NEWN(a, int64_t, n + 1);
	struct set_rows fresh = { 0 };
	size_t npart = 0, kept = 0;
	enum err e;

	for (size_t i = 0; i < n; i++) {
		const struct row_set_file *r = set_rows_first(&l->rows, ids[i]);
		size_t here = 0;

		for (size_t k = 0; k < l->n; k++)
			here += l->v[k].fileset_id == ids[i];
		if (r == NULL || (size_t)r->nfiles != here)
			part[npart++] = ids[i];
	}
	e = npart == 0 ? OK : snap_sets_read(db, a, part, npart, &fresh, f);
	if (e != OK || npart == 0)
		return e;
	for (size_t i = 0; i < l->rows.n; i++)
		if (set_rows_first(&fresh, l->rows.v[i].fileset_id) == NULL)
			l->rows.v[kept++] = l->rows.v[i];
	l->rows.n = kept;
	set_rows_append(a, &l->rows, fresh.v, fresh.n);
	return OK;
}

enum err
snapshot_files(struct db *db, struct arena *a, const struct conf *cf,
    const struct held_sets *h, int64_t now, struct snapshot *s, struct fail *f)
{
	struct links links = { 0 };
	int64_t *ids;
	size_t n, there = 0;

	if (h->whole) {
		links.rows = (struct set_rows){ h->v, h->n };
		collect_held_files(a, &links.rows, s, &links);
	} else
		TRY(files_of_host(db, a, h->held, s, f));
	links.cut = NEWN(a, bool, s->nheld_files + 1);
	if (!h->whole)
		TRY(links_of_all(db, a, s, &links, f));
	sets_of_held(a, &links, &ids, &n);
	TRY(reread_incomplete_sets(db, a, ids, n, &links, f));
	for (size_t i = 0; i < n; i++)
		if (set_rows_first(&links.rows, ids[i]) != NULL)
			ids[there++] = ids[i];
	if (there > 0)
		TRY(snap_sets_add(db, a,
		    &(struct sets_to_add){ .conf = cf,
			.held = h->held,
			.rows = &links.rows,
			.ids = ids,
			.n = there,
			.origin = SET_HELD },
		    s, f));
	mark_other_sets(s, &links);
	TRY(read_no_work_ages(db, a, cf, now, s, f));
	if (cf->locality_keep_last_holder)
		TRY(find_active_holders(db, a, cf, now, s, f));
	return OK;
}
