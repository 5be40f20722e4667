/* SPDX-License-Identifier: Apache-2.0 */
/* The triggers of a project, in the store that its option locality_store names. */
#ifndef DB_TRIGGER_ROWS_H
#define DB_TRIGGER_ROWS_H

#include "db/db.h"
#include "trigger/trigger.h"

/*
 * db may be NULL: triggers in directories work without, those in rows answer E_DB.
 * owner (NULL = makes no claims) is not copied.
 */
struct triggers triggers_of(const struct conf *, struct db *, const char *owner);

#endif
