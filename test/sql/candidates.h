/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Parts of what supply reads for a request, one at a time, from a real server: each
 * adds to a snapshot.  Without slices, locks or jobs left to others, and never enough,
 * unless a test asks for that.
 */
#ifndef TEST_SQL_CANDIDATES_H
#define TEST_SQL_CANDIDATES_H

#include "db/supply_rows.h"
#include "rules/sched/supply_own.h"

struct candidates {
	struct supply p;
	struct supply_source source;
	struct fail *f;
	int unlocked; /* how often the transaction was to be rolled back */
};
void candidates_begin(struct candidates *, struct db *, struct arena *,
    const struct conf *, struct snapshot *, struct fail *);
/* The queries of a reader, after its begin. */
enum err candidates_read(struct candidates *,
    bool (*next)(struct supply *, struct supply_query *),
    void (*take)(struct supply *, const struct supply_rows *));

/* At most 4 x need jobs of the files from index `from` on; now in s UTC. */
enum err read_jobs(struct db *, struct arena *, const struct conf *, size_t from,
    size_t need, int64_t now, struct snapshot *, struct fail *);
/* At most 4 x need plain jobs of the apps that are marked. */
enum err read_plain(struct db *, struct arena *, const struct conf *, struct rng *,
    size_t need, bool *unread, struct snapshot *, struct fail *);
enum err read_unwanted(struct db *, struct arena *, const struct conf *, struct rng *,
    size_t need, bool *unread, struct snapshot *, struct fail *);
enum err read_working_set(struct db *, struct arena *, const struct conf *,
    const struct request *, struct rng *, size_t k, struct snapshot *, struct fail *);
enum err read_searched(struct db *, struct arena *, const struct conf *,
    const struct request *, struct rng *, size_t k, struct snapshot *, struct fail *);
/* Sets whose oldest job was made before a moment, s UTC. */
enum err read_old(struct db *, struct arena *, const struct conf *,
    const struct request *, struct rng *, int64_t before, struct snapshot *,
    struct fail *);
enum err read_sets(struct db *, struct arena *, const struct conf *,
    const struct request *, const int64_t *ids, size_t n, struct snapshot *,
    struct fail *);
/* What the once rule forbids. */
enum err read_user_wus(
    struct db *, struct arena *, const struct conf *, struct snapshot *, struct fail *);
/* The next slice of the walk. */
struct slice_of {
	const struct conf *conf;
	const struct request *req;
	bool nci;
	const bool *apps;
	int64_t once, now;
};
enum err read_slice(struct db *, struct arena *, const struct slice_of *,
    struct snapshot *, struct fail *);

#endif
