/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statements by name, with named and typed arguments, for example db_row(db, a, f,
 * &host, HOST_BY_CPID, .userid = id, .host_cpid = cpid) with struct host *host.
 *
 * For each statement, stmts.def defines args_NAME, a struct of its arguments, and
 * answer_NAME, its result row. An unknown argument, a wrong type, a missing or
 * repeated argument, and a row of another shape do not compile. Lists are passed by
 * db_ids(), db_names(), db_pairs() or db_heads().
 *
 * Files that include this header are rebuilt when a statement changes; other headers do
 * not include it.
 */
#ifndef DB_STMTS_H
#define DB_STMTS_H

#include <assert.h>
#include "db/db.h"

enum stmt_id {
#define STMT(name, args, shape, key, rows, sql) SQL_##name,
#include "db/stmts.def"
	SQL__MAX
};

/* List arguments; the items must stay until the statement has run. */
struct db_ids {
	const int64_t *v;
	size_t n;
};
struct db_names {
	const char *const *v;
	size_t n;
};
struct db_pairs {
	const struct row_pair *v;
	size_t n;
};
struct db_heads {
	const struct row_head *v;
	size_t n;
};
#define db_ids(ids, n)     ((struct db_ids){ (ids), (n) })
#define db_pairs(pairs, n) ((struct db_pairs){ (pairs), (n) })
#define db_heads(heads, n) ((struct db_heads){ (heads), (n) })
/* names: an array of strings, with any combination of const. */
#define db_names(names, n)                                                             \
	((struct db_names){ _Generic((names),                                          \
			    char **: (const void *)(names),                            \
			    char *const *: (const void *)(names),                      \
			    const char **: (const void *)(names),                      \
			    const char *const *: (names)),                             \
	    (n) })

/* A row type for each shape. */
#define SHAPE(name, cols) typedef struct row_##name row_of_##name;
#include "db/shapes.def"
#undef SHAPE
typedef struct row_none row_of_none;
typedef struct row_host_account row_of_host_account;
typedef struct row_keyed_job row_of_keyed_job;
#define NOUN(name) typedef struct name row_of_##name;
NOUN(app)
NOUN(app_version)
NOUN(file)
NOUN(fileset)
NOUN(host)
NOUN(host_app_version)
NOUN(job)
NOUN(platform)
NOUN(result)
NOUN(team)
NOUN(user)
NOUN(user_info)
NOUN(workunit)
#undef NOUN

/* Arguments must be given by name; GCC can enforce it. */
#if defined(__GNUC__) && !defined(__clang__)
#define STMT_BY_NAME __attribute__((designated_init))
#else
#define STMT_BY_NAME
#endif

#define I64(name)        int64_t name;
#define F64(name)        double name;
#define STR(name)        const char *name;
#define MEDIUMTEXT(name) const char *name;
#define BLOB(name)       const char *name;
#define ROW(shape, name) const row_of_##shape *name;
#define IDS(name)        struct db_ids name;
#define LONG_IDS(name)   struct db_ids name;
#define NAMES(name)      struct db_names name;
#define LONG_NAMES(name) struct db_names name;
#define PAIRS(name)      struct db_pairs name;
#define HEADS(name)      struct db_heads name;
#define ARGS(list)                                                                     \
	struct STMT_BY_NAME {                                                          \
		list                                                                   \
	}
#define AS_IS      ARGS()
#define LIKE(stmt) args_##stmt
#define STMT(name, args, shape, key, rows, sql)                                        \
	typedef args args_##name;                                                      \
	typedef row_of_##shape answer_##name;
#include "db/stmts.def"

