/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Opens connections: finds the server, limits all waiting, sets up the session, and
 * checks the schema version.
 */
#include "db/private.h"

#include <string.h>
#include "db/schema.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { NO_SUCH_TABLE = 1146 };

/*
 * How long the client library waits for a connection and for any answer (0 = for ever);
 * statements that would start later than start_ms after the request began are refused.
 * start_ms plus the longest wait is what DB_REPLY promises (db.h).
 */
enum { WAITS_MS = 4250 };

static const struct patience {
	unsigned connect_s, answer_s;
	int64_t waits_ms; /* 0 = no limit */
	enum stmt_id wait;
} patience[] = {
	[DB_WORK] = { 5, 60, 0, SQL_SESSION_WAIT_WORK },
	[DB_DAEMON] = { 5, 60, 0, SQL_SESSION_WAIT_DAEMON },
	[DB_READ] = { 5, 60, 0, SQL_SESSION_WAIT_WORK },
	[DB_REPLY] = { 4, 5, WAITS_MS, SQL_SESSION_WAIT_REPLY },
	[DB_LOOK] = { 4, 5, WAITS_MS, SQL_SESSION_WAIT_REPLY },
	[DB_ANY_SCHEMA] = { 5, 0, 0, SQL_SESSION_WAIT_ADMIN },
};

void db_request(struct db *db)
{
	db->waited_ms = 0;
	db->waits_most_ms = patience[db->use].waits_ms;
}

/* Runs a statement without arguments that returns one number. */
static enum err session_number(
    struct db *db, struct fail *f, int64_t *value, enum stmt_id id)
{
	struct arena a = { 0 };
	void *row = NULL;
	size_t n = 0;
	enum err e = stmt_run(db, &a, f, &row, &n, NULL, id, NULL);

	if (e == OK && n == 0)
		e = FAIL(f, E_NOTFOUND, "%s: no such row", stmt_infos[id].name);
	if (e == OK)
		*value = ((const struct row_number *)row)->v;
	arena_free(&a);
	return e;
}

static const char *or_null(const char *s)
{
	return s[0] != '\0' ? s : NULL;
}

/*
 * Finds whether the server is a cluster node; other servers have no such variable.
 * Prepares the statement that checks for an open transaction (run.c) now, because
 * inside a transaction it would be too late.
 */
static enum err cluster_find(struct db *db, struct fail *f)
{
	struct arena a = { 0 };
	void *rows = NULL;
	size_t n = 0;
	int64_t none;
	enum err e = stmt_run(db, &a, f, &rows, &n, NULL, SQL_SESSION_CLUSTER, NULL);

	db->cluster = e == OK && n == 1 &&
	              strcmp(((const struct row_status *)rows)->value, "ON") == 0;
	arena_free(&a);
	return db->cluster ? session_number(db, f, &none, SQL_SESSION_IN_TRANSACTION) :
	                     e;
}

static enum err session_set(struct db *db, struct fail *f)
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
	if (db->use == DB_LOOK || db->use == DB_READ) {
		const struct stmt_info *st = &stmt_infos[SQL_SESSION_READ_ONLY];
		e = conn_text(db, st->sql, st->name, f);
		if (e != OK)
			return e;
	}
	if ((e = cluster_find(db, f)) != OK)
		return e;
	if (db->text_bytes == 0) {
		e = session_number(db, f, &bytes, SQL_SESSION_TEXT_BYTES);
		if (e != OK)
			return e;
		db->text_bytes = bytes >= 1 && bytes <= 4 ? (int)bytes : 4;
	}
	return OK;
}

enum err conn_schema_version(struct db *db, int64_t *version, struct fail *f)
{
	enum err e = session_number(db, f, version, SQL_SCHEMA_VERSION);

	if (e == E_NOTFOUND || (e == E_CONFIG && db->code == NO_SUCH_TABLE)) {
		*version = 0;
		return OK;
	}
	return e;
}

enum err db_schema_fits(struct db *db, struct fail *f)
{
	int64_t version;

	TRY(conn_schema_version(db, &version, f));
	if (version < SCHEMA_VERSION)
		return FAIL(f, E_CONFIG,
		    "database %s has schema version %lld, this program needs %d; run: locus upgrade",
		    db->cf->db_name, (long long)version, SCHEMA_VERSION);
	if (version > SCHEMA_VERSION + SCHEMA_AHEAD_MOST)
		return FAIL(f, E_CONFIG,
		    "database %s has schema version %lld, this program knows %d; install the newer Locus",
		    db->cf->db_name, (long long)version, SCHEMA_VERSION);
	return OK;
}

static bool is_local(const char *host)
{
	return host[0] == '\0' || strcmp(host, "localhost") == 0;
}

/*
 * Connect by TCP? For this machine the library uses the socket whatever the port is,
 * but a port without a socket means TCP.
 */
static bool by_port(const struct conf *cf)
{
	return cf->db_port != 0 && (cf->db_socket[0] == '\0' || !is_local(cf->db_host));
}

