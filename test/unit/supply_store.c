/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit/supply_store.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include "model/rows.h"
#include "test/unit/rules_world.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

/* --- stored jobs --- */

static int compare_stored(const void *pa, const void *pb)
{
	const struct stored *a = pa, *b = pb;

	if (a->ready != b->ready)
		return a->ready < b->ready ? -1 : 1;
	return (a->job.id > b->job.id) - (a->job.id < b->job.id);
}

void store_add(struct supply_store *s, const struct job *j, bool locked)
{
	const struct workunit wu = {
		.id = j->workunitid, .appid = j->appid, .fileset_id = j->fileset_id
	};

	PUSH(s->a, s->jobs, s->njobs, s->cap) = (struct stored){
		.job = *j, .ready = result_ready(&wu, j->priority), .locked = locked
	};
	qsort(s->jobs, s->njobs, sizeof(*s->jobs), compare_stored);
	if (j->fileset_id > s->last_fileset)
		s->last_fileset = j->fileset_id;
}

static void add_jobs(struct supply_store *s, char kind, long long id, long long n)
{
	for (long long i = 1; i <= n; i++) {
		int64_t first = kind == 'S' ? id * 1000 : id * 100000;
		struct job j = world_job(first + i, first + i);

		if (kind == 'S')
			j.fileset_id = id;
		else
			j.appid = id;
		store_add(s, &j, false);
	}
}

static void lock_first(struct supply_store *s, long long id, long long n)
{
	for (size_t i = 0; i < s->njobs; i++)
		s->jobs[i].locked |= s->jobs[i].ready == id &&
		                     s->jobs[i].job.id <= id * 1000 + n;
}

void store_fill(struct supply_store *s, const char *spec)
{
	char kind;
	long long id, n;
	int used;

	for (; sscanf(spec, " %c%lld%n", &kind, &id, &used) == 2; spec += used) {
		const char *more = spec + used;
		int used_more;

		n = 0;
		if (sscanf(more, ":%lld%n", &n, &used_more) == 1)
			used += used_more;
		if (kind == 'X')
			lock_first(s, id, n);
		else if (kind == 'l')
			PUSH(s->a, s->lasts, s->nlasts,
			    s->lasts_cap) = (struct supply_pair){ id, id * 1000 + n };
		else if (kind == 'W')
			PUSH(s->a, s->names, s->nnames, s->names_cap) = arena_printf(
			    s->a, "%lld", id);
		else
			add_jobs(s, kind, id, n);
	}
	ck_assert_str_eq(spec + strspn(spec, " "), "");
}

/* --- answers --- */

static int64_t last_of(const struct supply_store *s, int64_t fileset_id)
{
	for (size_t i = 0; i < s->nlasts; i++)
		if (s->lasts[i].id == fileset_id)
			return s->lasts[i].value;
	return 0;
}

static bool is_asked_for(
    const struct supply_store *s, const struct supply_query *q, const struct stored *j)
{
	switch (q->kind) {
	case SUPPLY_AFTER_LAST:
		return j->ready == q->ready && j->job.id > last_of(s, q->ready);
	case SUPPLY_AFTER:
		return j->ready == q->ready && j->job.id > q->after;
	case SUPPLY_UPTO:
		return j->ready == q->ready && j->job.id <= q->last;
	case SUPPLY_BY_IDS:
		return j->job.id == q->ids[0];
	case SUPPLY_URGENT_FIRST:
		if (j->ready >= q->urgent_first && j->ready <= q->urgent_last)
			return true;
		return j->ready >= q->first && j->ready <= q->last;
	case SUPPLY_BETWEEN:
		return j->ready >= q->first && j->ready <= q->last;
	default:
		return false;
	}
}

static void answer_jobs(const struct supply_store *s, const struct supply_query *q,
    struct supply_rows *rows)
{
	size_t cap = 0;

	for (size_t i = 0; i < s->njobs; i++) {
		const struct stored *j = &s->jobs[i];

		if (!is_asked_for(s, q, j) || (q->lock && j->locked) ||
		    (q->most > 0 && rows->n >= q->most))
			continue;
		PUSH(s->a, rows->jobs, rows->n, cap) = j->job;
	}
	for (size_t i = 0; q->lock && q->once != 0 && i < rows->n; i++)
		rows->jobs[i].taken = -1;
}

static int64_t next_ready(const struct supply_store *s, int64_t after)
{
	for (size_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].ready > after)
			return s->jobs[i].ready;
	return 0;
}

static int64_t nth_after(const struct supply_store *s, const struct supply_query *q)
{
	int64_t nth = q->nth;

	for (size_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].ready == q->ready && s->jobs[i].job.id > q->after &&
		    nth-- == 0)
			return s->jobs[i].job.id;
	return 0;
}