/* The number of arguments of each statement. */
#define I64(name)                               +1
#define F64(name)                               +1
#define STR(name)                               +1
#define MEDIUMTEXT(name)                        +1
#define BLOB(name)                              +1
#define ROW(shape, name)                        +1
#define IDS(name)                               +1
#define LONG_IDS(name)                          +1
#define NAMES(name)                             +1
#define LONG_NAMES(name)                        +1
#define PAIRS(name)                             +1
#define HEADS(name)                             +1
#define ARGS(list)                              0 list
#define AS_IS                                   -1 /* no call has this many */
#define LIKE(stmt)                              nargs_##stmt
#define STMT(name, args, shape, key, rows, sql) enum { nargs_##name = args };
#include "db/stmts.def"

/*
 * Checks that each argument is given once: their number here, repetitions by
 * -Woverride-init.
 */
#define STMT_ARGC_(_0, _1, _2, _3, _4, _5, _6, _7, _8, _9, _10, _11, _12, _13, _14,    \
    _15, _16, _17, _18, _19, _20, _21, _22, _23, _24, n, ...)                          \
	n
#define STMT_ARGC(...)                                                                 \
	STMT_ARGC_(0, ##__VA_ARGS__, 24, 23, 22, 21, 20, 19, 18, 17, 16, 15, 14, 13,   \
	    12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0)
#define STMT_COUNTED(nargs, ...)                                                       \
	static_assert((nargs) == STMT_ARGC(__VA_ARGS__),                               \
	    "each argument of the statement is given, once")

/*
 * The functions behind the macros below; args is the struct args_NAME of statement id.
 */
enum err db_run(struct db *, struct arena *, struct fail *, void **rows, size_t *n,
    int64_t *affected, enum stmt_id id, const void *args);
enum err db_run_row(struct db *, struct arena *, struct fail *, void **row,
    enum stmt_id id, const void *args);
enum err db_run_number(
    struct db *, struct fail *, int64_t *value, enum stmt_id id, const void *args);

/*
 * db_exec(struct db *, struct fail *, int64_t *affected, STMT, .name = value ...) runs
 * a statement without a result. affected: matched rows, may be NULL. E_RACE: a unique
 * key is taken. E_BADREQ: a value does not fit its column. E_CONFIG: a table or
 * column is missing. A deadlock outside a transaction is retried here a few times.
 */
