/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: every statement is numbered, prepared on first use and bound by type; rows come into an arena.
 * Retry rule: E_RETRY (deadlock, lock time-out, lost connection, wsrep not ready) means roll back and start the unit of
 * work again; db_retry_nap() waits with jitter.  Matched, not changed, rows are counted (CLIENT_FOUND_ROWS).
 */
#ifndef DB_DB_H
#define DB_DB_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/rng.h"
#include "model/conf.h"
#include "model/rows.h"

enum stmt_id {
#define STMT(name, args, shape, key, rows, sql) SQL_##name,
#include "db/stmts.def"
#undef STMT
	SQL__MAX
};

struct db;

/* From conf (db_host, db_user, db_passwd, db_name, or a socket path).  Checks the schema version: E_CONFIG
 * with the command to run if it is another one (any_schema skips that).  E_DB if the server is not there. */
enum err db_open(const struct conf *, bool any_schema, struct db **, struct fail *);
void db_close(struct db *);
/* Is the connection usable?  Reconnects if it was lost; E_DB if that fails. */
enum err db_ready(struct db *, struct fail *);

/*
 * Runs a statement.  Arguments follow its args string: i = int64_t, f = double, s = const char * (NULL = SQL NULL),
 * I = const int64_t *, size_t (a list, padded to 1, 4, 16 or 64 by repeating the last; longer lists are cut by the
 * caller; the statement text has $LIST), S = const char *const *, size_t (a list of strings).
 */
enum err db_exec(struct db *, struct fail *, int64_t *affected, enum stmt_id, ...);
/* rows: an arena array of the statement's shape. */
enum err db_query(struct db *, struct arena *, struct fail *, void **rows, size_t *n, enum stmt_id, ...);
/* One row or E_NOTFOUND. */
enum err db_row(struct db *, struct arena *, struct fail *, void **row, enum stmt_id, ...);
/* First column of the first row as a number; E_NOTFOUND if there is none. */
enum err db_number(struct db *, struct fail *, int64_t *value, enum stmt_id, ...);
int64_t db_insert_id(struct db *);

enum err db_begin(struct db *, struct fail *);  /* READ COMMITTED */
enum err db_commit(struct db *, struct fail *); /* E_RETRY with db_commit_uncertain() true: may or may not stand */
bool db_commit_uncertain(const struct db *);
void db_rollback(struct db *); /* always safe to call */
void db_retry_nap(struct rng *, int attempt); /* 2, 4, 8 ... ms with jitter, at most 500 */
bool db_duplicate_key(const struct db *); /* the last failure was a duplicate key (1062), reported as E_RACE */

uint64_t db_statements(const struct db *); /* counters for the log line */

#endif