/* 0 if there is none. */
static void answer_number(struct supply_rows *rows, int64_t number)
{
	rows->number = number;
	rows->found = number != 0;
}

static int64_t oldest_of(const struct supply_store *s, int64_t fileset_id)
{
	for (size_t i = 0; i < s->njobs; i++)
		if (s->jobs[i].ready == fileset_id)
			return s->jobs[i].job.create_time;
	return 0;
}

static void answer_pairs(const struct supply_store *s, const struct supply_query *q,
    struct supply_rows *rows)
{
	rows->n = q->kind == SUPPLY_LASTS ? 1 : q->nids;
	rows->pairs = NEWN(s->a, struct supply_pair, rows->n + 1);
	if (q->kind == SUPPLY_LASTS) {
		int64_t last = s->njobs > 0 ? s->jobs[s->njobs - 1].ready : READY_SENT;

		rows->pairs[0] = (struct supply_pair){ last, s->last_fileset };
		return;
	}
	for (size_t i = 0; i < q->nids; i++) {
		int64_t value = q->kind == SUPPLY_OLDEST   ? oldest_of(s, q->ids[i]) :
		                q->kind == SUPPLY_LAST_IDS ? last_of(s, q->ids[i]) :
		                                             0;

		rows->pairs[i] = (struct supply_pair){ q->ids[i], value };
	}
}

static void add_sets(const struct supply_store *s, const struct supply_query *q)
{
	struct snapshot *snap = s->snap;
	size_t n = snap->nfiles;
	struct snap_file *all = NEWN(s->a, struct snap_file, n + q->nids + 1);

	if (n > 0)
		memcpy(all, snap->files, n * sizeof(*all));
	for (size_t i = 0; i < q->nids && i < q->most; i++)
		all[n++] = (struct snap_file){ .fileset_id = q->ids[i],
			.name = arena_printf(s->a, "set%" PRId64, q->ids[i]),
			.from_working_set = q->origin == SET_PICKED,
			.searched = q->origin == SET_SEARCHED,
			.bytes = 1000,
			.bytes_missing = 1000,
			.has_unsent = oldest_of(s, q->ids[i]) != 0 };
	snap->files = all;
	snap->nfiles = n;
}

static void answer_names(const struct supply_store *s, const struct supply_query *q,
    struct supply_rows *rows)
{
	size_t n = q->kind == SUPPLY_NAMES ? s->nnames : q->nnames;

	rows->n = n;
	if (q->kind == SUPPLY_NAMES) {
		rows->names = s->names;
		return;
	}
	rows->sets = NEWN(s->a, struct fileset, n + 1);
	for (size_t i = 0; i < n; i++) {
		rows->sets[i].id = strtoll(q->names[i], NULL, 10);
		rows->sets[i].name = arena_strdup(s->a, q->names[i]);
	}
}

static void answer(const struct supply_store *s, const struct supply_query *q,
    struct supply_rows *rows)
{
	switch (q->kind) {
	case SUPPLY_LAST_ID:
		answer_number(rows, last_of(s, q->ready));
		break;
	case SUPPLY_LAST_ID_BY:
		answer_number(rows, last_of(s, q->ready));
		break;
	case SUPPLY_NTH_AFTER:
		answer_number(rows, nth_after(s, q));
		break;
	case SUPPLY_NEXT_READY:
		answer_number(rows, next_ready(s, q->after));
		break;
	case SUPPLY_LASTS:
	case SUPPLY_LAST_IDS:
	case SUPPLY_LAST_IDS_BY:
	case SUPPLY_OLDEST:
		answer_pairs(s, q, rows);
		break;
	case SUPPLY_NAMES:
	case SUPPLY_NAMED:
		answer_names(s, q, rows);
		break;
	case SUPPLY_SETS:
		add_sets(s, q);
		break;
	default:
		answer_jobs(s, q, rows);
	}
}

void store_serve(
    const struct supply_store *s, struct supply *p, bool *locked, struct buf *b)
{
	const struct supply_query *q;

	while ((q = supply_next(p, *locked)) != NULL) {
		struct supply_rows rows = { 0 };

		*locked = (*locked && !q->unlock) || q->lock;
		answer(s, q, &rows);
		buf_printf(b, "%s%s%s %s", q->unlock ? "unlock " : "",
		    q->lock ? "lock " : "", supply_stage_name(q->stage),
		    supply_kind_name(q->kind));
		if (q->subject != 0)
			buf_printf(b, " %" PRId64, q->subject);
		if (q->most > 0)
			buf_printf(b, " %zu/%zu", rows.n, q->most);
		buf_puts(b, "\n");
		supply_take(p, &rows);
	}
}
