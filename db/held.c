/* SPDX-License-Identifier: Apache-2.0 */
#include "db/held.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/known_sets.h"
#include "db/private.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "model/rows.h"
#include "lib/banned.h"

enum {
	OF_SOME = 256,   /* sets to read for several files together */
	OF_EACH = 4,     /* sets to read per file, if there are many files */
	OF_ONE = 16,     /* newest sets to read of one file, if it has more */
	NEWS_MOST = 256, /* sets to read that got work since the last look */
};

/* --- rows of sets --- */

static int set_file_order(const void *pa, const void *pb)
{
	const struct row_set_file *a = pa, *b = pb;

	if (a->fileset_id != b->fileset_id)
		return a->fileset_id < b->fileset_id ? -1 : 1;
	return (a->file_id > b->file_id) - (a->file_id < b->file_id);
}

void set_rows_sort(struct set_rows *rows)
{
	size_t n = 0;

	if (rows->n > 0)
		qsort(rows->v, rows->n, sizeof(*rows->v), set_file_order);
	for (size_t i = 0; i < rows->n; i++)
		if (n == 0 || set_file_order(&rows->v[i], &rows->v[n - 1]) != 0)
			rows->v[n++] = rows->v[i];
	rows->n = n;
}

const struct row_set_file *set_rows_of(
    const struct set_rows *rows, int64_t fileset_id, size_t *n)
{
	size_t low = 0, high = rows->n;

	while (low < high) {
		size_t mid = low + (high - low) / 2;

		if (rows->v[mid].fileset_id < fileset_id)
			low = mid + 1;
		else
			high = mid;
	}
	for (*n = 0; low + *n < rows->n && rows->v[low + *n].fileset_id == fileset_id;)
		++*n;
	return *n == 0 ? NULL : &rows->v[low];
}

enum err set_rows_read(struct db *db, struct arena *a, const int64_t *ids, size_t n,
    struct set_rows *to, struct fail *f)
{
	for (size_t i = 0; i < n; i += DB_LIST_LONG) {
		size_t part = n - i < DB_LIST_LONG ? n - i : DB_LIST_LONG, got;
		struct row_set_file *rows = NULL;

		TRY(db_query(db, a, f, &rows, &got, SETS_WITH_FILES,
		    .ids = db_ids(ids + i, part)));
		for (size_t k = 0; k < got; k++)
			PUSH(a, to->v, to->n, to->cap) = rows[k];
	}
	return OK;
}

/* --- sets with work --- */

/* Adds sets that have got work to those of their files, as far as these are known. */
static enum err read_news(
    struct db *db, struct arena *a, const int64_t *ids, size_t n, struct fail *f)
{
	struct known_sets *k = &db->known_sets;
	struct set_rows rows = { 0 };

	TRY(set_rows_read(db, a, ids, n < NEWS_MOST ? n : NEWS_MOST, &rows, f));
	for (size_t i = 0; i < rows.n; i++) {
		size_t at, set = known_set_of_row(k, &rows.v[i]);

		if (names_find(&k->files, rows.v[i].file_name, &at))
			known_link(k, &k->file[at], set);
	}
	return OK;
}

static enum err look_for_work(struct db *db, struct arena *a, struct fail *f)
{
	struct known_sets *k = &db->known_sets;
	struct ids before = { k->ready, k->nready };
	struct row_number *rows = NULL;
	int64_t *fresh, began = clock_mono_ms();
	size_t n, nfresh = 0;

	TRY(db_query(db, a, f, &rows, &n, SETS_READY));
	fresh = NEWN(a, int64_t, n + 1);
	for (size_t i = 0; i < n && k->ready_ms != 0; i++)
		if (!ids_has(&before, rows[i].v))
			fresh[nfresh++] = rows[i].v;
	TRY(read_news(db, a, fresh, nfresh, f));
	known_ready(k, rows, n, began, clock_mono_ms() - began);
	return OK;
}

/* --- reading the sets of files --- */

struct files_read { /* names to read, and where their rows go */
	const char **names;
	size_t n, cap;
	int64_t now_ms;
	uint64_t round;
	struct set_rows *rows;
};

/* Notes the newest sets of a file that is in many. */
static enum err read_file_alone(
    struct db *db, struct arena *a, const char *name, int64_t id, struct fail *f)
{
	struct known_sets *k = &db->known_sets;
	struct row_number *rows = NULL;
	size_t n = 0;

