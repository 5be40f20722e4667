/* SPDX-License-Identifier: Apache-2.0 */
/* A project's standing with its resources, updated when tasks end. */
#include "client/client.h"

#include "lib/banned.h"

/* Loads the projects only: the standing does not depend on tasks. */
void
standing_task_ended(
    struct client *c, struct cproject *p, const struct ctask *t, bool well)
{
	const struct rp_app_version *version = task_version(p, t);
	struct cw_task x = { .project = (int32_t)(p - c->state->projects),
		.rsc = version_resource(c, version),
		.run_since = (double)t->run_since };
	struct view v;

	view_load_projects(c, &v);
	if (!well) {
		contact_task_failed(
		    &v.world, c->options.policy, (size_t)x.project, &c->rng);
	} else if (x.rsc >= 0) {
		view_task_use(c, version, &x);
		contact_task_done(&v.world, &x);
	}
	view_store(c, &v.world);
	c->changed = true;
}
