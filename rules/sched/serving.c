/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one pass over all versions. */
#include "rules/sched/serving.h"

#include "model/plan_class.h"
#include "lib/banned.h"

static void
serving_mark(struct serving *s, const struct app *app, size_t r)
{
	if (app != NULL && !app->deprecated && r < s->nresources)
		s->v[(size_t)(app - s->cat->apps) * s->nresources + r] = true;
}

/* Resource of the versions of a class, SIZE_MAX if none of them can be sent. */
static size_t
class_resource(
    const struct request *rq, const struct catalog *cat, const char *plan_class)
{
	const struct plan_class *pc = plan_class_named(cat->classes, plan_class);

	if (plan_class[0] == '\0')
		return 0;
	if (!rq->client_cap_plan_class || pc == NULL || pc->disabled)
		return SIZE_MAX;
	return plan_class_resource(pc, rq);
}

struct serving
serving_of(struct arena *a, const struct request *rq, const struct catalog *cat)
{
	struct serving s = { .cat = cat, .nresources = rq->nresources };
	int64_t *ids = NEWN(a, int64_t, rq->nplatforms + 1);
	size_t nids = 0;

	s.v = NEWN(a, bool, cat->napps * rq->nresources + 1);
	if (request_is_anonymous(rq)) {
		for (size_t i = 0; i < rq->napp_versions; i++)
			serving_mark(&s,
			    catalog_app_named(cat, rq->app_versions[i].app_name),
			    request_resource(rq, rq->app_versions[i].coproc_type));
		return s;
	}
	for (size_t i = 0; i < rq->nplatforms; i++) {
		const struct platform *p = catalog_platform_named(
		    cat, rq->platforms[i]);

		if (p != NULL)
			ids[nids++] = p->id;
	}
	for (size_t i = 0; i < cat->nversions; i++) {
		const struct app_version *v = &cat->versions[i];
		bool ours = false;

		for (size_t k = 0; k < nids; k++)
			ours = ours || ids[k] == v->platformid;
		if (ours && !v->deprecated)
			serving_mark(&s, catalog_app(cat, v->appid),
			    class_resource(rq, cat, v->plan_class));
	}
	return s;
}

bool
serving_app(const struct serving *s, const struct app *app, size_t r)
{
	return app != NULL && r < s->nresources &&
	       s->v[(size_t)(app - s->cat->apps) * s->nresources + r];
}

bool
serving_any(const struct serving *s, size_t r)
{
	bool any = false;

	for (size_t i = 0; i < s->cat->napps; i++)
		any = any || serving_app(s, &s->cat->apps[i], r);
	return any;
}
