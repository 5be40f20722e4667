/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One connection: statements (db/stmts.h) are prepared on first use and bound by type;
 * rows are returned in an arena.
 *
 * Retry rule: E_RETRY (deadlock, lock timeout, lost connection, wsrep not ready) means
 * roll back and start the unit of work again: db_again().
 * Affected rows are matched rows, not changed rows (CLIENT_FOUND_ROWS).
 *
 * Bytes: the connection speaks utf8mb4. Text from clients has no declared encoding
 * (protocol.md 10), and a strict server rejects invalid text, so text arguments are
 * made valid when they are bound: a byte that is not UTF-8, or a character wider than
 * this database's text columns accept (an adopted one may be latin1), becomes "?".
 * Columns that keep raw bytes are blobs and are bound untouched.
 */
#ifndef DB_DB_H
#define DB_DB_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/rows.h"

/*
 * struct row_number, row_pair, ...: result rows that are not whole table rows
 * (shapes.def).
 */
#define COL(shape, name, type) col_##type name;
#define SHAPE(name, cols)                                                              \
	struct row_##name {                                                            \
		cols                                                                   \
	};
#include "db/shapes.def"
#undef SHAPE
#undef COL

enum {
	DB_LIST_MAX = 64,
	DB_LIST_LONG = 512,
	DB_HEADS_MAX = 16,
	DB_VARCHAR_MAX = 254,
	DB_NAME_MAX = 190
};

struct db;

/*
 * The purpose of a connection, which decides how long anything may wait: for a server
 * that does not answer or whose disk is full, or for rows or tables that someone has
 * locked. The server's own limits are set to match (stmts.def, SESSION_WAIT).
 */
enum db_use {
	DB_WORK,   /* tools: an answer may take at most 60 s */
	DB_DAEMON, /* as DB_WORK, but a transaction may be idle for 20 s only */
	/*
	 * A client waits for our reply: an answer may take at most 5 s, and once the
	 * calls of a request (db_request) have waited for 4.25 s, beyond 0.25 s for
	 * each of them, nothing new is started. So a request waits less than 10 s for
	 * locks and a server that does not answer, yet as long as it takes for the work
	 * of thousands of reports, and its own computing never counts.
	 */
	DB_REPLY,
	DB_READ,       /* as DB_WORK, but the server refuses every write */
	DB_LOOK,       /* as DB_REPLY, but the server refuses every write */
	DB_ANY_SCHEMA, /* an admin's changes: any schema version, no time limit */
};

/*
 * Connects as conf says (db_host, db_port, db_user, db_passwd, db_name, db_ssl_..., or
 * db_socket); conf must outlive the connection. Checks the schema version. E_DB: the
 * server is not available. E_CONFIG: it refuses the account or the database, or the
 * schema has another version; f names the command to run.
 */
enum err db_open(const struct conf *, enum db_use, struct db **, struct fail *);
/* The check of the schema version alone, for a connection of DB_ANY_SCHEMA. */
enum err db_schema_fits(struct db *, struct fail *);
void db_close(struct db *); /* NULL is allowed */
/* Is the server that conf names on this machine, reached by its socket? */
bool db_is_local(const struct conf *);
/*
 * Is the server another machine, with a network between that others may listen to?
 * A socket leads to this machine, and so do loopback addresses.
 */
bool db_is_remote(const struct conf *);
/* A request begins, or makes progress: what it has waited so far no longer counts. */
void db_request(struct db *);
/*
 * Checks that the connection works, and reconnects if it was lost; E_DB if that fails.
 */
enum err db_ready(struct db *, struct fail *);
/*
 * As db_ready(), but skips the check if the connection worked less than a second ago;
 * if it was lost since, the next statement returns E_RETRY.
 */
enum err db_awake(struct db *, struct fail *);

/* Statements: db/stmts.h. */
int64_t db_insert_id(struct db *);

enum err db_begin(struct db *, struct fail *); /* READ COMMITTED */
/*
 * As db_begin(), but reads nothing older than this moment, whichever node of a cluster
 * committed it: waits until this node has caught up.
 */
enum err db_begin_current(struct db *, struct fail *);
/*
 * As db_begin(), but all reads see the database as it is now, however long they take
 * (REPEATABLE READ).
 */
enum err db_begin_snapshot(struct db *, struct fail *);
/*
 * As db_begin(), for a transaction that only makes changes. They are held back until
 * db_commit() sends them in one message; texts must stay until then. This is
 * optimistic: each statement whose count is requested reports 1 at once. If one of
 * them does not match exactly one row, nothing is changed, and db_commit() returns
 * E_RETRY with db_tx_batch_refused() true. The same happens with anything that cannot
 * be sent this way: reads, inserts of whole rows, more than 16 statements or 512 KB of
 * text, or a sequence new to this connection. The caller then starts again with
 * db_begin(), where each statement runs when it is called. On servers other than
 * MariaDB, and on cluster nodes, this is db_begin().
 */
enum err db_begin_tx_batch(struct db *, struct fail *);
/* Are changes held back? */
bool db_in_tx_batch(const struct db *);
bool db_tx_batch_refused(const struct db *);
/*
 * E_RETRY with db_commit_uncertain() true: the transaction may or may not have been
 * committed.
 */
enum err db_commit(struct db *, struct fail *);
bool db_commit_uncertain(const struct db *);
/* Has this connection tried to commit anything so far? */
bool db_committed(const struct db *);
/* Is the server a cluster node, which does not see what other nodes have locked? */
bool db_in_cluster(const struct db *);
/* Converts rows of one number each to an array in the arena. */
int64_t *row_numbers(struct arena *, const void *rows, size_t n);
void db_rollback(struct db *); /* always safe to call */
enum { DB_TRIES = 8 };
void db_retry_nap(
    struct db *, int attempt); /* 2, 4, 8 ... ms with jitter, at most 500 */
/*
 * Ends an attempt at a unit of work, with e: commits if it is in a transaction, or
 * rolls back. After E_RETRY it naps and returns true, DB_TRIES - 1 times: begin again.
 */
bool db_again(struct db *, int *attempt, enum err *e, struct fail *);

/*
 * Moves the errors since the last call to v, as pairs of the server's error number and
 * a count; further numbers are not kept. Returns how many pairs there are.
 */
enum { DB_ERRORS_KEPT = 8 };
size_t db_take_errors(struct db *, struct row_pair v[DB_ERRORS_KEPT]);

uint64_t db_statements(
    const struct db *); /* number of statements run so far, for the log line */

#endif