	TRY(db_query(
	    db, a, f, &rows, &n, FILESETS_OF_FILE, .file_id = id, .max = OF_ONE + 1));
	known_file_of(k, name)->cut = n > OF_ONE;
	for (size_t i = 0; i < n && i < OF_ONE; i++) {
		size_t set = known_set_of(k, rows[i].v);

		known_link(k, known_file_of(k, name), set);
	}
	return OK;
}

/*
 * Reads file by file, because there are too many sets for one statement: a file in
 * thousands of sets must not hide the sets of the others.
 */
static enum err read_files_alone(
    struct db *db, struct arena *a, const char *const *names, size_t n, struct fail *f)
{
	struct known_sets *k = &db->known_sets;
	struct file *files;
	size_t nfiles;

	TRY(files_by_names(db, a, names, n, &files, &nfiles, f));
	for (size_t i = 0; i < nfiles; i++) {
		struct known_file *file = known_file_of(k, files[i].name);

		file->id = files[i].id;
		file->size = files[i].size;
		TRY(read_file_alone(db, a, files[i].name, files[i].id, f));
	}
	return OK;
}

static void take_file_rows(struct known_sets *k, struct arena *a,
    const struct row_set_file *rows, size_t n, struct set_rows *to)
{
	for (size_t i = 0; i < n; i++) {
		const struct row_set_file *r = &rows[i];
		struct known_file *file = known_file_of(k, r->file_name);
		size_t set;

		file->id = r->file_id;
		file->size = r->size;
		if (r->fileset_id == 0)
			continue;
		set = known_set_of_row(k, r);
		k->set[set].nfiles = (size_t)r->nfiles;
		known_link(k, file, set);
		PUSH(a, to->v, to->n, to->cap) = *r;
	}
}

/* Reads the sets of at most DB_LIST_LONG files. */
static enum err read_some_files(struct db *db, struct arena *a,
    const struct files_read *what, const char *const *names, size_t n, struct fail *f)
{
	struct known_sets *k = &db->known_sets;
	size_t most = OF_EACH * n > OF_SOME ? OF_EACH * n : OF_SOME, got;
	struct row_set_file *rows = NULL;

	TRY(db_query(db, a, f, &rows, &got, FILES_WITH_SETS,
	    .names = db_names(names, n), .max = most + 1));
	for (size_t i = 0; i < n; i++) {
		struct known_file *file = known_file_of(k, names[i]);

		file->id = 0;
		file->nsets = 0;
		file->cut = false;
		file->read_ms = 0;
	}
	if (got > most)
		TRY(read_files_alone(db, a, names, n, f));
	else
		take_file_rows(k, a, rows, got, what->rows);
	for (size_t i = 0; i < n; i++) { /* not before all of it was read */
		struct known_file *file = known_file_of(k, names[i]);

		file->read_ms = what->now_ms;
		file->round = what->round;
	}
	return OK;
}

/* --- what a request holds --- */

void known_set_note(struct db *db, int64_t fileset_id, enum held_is is)
{
	struct known_sets *k = &db->known_sets;
	struct known_set *set = &k->set[known_set_of(k, fileset_id)];

	set->noted = is;
	set->noted_ms = clock_mono_ms();
}

static void hold_set(struct arena *a, struct known_sets *k, struct held_sets *h,
    size_t set, int64_t now_ms, size_t *cap)
{
	struct known_set *known = &k->set[set];
	const struct held_set one = { .id = known->id,
		.name = known->name,
		.files = known->nfiles,
		.is = h->afresh ? HELD_UNKNOWN : known_set_is(k, known, now_ms) };

	if (known->request != k->requests) {
		known->request = k->requests;
		known->at = h->nsets;
		PUSH(a, h->sets, h->nsets, *cap) = one;
	}
	h->sets[known->at].held++;
	PUSH(a, h->links, h->nlinks, h->links_cap) = (struct held_link){ h->nfiles,
		known->at };
}

/* A collation may match other spellings, too; what is known is known by the exact name.
 */
static void held_sets_of(
    struct arena *a, struct known_sets *k, struct held_sets *h, int64_t now_ms)
{
	static char none[] = "";
	size_t cap = 0;

