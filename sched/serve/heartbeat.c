/* SPDX-License-Identifier: Apache-2.0 */
#include "sched/serve/heartbeat.h"

#include "db/project.h"
#include "db/node.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { HEARTBEAT_MS = 5000 };

static enum err
look_for_drain(struct heartbeat *p, struct db *db, struct fail *f)
{
	int64_t since;

	TRY(project_drained_since(db, &since, f));
	if ((since != 0) != p->project_drained)
		log_info(since != 0 ? "the project is drained: no work is given out" :
				      "the project gives out work again");
	p->project_drained = since != 0;
	p->known = true;
	return OK;
}

static enum err
heartbeat_note(struct heartbeat *p, struct arena *a, const struct conf *cf,
    struct db *db, struct fail *f)
{
	struct node here;
	bool drained;

	TRY(node_here(a, cf, &here, f));
	if (!p->noted)
		TRY(node_register(db, &here, f));
	TRY(node_is_drained(db, here.name, &drained, f));
	if (drained != p->drained)
		log_info(drained ?
			     "node %s is drained: clients are asked to come back" :
			     "node %s serves again",
		    here.name);
	p->drained = drained;
	TRY(node_service_seen(
	    db, here.name, "scheduler", drained ? "drained" : "works", !p->noted, f));
	p->noted = true;
	return OK;
}

/* Takes its turn, if it is time for one. */
static bool
heartbeat_is_due(struct heartbeat *p)
{
	int64_t now_ms = clock_mono_ms(), due_ms = p->next_ms;

	if (!p->known)
		return true;
	return now_ms >= due_ms && atomic_compare_exchange_strong(
				       &p->next_ms, &due_ms, now_ms + HEARTBEAT_MS);
}

void
heartbeat_keep(struct heartbeat *p, const struct conf *cf, struct db *db)
{
	struct arena a = { 0 };
	struct fail f = { 0 };

	if (!heartbeat_is_due(p))
		return;
	if (look_for_drain(p, db, &f) != OK || heartbeat_note(p, &a, cf, db, &f) != OK)
		log_debug("cannot note that the scheduler runs: %s", f.detail);
	arena_free(&a);
}
