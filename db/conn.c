/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection: classifies its failures by one table, and drops it when it is of no
 * more use. A connection is never repaired in the middle of a transaction: the caller
 * has to start again.
 */
#include "db/private.h"

#include <string.h>
#include "lib/clock.h"
#include "lib/log_repeat.h"
#include "lib/banned.h"

enum { ERR_ENGINE = 1030 };

/*
 * Error numbers of the server (1000..) and of the client library (2000..) that mean
 * more than "the statement is refused".
 *
 * lost: the connection is of no more use.
 *
 * uncertain: at COMMIT, the transaction may have been committed.
 */
static const struct failure {
	unsigned code;
	enum err err;
	bool lost, uncertain;
} failures[] = {
	{ 1020, E_RETRY, false, false },     /* changed since it was read */
	{ 1021, E_DISK_FULL, false, false }, /* the disk is full */
	{ 1026, E_DISK_FULL, false, false }, /* a file cannot be written */
	{ 1040, E_DB, false, false },        /* too many connections */
	{ 1044, E_CONFIG, false, false },    /* no right to the database */
	{ 1045, E_CONFIG, false, false },    /* wrong account or password */
	{ 1046, E_CONFIG, false, false },    /* no database chosen */
	{ 1047, E_RETRY, false, false },     /* wsrep: node not ready */
	{ 1049, E_CONFIG, false, false },    /* no such database */
	{ 1053, E_RETRY, true, true },       /* the server is shutting down */
	{ 1054, E_CONFIG, false, false },    /* no such column */
	{ 1062, E_RACE, false, false },      /* a unique key is taken */
	{ 1072, E_CONFIG, false, false },    /* an index names a missing column */
	{ 1114, E_DISK_FULL, false,
	    false },                      /* no room for the row: InnoDB, full disk */
	{ 1146, E_CONFIG, false, false }, /* no such table */
	{ 1130, E_CONFIG, false, false }, /* this host may not connect */
	{ 1152, E_RETRY, true, true },    /* aborted connection */
	{ 1158, E_RETRY, true, true },    /* network: read */
	{ 1159, E_RETRY, true, true },    /* network: read timed out */
	{ 1160, E_RETRY, true, true },    /* network: write */
	{ 1161, E_RETRY, true, true },    /* network: write timed out */
	{ 1176, E_CONFIG, false, false }, /* no such index */
	{ 1180, E_RETRY, false, true },   /* error during COMMIT */
	{ 1184, E_RETRY, true, true },    /* aborted connection */
	{ 1205, E_RETRY, false, false },  /* lock wait timed out */
	{ 1213, E_RETRY, false, false },  /* deadlock; Galera: certification */
	{ 1243, E_RETRY, true, false },   /* the prepared statement is unknown */
	{ 1251, E_CONFIG, false,
	    false }, /* the account's login method is not supported */
	{ 1264, E_BADREQ, false, false }, /* a number is out of range */
	{ 1290, E_DB, true, false },      /* read-only: no longer the primary */
	{ 1317, E_RETRY, false, true },   /* statement was interrupted */
	{ 1366, E_BADREQ, false, false }, /* a value has the wrong form */
	{ 1406, E_BADREQ, false, false }, /* a text is too long */
	{ 1412, E_RETRY, false, false },  /* the table was altered meanwhile */
	{ 1615, E_RETRY, true, false },   /* the statement must be prepared again */
	{ 1698, E_CONFIG, false, false }, /* wrong account (known by the kernel) */
	{ 1820, E_CONFIG, false, false }, /* the account's password has expired */
	{ 1836, E_DB, true, false },      /* read-only                            */
	{ 1862, E_CONFIG, false, false }, /* the password has expired, at login */
	{ 1927, E_RETRY, true, true },    /* connection was killed */
	{ 1969, E_RETRY, false, true },   /* statement took too long (MariaDB) */
	{ 2006, E_RETRY, true, true },    /* server has gone away */
	{ 2013, E_RETRY, true, true },    /* connection lost during a statement */
	{ 2026, E_RETRY, true, true },    /* connection lost, under TLS */
	{ 2055, E_RETRY, true, true },    /* connection lost, with system error */
	{ 2059, E_CONFIG, false, false }, /* the library lacks the login method */
	{ 2061, E_CONFIG, false,
	    false },                    /* the login method needs a secure connection */
	{ 3024, E_RETRY, false, true }, /* statement took too long (MySQL) */
	{ 3100, E_RETRY, false, false }, /* MySQL group replication: not a member now */
	{ 3101, E_RETRY, false, false }, /* MySQL group replication: certification */
	{ 3118, E_CONFIG, false, false }, /* the account is locked */
	{ 3169, E_RETRY, true, true },    /* connection was killed (MySQL) */
	{ 3854, E_BADREQ, false,
	    false }, /* a character is not in the column's character set */
	{ 4031, E_RETRY, true, true }, /* the server closed an idle connection */
};

