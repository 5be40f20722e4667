/* SPDX-License-Identifier: Apache-2.0 */
/* An admin's order that the whole project gives no work out (locus drain project). */
#ifndef DB_DRAIN_H
#define DB_DRAIN_H

#include "db/db.h"

/* *since: when the project was drained, s UTC; 0 = it is not. */
enum err project_drained_since(struct db *, int64_t *since, struct fail *);
/* since 0 ends the drain.  Schedulers of all machines follow within some seconds. */
enum err project_set_drained(struct db *, int64_t since, struct fail *);

#endif
