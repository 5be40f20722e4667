/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of locus doctor: the database server, its settings, tables and rights. */
#include <stdlib.h>
#include <string.h>
#include "db/gauges.h"
#include "db/project.h"
#include "db/schema.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/text.h"
#include "tools/doctor.h"
#include "lib/human.h"
#include "tools/stuck.h"
#include "lib/banned.h"

enum {
	PACKET_LEAST = 16 << 20,
	LOG_LEAST = 1 << 30,
	POOL_ROUND = 128 << 20,
	CONNECTIONS_SPARE = 20,
	USED_PERCENT = 90, /* as LocusDatabaseConnections of samples/monitoring/ */
	BACKUP_MOST_S = 8 * 86400,
	NO_SUCH_ID = -1
};

static const char start_database[] = "systemctl start mariadb  # or: mysql";

/* --- the server --- */

struct server_version {
	bool mariadb;
	int64_t major, minor;
};

static bool version_read(const char *text, struct server_version *v)
{
	char *end;

	v->mariadb = strstr(text, "MariaDB") != NULL;
	v->major = strtol(text, &end, 10);
	if (*end != '.')
		return false;
	v->minor = strtol(end + 1, NULL, 10);
	return true;
}

static bool version_is_old(const struct server_version *v)
{
	if (!v->mariadb)
		return v->major < 8;
	return v->major < 10 || (v->major == 10 && v->minor < 6);
}

/* The server refuses the password, or the account the database, or there is no server.
 */
static char *database_cure(struct doctor *d, const char *why)
{
	static const char user[] = "Access denied for user ", to[] = " to database ";
	const char *account = strstr(why, user);
	const char *end = account == NULL ? NULL : strstr(account, to);

	if (end != NULL) {
		account += strlen(user);
		return doctor_on_server(d,
		    arena_printf(d->a, "mariadb -e \"GRANT ALL ON \\`%s\\`.* TO %.*s\"",
			d->cf->db_name, (int)(end - account), account));
	}
	/* A server of the machine keeps one more for its administrator; the account of
	 * a private one is its administrator. */
	if (strstr(why, "Too many connections") != NULL)
		return d->cf->private_servers ?
		           doctor_locus(d, "restart mariadbd") :
		           doctor_on_server(d,
			       "mariadb -e 'SET GLOBAL max_connections = @@GLOBAL.max_connections * 2'");
	if (doctor_db_refuses(d))
		return doctor_locus(d,
		    "config set db_passwd --value-file -  # type the account's password");
	return d->cf->private_servers ? doctor_locus(d, "start") :
	                                doctor_on_server(d, start_database);
}

void doctor_database(struct doctor *d)
{
	struct server_version v;
	struct row_text *row;

	if (d->x->db == NULL) {
		doctor_is_cause(d);
		doctor_fail(
		    d, database_cure(d, d->x->f->detail), "%s", d->x->f->detail);
		return;
	}
	if (db_row(d->x->db, d->a, d->f, &row, DOCTOR_VERSION) != OK)
		doctor_db_fault(d, d->f);
	else if (!version_read(row->s, &v) || version_is_old(&v))
		doctor_fail(d, doctor_on_server(d, "apt-get install mariadb-server"),
		    "the server is %s; Locus needs MariaDB 10.6 or MySQL 8.0 at least",
		    row->s);
	else
		doctor_ok(d, "%s %s", v.mariadb ? "MariaDB" : "MySQL", row->s);
}

void doctor_schema(struct doctor *d)
{
	const char *upgrade = doctor_locus(d, "schema upgrade");
	struct schema_remark *v;
	int64_t version = 0;
	size_t n;

	if (schema_version(d->x->db, &version, d->f) != OK)
		doctor_db_fault(d, d->f);
	else if (version > SCHEMA_VERSION)
		doctor_fail(d, "apt-get install locus-server",
		    "the database has schema %lld, newer than this program's %d",
		    (long long)version, SCHEMA_VERSION);
	else if (version != SCHEMA_VERSION) {
		doctor_is_cause(d);
		doctor_fail(d, upgrade,
		    "the database has schema %lld, this program needs %d",
		    (long long)version, SCHEMA_VERSION);
	} else if (d->brief)
		doctor_ok(d, "schema %lld", (long long)version);
	else if (schema_check(d->x->db, d->a, &v, &n, d->f) != OK)
		doctor_db_fault(d, d->f);
	else
		for (size_t i = 0; i < n; i++)
			if (v[i].error) {
				doctor_is_cause(d);
				doctor_fail(d, upgrade, "%s", v[i].text);
			}
	if (version == SCHEMA_VERSION && !d->brief && !doctor_has_complained(d))
		doctor_ok(d, "schema %lld, complete", (long long)version);
}

