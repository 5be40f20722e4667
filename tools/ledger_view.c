/* SPDX-License-Identifier: Apache-2.0 */
/* Formats the ledger as text and JSON. */
#include "tools/ledger_view.h"

#include "db/ledger.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "proto/template.h"
#include "tools/human.h"
#include "lib/banned.h"

enum { DAY_S = 86400 };

static double
hit_rate(const struct row_ledger *l)
{
	return l->jobs > 0 ? (double)l->hits / (double)l->jobs : 0;
}

char *
saved_text(struct arena *a, const struct row_ledger *l)
{
	return arena_printf(a,
	    "%s of %s needed were held already (hit rate %.0f %%): %s sent, %lld of %lld jobs on files held",
	    human_bytes(a, (double)l->bytes_saved),
	    human_bytes(a, (double)(l->bytes_needed + l->bytes_saved)),
	    100 * hit_rate(l), human_bytes(a, (double)l->bytes_needed),
	    (long long)l->hits, (long long)l->jobs);
}

double
bytes_without_locality(const struct row_ledger *l, const struct row_without *w)
{
	double more = (double)(w->bytes_without - w->bytes_needed);
	double all = w->jobs == 0 ? -1 :
	                            (double)l->bytes_needed +
	                                (double)l->jobs * more / (double)w->jobs;

	return w->jobs > 0 && all < 0 ? 0 : all;
}

char *
locality_saves_text(
    struct arena *a, const struct row_ledger *l, const struct row_without *w)
{
	double without = bytes_without_locality(l, w),
	       saves = without - (double)l->bytes_needed;

	if (without < 0)
		return NULL;
	if (saves < 1)
		return arena_printf(a,
		    "saves nothing yet: without it hosts would have fetched about %s, too (estimated on %lld requests)",
		    human_bytes(a, without), (long long)w->requests);
	return arena_printf(a,
	    "saves %s: without it hosts would have fetched about %s (estimated on %lld requests)",
	    human_bytes(a, saves), human_bytes(a, without), (long long)w->requests);
}

void
saved_show(struct cmd_ctx *x, struct print *p, const struct row_ledger *l)
{
	print_put(p, "jobs_sent", l->jobs, "hits", l->hits, "hit_rate", hit_rate(l),
	    "bytes_needed", l->bytes_needed, "bytes_saved", l->bytes_saved);
	print_line(p, "locality", "%s", saved_text(x->a, l));
}

void
drain_add(struct drain *d, const struct row_file_left *l, bool no_work)
{
	drain_count(d, &(struct drain_file){ .paused = l->paused,
			   .no_work = no_work,
			   .unsent = l->unsent,
			   .parts = l->parts,
			   .results = l->results,
			   .jobs = l->jobs,
			   .create_time = l->create_time });
}

/* Sets of the same app are mostly adjacent, so its template is read once for a run of
 * them. */
enum err
drain_files(struct cmd_ctx *x, struct row_file_left **files, size_t *n)
{
	int64_t appid = 0;
	int32_t results = 0;

	TRY(files_left(x->db, x->a, clock_now() / DAY_S - 1, files, n, x->f));
	for (size_t i = 0; i < *n; i++) {
		struct row_file_left *l = &(*files)[i];

		if (l->appid != appid)
			results = l->adaptive ? 1 :
			                        new_work_results(x->a, x->cf, l->app);
		appid = l->appid;
		if (results > 0)
			l->results = results;
	}
	return OK;
}

char *
drain_text(struct arena *a, const struct drain *d, int64_t now)
{
	int64_t s = drain_s(d, now), left = d->unsent + d->makeable;
	struct buf b = buf_new(a);

	if (d->files == 0)
		return arena_strdup(a, "none on large files");
	buf_printf(&b, "%lld results left", (long long)left);
	if (left > 0)
		buf_printf(&b, ": %lld unsent, %lld to be made", (long long)d->unsent,
		    (long long)d->makeable);
	buf_printf(&b, "; %lld sent in the last %s", (long long)d->jobs,
	    human_span(a, drain_period_s(d, now)));
	if (d->stuck)
		buf_puts(&b, "; no host can get some of them, as locus fsck explains");
	else if (s > 0)
		buf_printf(&b, ": enough for %s", human_span(a, s));
	return b.p;
}

void
drain_put(struct print *p, const char *key, const struct drain *d, int64_t now)
{
	print_object(p, key, "unsent_left", d->unsent, "makeable", d->makeable, "jobs",
	    d->jobs, "period_s", drain_period_s(d, now), "drained_in_s",
	    drain_s(d, now));
}

void
demand_show(struct cmd_ctx *x, struct print *p, const struct row_demand *d)
{
	char last[21];

	print_object(p, "demand", "asked", d->asked, "met", d->met, "last",
	    d->asked == 0 ? "" : clock_text(d->last, last));
	if (d->asked == 0)
		print_line(
		    p, "demand", "no host has requested work that had to be made");
	else
		print_line(p, "demand",
		    "%lld requests for work that had to be made, the last %s ago; %lld waits were met",
		    (long long)d->asked, human_span(x->a, clock_now() - d->last),
		    (long long)d->met);
}
