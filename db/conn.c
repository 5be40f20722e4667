/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The connection itself: made, kept and dropped here, its failures sorted into ours by
 * one table.  A connection is never repaired in the middle of a transaction: the caller
 * has to begin again.
 */
#include "db/private.h"

#include <string.h>
#include "db/schema.h"
#include "model/states.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { ERR_ENGINE = 1030 };

/*
 * How long the library waits, for a connection and for any one answer (0 = for ever);
 * what starts later than start_ms after the request is refused.  start_ms and the
 * longest wait together are what DB_REPLY promises (db.h).
 */
static const struct patience {
	unsigned connect_s, answer_s;
	int64_t start_ms; /* 0 = no matter */
	enum stmt_id wait;
} patience[] = {
	[DB_WORK] = { 5, 60, 0, SQL_SESSION_WAIT_WORK },
	[DB_REPLY] = { 4, 5, 4500, SQL_SESSION_WAIT_REPLY },
	[DB_LOOK] = { 4, 5, 4500, SQL_SESSION_WAIT_REPLY },
	[DB_ANY_SCHEMA] = { 5, 0, 0, SQL_SESSION_WAIT_ADMIN },
};

/*
 * Numbers of the server (1000..) and of the client library (2000..) that mean more than
 * "the statement is refused".
 *   lost       the connection is of no more use
 *   uncertain  at COMMIT: it may have been done
 */
static const struct failure {
	unsigned code;
	enum err err;
	bool lost, uncertain;
} failures[] = {
	{ 1020, E_RETRY, false, false },     /* changed since it was read */
	{ 1021, E_DISK_FULL, false, false }, /* disk is full */
	{ 1026, E_DISK_FULL, false, false }, /* a file cannot be written */
	{ 1040, E_DB, false, false },        /* too many connections */
	{ 1044, E_CONFIG, false, false },    /* no right to the database */
	{ 1045, E_CONFIG, false, false },    /* wrong account or password */
	{ 1046, E_CONFIG, false, false },    /* no database chosen */
	{ 1047, E_RETRY, false, false },     /* wsrep: node not ready */
	{ 1049, E_CONFIG, false, false },    /* no such database */
	{ 1053, E_RETRY, true, true },       /* server shuts down */
	{ 1054, E_CONFIG, false, false },    /* no such column */
	{ 1062, E_RACE, false, false },      /* a unique key is taken */
	{ 1072, E_CONFIG, false, false },    /* no such column for an index */
	{ 1114, E_DISK_FULL, false,
	    false }, /* no room for the row: InnoDB on a full disk */
	{ 1146, E_CONFIG, false, false }, /* no such table */
	{ 1130, E_CONFIG, false, false }, /* not from this host */
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
	{ 1243, E_RETRY, true, false },   /* prepared statement is not known */
	{ 1251, E_CONFIG, false, false }, /* the account's way to log in is not ours */
	{ 1264, E_BADREQ, false, false }, /* number out of range */
	{ 1290, E_DB, true, false },      /* read-only: no longer the primary     */
	{ 1317, E_RETRY, false, true },   /* statement was interrupted */
	{ 1366, E_BADREQ, false, false }, /* value of a wrong form */
	{ 1406, E_BADREQ, false, false }, /* text too long */
	{ 1412, E_RETRY, false, false },  /* table was altered meanwhile */
	{ 1615, E_RETRY, true, false },   /* statement must be prepared again */
	{ 1698, E_CONFIG, false, false }, /* wrong account (known by the kernel) */
	{ 1820, E_CONFIG, false, false }, /* the account's password has expired */
	{ 1836, E_DB, true, false },      /* read-only                            */
	{ 1862, E_CONFIG, false, false }, /* the same, at the door */
	{ 1927, E_RETRY, true, true },    /* connection was killed */
	{ 1969, E_RETRY, false, true },   /* statement took too long (MariaDB) */
	{ 2006, E_RETRY, true, true },    /* server has gone away */
	{ 2013, E_RETRY, true, true },    /* connection lost during a statement */
	{ 2026, E_RETRY, true, true },    /* connection lost, under TLS */
	{ 2055, E_RETRY, true, true },    /* connection lost, with system error */
	{ 2059, E_CONFIG, false, false }, /* the library lacks the way to log in */
	{ 2061, E_CONFIG, false, false }, /* that way does not trust this line */
	{ 3024, E_RETRY, false, true },   /* statement took too long (MySQL) */
	{ 3100, E_RETRY, false, false },  /* MySQL's group: no part of it now */
	{ 3101, E_RETRY, false, false },  /* MySQL's group: certification */
	{ 3118, E_CONFIG, false, false }, /* the account is locked */
	{ 3169, E_RETRY, true, true },    /* connection was killed (MySQL) */
	{ 3854, E_BADREQ, false, false }, /* not in the column's character set */
	{ 4031, E_RETRY, true, true },    /* the server closed an idle connection */
};

