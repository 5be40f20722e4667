/* SPDX-License-Identifier: Apache-2.0 */
/* Large files, each one once, with the sets that need them (locality.md 1.5 (13)). */
#include "rules/sched/large.h"

#include <stdlib.h>
#include "lib/banned.h"

/* States of a file set, and who may get its results (locality.md 2). */

bool fileset_may_be_made(const struct conf *cf, const struct snap_file *f)
{
	return cf->locality_scheduling_wait_period > 0 && !f->no_work_available &&
	       !f->draining;
}

enum file_state fileset_state(const struct conf *cf, const struct snap_file *f)
{
	if (f->has_unsent)
		return FILE_ADVERTISED;
	if (fileset_may_be_made(cf, f))
		return FILE_DRAINING;
	/* Nobody has said that a file that never had a workunit will get none. */
	if (f->has_open_wu || (!f->has_any_wu && !f->no_work_available))
		return FILE_EXHAUSTED;
	return FILE_DEAD;
}

bool fileset_in_order(const struct snap_file *f, const struct job *j, int64_t last)
{
	return j->id > last || j->id < f->released_id;
}

static int compare_large_files(const void *pa, const void *pb)
{
	const struct large *a = pa, *b = pb;

	return (a->file->file_id > b->file->file_id) -
	       (a->file->file_id < b->file->file_id);
}

static int compare_uses_by_set(const void *pa, const void *pb)
{
	const struct large_use *a = pa, *b = pb;

	if (a->fileset_id != b->fileset_id)
		return a->fileset_id < b->fileset_id ? -1 : 1;
	return compare_large_files(a->large, b->large);
}

struct larges larges_of(struct arena *a, const struct snapshot *s)
{
	struct larges l = { .v = NEWN(a, struct large, s->nmembers + 1),
		.uses = NEWN(a, struct large_use, s->nmembers + 1),
		.nuses = s->nmembers };

	for (size_t i = 0; i < s->nmembers; i++)
		l.v[i] = (struct large){ .file = &s->members[i],
			.there = s->members[i].held,
			.has_others = s->members[i].has_others,
			.elsewhere = s->members[i].elsewhere,
			.state = FILE_DEAD };
	qsort(l.v, s->nmembers, sizeof(*l.v), compare_large_files);
	for (size_t i = 0; i < s->nmembers; i++) {
		struct large x = l.v[i];

		if (l.n == 0 || compare_large_files(&l.v[l.n - 1], &x) != 0)
			l.v[l.n++] = x;
		l.v[l.n - 1].has_others |= x.has_others;
		l.v[l.n - 1].elsewhere |= x.elsewhere;
	}
	for (size_t i = 0; i < s->nmembers; i++) {
		struct large key = { .file = &s->members[i] };

		l.uses[i] = (struct large_use){ s->members[i].fileset_id,
			bsearch(&key, l.v, l.n, sizeof(*l.v), compare_large_files) };
	}
	qsort(l.uses, l.nuses, sizeof(*l.uses), compare_uses_by_set);
	return l;
}

const struct large_use *larges_of_set(
    const struct larges *l, int64_t fileset_id, size_t *n)
{
	size_t from = 0, end = l->nuses;

	while (from < end) {
		size_t mid = (from + end) / 2;

		if (l->uses[mid].fileset_id < fileset_id)
			from = mid + 1;
		else
			end = mid;
	}
	for (end = from; end < l->nuses && l->uses[end].fileset_id == fileset_id;)
		end++;
	*n = end - from;
	return l->uses + from;
}

int64_t larges_missing(const struct larges *l, int64_t fileset_id)
{
	size_t n;
	const struct large_use *u = larges_of_set(l, fileset_id, &n);
	int64_t bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += u[i].large->there ? 0 : u[i].large->file->bytes;
	return bytes;
}

void larges_bring(struct larges *l, int64_t fileset_id)
{
	size_t n;
	const struct large_use *u = larges_of_set(l, fileset_id, &n);

	for (size_t i = 0; i < n; i++)
		u[i].large->there = true;
}

void larges_charge(struct larges *l, struct dec_send *sends, size_t n, const bool *lost)
{
	for (size_t i = 0; i < l->n; i++)
		l->v[i].there = l->v[i].file->held;
	for (size_t i = 0; i < n; i++) {
		struct dec_send *s = &sends[i];
		int64_t all = s->bytes_needed + s->bytes_saved;

		if (lost != NULL && lost[i])
			continue;
		s->bytes_needed = larges_missing(l, s->job->fileset_id);
		s->bytes_saved = all - s->bytes_needed;
		larges_bring(l, s->job->fileset_id);
	}
}

/*
 * Bytes that deleting the file frees at once: a client keeps a file as long as a task
 * of its own needs it (locality.md 1.5 (8)).
 */
double large_freed(const struct large *l)
{
	return l->goes && !l->busy ? (double)l->file->bytes : 0;
}

double larges_freed(const struct larges *l, int64_t fileset_id)
{
	size_t n;
	const struct large_use *u = larges_of_set(l, fileset_id, &n);
	double bytes = 0;

	for (size_t i = 0; i < n; i++)
		bytes += large_freed(u[i].large);
	return bytes;
}

void larges_stay(struct larges *l, int64_t fileset_id)
{
	size_t n;
	const struct large_use *u = larges_of_set(l, fileset_id, &n);

	for (size_t i = 0; i < n; i++)
		u[i].large->goes = false;
}
