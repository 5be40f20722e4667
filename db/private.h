/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What only the files of db/ share: the connection, the statement table and the binder.
 * The only header that includes the client library.
 */
#ifndef DB_PRIVATE_H
#define DB_PRIVATE_H

#include <mysql.h>
#include "db/inspect.h"
#include "lib/rng.h"
#include "db/known_sets.h"
#include "trigger/cache.h"

/* my_bool in MariaDB Connector/C, bool in MySQL's library. */
typedef __typeof__(((MYSQL_BIND *)0)->is_null_value) sql_bool;

/*
 * Where the value of a parameter is: in the arguments, or in the row that an argument
 * points to. A whole row has a parameter for each column.
 */
struct param {
	enum arg_type type; /* type of the value; never ARG_ROW */
	bool of_row;
	bool of_head;   /* in a row of a list of heads */
	size_t off;     /* offset in the arguments */
	size_t row_off; /* offset in the row */
};
struct params { /* the parameters of a statement, in the order of its text */
	struct param *v;
	size_t n, cap;
	size_t single, per_item;     /* "?" outside lists, and per item of a list */
	bool whole_row;              /* an argument is a whole row */
	const struct stmt_arg *list; /* the list that gives the size; NULL = no list */
};

enum { LIST_SIZES = 5, STEPS_MAX = 16, PROGRAMS = 16 };

/*
 * tx_batch.c: a sequence of statements that was sent in one message, or seen once (st
 * NULL).
 */
struct program {
	uint16_t key[STEPS_MAX];
	size_t n;
	MYSQL_STMT *st;
};
struct tx_batch {
	bool on;      /* changes are held back until the COMMIT */
	bool refused; /* db_tx_batch_refused() */
	bool unable;  /* this server cannot prepare such programs */
	uint16_t key[STEPS_MAX];
	MYSQL_BIND *binds[STEPS_MAX]; /* in scratch */
	size_t nbinds[STEPS_MAX], n;
	size_t bytes; /* bytes of all texts */
	struct program known[PROGRAMS];
	size_t next; /* the next program to replace, modulo PROGRAMS */
};

struct db {
	struct arena a;       /* holds this struct; freed by db_close() */
	struct arena scratch; /* bindings of the current statement */
	const struct conf *cf;
	MYSQL *my; /* NULL = not connected */
	MYSQL_STMT *stmts[SQL__MAX][LIST_SIZES];
	struct params *params[SQL__MAX]; /* NULL = not needed yet */
	enum db_use use;
	bool in_tx, uncertain, committed;
	struct rng jitter; /* of naps */
	bool mariadb;
	bool cluster;    /* the server is a node of a Galera cluster */
	bool bulk;       /* the server takes bulks, and its counts are right */
	bool bulk_known; /* whether that is so has been checked */
	int doubtful;    /* number of batches to run row by row first */
	unsigned code;   /* error number of the last failure */
	struct row_pair errors[DB_ERRORS_KEPT]; /* since db_take_errors() */
	size_t nerrors;
	int text_bytes; /* bytes of the widest character in text columns */
	uint64_t count;
	struct tx_batch tx_batch;
	struct trigger_cache trigger_cache;
	struct known_sets known_sets;
	int64_t began_ms; /* of the call that waits for the server, monotonic clock */
	int64_t waits_most_ms; /* limit of waited_ms; 0 = none */
	int64_t waited_ms; /* by the calls of this request, beyond what each may take */
	int64_t asked_ms;  /* last successful check, monotonic clock; 0 = never */
};

/* --- stmt.c --- */
/*
 * Returns 0..4 for lists of up to 1, 4, 16, 64, 512 items; 0 for a statement without a
 * list.
 */
size_t list_slot(size_t n);
size_t list_size(size_t slot);
size_t list_max(enum arg_type); /* longest list of this type; 0 = not a list */
/* Returns the statement's text with $COLS and parameters ("?") expanded. */
char *stmt_text(struct arena *, enum stmt_id, size_t slot);
bool eat_word(
    const char **text, const char *word); /* steps over word if *text starts with it */
/* Returns a statement's parameters, computed once per connection. */
const struct params *stmt_params(struct db *, enum stmt_id);
size_t stmt_list_len(struct db *, enum stmt_id, const void *args);
/*
 * Copies the arguments with the rows and lists that they point to; texts stay the
 * caller's.
 */
void *stmt_args_keep(struct arena *, enum stmt_id, const void *args);

/* --- bind.c --- */
/*
 * Returns text as valid UTF-8 with at most text_bytes bytes per character, cut at max
 * bytes or characters.
 */
const char *text_valid(
    struct arena *, const char *, int text_bytes, size_t max, bool bytes);
/* Binds a statement's arguments; *n = number of parameters bound. */
MYSQL_BIND *bind_args(struct db *, enum stmt_id, const void *args, size_t *n);
/* Fetches all rows of an executed statement into an arena array of the shape. */
enum err fetch_rows(struct db *, MYSQL_STMT *, const struct row_shape *, struct arena *,
    void **rows, size_t *n, struct fail *);

/* --- conn.c --- */
void conn_drop(struct db *);
/*
 * Is it too late for this request to start anything? conn_in_time() returns E_DB then.
 */
bool conn_late(const struct db *);
enum err conn_in_time(struct db *, const char *what, struct fail *);
/* The server has answered what conn_in_time() let begin: counts how long it took. */
void conn_answered(struct db *);
/*
 * Records a failure of the connection or of st (may be NULL), and returns it as an enum
 * err.
 */
enum err conn_fail(struct db *, MYSQL_STMT *st, const char *what, struct fail *);
/* Runs SQL text of our own without arguments, unprepared: schema.sql, BEGIN, SET. */
enum err conn_text(struct db *, const char *sql, const char *what, struct fail *);

/* Returns the meaning of an error number of the server or the client library. */
enum err conn_error_of(unsigned code);
/* May what failed last have been committed, if it was a COMMIT? */
bool conn_uncertain(const struct db *);

/* --- open.c --- */
/* Connects if needed; E_RETRY if the connection was lost inside a transaction. */
enum err conn_need(struct db *, struct fail *);
/* schema_version() on an open connection. */
enum err conn_schema_version(struct db *, int64_t *version, struct fail *);

/* --- tx_batch.c --- */
/* Holds a change back until the COMMIT; E_RETRY and refused if that is impossible. */
enum err tx_batch_keep(
    struct db *, int64_t *affected, enum stmt_id, const void *args, struct fail *);
enum err tx_batch_refuse(struct db *, const char *why, struct fail *);
/*
 * Runs and commits the changes held back. E_RETRY as from db_commit(), or refused:
 * then nothing was changed.
 */
enum err tx_batch_run(struct db *, struct fail *);

/* --- run.c --- */
enum err stmt_prepare(
    struct db *, enum stmt_id, size_t slot, MYSQL_STMT **, struct fail *);
/* Runs a statement once on an open connection; see db_run(). */
enum err stmt_run(struct db *, struct arena *, struct fail *, void **rows, size_t *n,
    int64_t *affected, enum stmt_id, const void *args);

/* schema.sql, turned into strings by the build; ends with NULL. */
extern const char *const schema_sql[];

#endif
