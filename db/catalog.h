/* SPDX-License-Identifier: Apache-2.0 */
/* Apps, platforms and app versions: read as a whole, changed only by the admin. */
#ifndef DB_CATALOG_H
#define DB_CATALOG_H

#include "db/db.h"

/* What names the app: none of it may be there when the app goes. */
struct app_needs {
	int64_t workunits, unfinished; /* unfinished: not assimilated yet */
	int64_t filesets;
};
enum err app_needs_read(struct db *, int64_t appid, struct app_needs *, struct fail *);
/* *used: does any host have statistics of the version, so that it was sent? */
enum err app_version_used(
    struct db *, struct arena *, int64_t version_id, bool *used, struct fail *);
/*
 * Deletes some of the hosts' statistics of the app's versions from..to (ids), in a
 * statement of its own; *left 0: there are none.
 */
struct version_range {
	int64_t from, to;
	int64_t after; /* host at which the next step begins; 0 at first */
};
enum err app_statistics_delete(
    struct db *, struct arena *, struct version_range *, int64_t *left, struct fail *);
/*
 * Deletes the app with its versions, batches and permissions, in the caller's
 * transaction. E_RACE: work or files name it again.
 */
enum err app_delete(struct db *, int64_t appid, struct fail *);

/* What app add wrote outside of the table, as text; "" = nothing is known. */
enum err app_added_read(
    struct db *, struct arena *, int64_t appid, char **text, struct fail *);
enum err app_added_note(struct db *, int64_t appid, const char *text, struct fail *);

#endif
