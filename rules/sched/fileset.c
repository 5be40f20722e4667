/* SPDX-License-Identifier: Apache-2.0 */
/* States of a file set, and who may get its results (locality.md 2). */
#include "rules/sched/fileset.h"

#include "lib/banned.h"

bool
fileset_may_be_made(const struct conf *cf, const struct snap_file *f)
{
	return cf->locality_scheduling_wait_period > 0 && !f->no_work_available &&
	       !f->draining;
}

enum file_state
fileset_state(const struct conf *cf, const struct snap_file *f)
{
	if (f->has_unsent)
		return FILE_ADVERTISED;
	if (fileset_may_be_made(cf, f))
		return FILE_DRAINING;
	/* Nobody has said that a file that never had a workunit will get none. */
	if (f->has_open_wu || (!f->has_any_wu && !f->no_work_available))
		return FILE_EXHAUSTED;
	return FILE_DEAD;
}

bool
fileset_in_order(const struct snap_file *f, const struct job *j, int64_t last)
{
	return j->id > last || j->id < f->released_id;
}
