/* SPDX-License-Identifier: Apache-2.0 */
/* The schema and its version (architecture.md 5.1). */
#ifndef DB_SCHEMA_H
#define DB_SCHEMA_H

#include "db/db.h"

enum { SCHEMA_VERSION = 9 };

/* Creates the current schema in an empty database. */
enum err schema_create(struct db *, struct fail *);
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
