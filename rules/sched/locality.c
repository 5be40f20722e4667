/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Jobs by the large files that they need (locality.md 3): first overdue jobs, if the
 * host has a fast link, then held files. Draining held files are waited for. Then files
 * of the working set, then files that the search found.
 */
#include "rules/sched/ctx.h"

#include <stdlib.h>
#include <string.h>
#include "lib/banned.h"

enum {
	FIRST_S = 2
}; /* time for which a new job is reserved for those that wait for it */
#define FAST_LINK 1e5 /* bytes/s: links above it are fast (locality.md 1.2 (2)) */

struct ranked {
	struct snap_file file;
	size_t place;
};

static int compare_files_by_name(const void *a, const void *b)
{
	const struct snap_file *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Ties go to the smaller place, which is that of the shuffle. */
static int compare_files_by_missing(const void *a, const void *b)
{
	const struct ranked *x = a, *y = b;
	int64_t p = x->file.bytes_missing, q = y->file.bytes_missing;

	if (x->file.held != y->file.held)
		return x->file.held ? -1 : 1;
	if (p != q)
		return p < q ? -1 : 1;
	return (x->place > y->place) - (x->place < y->place);
}

void locality_order(struct arena *a, const struct conf *cf, struct rng *rng,
    struct snap_file *files, size_t n)
{
	struct ranked *v = NEWN(a, struct ranked, n + 1);

	if (cf->locality_scheduling_sorted_order)
		qsort(files, n, sizeof(*files), compare_files_by_name);
	else
		rng_shuffle(rng, files, n, sizeof(*files));
	for (size_t i = 0; i < n; i++)
		v[i] = (struct ranked){ files[i], i };
	qsort(v, n, sizeof(*v), compare_files_by_missing);
	for (size_t i = 0; i < n; i++)
		files[i] = v[i].file;
}

/*
 * A partly held set is here because of the files that the host has, so it counts as
 * held.
 */
static enum send_how file_send_how(const struct snap_file *f)
{
	if (!f->held && f->from_working_set)
		return SEND_WORKING_SET;
	return !f->held && f->searched ? SEND_SEARCHED : SEND_HELD;
}

bool locality_takes_old(
    const struct conf *cf, const struct request *rq, const struct snapshot *s)
{
	return cf->locality_scheduling_send_timeout > 0 &&
	       catalog_locality(s->cat, cf) && machine_of(cf, rq, s).bwdown > FAST_LINK;
}

static bool job_is_old(const struct ctx *c, const struct job *j)
{
	return j->create_time < c->now - c->conf->locality_scheduling_send_timeout;
}

/*
 * A job generated after a host asked for it is briefly reserved for waiting requests.
 * They look ten times a second, so the first to ask comes first. Other requests wait
 * for one look, too; a request without a slot to wait in takes the job, so nobody is
 * kept from it.
 */
static bool reserved_for_waiters(
    const struct ctx *c, const struct snap_file *f, const struct job *j)
{
	int64_t asked = f->demand_time;

	return c->snap->wait_possible && asked > 0 && j->create_time >= asked &&
	       j->create_time <= asked + c->conf->locality_scheduling_wait_period &&
	       c->now - j->create_time < FIRST_S;
}

/*
 * Would any other request of this account be refused, too? A job that another request
 * takes is gone for all.
 */
static bool refuses_whole_account(enum reason why)
{
	return why == WHY_USER_ONCE || why == WHY_HOST_ONCE || why == WHY_ID_ORDER ||
	       why == WHY_LOST_RACE;
}

/*
 * All results have versions for the same platforms, so the lack of a version ends the
 * search (locality.md 1.1 (L17)): unless this job's own demands caused it, or only some
 * apps use locality and another app has a version.
 */
static bool ends_locality_search(
    const struct ctx *c, const struct job *j, enum reason why)
{
	const struct app *app = catalog_app(c->snap->cat, j->appid);

	if (why != WHY_NO_APP_VERSION)
		return false;
	if (app != NULL && !c->app_refused[app - c->snap->cat->apps])
		return false;
	return c->conf->locality_scheduling || !search_another_app(c);
}

static void serve_file_jobs(struct ctx *c, struct dec_file *df, bool overdue)
{
	const struct snap_file *f = df->file;
	size_t counts[WHY__MAX] = { 0 };
	int64_t last = f->last_id;

	df->spent = true;
	for (size_t i = 0; i < f->njobs && !c->no_app_version; i++) {
		const struct job *j = &f->jobs[i];
		enum reason why;

		if (limits_more(c) != WHY_NONE) {
			df->spent = false;
			break;
		}
		if (reserved_for_waiters(c, f, j)) {
			why = WHY_WAITING;
			df->awaited = true;
			decision_skip(c, j, why);
		} else if (fileset_in_order(f, j, last)) {
			why = candidate_try(c,
			    overdue && job_is_old(c, j) ? SEND_OLD : file_send_how(f),
			    j, f);
		} else {
			why = WHY_ID_ORDER;
			c->job_refused = true;
			decision_skip(c, j, why);
		}
		if (why == WHY_NONE) {
			df->sent++;
			last = j->id > last ? j->id : last;
			continue;
		}
		df->refused++;
		df->spent = df->spent && refuses_whole_account(why);
		counts[why]++;
		c->no_app_version = !overdue && ends_locality_search(c, j, why);
	}
	/* If none was sent: the most frequent reason to refuse the file's jobs. */
	df->why = WHY_NONE;
	for (int r = 0; r < WHY__MAX && df->sent == 0; r++)
		if (counts[r] > counts[df->why])
			df->why = (enum reason)r;
}

/*
 * Interprets a file without candidates: either its unsent results are not for this
 * account, or it has none. files_no_work is created only after the additional attempt,
 * or if none is possible (L15).
 */
static void note_file_without_jobs(struct ctx *c, struct dec_file *df)
{
	bool attempt_due = df->state == FILE_DRAINING && !c->snap->waited;

	if (df->file->unread) {
		df->why = WHY_SEARCH_LIMIT;
		c->job_refused = true;
		return;
	}
	if (df->file->has_unsent) {
		df->why = WHY_ID_ORDER;
		df->spent = true;
		c->job_refused = true;
		return;
	}
	df->why = c->locality && df->state == FILE_DRAINING ? WHY_WAITING : WHY_NO_WORK;
	/*
	 * A file from the search is not in the working set, so nobody needs to drop it.
	 */
	df->mark_no_work = c->locality && !attempt_due &&
	                   !(df->file->searched && df->state == FILE_DRAINING);
}

static void serve_file(struct ctx *c, struct dec_file *df)
{
	if (snap_file_held_back(df->file))
		df->why = df->file->app_drained ? WHY_DRAINING : WHY_PAUSED;
	else if (df->file->njobs == 0)
		note_file_without_jobs(c, df);
	else
		serve_file_jobs(c, df, false);
	if (df->sent == 0 && df->refused == 0)
		c->d->counts[df->why]++;
}

static bool still_wanted(const struct ctx *c)
{
	return !c->no_app_version && limits_more(c) == WHY_NONE;
}

/*
 * Sends no new file along with jobs of files that will have more: the host will ask for
 * those when it has finished, and another large file would cost more than another
 * request.
 */
static bool more_to_come(struct ctx *c)
{
	if (c->d->nsends > 0 && still_wanted(c)) {
		c->more_to_come = true;
		c->d->counts[WHY_WAITING]++;
	}
	return c->more_to_come;
}

static void serve_group(struct ctx *c, enum send_how how)
{
	for (size_t i = 0; i < c->snap->nfiles && still_wanted(c); i++) {
		const struct dec_file *df = &c->d->files[i];

		if (file_send_how(df->file) != how || df->sent > 0 || df->refused > 0)
			continue;
		serve_file(c, &c->d->files[i]);
		if (how != SEND_HELD && df->sent > 0 &&
		    fileset_may_be_made(c->conf, df->file) && more_to_come(c))
			return;
	}
}

/* The file's oldest job for this account if it is overdue, else NULL. */
static const struct job *overdue_job(const struct ctx *c, const struct snap_file *f)
{
	for (size_t i = 0; i < f->njobs && !snap_file_held_back(f); i++)
		if (fileset_in_order(f, &f->jobs[i], f->last_id))
			return job_is_old(c, &f->jobs[i]) ? &f->jobs[i] : NULL;
	return NULL;
}

struct overdue_file {
	int64_t create_time;
	size_t i; /* index of the file */
};

static int compare_overdue(const void *a, const void *b)
{
	const struct overdue_file *x = a, *y = b;

	if (x->create_time != y->create_time)
		return x->create_time < y->create_time ? -1 : 1;
	return (x->i > y->i) - (x->i < y->i);
}

/*
 * Serves files with overdue jobs, the oldest first. Once the first job of a file is
 * sent, its other jobs follow, as the file is there then. At most one new file is sent
 * this way. Overdue jobs are those that few hosts can do, so the lack of a version for
 * them says nothing about other work. Returns true if the new file will have more jobs.
 */
static bool serve_overdue(struct ctx *c)
{
	const struct snapshot *s = c->snap;
	struct overdue_file *v = NEWN(c->a, struct overdue_file, s->nfiles + 1);
	size_t n = 0;
	bool brought = false, more = false;

	for (size_t i = 0; i < s->nfiles; i++) {
		const struct job *j = overdue_job(c, &s->files[i]);

		if (j != NULL)
			v[n++] = (struct overdue_file){ j->create_time, i };
	}
	qsort(v, n, sizeof(*v), compare_overdue);
	for (size_t i = 0; i < n && still_wanted(c); i++) {
		struct dec_file *df = &c->d->files[v[i].i];

		if (brought && !df->file->held)
			continue;
		serve_file_jobs(c, df, true);
		if (df->sent > 0 && !df->file->held) {
			brought = true;
			more = fileset_may_be_made(c->conf, df->file);
		}
	}
	return more;
}

/*
 * Will more of this file be generated? A held file also counts as drained if its
 * remaining jobs are for other accounts: for this host there are "no available results
 * using X" (LocalityScheduling), and another large file would cost more than waiting
 * for a part of this one. New files are not generated for that reason; the search
 * continues instead (locality.md 1.1 (L13)).
 */
static bool file_drains(
    const struct ctx *c, const struct dec_file *df, enum send_how how)
{
	const struct snap_file *f = df->file;

	if (f->paused || file_send_how(f) != how)
		return false;
	return df->state == FILE_DRAINING || df->awaited ||
	       (how == SEND_HELD && df->spent && fileset_may_be_made(c->conf, f));
}

/* The newest job that was tried and not sent. */
static int64_t last_tried_job(const struct ctx *c, const struct snap_file *f)
{
	int64_t last = 0;

	for (size_t i = 0; i < f->njobs; i++)
		if (!reserved_for_waiters(c, f, &f->jobs[i]))
			last = f->jobs[i].id;
	return last;
}

/*
 * Asks for at most this many files of the group, and for only one of the partly held
 * sets: the one that lacks the fewest bytes.
 */
static void want_files(struct ctx *c, enum send_how how, size_t most)
{
	struct decision *d = c->d;
	bool part = false;

	for (size_t i = 0; i < c->snap->nfiles && most > 0; i++)
		if (file_drains(c, &d->files[i], how)) {
			const struct snap_file *f = d->files[i].file;
			int64_t last = last_tried_job(c, f);

			if (how == SEND_HELD && !f->held && part)
				continue;
			part = part || !f->held;
			d->want[d->nwant++] = f->fileset_id;
			if (last > d->want_after)
				d->want_after = last;
			most--;
		}
}

/*
 * If work is still wanted and files of this group drain, asks the caller to wait for
 * them, once per request, held files first; a pick of the working set without results
 * joins the same wait. One file is enough among those that only the search found,
 * because its work brings a new file to the host. Returns true if nothing else is to be
 * tried in this round.
 */
static bool ask_to_wait(struct ctx *c, enum send_how how)
{
	bool any = false;

	for (size_t i = 0; i < c->snap->nfiles; i++)
		any = any || file_drains(c, &c->d->files[i], how);
	if (!c->locality || !any || c->snap->waited || !still_wanted(c))
		return false;
	if (!c->snap->wait_possible) {
		c->could_not_wait = true;
		return true;
	}
	c->d->want = NEWN(c->a, int64_t, c->snap->nfiles + 1);
	want_files(c, SEND_HELD, SIZE_MAX);
	want_files(c, SEND_WORKING_SET, SIZE_MAX);
	if (how == SEND_SEARCHED)
		want_files(c, SEND_SEARCHED, 1);
	return true;
}

/*
 * After the wait. If other requests were faster to take what was generated, more will
 * follow, and the host comes back for it: there is one additional attempt (locality.md
 * 1.1 (L8)), and the rest of the wait is left to other hosts. If nothing was generated,
 * a new file is sent, so that no host is idle because of a dead generator.
 */
static bool more_of_held(struct ctx *c)
{
	bool any = false;

	for (size_t i = 0; i < c->snap->nfiles; i++)
		any = any || file_drains(c, &c->d->files[i], SEND_HELD);
	if (!any || !c->snap->waited || !still_wanted(c))
		return false;
	/*
	 * If not all jobs were read, those present may be old, and never for this host.
	 */
	c->could_not_wait = c->d->nsends == 0 && c->snap->wait_brought &&
	                    !c->snap->search.held_left;
	return c->could_not_wait || more_to_come(c);
}

/*
 * A host whose files drain is better served by coming back in seconds than by a new
 * large file. So if there is no slot to wait in, no new file is tried either.
 */
void locality_serve(struct ctx *c)
{
	bool more = locality_takes_old(c->conf, c->req, c->snap) && serve_overdue(c);

	serve_group(c, SEND_HELD);
	if (ask_to_wait(c, SEND_HELD) || more_of_held(c) || (more && more_to_come(c)))
		return;
	serve_group(c, SEND_WORKING_SET);
	if (c->more_to_come || ask_to_wait(c, SEND_WORKING_SET))
		return;
	serve_group(c, SEND_SEARCHED);
	if (!c->more_to_come)
		ask_to_wait(c, SEND_SEARCHED);
}
