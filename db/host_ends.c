/* SPDX-License-Identifier: Apache-2.0 */
#include "db/host_ends.h"

#include "db/stmts.h"
#include "lib/banned.h"

enum { NEWEST = 20000 };

struct host_ends
host_ends_of(const struct row_tally *t)
{
	return (struct host_ends){ .success = t->success,
		.failed = t->failed,
		.wrong = t->invalid + t->inconclusive };
}

enum err
host_ends_lately(struct db *db, struct arena *a, struct row_tally **rows, size_t *n,
    struct host_ends *all, struct fail *f)
{
	*all = (struct host_ends){ 0 };
	*rows = NULL;
	*n = 0;
	TRY(db_query(db, a, f, rows, n, HOST_TALLIES_LATELY, .newest = NEWEST));
	for (size_t i = 0; i < *n; i++) {
		const struct host_ends h = host_ends_of(&(*rows)[i]);

		all->success += h.success;
		all->failed += h.failed;
		all->wrong += h.wrong;
	}
	return OK;
}