static struct failure
failure_of(unsigned code)
{
	for (size_t i = 0; i < N(failures); i++)
		if (failures[i].code == code)
			return failures[i];
	return (struct failure){ code, E_DB, false, false };
}

void
conn_drop(struct db *db)
{
	for (size_t i = 0; i < SQL__MAX; i++) {
		for (size_t k = 0; k < LIST_SIZES; k++) {
			if (db->stmts[i][k] != NULL)
				mysql_stmt_close(db->stmts[i][k]);
			db->stmts[i][k] = NULL;
		}
	}
	together_drop(db);
	if (db->my != NULL)
		mysql_close(db->my);
	db->my = NULL;
}

enum err
conn_fail(struct db *db, MYSQL_STMT *st, const char *what, struct fail *f)
{
	unsigned code = st != NULL ? mysql_stmt_errno(st) : mysql_errno(db->my);
	const char *text = st != NULL ? mysql_stmt_error(st) : mysql_error(db->my);
	struct failure x = failure_of(code);
	const char *cure = "";

	/* The engine's own number stands in the text only; 28 is ENOSPC. */
	if (code == ERR_ENGINE && strstr(text, "error 28 ") != NULL)
		x.err = E_DISK_FULL;

	if (x.err == E_CONFIG)
		cure = code >= 1044 && code <= 1049 ?
		           "; see db_name, db_user, db_passwd in config.xml" :
		           "; run: locus schema check";
	enum err e = FAIL(f, x.err, "%s: %s (%u)%s", what, text, code, cure);
	db->code = code;
	db->uncertain = x.uncertain;
	if (x.lost)
		conn_drop(db);
	return e;
}

void
db_request(struct db *db, int64_t since_ms)
{
	int64_t ms = patience[db->use].start_ms;

	db->until_ms = ms == 0 ? 0 : since_ms + ms;
}

bool
conn_late(const struct db *db)
{
	return db->until_ms != 0 && clock_mono_ms() >= db->until_ms;
}

enum err
conn_in_time(const struct db *db, const char *what, struct fail *f)
{
	if (!conn_late(db))
		return OK;
	return FAIL(f, E_DB,
	    "%s: not begun, as the database has kept this request waiting", what);
}

enum err
conn_text(struct db *db, const char *sql, const char *what, struct fail *f)
{
	enum err e = conn_in_time(db, what, f);

	if (e != OK)
		return e;
	db->count++;
	if (mysql_real_query(db->my, sql, strlen(sql)) != 0)
		return conn_fail(db, NULL, what, f);
	return OK;
}

static const char *
or_null(const char *s)
{
	return s[0] != '\0' ? s : NULL;
}

/*
 * A server that knows nothing of clusters has no such variable.  What looks into
 * transactions there (db.c) is prepared now: inside one it would be too late.
 */
static enum err
cluster_find(struct db *db, struct fail *f)
{
	struct arena a = { 0 };
	struct row_status *rows = NULL;
	size_t n = 0;
	int64_t none;
	enum err e = db_query(db, &a, f, &rows, &n, SESSION_CLUSTER);

	db->cluster = e == OK && n == 1 && strcmp(rows->value, "ON") == 0;
	arena_free(&a);
	return db->cluster ? db_number(db, f, &none, SESSION_IN_TRANSACTION) : e;
}