bool db_is_local(const struct conf *cf)
{
	return is_local(cf->db_host) && !by_port(cf);
}

/* Describes the server's place in the words of config.xml. */
static const char *server_name(struct arena *a, const struct conf *cf)
{
	const char *host = is_local(cf->db_host) ? "localhost" : cf->db_host;

	if (by_port(cf))
		return arena_printf(a, "%s, port %lld", host, (long long)cf->db_port);
	return is_local(cf->db_host) && cf->db_socket[0] != '\0' ? cf->db_socket : host;
}

static bool given(const char *s)
{
	return s != NULL && s[0] != '\0';
}

bool db_is_remote(const struct conf *cf)
{
	return !is_local(cf->db_host) && strncmp(cf->db_host, "127.", 4) != 0 &&
	       strcmp(cf->db_host, "::1") != 0;
}

/*
 * Demands TLS and a valid certificate if db_ssl_ca is set, except on a unix socket.
 * E_CONFIG: the server is another machine, and nothing says whom to trust.
 */
static enum err tls_demand(MYSQL *my, const struct conf *cf, struct fail *f)
{
	static const sql_bool yes = true;

	if (!given(cf->db_ssl_ca)) {
		if (!db_is_remote(cf) || cf->db_unencrypted)
			return OK;
		return FAIL(f, E_CONFIG,
		    "db_host %s is another machine: set db_ssl_ca for an encrypted connection to the database, or db_unencrypted if you trust the network between",
		    cf->db_host);
	}
	if (is_local(cf->db_host) && !by_port(cf))
		return OK;
	mysql_options(my, MYSQL_OPT_SSL_CA, cf->db_ssl_ca);
	if (given(cf->db_ssl_cert))
		mysql_options(my, MYSQL_OPT_SSL_CERT, cf->db_ssl_cert);
	if (given(cf->db_ssl_key))
		mysql_options(my, MYSQL_OPT_SSL_KEY, cf->db_ssl_key);
#ifdef LIBMARIADB
	mysql_options(my, MYSQL_OPT_SSL_ENFORCE, &yes);
	mysql_options(my, MYSQL_OPT_SSL_VERIFY_SERVER_CERT, &yes);
#else
	static const unsigned identity = SSL_MODE_VERIFY_IDENTITY;
	(void)yes;
	mysql_options(my, MYSQL_OPT_SSL_MODE, &identity);
#endif
	return OK;
}

static enum err connect_fail(struct db *db, MYSQL *my, struct fail *f)
{
	struct arena a = { 0 };
	enum err e = conn_error_of(mysql_errno(my));

	db->code = mysql_errno(my);
	FAIL(f, e == E_CONFIG ? E_CONFIG : E_DB,
	    "cannot connect to database %s at %s: %s (%u)", db->cf->db_name,
	    server_name(&a, db->cf), mysql_error(my), mysql_errno(my));
	arena_free(&a);
	return f->code;
}

static enum err conn_open(struct db *db, struct fail *f)
{
	static const unsigned tcp = MYSQL_PROTOCOL_TCP;
	const struct conf *cf = db->cf;
	const struct patience *p = &patience[db->use];
	enum err late = conn_in_time(db, "connecting to the database", f);
	MYSQL *my = late == OK ? mysql_init(NULL) : NULL;

	if (late != OK)
		return late;

	if (my == NULL)
		return FAIL(f, E_DB, "the client library is out of memory");
	mysql_options(my, MYSQL_SET_CHARSET_NAME, "utf8mb4");
	mysql_options(my, MYSQL_OPT_CONNECT_TIMEOUT, &p->connect_s);
	if (p->answer_s != 0) {
		mysql_options(my, MYSQL_OPT_READ_TIMEOUT, &p->answer_s);
		mysql_options(my, MYSQL_OPT_WRITE_TIMEOUT, &p->answer_s);
	}
	if (by_port(cf))
		mysql_options(my, MYSQL_OPT_PROTOCOL, &tcp);
	if (tls_demand(my, cf, f) != OK) {
		mysql_close(my);
		return f->code;
	}
	/* By the address: a machine need not be able to resolve its own name. */
	const char *host = by_port(cf) && is_local(cf->db_host) ? "127.0.0.1" :
	                                                          or_null(cf->db_host);
	const bool there = mysql_real_connect(my, host, or_null(cf->db_user),
			       or_null(cf->db_passwd), or_null(cf->db_name),
			       (unsigned)cf->db_port, or_null(cf->db_socket),
			       CLIENT_FOUND_ROWS) != NULL;

	conn_answered(db);
	if (!there) {
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
		e = db_schema_fits(db, f);
	if (e != OK)
		conn_drop(db);
	return e == E_RETRY ? (f->code = E_DB) : e;
}

enum err conn_need(struct db *db, struct fail *f)
{
	if (db->my != NULL)
		return OK;
	if (db->in_tx)
		return FAIL(f, E_RETRY, "the connection was lost inside a transaction");
	return conn_open(db, f);
}