	k->requests++;
	h->files = NEWN(a, struct file, h->held->n + 1);
	h->others = NEWN(a, bool, h->held->n + 1);
	for (size_t i = 0; i < h->held->n; i++) {
		const struct known_file *file;
		size_t at = h->known[i];

		if ((at == SIZE_MAX && !names_find(&k->files, h->held->v[i], &at)) ||
		    k->file[at].id == 0)
			continue;
		file = &k->file[at];
		h->files[h->nfiles] = (struct file){ .id = file->id,
			.name = (char *)(uintptr_t)h->held->v[i],
			.md5sum = none,
			.size = file->size };
		h->others[h->nfiles] = file->cut || file->round != k->rounds;
		h->sets_cut |= file->cut;
		h->remembered |= file->round != k->rounds;
		for (size_t s = 0; s < file->nsets; s++)
			hold_set(a, k, h, file->sets[s], now_ms, &cap);
		h->nfiles++;
	}
}

/* Finds the names that are known, and collects those whose sets are to be read for
 * the request. */
static void names_due(struct arena *a, const struct known_sets *k, struct held_sets *h,
    struct files_read *what)
{
	h->known = NEWN(a, size_t, h->held->n + 1);
	for (size_t i = 0; i < h->held->n; i++) {
		const char *name = h->held->v[i];
		bool known = names_find(&k->files, name, &h->known[i]);

		if (!known)
			h->known[i] = SIZE_MAX;
		if (known && !h->afresh &&
		    !known_file_is_due(k, &k->file[h->known[i]], what->now_ms))
			continue;
		if (strlen(name) <= DB_NAME_MAX) /* no file has a longer name */
			PUSH(a, what->names, what->n, what->cap) = name;
	}
}

enum err held_sets_read(struct db *db, struct arena *a, struct held_sets *v, size_t n,
    struct set_rows *rows, struct fail *f)
{
	struct known_sets *k = &db->known_sets;
	struct files_read what = { .now_ms = clock_mono_ms(), .rows = rows };
	bool awaited = false;

	/*
	 * A file may have got a set since its name was read, and before the first look
	 * at the sets with work: so that look comes first.
	 */
	if (known_sets_full(k) || (k->ready_ms == 0 && known_keep_ms(k) > 0)) {
		known_sets_free(k);
		TRY(look_for_work(db, a, f));
	}
	what.round = ++k->rounds;
	for (size_t i = 0; i < n; i++)
		awaited |= v[i].awaited;
	if (known_keep_ms(k) > 0 && (awaited || known_work_is_due(k, what.now_ms)))
		TRY(look_for_work(db, a, f));
	for (size_t i = 0; i < n; i++)
		names_due(a, k, &v[i], &what);
	for (size_t i = 0; i < what.n; i += DB_LIST_LONG)
		TRY(read_some_files(db, a, &what, what.names + i,
		    what.n - i < DB_LIST_LONG ? what.n - i : DB_LIST_LONG, f));
	set_rows_sort(rows);
	for (size_t i = 0; i < n; i++)
		held_sets_of(a, k, &v[i], what.now_ms);
	return OK;
}

/* Rows that were read by the names of files lack those of the set's other files. */
static bool set_is_whole(const struct set_rows *rows, int64_t id)
{
	size_t n;
	const struct row_set_file *r = set_rows_of(rows, id, &n);

	return r != NULL && (size_t)r->nfiles == n;
}

enum err chosen_sets_read(struct db *db, struct arena *a, struct held_sets *v, size_t n,
    struct set_rows *rows, struct fail *f)
{
	struct ids unread = { 0 };
	size_t cap = 0, kept = 0;

	for (size_t i = 0; i < n; i++, v[i - 1].rows = rows)
		for (size_t k = 0; k < v[i].choice.n; k++)
			if (!set_is_whole(rows, v[i].choice.now[k]))
				PUSH(a, unread.v, unread.n, cap) = v[i].choice.now[k];
	unread = ids_unique(a, unread.v, unread.n);
	for (size_t i = 0; i < rows->n; i++)
		if (!ids_has(&unread, rows->v[i].fileset_id))
			rows->v[kept++] = rows->v[i];
	rows->n = kept;
	TRY(set_rows_read(db, a, unread.v, unread.n, rows, f));
	for (size_t i = kept; i < rows->n; i++)
		known_set_of_row(&db->known_sets, &rows->v[i]);
	set_rows_sort(rows);
	return OK;
}
