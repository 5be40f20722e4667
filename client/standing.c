/* SPDX-License-Identifier: Apache-2.0 */
/* A project's standing with its resources, updated when tasks end. */
#include "client/client.h"

#include "lib/banned.h"

/* Loads the projects only: the standing does not depend on tasks. */
void
standing_task_ended(
    struct client *c, struct cproject *p, const struct ctask *t, bool well)
{
	int32_t rsc = version_resource(c, task_version(p, t));
	size_t project = (size_t)(p - c->state->projects);
	struct view v;

	view_load_projects(c, &v);
	if (!well)
		contact_task_failed(&v.world, c->options.policy, project, &c->rng);
	else if (rsc >= 0)
		contact_task_done(&v.world, c->options.policy, project, rsc);
	view_store(c, &v.world);
	c->changed = true;
}
