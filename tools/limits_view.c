/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/limits_view.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "db/entity.h"
#include "db/ledger.h"
#include "lib/buf.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "proto/template.h"
#include "rules/sched/limits.h"
#include "tools/catalog.h"
#include "lib/human.h"
#include "tools/version.h"
#include "lib/banned.h"

struct limit_view limit_of_web(
    struct cmd_ctx *x, enum web_limit limit, const char *who, const char *name)
{
	struct rate r = web_limit_rate(x->cf, limit);
	struct limit_view v = { .name = name,
		.most = web_limit_per_hour(x->cf, limit) };
	double now = clock_now_f(), level = 0, wait_s = 0;
	struct fail f = { 0 };
	char *key = arena_strdup(x->a, who);

	if (v.most == 0)
		return v;
	if (limit == WEB_LIMIT_GUESSES || limit == WEB_LIMIT_MAILS)
		for (char *p = key; *p != '\0'; p++)
			*p = (char)tolower((unsigned char)*p);
	else
		key = address_group(x->a, who);
	if (rate_look(web_limits_path(x->a, x->cf), &r, web_limit_key(x->a, limit, key),
		now, &level, &wait_s, &f) != OK)
		log_fail("limits", &f);
	v.used = (int64_t)ceil(level);
	v.free_at = wait_s <= 0 ? 0 : (int64_t)ceil(now + wait_s);
	return v;
}

/* "stars 1.00 cuda"; versions that clients brought themselves have no number. */
static const char *hav_name(struct arena *a, const struct catalog *cat, int64_t id)
{
	enum { OWN_PER_APP = 1000000 };

	for (size_t i = 0; i < cat->nversions; i++) {
		const struct app_version *v = &cat->versions[i];
		const struct app *app = catalog_app(cat, v->appid);

		if (v->id == id && id < OWN_PER_APP)
			return arena_printf(a, "%s %s%s%s",
			    app == NULL ? "?" : app->name,
			    version_num_text(a, v->version_num),
			    v->plan_class[0] == '\0' ? "" : " ", v->plan_class);
	}
	if (id >= OWN_PER_APP && catalog_app(cat, id / OWN_PER_APP) != NULL)
		return arena_printf(
		    a, "%s, own program", catalog_app(cat, id / OWN_PER_APP)->name);
	return arena_printf(a, "version %" PRId64, id);
}

/* Can the host's processors be counted? Those of GPUs are not stored as a number. */
static bool on_cpus(const struct catalog *cat, int64_t id)
{
	for (size_t i = 0; i < cat->nversions; i++)
		if (cat->versions[i].id == id)
			return cat->versions[i].plan_class[0] == '\0' ||
			       strstr(cat->versions[i].plan_class, "mt") != NULL;
	return false;
}

enum err limits_of_versions(
    struct cmd_ctx *x, const struct host *h, struct limit_view **out, size_t *n)
{
	int64_t now = clock_now();
	struct host_app_version *havs;
	struct catalog *cat;
	size_t nhavs;

	*out = NULL;
	*n = 0;
	TRY(tools_catalog(x, &cat));
	TRY(host_app_versions(x->db, x->a, &h->id, 1, &havs, &nhavs, x->f));
	*out = NEWN(x->a, struct limit_view, nhavs + 1);
	for (size_t i = 0; i < nhavs; i++) {
		struct host_app_version *hav = &havs[i];
		bool cpus = on_cpus(cat, hav->app_version_id);
		struct limit_view *v = &(*out)[(*n)++];

		if (quota_new_day(h->id, h->rpc_time, now))
			hav->n_jobs_today = 0;
		*v = (struct limit_view){ .name = arena_printf(x->a,
					      "%s: results a day%s",
					      hav_name(x->a, cat, hav->app_version_id),
					      cpus ? "" : ", a processor"),
			.used = hav->n_jobs_today };
		if (x->cf->daily_result_quota == 0)
			continue;
		v->most = hav->n_jobs_today +
		          quota_room(
			      x->cf, hav, cpus && h->p_ncpus > 0 ? h->p_ncpus : 1);
		if (v->used >= v->most)
			v->free_at = quota_next_day(h->id, now);
	}
	return OK;
}

void limit_put(struct print *l, const struct limit_view *v)
{
	print_cells(l, v->used, v->most, print_unless(v->free_at == 0, v->free_at));
}

char *limit_text(struct arena *a, const struct limit_view *v, int64_t now)
{
	if (v->most == 0)
		return arena_printf(a, "%" PRId64 ", no limit", v->used);
	if (v->free_at == 0)
		return arena_printf(a, "%" PRId64 " of %" PRId64, v->used, v->most);
	return arena_printf(a, "%" PRId64 " of %" PRId64 ", free again in %s", v->used,
	    v->most, human_span(a, v->free_at > now ? v->free_at - now : 1));
}

/* Formats the ledger as text and JSON. */

enum { DAY_S = 86400 };

static double hit_rate(const struct row_ledger *l)
{
	return l->jobs > 0 ? (double)l->hits / (double)l->jobs : 0;
}

char *saved_text(struct arena *a, const struct row_ledger *l)
{
	return arena_printf(a,
	    "%s of %s needed were held already (hit rate %.0f %%): %s sent, %lld of %lld jobs on files held",
	    human_bytes(a, (double)l->bytes_saved),
	    human_bytes(a, (double)(l->bytes_needed + l->bytes_saved)),
	    100 * hit_rate(l), human_bytes(a, (double)l->bytes_needed),
	    (long long)l->hits, (long long)l->jobs);
}

double bytes_without_locality(const struct row_ledger *l, const struct row_without *w)
{
	double more = (double)(w->bytes_without - w->bytes_needed);
	double all = w->jobs == 0 ? -1 :
	                            (double)l->bytes_needed +
	                                (double)l->jobs * more / (double)w->jobs;

	return w->jobs > 0 && all < 0 ? 0 : all;
}

char *locality_saves_text(
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

void saved_show(struct cmd_ctx *x, struct print *p, const struct row_ledger *l)
{
	print_put(p, "jobs_sent", l->jobs, "hits", l->hits, "hit_rate", hit_rate(l),
	    "bytes_needed", l->bytes_needed, "bytes_saved", l->bytes_saved);
	print_line(p, "locality", "%s", saved_text(x->a, l));
}

void drain_add(struct drain *d, const struct row_file_left *l, bool no_work)
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
enum err drain_files(struct cmd_ctx *x, struct row_file_left **files, size_t *n)
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

char *drain_text(struct arena *a, const struct drain *d, int64_t now)
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

void drain_put(struct print *p, const char *key, const struct drain *d, int64_t now)
{
	print_object(p, key, "unsent_left", d->unsent, "makeable", d->makeable, "jobs",
	    d->jobs, "period_s", drain_period_s(d, now), "drained_in_s",
	    drain_s(d, now));
}

void demand_show(struct cmd_ctx *x, struct print *p, const struct row_demand *d)
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
