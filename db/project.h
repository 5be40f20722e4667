/* SPDX-License-Identifier: Apache-2.0 */
/* What holds for the whole project. */
#ifndef DB_PROJECT_H
#define DB_PROJECT_H

#include "db/db.h"

/* *since: when an admin drained the project, so that it gives no work out, s UTC; 0 =
 * it is not drained. */
enum err project_drained_since(struct db *, int64_t *since, struct fail *);
/* since 0 ends the drain.  Schedulers of all machines follow within some seconds. */
enum err project_set_drained(struct db *, int64_t since, struct fail *);

/* *begun: when the newest complete backup was begun, s UTC; 0 = none was made. */
enum err project_backed_up(struct db *, int64_t *begun, struct fail *);
/* An earlier backup than the one that is known changes nothing. */
enum err project_set_backed_up(struct db *, int64_t begun, struct fail *);
/* *since: when the project got its first app, s UTC; 0 = it has none. */
enum err project_first_app(struct db *, int64_t *since, struct fail *);

#endif
