/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads jobs of file sets, one set after the other, in slices that grow until there
 * are enough (performance.md 1 (R4 and R5)). Ids increase from the account's last
 * job of the set on. If there are no further jobs, offers jobs that were skipped at
 * least locality_skip_release seconds ago.
 */
#include "rules/sched/supply_own.h"

#include "lib/banned.h"

/* Limit of sets to read: a host may name every file of the project, and each set
 * costs some statements. */
enum { FILES_MOST = 256 };

/* Rows of the first slice, small because most hosts want few jobs, and the growth
 * factor of the following slices. */
enum { FIRST_SLICE = 8, SLICE_GROWS = 4 };

void
supply_files_begin(struct supply *p, size_t from, size_t most)
{
	p->files = (struct supply_files){ .from = from, .at = from, .most = most };
}

static struct snap_file *
current_set(const struct supply *p)
{
	return &p->in.snap->files[p->files.at];
}

/* The statement of the first slice finds the account's last id itself, unless the
 * slice begins behind jobs that are left to others. */
static void
read_set(struct supply *p, bool lock)
{
	struct supply_files *r = &p->files;
	struct snap_file *file = current_set(p);

	file->jobs = NULL;
	file->njobs = r->cap = 0;
	r->lock = lock;
	r->full = false;
	r->skip = supply_skip(p, file->fileset_id);
	r->slice = p->until_enough ? FIRST_SLICE : r->most;
	r->find_last = !file->last_read && r->skip == 0;
	r->after = file->last_id;
	if (!file->last_read && r->skip > 0)
		r->state = FILES_LAST;
	else
		r->state = r->skip > 0 ? FILES_SKIP : FILES_SLICE;
}

/* Goes to the next set with unsent jobs; false if there is none. Marks the sets that
 * stay unread because there are enough candidates. */
static bool
choose_set(struct supply *p)
{
	struct supply_files *r = &p->files;
	struct snapshot *s = p->in.snap;

	for (; r->at < s->nfiles; r->at++) {
		struct snap_file *file = current_set(p);

		if (!file->has_unsent) /* as of when the set was read */
			continue;
		if (r->got >= r->most || r->at - r->from >= FILES_MOST ||
		    (r->got > 0 && p->until_enough && supply_enough(p))) {
			file->unread = s->search.left = true;
			continue;
		}
		read_set(p, supply_locks(p, file->fileset_id));
		return true;
	}
	return false;
}

static void
ask_slice(struct supply *p, struct supply_query *q)
{
	struct supply_files *r = &p->files;
	size_t left = r->most - current_set(p)->njobs;

	r->asked = r->slice < left ? r->slice : left;
	q->kind = r->find_last ? SUPPLY_AFTER_LAST : SUPPLY_AFTER;
	q->after = r->after;
	q->most = r->asked;
	q->lock = r->lock;
}

bool
supply_files_next(struct supply *p, struct supply_query *q)
{
	struct supply_files *r = &p->files;

	if (r->state == FILES_CHOOSE && !choose_set(p))
		return false;
	q->ready = q->subject = current_set(p)->fileset_id;
	switch (r->state) {
	case FILES_LAST:
	case FILES_LAST_OF_NONE:
		q->kind = SUPPLY_LAST_ID;
		break;
	case FILES_SKIP:
		q->kind = SUPPLY_NTH_AFTER;
		q->after = r->after;
		q->nth = r->skip - 1;
		break;
	case FILES_PASSED_OVER:
		q->kind = SUPPLY_UPTO;
		q->last = current_set(p)->last_id;
		q->most = r->most;
		q->lock = r->lock;
		break;
	case FILES_RELEASED:
		q->kind = SUPPLY_LAST_ID_BY;
		q->sent_by = p->in.now - p->in.conf->locality_skip_release;
		break;
	default:
		ask_slice(p, q);
	}
	return true;
}

/* Finishes the set. If all its jobs are locked, reads them again without locking,
 * because the owner of a lock may give the job up. */
static void
set_done(struct supply *p)
{
	struct supply_files *r = &p->files;
	size_t njobs = current_set(p)->njobs;

	p->in.snap->search.left |= r->full;
	if (r->lock && njobs == 0) {
		supply_unlock(p);
		read_set(p, false);
		return;
	}
	r->got += njobs;
	r->at++;
	r->state = FILES_CHOOSE;
}

static void
take_last(struct supply *p, const struct supply_rows *rows)
{
	struct snap_file *file = current_set(p);

	file->last_id = rows->found ? rows->number : 0;
	file->last_read = true;
	p->files.after = file->last_id;
}

/* Continues after finding no job behind the account's last one. */
static void
try_passed_over(struct supply *p)
{
	if (current_set(p)->last_id > 0)
		p->files.state = FILES_PASSED_OVER;
	else
		set_done(p);
}

static void
take_slice(struct supply *p, const struct supply_rows *rows)
{
	struct supply_files *r = &p->files;
	struct snap_file *file = current_set(p);

	if (file->njobs == 0) {
		file->jobs = rows->jobs;
		file->njobs = r->cap = rows->n;
	} else {
		for (size_t i = 0; i < rows->n; i++)
			PUSH(p->a, file->jobs, file->njobs, r->cap) = rows->jobs[i];
	}
	r->full = rows->n == r->asked;
	if (rows->n > 0)
		r->after = file->jobs[file->njobs - 1].id;
	r->find_last = false;
	r->slice *= SLICE_GROWS;
	if (r->full && file->njobs < r->most && !(p->until_enough && supply_enough(p)))
		return;
	file->has_unsent = file->njobs > 0;
	if (file->njobs > 0)
		set_done(p);
	else if (file->last_read)
		try_passed_over(p);
	else
		r->state = FILES_LAST_OF_NONE;
}

static void
take_passed_over(struct supply *p, const struct supply_rows *rows)
{
	struct snap_file *file = current_set(p);

	p->files.full = false;
	p->files.npassed = rows->n;
	if (rows->n == 0) {
		set_done(p);
		return;
	}
	file->has_unsent = true;
	file->jobs = rows->jobs;
	p->files.state = FILES_RELEASED;
}

/* The jobs are sorted by increasing id. */
static void
take_released(struct supply *p, const struct supply_rows *rows)
{
	struct supply_files *r = &p->files;
	struct snap_file *file = current_set(p);

	file->released_id = rows->found ? rows->number : 0;
	while (
	    file->njobs < r->npassed && file->jobs[file->njobs].id < file->released_id)
		file->njobs++;
	r->full = file->njobs == r->most;
	set_done(p);
}

void
supply_files_take(struct supply *p, const struct supply_rows *rows)
{
	struct supply_files *r = &p->files;

	switch (r->state) {
	case FILES_LAST:
		take_last(p, rows);
		r->state = r->skip > 0 ? FILES_SKIP : FILES_SLICE;
		break;
	case FILES_LAST_OF_NONE:
		take_last(p, rows);
		try_passed_over(p);
		break;
	case FILES_SKIP:
		if (rows->found)
			r->after = rows->number;
		r->state = FILES_SLICE;
		break;
	case FILES_PASSED_OVER:
		take_passed_over(p, rows);
		break;
	case FILES_RELEASED:
		take_released(p, rows);
		break;
	default:
		take_slice(p, rows);
	}
}
