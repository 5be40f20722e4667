/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs parts of supply's queries for a request on a real server, one part at a time;
 * each adds to a snapshot. Unless a test asks for more, nothing is sliced, locked or
 * left to others, and candidates are never enough.
 */
#ifndef TEST_SQL_CANDIDATES_H
#define TEST_SQL_CANDIDATES_H

#include "db/held.h"
#include "db/supply_rows.h"
#include "rules/sched/supply_own.h"

struct candidates {
	struct supply p;
	struct supply_source source;
	struct fail *f;
	int unlocked; /* how often the transaction had to be rolled back */
};
void candidates_begin(struct candidates *, struct db *, struct arena *,
    const struct conf *, struct snapshot *, struct fail *);
/* Runs the queries of one reader, after its begin. */
enum err candidates_read(struct candidates *,
    bool (*next)(struct supply *, struct supply_query *),
    void (*take)(struct supply *, const struct supply_rows *));

/* Reads the sets of the files that the request holds; now in s UTC. *held gets what
 * there is. */
enum err read_held(struct db *, struct arena *, const struct conf *,
    const struct request *, int64_t now, struct held_sets *held, struct snapshot *,
    struct fail *);
/* Reads at most 4 x need jobs of the files from index `from` on; now in s UTC. */
enum err read_jobs(struct db *, struct arena *, const struct conf *, size_t from,
    size_t need, int64_t now, struct snapshot *, struct fail *);
/* Reads at most 4 x need plain jobs of the marked apps. */
enum err read_plain(struct db *, struct arena *, const struct conf *, struct rng *,
    size_t need, bool *unread, struct snapshot *, struct fail *);
enum err read_unwanted(struct db *, struct arena *, const struct conf *, struct rng *,
    size_t need, bool *unread, struct snapshot *, struct fail *);
enum err read_working_set(struct db *, struct arena *, const struct conf *,
    const struct request *, struct rng *, size_t k, struct snapshot *, struct fail *);
enum err read_searched(struct db *, struct arena *, const struct conf *,
    const struct request *, struct rng *, size_t k, struct snapshot *, struct fail *);
/* Reads the sets whose oldest job was made before a moment, s UTC. */
enum err read_old(struct db *, struct arena *, const struct conf *,
    const struct request *, struct rng *, int64_t before, struct snapshot *,
    struct fail *);
enum err read_sets(struct db *, struct arena *, const struct conf *,
    const struct request *, const int64_t *ids, size_t n, struct snapshot *,
    struct fail *);
/* Reads the workunits that the once rule forbids. */
enum err read_user_wus(
    struct db *, struct arena *, const struct conf *, struct snapshot *, struct fail *);
/* Input of the next slice of the walk. */
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
