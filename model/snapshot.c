/* SPDX-License-Identifier: Apache-2.0 */
#include "model/snapshot.h"

#include "lib/banned.h"

struct snap_file *
snapshot_file(const struct snapshot *s, int64_t fileset_id)
{
	for (size_t i = 0; i < s->nfiles; i++)
		if (s->files[i].fileset_id == fileset_id)
			return &s->files[i];
	return NULL;
}

bool
snapshot_any_candidate(const struct snapshot *s)
{
	size_t n = s->nplain + s->ntargeted;

	for (size_t i = 0; i < s->nfiles; i++)
		n += s->files[i].njobs;
	return n > 0;
}
