/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the files of db/ share and nobody else sees: the connection, the statement table
 * and the binder.  The only header that knows the client library.
 */
#ifndef DB_PRIVATE_H
#define DB_PRIVATE_H

#include <mysql.h>
#include "db/inspect.h"
#include "db/no_work.h"
#include "db/working_set.h"

/* my_bool with MariaDB Connector/C, bool with MySQL's library. */
typedef __typeof__(((MYSQL_BIND *)0)->is_null_value) sql_bool;

/*
 * The value of one parameter: in the arguments, or in the row that one of them points
 * to.  A row that is given whole has a parameter for each column.
 */
struct param {
	enum arg_type type; /* of the value; never ARG_ROW */
	bool of_row;
	size_t off;     /* in the arguments */
	size_t row_off; /* in the row */
};
struct params { /* of a statement, in the order of its text */
	struct param *v;
	size_t n, cap;
	size_t single, per_item;     /* "?" beside lists, and for each item of a list */
	bool whole_row;              /* one of the arguments is given as that */
	const struct stmt_arg *list; /* that gives the size; NULL: it has none */
};

enum { LIST_SIZES = 5, STEPS_MAX = 16, PROGRAMS = 16 };

/* tx_batch.c: statements that were run in one message before, or seen once (st NULL).
 */
struct program {
	uint16_t key[STEPS_MAX];
	size_t n;
	MYSQL_STMT *st;
};
struct tx_batch {
	bool on;      /* changes are kept back until the COMMIT */
	bool refused; /* db_tx_batch_refused() */
	bool unable;  /* this server does not prepare them */
	uint16_t key[STEPS_MAX];
	MYSQL_BIND *binds[STEPS_MAX]; /* in scratch */
	size_t nbinds[STEPS_MAX], n;
	size_t bytes; /* of texts */
	struct program known[PROGRAMS];
	size_t next; /* the one that makes room, modulo */
};

struct db {
	struct arena a;       /* this struct; freed by db_close */
	struct arena scratch; /* bindings of the statement at hand */
	const struct conf *cf;
	MYSQL *my; /* NULL: not connected */
	MYSQL_STMT *stmts[SQL__MAX][LIST_SIZES];
	struct params *params[SQL__MAX]; /* NULL: not needed yet */
	enum db_use use;
	bool in_tx, uncertain;
	bool mariadb;
	bool cluster; /* the server is a node of a Galera cluster */
	bool
	    bulk; /* it takes many rows of arguments in one message, and counts right */
	bool bulk_known; /* that was looked at */
	int doubtful;    /* batches that are to be run row by row first */
	unsigned code;   /* the server's number of the last failure */
	int text_bytes;  /* of the widest character that text columns take */
	uint64_t count;
	struct tx_batch tx_batch;
	struct no_work no_work;
	struct working_set working_set;
	int64_t until_ms; /* nothing starts later, monotonic clock; 0 = no matter */
	int64_t
	    asked_ms; /* when it last was found usable, monotonic clock; 0 = never */
};

/* --- stmt.c --- */
/* 0..4 for list lengths up to 1, 4, 16, 64, 512; 0 for a statement without a list. */
size_t list_slot(size_t n);
size_t list_size(size_t slot);
size_t list_max(enum arg_type); /* items that such a list may have; 0: it is none */
/* The statement's text with $COLS and "?" for its parameters. */
char *stmt_text(struct arena *, enum stmt_id, size_t slot);
bool eat_word(const char **text, const char *word); /* steps over word if it is next */
/* Made when they are first needed, for the life of the connection. */
const struct params *stmt_params(struct db *, enum stmt_id);
size_t stmt_list_len(struct db *, enum stmt_id, const void *args);
/* A copy of the arguments, of the rows that they point to and of lists; texts are those
 * of the caller. */
void *stmt_args_keep(struct arena *, enum stmt_id, const void *args);

/* --- bind.c --- */
/* text made valid UTF-8 of at most so many bytes per character, cut at max bytes. */
const char *text_valid(struct arena *, const char *, int text_bytes, size_t max);
/* n = how many parameters were bound. */
MYSQL_BIND *bind_args(struct db *, enum stmt_id, const void *args, size_t *n);
/* All rows of an executed statement into an arena array of the shape. */
enum err fetch_rows(struct db *, MYSQL_STMT *, const struct row_shape *, struct arena *,
    void **rows, size_t *n, struct fail *);

/* --- conn.c --- */
void conn_drop(struct db *);
/* Is it too late for this request to begin anything?  E_DB then. */
bool conn_late(const struct db *);
enum err conn_in_time(const struct db *, const char *what, struct fail *);
/* Records a failure of the connection or of st (may be NULL) as an enum err. */
enum err conn_fail(struct db *, MYSQL_STMT *st, const char *what, struct fail *);
/* Text of our own without arguments, not prepared: schema.sql, BEGIN, SET. */
enum err conn_text(struct db *, const char *sql, const char *what, struct fail *);

/* What a number of the server or of its library means. */
enum err conn_error_of(unsigned code);

/* --- open.c --- */
enum err conn_need(
    struct db *, struct fail *); /* connects; E_RETRY inside a transaction */
/* schema_version() over a connection that is there. */
enum err conn_schema_version(struct db *, int64_t *version, struct fail *);

/* --- tx_batch.c --- */
/* Keeps a change back for the COMMIT; E_RETRY, refused, if it cannot wait for that. */
enum err tx_batch_keep(
    struct db *, int64_t *affected, enum stmt_id, const void *args, struct fail *);
enum err tx_batch_refuse(struct db *, const char *why, struct fail *);
/* Runs and commits what was kept.  E_RETRY as db_commit(), or refused: nothing of it
 * stands. */
enum err tx_batch_run(struct db *, struct fail *);

/* --- run.c --- */
enum err stmt_prepare(
    struct db *, enum stmt_id, size_t slot, MYSQL_STMT **, struct fail *);
/* db_run() over a connection that is there, once. */
enum err stmt_run(struct db *, struct arena *, struct fail *, void **rows, size_t *n,
    int64_t *affected, enum stmt_id, const void *args);

/* schema.sql, made a string by the build; ends with NULL. */
extern const char *const schema_sql[];

#endif
