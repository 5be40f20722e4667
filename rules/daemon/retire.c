/* SPDX-License-Identifier: Apache-2.0 */
/* The end of life of a file set: it goes when nothing can need it any more. */
#include "model/states.h"
#include "rules/daemon/daemon_rules.h"
#include "lib/banned.h"

/* May work of the set still be made, or is some of it in the database? Only a generator
 * or an admin can say that no more will come. */
static bool
set_is_needed(const struct retire_set *s)
{
	bool made = s->gen_parts > 0 && s->gen_next >= s->gen_parts;

	return s->has_workunit || s->paused == FILESET_PAUSED ||
	       !(made || s->no_work_available || s->paused == FILESET_DRAINING);
}

enum retire_step
retire(const struct retire_set *s, int64_t retain_s, int64_t now)
{
	if (set_is_needed(s) || now < s->idle_since)
		return s->idle_since == 0 ? RETIRE_NONE : RETIRE_NEEDED;
	if (s->idle_since == 0)
		return RETIRE_IDLE;
	if (now - s->idle_since < retain_s)
		return RETIRE_NONE;
	if (s->paused != FILESET_DRAINING)
		return RETIRE_DRAIN;
	return now - s->idle_since < retain_s + RETIRE_SETTLE_S ? RETIRE_NONE :
	                                                          RETIRE_REMOVE;
}
