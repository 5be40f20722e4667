/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: statements (db/stmts.h) are prepared on first use and bound by type;
 * rows come into an arena.
 *
 * Retry rule: E_RETRY (deadlock, lock time-out, lost connection, wsrep not ready) means
 * roll back and start the unit of work again; db_retry_nap() waits with jitter.
 * Matched, not changed, rows are counted (CLIENT_FOUND_ROWS).
 *
 * Bytes: the connection speaks utf8mb4.  What clients sent has no declared encoding
 * (protocol.md 10), and a strict server refuses invalid text; so text arguments are
 * made valid when they are bound: a byte that is not UTF-8, or a character wider than
 * the text columns of this database take (an adopted one may be latin1), becomes "?".
 * Columns that keep raw bytes are blobs and are bound as such, untouched.
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

/* struct row_number, row_pair, ...: answers that are no whole row (shapes.def). */
#define COL(shape, name, type) col_##type name;
#define SHAPE(name, cols)                                                              \
	struct row_##name {                                                            \
		cols                                                                   \
	};
#include "db/shapes.def"
#undef SHAPE
#undef COL

enum { DB_LIST_MAX = 64, DB_LIST_LONG = 512, DB_VARCHAR_MAX = 254, DB_NAME_MAX = 190 };

struct db;

/*
 * What a connection is for, and so how long anything may wait: for a server that does
 * not answer, whose disk is full, or where somebody has locked rows or tables.  The
 * server's own limits are set to match (stmts.def, SESSION_WAIT).
 */
enum db_use {
	DB_WORK, /* daemons and tools: an answer takes at most 60 s */
	/*
	 * A client waits for our reply: an answer takes at most 5 s, and after 4.5 s of
	 * a request (db_request) nothing is begun any more, so that all statements of a
	 * request, and connecting again, together wait less than 10 s.
	 */
	DB_REPLY,
	DB_LOOK,       /* the same as DB_REPLY, and the server refuses every write */
	DB_ANY_SCHEMA, /* an admin's changes: no check of the schema's version, no limit
	                  on time */
};

/*
 * From conf (db_host, db_port, db_user, db_passwd, db_name, or db_socket); conf must
 * live as long.  Checks the schema version: E_CONFIG with the command to run if it is
 * another one.
 * E_DB if the server is not there, E_CONFIG if it refuses the account or the database.
 */
enum err db_open(const struct conf *, enum db_use, struct db **, struct fail *);
void db_close(struct db *); /* NULL is fine */
/* A request begins, or began at since_ms (clock_mono_ms) but for what it has waited on
 * purpose; db_open begins one too. */
void db_request(struct db *, int64_t since_ms);
/* Is the connection usable?  Reconnects if it was lost; E_DB if that fails. */
enum err db_ready(struct db *, struct fail *);
/* The same, but what served a second ago is not asked again: if it was lost since, the
 * next statement says so by E_RETRY. */
enum err db_awake(struct db *, struct fail *);

/* Statements: db/stmts.h. */
int64_t db_insert_id(struct db *);

enum err db_begin(struct db *, struct fail *); /* READ COMMITTED */
/*
 * The same, and what it reads is not older than this moment, whichever node of a
 * cluster had it committed: waits until this one has caught up.
 */
enum err db_begin_current(struct db *, struct fail *);
/*
 * The same for a transaction of changes only, which are kept back until db_commit()
 * sends them in one message; texts must stay until then.  The optimistic way: until
 * then each that asks for its count is told 1, and if not each matches one row, nothing
 * is done and db_commit() returns E_RETRY with db_tx_batch_refused() true.  So does
 * whatever cannot be done like that (reads, rows to be made, more than 16 statements or
 * 512 KB of texts, what this connection never did before): the transaction is to be
 * begun again by db_begin(), in which each statement is run when it is called.  A
 * server that is not MariaDB, or one node of several: db_begin().
 */
enum err db_begin_tx_batch(struct db *, struct fail *);
bool db_tx_batch_refused(const struct db *);
/* E_RETRY with db_commit_uncertain() true: may or may not stand. */
enum err db_commit(struct db *, struct fail *);
bool db_commit_uncertain(const struct db *);
/* Is the server one node of several, which does not see what others have locked? */
bool db_in_cluster(const struct db *);
/* The numbers of rows of one number each, in the arena. */
int64_t *row_numbers(struct arena *, const void *rows, size_t n);
void db_rollback(struct db *);                /* always safe to call */
void db_retry_nap(struct rng *, int attempt); /* 2, 4, 8 .. ms, jitter, at most 500 */

uint64_t db_statements(const struct db *); /* run so far: for the log line */

#endif
