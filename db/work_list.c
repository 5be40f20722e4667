/* SPDX-License-Identifier: Apache-2.0 */
/* Reads chosen workunits by the index that fits the choice best. */
#include "db/work_list.h"

#include "db/id_walk.h"
#include "db/stmts.h"
#include "lib/buf.h"
#include "lib/banned.h"

enum { SLICE_FIRST = 500, SLICE_MOST = 10000 };

struct work_filter work_filter_any(void)
{
	return (
	    struct work_filter){ .batch = -1, .fileset_id = -1, .made_to = INT64_MAX };
}

char *work_like(struct arena *a, const char *glob)
{
	struct buf b = buf_new(a);

	for (; *glob != '\0'; glob++) {
		if (*glob == '%' || *glob == '_' || *glob == '\\')
			buf_puts(&b, "\\");
		buf_printf(&b, "%c", *glob == '*' ? '%' : *glob == '?' ? '_' : *glob);
	}
	return b.p == NULL ? arena_strdup(a, "") : b.p;
}

/* Reads the ids of the index that leaves the fewest; E_NOTFOUND if none fits. */
static enum err find_ids(struct db *db, struct arena *a, const struct work_filter *w,
    struct row_number **rows, size_t *n, struct fail *f)
{
	if (w->batch > 0)
		return db_query(
		    db, a, f, rows, n, WORK_IDS_OF_BATCH, .batch = w->batch);
	if (w->fileset_id > 0)
		return db_query(db, a, f, rows, n, WORK_IDS_OF_FILESET,
		    .fileset_id = w->fileset_id);
	if (w->hostid > 0)
		return db_query(
		    db, a, f, rows, n, WORK_IDS_OF_HOST, .hostid = w->hostid);
	if (w->failed || w->mask != 0)
		return db_query(db, a, f, rows, n, WORK_IDS_FAILED);
	if (w->to_validate)
		return db_query(db, a, f, rows, n, WORK_IDS_TO_VALIDATE);
	if (w->name != NULL && w->name[0] != '%' && w->name[0] != '_')
		return db_query(db, a, f, rows, n, WORK_IDS_NAMED, .name = w->name);
	return E_NOTFOUND;
}

/* Keeps the ids that are in both lists, which descend. */
static void keep_common(struct work_cursor *c, const struct row_number *rows, size_t n)
{
	size_t kept = 0;

	for (size_t i = 0, k = 0; i < c->nids && k < n;) {
		if (c->ids[i] == rows[k].v)
			c->ids[kept++] = c->ids[i++];
		else if (c->ids[i] > rows[k].v)
			i++;
		else
			k++;
	}
	c->nids = kept;
}

enum err work_begin(struct db *db, struct arena *a, const struct work_filter *w,
    struct work_cursor *c, struct fail *f)
{
	struct row_number *rows = NULL, *of_host = NULL;
	size_t n = 0, nof_host = 0;
	enum err e;

	*c = (struct work_cursor){ .w = *w, .slice = SLICE_FIRST };
	e = find_ids(db, a, w, &rows, &n, f);
	if (e != OK && e != E_NOTFOUND)
		return e;
	if (e == E_NOTFOUND) {
		TRY(ids_ahead(db, IDS_WORKUNITS, IDS_BEGIN, 1, &c->first, f));
		TRY(db_number(db, f, &c->next, ADOPT_LAST_WU));
		c->total = c->next >= c->first ? c->next - c->first + 1 : 0;
		return OK;
	}
	c->ids = row_numbers(a, rows, n);
	c->nids = n;
	/* No column of the workunit says which hosts it had. */
	if (w->hostid > 0 && (w->batch > 0 || w->fileset_id > 0)) {
		TRY(db_query(db, a, f, &of_host, &nof_host, WORK_IDS_OF_HOST,
		    .hostid = w->hostid));
		keep_common(c, of_host, nof_host);
	}
	c->total = (int64_t)c->nids;
	return OK;
}

bool work_over(const struct work_cursor *c)
{
	return c->ids != NULL ? c->at >= c->nids : c->next < c->first;
}

int64_t work_looked(const struct work_cursor *c)
{
	if (c->ids != NULL)
		return (int64_t)c->at;
	return work_over(c) ? c->total : c->total - (c->next - c->first + 1);
}

/* The next ids of the list, or the next slice of the primary key: (*from, *to]. */
static struct db_ids next_ids(struct work_cursor *c)
{
	size_t left = c->nids - c->at, n = left < DB_LIST_LONG ? left : DB_LIST_LONG;
	struct db_ids ids = db_ids(c->ids + c->at, n);

	c->at += n;
	return ids;
}

static enum err next_slice(
    struct db *db, struct work_cursor *c, int64_t *from, int64_t *to, struct fail *f)
{
	*to = c->next;
	TRY(ids_behind(db, *to, c->slice, from, f));
	c->next = *from;
	/* The first slices answer at once, the later ones in few statements. */
	if (c->slice < SLICE_MOST)
		c->slice *= 2;
	return OK;
}

/* The arguments that choose workunits. */
#define CHOSEN(w)                                                                      \
	.states = (w).states, .appid = (w).appid, .batch = (w).batch,                  \
	.fileset_id = (w).fileset_id, .made_from = (w).made_from,                      \
	.made_to = (w).made_to, .mask = (w).mask, .name = (w).name,                    \
	.has_exit = (w).has_exit, .exit_status = (w).exit_status

enum err work_next(struct db *db, struct arena *a, struct work_cursor *c,
    struct row_work **rows, size_t *n, struct fail *f)
{
	int64_t from, to;

	*rows = NULL;
	if (c->ids != NULL)
		return db_query(
		    db, a, f, rows, n, WORKS_AMONG, .ids = next_ids(c), CHOSEN(c->w));
	TRY(next_slice(db, c, &from, &to, f));
	return db_query(
	    db, a, f, rows, n, WORKS_BETWEEN, .from = from, .to = to, CHOSEN(c->w));
}

enum err work_next_counts(struct db *db, struct arena *a, struct work_cursor *c,
    struct row_work_count **rows, size_t *n, struct fail *f)
{
	int64_t from, to;

	*rows = NULL;
	if (c->ids != NULL)
		return db_query(db, a, f, rows, n, WORK_COUNTS_AMONG,
		    .ids = next_ids(c), CHOSEN(c->w));
	TRY(next_slice(db, c, &from, &to, f));
	return db_query(db, a, f, rows, n, WORK_COUNTS_BETWEEN, .from = from, .to = to,
	    CHOSEN(c->w));
}

enum err work_tallies(struct db *db, struct arena *a, const struct row_work *work,
    size_t n, struct row_tally **out, struct fail *f)
{
	struct row_tally *tally = NEWN(a, struct row_tally, n + 1);
	int64_t *ids = NEWN(a, int64_t, n + 1);

	for (size_t i = 0; i < n; i++)
		ids[i] = work[i].id;
	for (size_t i = 0; i < n;) {
		size_t most = n - i < DB_LIST_LONG ? n - i : DB_LIST_LONG, found = 0;
		struct row_tally *rows = NULL;

		TRY(db_query(db, a, f, &rows, &found, WORK_TALLIES,
		    .ids = db_ids(ids + i, most)));
		for (size_t end = i + most, k = 0; i < end; i++)
			if (k < found && rows[k].id == ids[i])
				tally[i] = rows[k++];
	}
	*out = tally;
	return OK;
}
