/* SPDX-License-Identifier: Apache-2.0 */
/* The candidates of file sets, in slices (performance.md 1 (R4 and R5)). */
#include "db/snap_sets.h"

#include "db/stmts.h"
#include "lib/banned.h"

/* Candidates looked at for each job that is wanted: some will not fit. */
enum { CANDIDATES_PER_JOB = 4 };

/* A host may name every file there is; each costs some statements. */
enum { FILES_LOOKED_AT = 256 };

/* Of a file so many are read first: mostly the host wants few. */
enum { FIRST_SLICE = 8, SLICE_GROWS = 4 };

int64_t
snapshot_once(const struct conf *cf, const struct snapshot *s)
{
	if (cf->one_result_per_user_per_wu)
		return s->user.id;
	return cf->one_result_per_host_per_wu ? -s->host.id : 0;
}

/* Ids that this user was passed over with, once that was long enough ago; all of them
 * unsent. */
static enum err
released_jobs(struct db *db, struct arena *a, const struct conf *cf, size_t most,
    int64_t now, bool lock, const struct snapshot *s, struct snap_file *file,
    struct fail *f)
{
	int64_t once = snapshot_once(cf, s);
	struct job *rows = NULL;
	size_t n;
	enum err e = db_query_like(db, a, f, &rows, &n,
	    lock ? SQL_LIKE(JOBS_UPTO_LOCK, JOBS_UPTO) : SQL_JOBS_UPTO, JOBS_UPTO,
	    .once = once, .ready = file->fileset_id, .upto = file->last_id,
	    .max = most);

	if (e != OK || n == 0)
		return e;
	file->has_unsent = true;
	file->jobs = rows;
	e = number_or_0(db_number(db, f, &file->released_id, LAST_ID_BY,
			    .userid = s->user.id, .fileset_id = file->fileset_id,
			    .sent_by = now - cf->locality_skip_release),
	    &file->released_id);
	while (file->njobs < n && file->jobs[file->njobs].id < file->released_id)
		file->njobs++; /* they come in increasing id */
	return e;
}

static bool
is_enough(const struct candidate_budget *enough)
{
	return enough != NULL && enough->is(enough->ctx);
}

/* The last id that the account got of the set. */
static enum err
last_id(struct db *db, const struct snapshot *s, struct snap_file *file, struct fail *f)
{
	enum err e = OK;

	if (!file->last_read)
		e = number_or_0(
		    db_number(db, f, &file->last_id, LAST_ID, .userid = s->user.id,
			.fileset_id = file->fileset_id),
		    &file->last_id);
	file->last_read = e == OK;
	return e;
}

/* The id behind which candidates are read, if so many are to be passed over. */
static enum err
first_id(struct db *db, int64_t skip, const struct snapshot *s, struct snap_file *file,
    int64_t *after, struct fail *f)
{
	enum err e = last_id(db, s, file, f);

	*after = file->last_id;
	if (e != OK || skip == 0)
		return e;
	e = db_number(db, f, after, JOB_AFTER_SOME, .ready = file->fileset_id,
	    .after = *after, .skip = skip - 1);
	return e == E_NOTFOUND ? OK : e;
}

/* Jobs behind the last id, in slices, of which the first finds that id by itself; full:
 * there may be more. */
static enum err
new_jobs(struct db *db, struct arena *a, const struct conf *cf, size_t most, bool lock,
    const struct candidate_budget *enough, const struct snapshot *s,
    struct snap_file *file, bool *full, struct fail *f)
{
	int64_t once = snapshot_once(cf, s), after = 0;
	int64_t skip = enough == NULL ? 0 : enough->skip(enough->ctx, file->fileset_id);
	bool find_last = !file->last_read && skip == 0;
	size_t slice = enough == NULL ? most : FIRST_SLICE, cap = 0;
	enum err e = find_last ? OK : first_id(db, skip, s, file, &after, f);

