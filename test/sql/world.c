/* SPDX-License-Identifier: Apache-2.0 */
#include "test/sql/world.h"

#include <mysql.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "model/rows.h"
#include "lib/banned.h"

struct arena a;
struct fail f;
struct conf cf;
struct db *db;
static char dir[PATH_MAX];

void setup(void)
{
	cf.db_socket = getenv("DB_SOCKET");
	ck_assert_msg(cf.db_socket != NULL, "DB_SOCKET is not set");
	cf.db_name = arena_strdup(&a, "fresh");
	cf.db_user = arena_strdup(&a, "root");
	cf.db_host = cf.db_passwd = arena_strdup(&a, "");
	cf.project_dir = unit_dir(dir);
	cf.locality_scheduling = true;
	cf.locality_skip_release = 300;
	ck_ok(trigger_dirs_make(&cf, &f));
	ck_ok(db_open(&cf, DB_WORK, &db, &f));
}

void teardown(void)
{
	db_close(db);
	ck_ok(fs_rmtree(dir, &f));
	arena_free(&a);
}

/* Makes a workunit of the file set with n unsent results; returns the first id. */
int64_t make_unsent_results(const char *name, int64_t appid, int64_t fileset_id, int n,
    int64_t create_time, struct workunit *wu)
{
	int64_t first = 0;

	*wu = (struct workunit){ .name = arena_strdup(&a, name),
		.appid = appid,
		.fileset_id = fileset_id,
		.transition_time = TRANSITION_NEVER };
	ck_ok(workunit_insert(db, wu, "<workunit/>", &f));
	for (int i = 0; i < n; i++) {
		struct result r = { .name = arena_printf(&a, "%s_%d", name, i),
			.create_time = create_time };
		ck_ok(result_insert(db, wu, &r, "<result/>", 1, &f));
		first = first == 0 ? r.id : first;
	}
	return first;
}

int64_t make_fileset_of(const char *name, double size, int64_t appid)
{
	struct file file = { .name = arena_strdup(&a, name),
		.md5sum = arena_strdup(&a, ""),
		.size = size };
	struct fileset set = { .name = file.name, .appid = appid };

	ck_ok(file_insert(db, &file, &f));
	ck_ok(fileset_insert(db, &set, &file.id, 1, &f));
	return set.id;
}

int64_t make_fileset(const char *name, double size)
{
	return make_fileset_of(name, size, 1);
}

enum err claim_send(const struct dec_send *s, int64_t hostid, int64_t userid)
{
	struct db_batch *b = db_batch(&a, SQL_RESULT_CLAIM);

	result_claim_put(b, s, hostid, userid, 1000, 2000);
	return db_batch_all(db, b, &f);
}

enum err save_host(const struct host *host, int64_t rpc_token)
{
	struct db_batch *b = db_batch(&a, SQL_HOST_SAVE_RPC);

	host_save_rpc_put(b, host, rpc_token);
	return db_batch_locked(db, b, &f);
}

enum err claim(int64_t id, int64_t hostid, int64_t userid, int64_t once)
{
	struct job job = { .id = id };
	struct dec_send s = { .job = &job, .once = once };

	return claim_send(&s, hostid, userid);
}

void kill_connections(void)
{
	const char *const argv[] = { "sh", "-c",
		"m=\"mariadb --no-defaults -u root -N -S $DB_SOCKET\"; $m -e \"select "
		"concat("
		"'kill ', id, ';') from information_schema.processlist where db = "
		"'fresh'\" "
		"| $m",
		NULL };
	const struct proc_run run = {
		.argv = argv, .out = { PROC_PIPE }, .err = { PROC_OURS }
	};
	struct proc_told told;

	ck_ok(proc_collect(&a, &run, 300, 1000, &told, &f));
	ck_assert_int_eq(told.status, 0);
}

void sql_by_hand(const char *sql)
{
	const char *const argv[] = { "sh", "-c",
		"mariadb --no-defaults -u root -S $DB_SOCKET -D fresh -e \"$0\"", sql,
		NULL };
	const struct proc_run run = {
		.argv = argv, .out = { PROC_PIPE }, .err = { PROC_OURS }
	};
	struct proc_told told;

	ck_ok(proc_collect(&a, &run, 30, 1000, &told, &f));
	ck_assert_int_eq(told.status, 0);
}

static MYSQL *by_hand;

char *rows_selected(const char *sql)
{
	struct buf b = buf_new(&a);

	if (by_hand == NULL) {
		by_hand = mysql_init(NULL);
		ck_assert_ptr_nonnull(mysql_real_connect(by_hand, NULL, "root", "",
		    "fresh", 0, getenv("DB_SOCKET"), CLIENT_MULTI_STATEMENTS));
	}
	ck_assert_msg(mysql_real_query(by_hand, sql, strlen(sql)) == 0, "%.200s: %s",
	    sql, mysql_error(by_hand));
	for (int more = 0; more == 0; more = mysql_next_result(by_hand)) {
		MYSQL_RES *res = mysql_store_result(by_hand);

		for (MYSQL_ROW r; res != NULL && (r = mysql_fetch_row(res)) != NULL;) {
			buf_printf(&b, "%s", b.n == 0 ? "" : "; ");
			for (unsigned i = 0; i < mysql_num_fields(res); i++)
				buf_printf(&b, "%s%s", i == 0 ? "" : "|",
				    r[i] == NULL ? "NULL" : r[i]);
		}
		if (res != NULL)
			mysql_free_result(res);
	}
	ck_assert_msg(
	    mysql_errno(by_hand) == 0, "%.200s: %s", sql, mysql_error(by_hand));
	return b.n == 0 ? arena_strdup(&a, "") : b.p;
}

void rows_replace(const char *file)
{
	char *sql;

	ck_ok(fs_read(&a,
	    arena_printf(&a, "%s/test/sql/%s",
		getenv("srcdir") != NULL ? getenv("srcdir") : ".", file),
	    1 << 20, &sql, NULL, &f));
	rows_selected("SET autocommit = 0, foreign_key_checks = 0");
	rows_selected(rows_selected(
	    "SELECT CONCAT('DELETE FROM ', table_name) FROM "
	    "information_schema.tables WHERE table_type = 'BASE TABLE' AND "
	    "table_schema = 'fresh' AND table_name NOT IN ('locus_schema', "
	    "'consent_type')"));
	rows_selected(sql);
	rows_selected("COMMIT; SET autocommit = 1");
}

void rows_close(void)
{
	mysql_close(by_hand);
	by_hand = NULL;
}