static struct failure failure_of(unsigned code)
{
	for (size_t i = 0; i < N(failures); i++)
		if (failures[i].code == code)
			return failures[i];
	return (struct failure){ code, E_DB, false, false };
}

/* Does the statement name what the tables lack? Other errors of the configuration are
 * about the account, with which nothing else succeeds either. */
static bool is_of_schema(unsigned code)
{
	static const unsigned codes[] = { 1054, 1072, 1146, 1176 };

	for (size_t i = 0; i < N(codes); i++)
		if (codes[i] == code)
			return true;
	return false;
}

enum err conn_error_of(unsigned code)
{
	return failure_of(code).err;
}

bool conn_uncertain(const struct db *db)
{
	return failure_of(db->code).uncertain;
}

void conn_drop(struct db *db)
{
	for (size_t i = 0; i < SQL__MAX; i++) {
		for (size_t k = 0; k < LIST_SIZES; k++) {
			if (db->stmts[i][k] != NULL)
				mysql_stmt_close(db->stmts[i][k]);
			db->stmts[i][k] = NULL;
		}
	}
	for (size_t i = 0; i < PROGRAMS; i++)
		if (db->tx_batch.known[i].st != NULL)
			mysql_stmt_close(db->tx_batch.known[i].st);
	db->tx_batch = (struct tx_batch){ .refused = db->tx_batch.refused };
	if (db->my != NULL)
		mysql_close(db->my);
	db->my = NULL;
}

static void count_error(struct db *db, unsigned code)
{
	for (size_t i = 0; i < db->nerrors; i++)
		if (db->errors[i].a == code) {
			db->errors[i].b++;
			return;
		}
	if (db->nerrors < DB_ERRORS_KEPT)
		db->errors[db->nerrors++] = (struct row_pair){ code, 1 };
}

size_t db_take_errors(struct db *db, struct row_pair v[DB_ERRORS_KEPT])
{
	size_t n = db->nerrors;

	memcpy(v, db->errors, n * sizeof(*v));
	db->nerrors = 0;
	return n;
}

enum err conn_fail(struct db *db, MYSQL_STMT *st, const char *what, struct fail *f)
{
	unsigned code = st != NULL ? mysql_stmt_errno(st) : mysql_errno(db->my);
	const char *text = st != NULL ? mysql_stmt_error(st) : mysql_error(db->my);
	struct failure x = failure_of(code);
	const char *cure = "";

	/* The storage engine's own number is only in the text; 28 is ENOSPC. */
	if (code == ERR_ENGINE && strstr(text, "error 28 ") != NULL)
		x.err = E_DISK_FULL;

	if (x.err == E_CONFIG)
		cure = is_of_schema(code) ?
		           "; run: locus schema check" :
		           "; see db_name, db_user, db_passwd in config.xml";
	enum err e = FAIL(f, x.err, "%s: %s (%u)%s", what, text, code, cure);

	if (f != NULL) /* the server's text names rows */
		f->kind = log_kind(what, what) + code;
	db->code = code;
	count_error(db, code);
	if (x.lost)
		conn_drop(db);
	return e;
}

/*
 * A call that takes no longer than this is work, not waiting, however many there are:
 * large requests need hundreds. Beyond, its time counts.
 */
enum { EACH_MS = 250 };

void conn_answered(struct db *db)
{
	const int64_t took_ms = clock_mono_ms() - db->began_ms;

	if (took_ms > EACH_MS)
		db->waited_ms += took_ms - EACH_MS;
}

bool conn_late(const struct db *db)
{
	return db->waits_most_ms != 0 && db->waited_ms >= db->waits_most_ms;
}

enum err conn_in_time(struct db *db, const char *what, struct fail *f)
{
	db->began_ms = clock_mono_ms();
	if (!conn_late(db))
		return OK;
	return FAIL(f, E_DB,
	    "%s: not started, because the database has kept this request waiting too long",
	    what);
}

enum err conn_text(struct db *db, const char *sql, const char *what, struct fail *f)
{
	TRY(conn_in_time(db, what, f));
	db->count++;
	const int bad = mysql_real_query(db->my, sql, strlen(sql));

	conn_answered(db);
	return bad == 0 ? OK : conn_fail(db, NULL, what, f);
}