static enum err
session_set(struct db *db, struct fail *f)
{
	const enum stmt_id set[] = { SQL_SESSION_MODE, SQL_SESSION_ISOLATION,
		patience[db->use].wait };
	int64_t bytes;
	enum err e;

	for (size_t i = 0; i < N(set); i++) {
		const struct stmt_info *st = &stmt_infos[set[i]];
		e = conn_text(db, st->sql, st->name, f);
		if (e != OK)
			return e;
	}
	if (db->use == DB_LOOK) {
		const struct stmt_info *st = &stmt_infos[SQL_SESSION_READ_ONLY];
		e = conn_text(db, st->sql, st->name, f);
		if (e != OK)
			return e;
	}
	if ((e = cluster_find(db, f)) != OK)
		return e;
	if (db->text_bytes == 0) {
		e = db_number(db, f, &bytes, SESSION_TEXT_BYTES);
		if (e != OK)
			return e;
		db->text_bytes = bytes >= 1 && bytes <= 4 ? (int)bytes : 4;
	}
	return OK;
}

static enum err
version_check(struct db *db, struct fail *f)
{
	int64_t version;
	enum err e = schema_version(db, &version, f);

	if (e == OK && version != SCHEMA_VERSION)
		return FAIL(f, E_CONFIG,
		    "database %s has schema version %lld, this program needs %d; run: "
		    "locus schema upgrade",
		    db->cf->db_name, (long long)version, SCHEMA_VERSION);
	return e;
}

static bool
is_local(const char *host)
{
	return host[0] == '\0' || strcmp(host, "localhost") == 0;
}

/* The library takes the socket for this machine, whatever the port; a port without a
 * socket is meant. */
static bool
by_port(const struct conf *cf)
{
	return cf->db_port != 0 && (cf->db_socket[0] == '\0' || !is_local(cf->db_host));
}

/* Where the server is looked for, in the words of config.xml. */
static const char *
server_name(struct arena *a, const struct conf *cf)
{
	const char *host = is_local(cf->db_host) ? "localhost" : cf->db_host;

	if (by_port(cf))
		return arena_printf(a, "%s, port %lld", host, (long long)cf->db_port);
	return is_local(cf->db_host) && cf->db_socket[0] != '\0' ? cf->db_socket : host;
}

static enum err
connect_fail(struct db *db, MYSQL *my, struct fail *f)
{
	struct arena a = { 0 };
	enum err e = failure_of(mysql_errno(my)).err;

	db->code = mysql_errno(my);
	FAIL(f, e == E_CONFIG ? E_CONFIG : E_DB,
	    "cannot connect to database %s at %s: %s (%u)", db->cf->db_name,
	    server_name(&a, db->cf), mysql_error(my), mysql_errno(my));
	arena_free(&a);
	return f->code;
}

static enum err
conn_open(struct db *db, struct fail *f)
{
	static const unsigned tcp = MYSQL_PROTOCOL_TCP;
	const struct conf *cf = db->cf;
	const struct patience *p = &patience[db->use];
	enum err late = conn_in_time(db, "connecting to the database", f);
	MYSQL *my = late == OK ? mysql_init(NULL) : NULL;

	if (late != OK)
		return late;

	if (my == NULL)
		return FAIL(f, E_DB, "the client library has no memory");
	mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(my, MYSQL_OPT_CONNECT_TIMEOUT, &p->connect_s);
	if (p->answer_s != 0) {
		mysql_options(my, MYSQL_OPT_READ_TIMEOUT, &p->answer_s);
		mysql_options(my, MYSQL_OPT_WRITE_TIMEOUT, &p->answer_s);
	}
	if (by_port(cf))
		mysql_options(my, MYSQL_OPT_PROTOCOL, &tcp);
	if (mysql_real_connect(my, or_null(cf->db_host), or_null(cf->db_user),
		or_null(cf->db_passwd), or_null(cf->db_name), (unsigned)cf->db_port,
		or_null(cf->db_socket), CLIENT_FOUND_ROWS) == NULL) {
		connect_fail(db, my, f);
		mysql_close(my);
		return f->code;
	}
	db->my = my;
	db->mariadb = strstr(mysql_get_server_info(my), "MariaDB") != NULL;
	db->bulk = db->mariadb;
	db->bulk_known = false;
	enum err e = session_set(db, f);
	if (e == OK && db->use != DB_ANY_SCHEMA)
		e = version_check(db, f);
	if (e != OK)
		conn_drop(db);
	return e == E_RETRY ? (f->code = E_DB) : e;
}

enum err
conn_need(struct db *db, struct fail *f)
{
	if (db->my != NULL)
		return OK;
	if (db->in_tx)
		return FAIL(f, E_RETRY, "the connection was lost inside a transaction");
	return conn_open(db, f);
}
