/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows for the question what can never get on: workunits that lack results, unsent work
 * and what it asks for, and the active hosts.  For admins and daemons, not for an RPC.
 */
#ifndef DB_FLEET_H
#define DB_FLEET_H

#include "db/db.h"
#include "model/conf.h"
#include "model/fleet.h"

/* The hosts that are active by locality_active_host_days; now in s UTC. */
enum err fleet_load(struct db *, struct arena *, const struct conf *, int64_t now,
    struct fleet *, struct fail *);
/* Their kinds too, each once. */
enum err fleet_load_kinds(struct db *, struct arena *, const struct conf *, int64_t now,
    struct fleet *, struct fail *);

/* Of the open workunits with ids in (from, to] that have unsent results. */
enum err demand_between(struct db *, struct arena *, int64_t from, int64_t to,
    struct demand **, size_t *n, struct fail *);
/* Of the first unsent results of an app: of those of its files, its plain ones and its
 * urgent ones 100 each. */
enum err demand_queued(struct db *, struct arena *, int64_t appid, struct demand **,
    size_t *n, struct fail *);

/* Candidates for quorum_prospect() with ids in (from, to], the first 1,000. */
enum err wus_short(struct db *, struct arena *, int64_t from, int64_t to,
    struct row_wu_short **, size_t *n, struct fail *);
/* Unsent work whose targets are all gone, or which the options leave alone; the first
 * 1,000. */
enum err wus_aimed_in_vain(struct db *, struct arena *, const struct conf *,
    struct row_aimed **, size_t *n, struct fail *);

#endif