/* --- rights --- */

/* Quotes 'user'@'host' of "user@host". */
static char *account_quoted(struct arena *a, const char *account)
{
	const char *at = strrchr(account, '@');

	if (at == NULL)
		return arena_printf(a, "\\`%s\\`", account);
	return arena_printf(
	    a, "\\`%.*s\\`@\\`%s\\`", (int)(at - account), account, at + 1);
}

static void check_excess(struct doctor *d, const char *account)
{
	struct row_text *v;
	size_t n;

	if (d->cf->private_servers ||
	    db_query(d->x->db, d->a, d->f, &v, &n, DOCTOR_GRANTS) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		if (strstr(v[i].s, " ON *.* ") != NULL &&
		    strncmp(v[i].s, "GRANT USAGE ", 12) != 0) {
			doctor_warn(d,
			    doctor_on_server(
				d, arena_printf(d->a,
				       "mariadb -e \"REVOKE ALL ON *.* FROM %s\"",
				       account)),
			    "the account has rights on other databases: %.120s",
			    v[i].s);
			return;
		}
}

void doctor_db_rights(struct doctor *d)
{
	static const struct {
		enum stmt_id stmt;
		const char *right;
	} tries[] = { { SQL_DOCTOR_MAY_INSERT, "INSERT" },
		{ SQL_LIKE(DOCTOR_MAY_UPDATE, DOCTOR_MAY_INSERT), "UPDATE" },
		{ SQL_LIKE(DOCTOR_MAY_DELETE, DOCTOR_MAY_INSERT), "DELETE" } };
	struct row_text *row;
	const char *account = "";

	if (db_row(d->x->db, d->a, d->f, &row, DOCTOR_ACCOUNT) == OK)
		account = account_quoted(d->a, row->s);
	for (size_t i = 0; i < N(tries); i++) {
		if (db_exec_like(d->x->db, d->f, NULL, tries[i].stmt, DOCTOR_MAY_INSERT,
			.id = NO_SUCH_ID) == OK)
			continue;
		doctor_fail(d,
		    doctor_on_server(d,
			arena_printf(d->a,
			    "mariadb -e \"GRANT SELECT, INSERT, UPDATE, DELETE ON \\`%s\\`.* TO %s\"",
			    d->cf->db_name, account)),
		    "%s: %s", tries[i].right, d->f->detail);
	}
	if (!d->brief)
		check_excess(d, account);
	if (!doctor_has_complained(d))
		doctor_ok(d, "the account may read and change rows");
}

/* --- settings --- */

/* Returns a variable of the server; NULL if it has none of that name. */
static const char *variable_text(struct doctor *d, const char *name)
{
	struct row_status *v;
	size_t n;

	if (db_query(d->x->db, d->a, d->f, &v, &n, DOCTOR_VARIABLES) != OK)
		return NULL;
	return status_value(v, n, name);
}

/* Returns the same as a number; -1 if it is none. */
static int64_t variable_number(struct doctor *d, const char *name)
{
	const char *text = variable_text(d, name);
	int64_t v;

	return text != NULL && text_i64(text, 0, INT64_MAX, &v) ? v : -1;
}

void doctor_db_durability(struct doctor *d)
{
	static const char name[] = "innodb_flush_log_at_trx_commit";
	int64_t v = variable_number(d, name);

	if (v == 0)
		doctor_fail(d, doctor_set_variable(d, name, "1"),
		    "%s is 0: a crash of the server loses reports that were confirmed",
		    name);
	else if (v == 2)
		doctor_warn(d, doctor_set_variable(d, name, "1"),
		    "%s is 2: a crash of the machine loses reports that were confirmed, unless a replica has them",
		    name);
	else
		doctor_ok(d, "%s is %lld", name, (long long)v);
}

static int64_t table_bytes(struct doctor *d)
{
	int64_t v = 0;

	return db_number(d->x->db, d->f, &v, DOCTOR_TABLE_BYTES) == OK ? v : 0;
}

void doctor_db_memory(struct doctor *d)
{
	static const char name[] = "innodb_buffer_pool_size";
	int64_t has = variable_number(d, name), tables = table_bytes(d),
		want = (tables / POOL_ROUND + 1) * POOL_ROUND;

	if (has < tables)
		doctor_warn(d,
		    doctor_set_variable(
			d, name, arena_printf(d->a, "%lld", (long long)want)),
		    "%s is %s, less than the %s of the tables, so requests read the disk",
		    name, human_bytes(d->a, (double)has),
		    human_bytes(d->a, (double)tables));
	else
		doctor_ok(d, "%s is %s for tables of %s", name,
		    human_bytes(d->a, (double)has), human_bytes(d->a, (double)tables));
}

void doctor_db_log(struct doctor *d)
{
	const char *name = variable_text(d, "innodb_redo_log_capacity") != NULL ?
	                       "innodb_redo_log_capacity" :
	                       "innodb_log_file_size";
	int64_t has = variable_number(d, name), want = table_bytes(d);

	want = want < LOG_LEAST ? want : LOG_LEAST;
	if (has < want)
		doctor_warn(d, doctor_set_variable(d, name, "1073741824"),
		    "%s is %s: with tables of this size, writing waits for the redo log",
		    name, human_bytes(d->a, (double)has));
	else
		doctor_ok(d, "%s is %s", name, human_bytes(d->a, (double)has));
}

/* Connections of all clients, this one too; 0 if the server does not say. */
static int64_t threads_connected(struct doctor *d)
{
	struct row_status *v;
	const char *text;
	int64_t used;
	size_t n;

	if (db_query(d->x->db, d->a, d->f, &v, &n, METRICS_SERVER) != OK)
		return 0;
	text = status_value(v, n, "Threads_connected");
	return text != NULL && text_i64(text, 0, INT32_MAX, &used) ? used : 0;
}

void doctor_db_connections(struct doctor *d)
{
	static const char name[] = "max_connections";
	/* A connection for each worker and daemon, and for commands and backups. */
	int64_t has = variable_number(d, name),
		want = d->cf->scheduler_processes * d->cf->scheduler_workers +
	               d->cf->web_processes * d->cf->web_workers +
	               (int64_t)d->cf->ndaemons + CONNECTIONS_SPARE;
	int64_t used = threads_connected(d);

	if (has < want)
		doctor_fail(d,
		    doctor_set_variable(
			d, name, arena_printf(d->a, "%lld", (long long)want)),
		    "%s is %lld, and the project may open %lld", name, (long long)has,
		    (long long)want);
	else if (used * 100 > has * USED_PERCENT)
		doctor_warn(d,
		    doctor_set_variable(
			d, name, arena_printf(d->a, "%lld", (long long)(used + want))),
		    "%lld of the %lld connections that %s admits are in use",
		    (long long)used, (long long)has, name);
	else
		doctor_ok(d, "%s is %lld, and the project may open %lld", name,
		    (long long)has, (long long)want);
}

void doctor_db_packet(struct doctor *d)
{
	static const char name[] = "max_allowed_packet";
	int64_t has = variable_number(d, name);

	if (has < PACKET_LEAST)
		doctor_fail(d, doctor_set_variable(d, name, "67108864"),
		    "%s is %s: larger statements fail, and with them whole batches of work",
		    name, human_bytes(d->a, (double)has));
	else
		doctor_ok(d, "%s is %s", name, human_bytes(d->a, (double)has));
}

void doctor_db_binlog(struct doctor *d)
{
	const char *log = variable_text(d, "log_bin"),
		   *format = variable_text(d, "binlog_format"),
		   *cluster = variable_text(d, "wsrep_on");
	bool in_cluster = cluster != NULL && strcmp(cluster, "ON") == 0;

	if (log != NULL && strcmp(log, "ON") == 0 && format != NULL &&
	    strcmp(format, "STATEMENT") == 0)
		doctor_fail(d, doctor_set_variable(d, "binlog_format", "'ROW'"),
		    "binlog_format is STATEMENT, with which the server refuses transactions that read committed data");
	if (in_cluster && variable_number(d, "innodb_autoinc_lock_mode") != 2)
		doctor_fail(d,
		    doctor_keep_variable(d, "innodb_autoinc_lock_mode", "2",
			"systemctl restart mariadb"),
		    "innodb_autoinc_lock_mode must be 2 on a cluster node");
	if (!doctor_has_complained(d))
		doctor_ok(d, "binary log %s%s%s",
		    log != NULL && strcmp(log, "ON") == 0 ? "on, format " : "off",
		    log != NULL && strcmp(log, "ON") == 0 && format != NULL ? format :
									      "",
		    in_cluster ? "; cluster node" : "");
}

void doctor_db_charset(struct doctor *d)
{
	const char *v = variable_text(d, "character_set_database");

	if (v == NULL || strcmp(v, "utf8mb4") != 0)
		doctor_warn(d,
		    doctor_on_server(d,
			arena_printf(d->a,
			    "mariadb %s%s -e \"ALTER DATABASE \\`%s\\` CHARACTER SET utf8mb4 COLLATE utf8mb4_bin\"",
			    d->cf->private_servers ? "--socket=" : "",
			    d->cf->private_servers ? d->cf->db_socket : "",
			    d->cf->db_name)),
		    "the database's character set is %s: tables added later cannot store some text",
		    v == NULL ? "unknown" : v);
	else
		doctor_ok(d, "%s", v);
}

/* --- backups --- */

/* Weekly backups pass, with a day of grace, and so does a new project without one. */
void doctor_backup(struct doctor *d)
{
	const char *cure = doctor_locus(d,
	    "backup /var/tmp/backup-$(date +%Y%m%d%H%M%S).tar.zst  # locus-backup(7) has backups that run by themselves");
	int64_t begun, first_app, now = clock_now();

	if (project_backed_up(d->x->db, &begun, d->f) != OK ||
	    project_first_app(d->x->db, &first_app, d->f) != OK)
		doctor_db_fault(d, d->f);
	else if (begun == 0 && (first_app == 0 || now - first_app < BACKUP_MOST_S))
		doctor_ok(d, "none was made; the project is new");
	else if (begun == 0)
		doctor_warn(
		    d, cure, "no backup was ever made: what the disk loses is lost");
	else if (now - begun > BACKUP_MOST_S)
		doctor_warn(d, cure, "the newest complete backup is %s old",
		    human_span(d->a, now - begun));
	else
		doctor_ok(d, "the newest is %s old", human_span(d->a, now - begun));
}

/* Checks of locus doctor: who can get the work that waits. */

static void doctor_work_found(void *arg, const struct fsck_finding *f)
{
	struct doctor *d = arg;
	const struct fsck_words *w = fsck_words(f->code);

	doctor_warn(d, fsck_cure(d->a, d->x, f), "%s %s: %s%s%s%s", w->noun, f->name,
	    w->text, f->more[0] == '\0' ? "" : " (", f->more,
	    f->more[0] == '\0' ? "" : ")");
}

void doctor_sendable(struct doctor *d)
{
	if (stuck_find(d->x, STUCK_QUEUED, false,
		&(const struct stuck_listener){ doctor_work_found, d }) != OK)
		doctor_db_fault(d, d->x->f);
	else if (!doctor_has_complained(d))
		doctor_ok(d, "nothing waits for a host that does not exist");
}

void doctor_independence(struct doctor *d)
{
	const struct conf *cf = d->cf;
	int64_t accounts;
	int32_t quorum;

	if (stuck_quorum(d->x, &quorum, &accounts) != OK)
		doctor_db_fault(d, d->x->f);
	else if (cf->one_result_per_user_per_wu)
		doctor_ok(d, "an account gets one result of a workunit");
	else if (quorum < 2 || accounts < 2)
		doctor_ok(d, quorum < 2 ? "no work that waits needs a second result" :
					  "all active computers are of one account");
	else
		doctor_warn(d,
		    doctor_locus(d, "config set one_result_per_user_per_wu 1"),
		    "one account may get all results of a workunit and confirm itself, while %lld accounts are active",
		    (long long)accounts);
}