	if (e != OK)
		return e;
	do {
		size_t left = most - file->njobs, n, ask = slice < left ? slice : left;
		struct job *rows = NULL;

		if (find_last)
			e = db_query_like(db, a, f, &rows, &n,
			    lock ? SQL_LIKE(JOBS_AFTER_LAST_LOCK, JOBS_AFTER_LAST) :
				   SQL_JOBS_AFTER_LAST,
			    JOBS_AFTER_LAST, .once = once, .ready = file->fileset_id,
			    .userid = s->user.id, .max = ask);
		else
			e = db_query_like(db, a, f, &rows, &n,
			    lock ? SQL_LIKE(JOBS_AFTER_LOCK, JOBS_AFTER) :
				   SQL_JOBS_AFTER,
			    JOBS_AFTER, .once = once, .ready = file->fileset_id,
			    .after = after, .max = ask);

		if (e != OK)
			return e;
		if (file->njobs == 0)
			file->jobs = rows;
		for (size_t i = 0; file->njobs > 0 && i < n; i++)
			PUSH(a, file->jobs, file->njobs, cap) = rows[i];
		if (file->jobs == rows)
			file->njobs = cap = n;
		*full = n == ask;
		if (n > 0)
			after = file->jobs[file->njobs - 1].id;
		find_last = false; /* nothing follows if there was nothing */
		slice *= SLICE_GROWS;
	} while (*full && file->njobs < most && !is_enough(enough));
	return OK;
}

/* Behind the last id, or released. */
static enum err
jobs_of_file(struct db *db, struct arena *a, const struct conf *cf, size_t most,
    int64_t now, bool lock, const struct candidate_budget *enough, struct snapshot *s,
    struct snap_file *file, struct fail *f)
{
	bool full = false;
	enum err e = new_jobs(db, a, cf, most, lock, enough, s, file, &full, f);

	if (e != OK)
		return e;
	file->has_unsent = file->njobs > 0;
	if (file->njobs == 0)
		e = last_id(db, s, file, f);
	if (e == OK && file->njobs == 0 && file->last_id > 0) {
		e = released_jobs(db, a, cf, most, now, lock, s, file, f);
		full = file->njobs == most;
	}
	s->search.left |= full;
	return e;
}

static enum err
file_jobs(struct db *db, struct arena *a, const struct conf *cf, size_t most,
    int64_t now, const struct candidate_budget *enough, struct snapshot *s,
    struct snap_file *file, struct fail *f)
{
	bool lock = false;
	enum err e = OK;

	file->jobs = NULL;
	file->njobs = 0;
	if (enough != NULL)
		e = enough->lock(enough->ctx, file->fileset_id, &lock);
	if (e == OK && lock)
		e = jobs_of_file(db, a, cf, most, now, true, enough, s, file, f);
	if (e == OK && lock && file->njobs == 0)
		enough->unlock(enough->ctx);
	/* What others have locked may be left by them. */
	if (e == OK && file->njobs == 0)
		e = jobs_of_file(db, a, cf, most, now, false, enough, s, file, f);
	return e;
}

enum err
snapshot_jobs(struct db *db, struct arena *a, const struct conf *cf, size_t from,
    size_t need, int64_t now, const struct candidate_budget *enough, struct snapshot *s,
    struct fail *f)
{
	size_t most = CANDIDATES_PER_JOB * need, got = 0;

	for (size_t i = from; i < s->nfiles; i++) {
		struct snap_file *file = &s->files[i];
		if (!file->has_unsent) /* so it was when the set was read */
			continue;
		if (got >= most || i - from >= FILES_LOOKED_AT ||
		    (got > 0 && is_enough(enough))) {
			file->unread = s->search.left = true;
			continue;
		}
		enum err e = file_jobs(db, a, cf, most, now, enough, s, file, f);
		if (e != OK)
			return e;
		got += file->njobs;
	}
	return OK;
}
