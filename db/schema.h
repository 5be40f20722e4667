/* SPDX-License-Identifier: Apache-2.0 */
/* The schema and its version (architecture.md 5.1). */
#ifndef DB_SCHEMA_H
#define DB_SCHEMA_H

#include "db/db.h"

/*
 * A new version only adds: programs of the previous one can work with it. What they
 * needed is removed in the version after the next at the earliest. So during an upgrade
 * both releases run, and the previous release can be installed again.
 */
enum { SCHEMA_VERSION = 1, SCHEMA_AHEAD_MOST = 1 };

/* Creates the current schema in an empty database. */
enum err schema_create(struct db *, struct fail *);
/* Lists the names of the schema's views; ends with NULL. */
char **schema_views(struct arena *);
/* Creates or replaces the schema's views, which a dump leaves out. */
enum err schema_create_views(struct db *, struct fail *);
/*
 * Makes the next hosts, accounts, workunits and results of a restored database begin
 * SCHEMA_SKIP_IDS above the last ones: clients know ids that were given out after the
 * backup, and they must not come to mean something else.
 */
enum { SCHEMA_SKIP_IDS = 1000000 };
enum err schema_skip_ids(struct db *, struct arena *, struct fail *);
/* Reads the schema version; 0 = none: a BOINC database or an empty one. */
enum err schema_version(struct db *, int64_t *version, struct fail *);
/*
 * Returns SQL for the first start of a private MySQL, one statement per line: root and
 * os_user are authenticated by the kernel, and nobody else can log in.
 */
char *schema_mysql_accounts(struct arena *, const char *os_user);
struct schema_remark {
	bool error;
	char *text; /* what is missing or costs, and what to run */
};
enum err schema_check(
    struct db *, struct arena *, struct schema_remark **, size_t *n, struct fail *);
/*
 * Adopts or upgrades the schema step by step; each step can be repeated and reports
 * what it does. dry: only reports.
 */
enum err schema_upgrade(
    struct db *, struct arena *, bool dry, void (*say)(const char *), struct fail *);

#endif