#define db_exec(db, f, affected, stmt, ...)                                            \
	db_exec_like(db, f, affected, SQL_##stmt, stmt, ##__VA_ARGS__)
/*
 * db_query(struct db *, struct arena *, struct fail *, struct ROW **rows, size_t *n,
 * STMT, .name = value ...) returns all rows in an arena array of the statement's shape;
 * *rows is unchanged on failure.
 */
#define db_query(db, a, f, rows, n, stmt, ...)                                         \
	db_query_like(db, a, f, rows, n, SQL_##stmt, stmt, ##__VA_ARGS__)
/*
 * As db_query(), but returns one row, or E_NOTFOUND: ..., struct ROW **row, STMT, .name
 * = value ...
 */
#define db_row(db, a, f, row, stmt, ...)                                               \
	db_row_like(db, a, f, row, SQL_##stmt, stmt, ##__VA_ARGS__)
/*
 * Returns the number that a statement of shape `number` yields; E_NOTFOUND if there is
 * no row.
 */
#define db_number(db, f, value, stmt, ...)                                             \
	db_number_like(db, f, value, SQL_##stmt, stmt, ##__VA_ARGS__)

/*
 * The *_like variants run one of several statements, id, that share arguments and shape
 * with the named one; SQL_LIKE(name, stmt) checks that they do.
 */
#define SQL_LIKE(name, stmt)                                                           \
	((enum stmt_id)(SQL_##name + 0 * sizeof(struct {                               \
		static_assert(                                                         \
		    (__builtin_types_compatible_p(args_##name, args_##stmt) ||         \
			nargs_##name + nargs_##stmt == 0) &&                           \
			__builtin_types_compatible_p(answer_##name, answer_##stmt),    \
		    "the statements have different arguments or another shape");       \
		int unused;                                                            \
	})))
/* cppcheck does not see that the typed forms fill what they are given. */
#ifdef LINT
#define db_exec_like(db, f, affected, id, stmt, ...)    db_lint(db, f, affected)
#define db_query_like(db, a, f, rows, n, id, stmt, ...) db_lint(db, a, f, rows, n)
#define db_row_like(db, a, f, row, id, stmt, ...)       db_lint(db, a, f, row)
#define db_number_like(db, f, value, id, stmt, ...)     db_lint(db, f, value)
#else
#define db_exec_like(db, f, affected, id, stmt, ...)                                   \
	__extension__({                                                                \
		STMT_COUNTED(nargs_##stmt, ##__VA_ARGS__);                             \
		db_run(db, NULL, f, NULL, NULL, affected, id,                          \
		    &(const args_##stmt){ __VA_ARGS__ });                              \
	})
#define db_query_like(db, a, f, rows, n, id, stmt, ...)                                \
	__extension__({                                                                \
		STMT_COUNTED(nargs_##stmt, ##__VA_ARGS__);                             \
		void *rows_ = NULL;                                                    \
		enum err err_ = db_run(db, a, f, &rows_, n, NULL, id,                  \
		    &(const args_##stmt){ __VA_ARGS__ });                              \
		if (err_ == OK)                                                        \
			*_Generic((rows), answer_##stmt * * : (rows)) = rows_;         \
		err_;                                                                  \
	})
#define db_row_like(db, a, f, row, id, stmt, ...)                                      \
	__extension__({                                                                \
		STMT_COUNTED(nargs_##stmt, ##__VA_ARGS__);                             \
		void *row_ = NULL;                                                     \
		enum err err_ = db_run_row(                                            \
		    db, a, f, &row_, id, &(const args_##stmt){ __VA_ARGS__ });         \
		if (err_ == OK)                                                        \
			*_Generic((row), answer_##stmt * * : (row)) = row_;            \
		err_;                                                                  \
	})
#define db_number_like(db, f, value, id, stmt, ...)                                    \
	__extension__({                                                                \
		STMT_COUNTED(nargs_##stmt, ##__VA_ARGS__);                             \
		static_assert(                                                         \
		    __builtin_types_compatible_p(answer_##stmt, struct row_number),    \
		    "the statement does not return a number");                         \
		db_run_number(db, f, value, id, &(const args_##stmt){ __VA_ARGS__ });  \
	})
#endif

/*
 * Runs a statement for many rows of arguments (no lists). db_batch_add() copies the
 * arguments and the rows that they point to; texts must stay until the run. With
 * MariaDB the run is one message; to be done completely or not at all, it must be
 * inside a transaction. *affected (may be NULL): the sum over all rows.
 */
struct db_batch {
	struct arena *a;
	enum stmt_id id;
	const void **rows; /* each points to an args_NAME */
	size_t n, cap;
};
struct db_batch *db_batch(struct arena *, enum stmt_id);
/*
 * db_batch_add(struct db_batch *, STMT, .name = value ...) adds a row; STMT must be the
 * batch's statement.
 */
#define db_batch_add(b, stmt, ...)                                                     \
	__extension__({                                                                \
		STMT_COUNTED(nargs_##stmt, ##__VA_ARGS__);                             \
		db_batch_put(b, SQL_##stmt, &(const args_##stmt){ __VA_ARGS__ });      \
	})
void db_batch_put(struct db_batch *, enum stmt_id, const void *args);
enum err db_batch_run(
    struct db *, const struct db_batch *, int64_t *affected, struct fail *);
/*
 * As db_batch_run() for rows that this transaction has locked and found as expected: no
 * count is needed, so it is one message also where the project has triggers. In a
 * transaction of one message, where nothing can be found, each row must match.
 */
enum err db_batch_locked(struct db *, const struct db_batch *, struct fail *);
/*
 * As db_batch_run(), but E_RACE unless each row of arguments matched one row; after a
 * failure some batches go row by row.
 */
enum err db_batch_all(struct db *, const struct db_batch *, struct fail *);

#endif
