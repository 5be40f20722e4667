/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/limits_view.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>
#include "db/entity.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "rules/sched/limits.h"
#include "tools/catalog.h"
#include "tools/human.h"
#include "tools/version_text.h"
#include "lib/banned.h"

static bool
about_account(enum web_limit limit)
{
	return limit == WEB_LIMIT_GUESSES || limit == WEB_LIMIT_MAILS;
}

struct limit_view
limit_of_web(struct cmd_ctx *x, enum web_limit limit, const char *who, const char *name)
{
	struct rate r = web_limit_rate(x->cf, limit);
	struct limit_view v = { .name = name,
		.most = web_limit_per_hour(x->cf, limit) };
	double now = clock_now_f(), level = 0, wait_s = 0;
	struct fail f = { 0 };
	char *key = arena_strdup(x->a, who);

	if (v.most == 0)
		return v;
	if (about_account(limit))
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
static const char *
hav_name(struct arena *a, const struct catalog *cat, int64_t id)
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

/* Can the host's processors be counted?  Those of GPUs are not stored as a number. */
static bool
on_cpus(const struct catalog *cat, int64_t id)
{
	for (size_t i = 0; i < cat->nversions; i++)
		if (cat->versions[i].id == id)
			return cat->versions[i].plan_class[0] == '\0' ||
			       strstr(cat->versions[i].plan_class, "mt") != NULL;
	return false;
}

enum err
limits_of_versions(
    struct cmd_ctx *x, const struct host *h, struct limit_view **out, size_t *n)
{
	int64_t now = clock_now();
	struct host_app_version *havs;
	struct catalog *cat;
	size_t nhavs;

	*out = NULL;
	*n = 0;
	TRY(tools_catalog(x, &cat));
	TRY(host_app_versions(x->db, x->a, h->id, &havs, &nhavs, x->f));
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

void
limit_put(struct print *l, const struct limit_view *v)
{
	print_cells(l, v->used, v->most, print_unless(v->free_at == 0, v->free_at));
}

char *
limit_text(struct arena *a, const struct limit_view *v, int64_t now)
{
	if (v->most == 0)
		return arena_printf(a, "%" PRId64 ", no limit", v->used);
	if (v->free_at == 0)
		return arena_printf(a, "%" PRId64 " of %" PRId64, v->used, v->most);
	return arena_printf(a, "%" PRId64 " of %" PRId64 ", free again in %s", v->used,
	    v->most, human_span(a, v->free_at > now ? v->free_at - now : 1));
}
