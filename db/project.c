/* SPDX-License-Identifier: Apache-2.0 */
#include "db/project.h"

#include "db/stmts.h"
#include "lib/banned.h"

enum err
project_drained_since(struct db *db, int64_t *since, struct fail *f)
{
	return db_number(db, f, since, PROJECT_DRAINED);
}

enum err
project_set_drained(struct db *db, int64_t since, struct fail *f)
{
	return db_exec(db, f, NULL, PROJECT_SET_DRAINED, .drain_time = since);
}

enum err
project_backed_up(struct db *db, int64_t *begun, struct fail *f)
{
	return db_number(db, f, begun, PROJECT_BACKUP);
}

enum err
project_set_backed_up(struct db *db, int64_t begun, struct fail *f)
{
	return db_exec(db, f, NULL, PROJECT_SET_BACKUP, .backup_time = begun);
}

enum err
project_first_app(struct db *db, int64_t *since, struct fail *f)
{
	return db_number(db, f, since, PROJECT_FIRST_APP);
}
