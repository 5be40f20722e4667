/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Upgrades an old BOINC database, killed after every step in turn. $DB_SOCKET is the
 * server; the databases "old" and "older" contain old_boinc.sql, and "boinc" contains
 * the tables of a current BOINC project.
 */
#include "test/unit/unit.h"

#include <sys/wait.h>
#include <unistd.h>
#include "db/entity.h"
#include "db/private.h"
#include "db/schema.h"
#include "test/sql/candidates.h"
#include "model/rows.h"
#include "lib/banned.h"

enum { RUN_STEPS = 60, KILLED = 9, UNSENT = 2000 };

static struct arena a;
static struct fail f;
static struct conf cf;
static int steps_left;

#define ck_ok(call)                                                                    \
	ck_assert_msg((call) == OK, "%s: %s: %s", err_name(f.code), f.where, f.detail)

static struct db *adopt_open_db(const char *name, bool any_schema)
{
	struct db *db;

	cf.db_socket = getenv("DB_SOCKET");
	ck_assert_msg(cf.db_socket != NULL, "DB_SOCKET is not set");
	cf.db_name = arena_strdup(&a, name);
	cf.db_user = arena_strdup(&a, "root");
	cf.db_host = cf.db_passwd = arena_strdup(&a, "");
	return db_open(&cf, any_schema ? DB_ANY_SCHEMA : DB_WORK, &db, &f) == OK ? db :
	                                                                           NULL;
}

static size_t errors_of(struct db *db, bool print)
{
	struct schema_remark *r;
	size_t n, errors = 0;

	ck_ok(schema_check(db, &a, &r, &n, &f));
	for (size_t i = 0; i < n; i++) {
		errors += r[i].error;
		if (print)
			printf("%s: %s\n", r[i].error ? "error" : "remark", r[i].text);
	}
	return errors;
}

static void say_nothing(const char *what)
{
	(void)what;
}

/* Ends the process, as a kill would, at the step after the last one allowed. */
static void say_and_die(const char *what)
{
	(void)what;
	if (steps_left-- == 0)
		_exit(KILLED);
}

/* Runs the upgrade in a process that may make this many steps; returns how it ended. */
static int run_steps(const char *name, int steps)
{
	pid_t pid = fork();
	int status;

	if (pid == 0) {
		struct db *db = adopt_open_db(name, true);
		steps_left = steps;
		_exit(
		    db != NULL && schema_upgrade(db, &a, false, say_and_die, &f) == OK ?
			0 :
			1);
	}
	ck_assert_int_eq(waitpid(pid, &status, 0), pid);
	return WEXITSTATUS(status);
}

static void adopted_is_whole(const char *name)
{
	struct db *db = adopt_open_db(name, false);
	struct workunit *wu;

	ck_assert_msg(db != NULL, "%s", f.detail);
	ck_assert_uint_eq(errors_of(db, true), 0);
	ck_ok(workunit_by_id(db, &a, 3, &wu, &f));
	ck_assert_int_eq(wu->fileset_id, 0); /* it named a set that does not exist */
	ck_assert_int_eq(wu->transition_time, TRANSITION_NEVER);

	struct app app = { .id = 1 };
	struct catalog cat = { .apps = &app, .napps = 1 };
	struct snapshot s = { .cat = &cat };
	struct rng rng = rng_seed(1);
	ck_ok(read_plain(db, &a, &cf, &rng, UNSENT, (bool[]){ true }, &s, &f));
	ck_assert_uint_eq(s.nplain, UNSENT);

	char domain[] = "\xd0\xbf\xd0\xba \xff"; /* not representable in latin1 */
	struct host host = { .userid = 1, .domain_name = domain }, *read;
	ck_ok(host_insert(db, &host, &f));
	ck_ok(host_by_id(db, &a, host.id, &read, &f));
	ck_assert_str_eq(read->domain_name, "?? ?");
	struct result fresh = { .name = arena_strdup(&a, "fresh_0") };
	ck_ok(result_insert(db, wu, &fresh, "", 1, &f));
	db_close(db);
}

START_TEST(an_old_database_is_refused)
{
	ck_assert_ptr_null(adopt_open_db("old", false));
	ck_assert_str_eq(err_name(f.code), err_name(E_CONFIG));
	ck_assert_ptr_nonnull(strstr(f.detail, "locus upgrade"));
}
END_TEST

START_TEST(a_dry_run_changes_nothing)
{
	struct db *db = adopt_open_db("old", true);
	size_t before = errors_of(db, false);
	int64_t version;

	ck_assert_uint_gt(before, 20);
	ck_ok(schema_upgrade(db, &a, true, say_nothing, &f));
	ck_assert_uint_eq(errors_of(db, false), before);
	ck_ok(schema_version(db, &version, &f));
	ck_assert_int_eq(version, 0);
	db_close(db);
}
END_TEST

START_TEST(adopted_in_one_run)
{
	ck_assert_int_eq(run_steps("old", RUN_STEPS), 0);
	adopted_is_whole("old");
	ck_assert_int_eq(run_steps("old", RUN_STEPS), 0); /* nothing left to do */
}
END_TEST

START_TEST(adopted_though_killed_after_every_step)
{
	int runs = 1;

	while (run_steps("older", 1) == KILLED && runs < RUN_STEPS)
		runs++;
	ck_assert_int_gt(runs, 10);
	ck_assert_int_lt(runs, RUN_STEPS);
	adopted_is_whole("older");
}
END_TEST

/*
 * A manual change of an adopted database, the remark of schema check about it, and the
 * command that mends it; NULL: the upgrade mends it.
 */
static const struct {
	const char *by_hand, *says, *mends;
} changes[] = {
	{ "ALTER TABLE host ADD notes VARCHAR(20) NOT NULL",
	    "host: column notes (varchar(20)) does not belong to Locus and has no default",
	    "ALTER TABLE host ALTER COLUMN `notes` SET DEFAULT ''" },
	{ "ALTER TABLE result ADD site INT NOT NULL", "result: column site (int)",
	    "ALTER TABLE result ALTER COLUMN `site` SET DEFAULT 0" },
	{ "ALTER TABLE user ADD kind ENUM('new','old') NOT NULL",
	    "user: column kind (enum", NULL },
	{ "ALTER TABLE workunit ADD story TEXT NOT NULL",
	    "workunit: column story (text)",
	    "ALTER TABLE workunit ALTER COLUMN `story` SET DEFAULT (CONCAT(''))" },
	{ "ALTER TABLE host ADD photo MEDIUMBLOB NOT NULL",
	    "host: column photo (mediumblob)",
	    "ALTER TABLE host ALTER COLUMN `photo` SET DEFAULT (CONCAT(''))" },
	{ "ALTER TABLE host ADD tags JSON NOT NULL", "host: column tags (",
	    "ALTER TABLE host ALTER COLUMN `tags` SET DEFAULT (JSON_OBJECT())" },
	{ "ALTER TABLE host MODIFY misc LONGTEXT NOT NULL",
	    "host: default of column misc is missing", NULL },
	{ "ALTER TABLE host MODIFY misc MEDIUMTEXT CHARACTER SET latin1 NOT NULL "
	  "DEFAULT ('x')",
	    "host: column misc has the default ",
	    "ALTER TABLE host MODIFY COLUMN `misc` mediumtext CHARACTER SET latin1 "
	    "COLLATE latin1_swedish_ci NOT NULL DEFAULT ('')" },
	{ "ALTER TABLE host MODIFY product_name TEXT NOT NULL",
	    "host: default of column product_name is missing", NULL },
	{ "ALTER TABLE host ADD UNIQUE only_one (domain_name)",
	    "host: unique index only_one (domain_name)",
	    "ALTER TABLE host DROP INDEX `only_one`" },
	{ "ALTER TABLE result DROP INDEX res_name",
	    "result: index res_name (name) is missing", NULL },
	{ "ALTER TABLE file DROP INDEX file_name, ADD INDEX file_name (md5sum)",
	    "file: index file_name is on (md5sum), Locus needs it unique on (name)",
	    "ALTER TABLE file DROP INDEX file_name" },
	{ "ALTER TABLE workunit MODIFY result_template_file VARCHAR(63) NOT NULL "
	  "DEFAULT ''",
	    "workunit: room in column result_template_file (varchar(63)) is missing",
	    NULL },
	{ "ALTER TABLE result MODIFY cpu_time INT NOT NULL DEFAULT 0",
	    "result: column cpu_time (int) is not of the type that Locus needs",
	    "ALTER TABLE result MODIFY COLUMN cpu_time DOUBLE NOT NULL DEFAULT 0" },
	{ "ALTER TABLE workunit MODIFY error_mask INT NULL DEFAULT 0",
	    "workunit: column error_mask (int) allows NULL",
	    "ALTER TABLE workunit MODIFY COLUMN error_mask INT NOT NULL DEFAULT 0" },
	{ "ALTER TABLE workunit MODIFY need_validate SMALLINT NOT NULL",
	    "workunit: default of column need_validate is missing", NULL },
	{ "ALTER TABLE result ALTER size_class SET DEFAULT 3",
	    "result: column size_class has the default 3",
	    "ALTER TABLE result ALTER COLUMN `size_class` SET DEFAULT -1" },
	{ "ALTER TABLE workunit MODIFY mod_time TIMESTAMP NULL DEFAULT "
	  "CURRENT_TIMESTAMP",
	    "workunit: column mod_time (timestamp) is not updated with its row",
	    "ALTER TABLE workunit MODIFY COLUMN mod_time TIMESTAMP NOT NULL DEFAULT "
	    "CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP" },
	{ "ALTER TABLE result MODIFY priority INT UNSIGNED NOT NULL DEFAULT 0",
	    "result: column priority (int unsigned) is not of the type",
	    "ALTER TABLE result MODIFY COLUMN priority INT NOT NULL DEFAULT 0" },
};

/* Removes integer widths from the text, because MySQL has none: int(11) is int. */
static char *without_widths(char *text)
{
	char *p = text;

	while ((p = strstr(p, "int(")) != NULL) {
		p += strlen("int");
		memmove(p, p + strcspn(p, ")") + 1, strlen(p + strcspn(p, ")")));
	}
	return text;
}

static char *error_with(struct db *db, const char *text)
{
	struct schema_remark *r;
	size_t n;

	ck_ok(schema_check(db, &a, &r, &n, &f));
	for (size_t i = 0; i < n; i++)
		if (r[i].error && strstr(without_widths(r[i].text), text) != NULL)
			return r[i].text;
	return NULL;
}

static void adopt_by_hand(struct db *db, const char *sql)
{
	ck_assert_msg(
	    mysql_query(db->my, sql) == 0, "%s: %s", sql, mysql_error(db->my));
}

/* Columns that are left out take their defaults. */
static void rows_can_be_made(struct db *db)
{
	struct host host = { .userid = 1 };

	ck_ok(db_begin(db, &f));
	ck_ok(host_insert(db, &host, &f));
	adopt_by_hand(db, "INSERT INTO host (userid) VALUES (1)");
	db_rollback(db);
}

START_TEST(what_an_admin_changes_is_named_and_mended)
{
	struct db *db = adopt_open_db("boinc", true);
	char *error;

	ck_assert_ptr_nonnull(db);
	ck_ok(schema_upgrade(db, &a, false, say_nothing, &f));
	ck_assert_uint_eq(errors_of(db, true), 0);
	adopt_by_hand(db, changes[_i].by_hand);
	error = error_with(db, changes[_i].says);
	ck_assert_msg(error != NULL, "nothing says %s", changes[_i].says);
	ck_assert_ptr_nonnull(strstr(error, "; run: "));
	if (changes[_i].mends != NULL) {
		ck_assert_msg(strstr(error, changes[_i].mends) != NULL, "%s", error);
		adopt_by_hand(db, changes[_i].mends);
	} else if (strstr(error, "run: ALTER ") != NULL) {
		adopt_by_hand(db, strstr(error, "run: ") + strlen("run: "));
	}
	ck_ok(schema_upgrade(db, &a, false, say_nothing, &f));
	ck_assert_uint_eq(errors_of(db, true), 0);
	rows_can_be_made(db);
	db_close(db);
}
END_TEST

START_TEST(a_fresh_database_has_no_remarks)
{
	struct db *db = adopt_open_db("fresh", false);
	struct schema_remark *r;
	size_t n;

	ck_assert_ptr_nonnull(db);
	ck_ok(schema_check(db, &a, &r, &n, &f));
	ck_assert_msg(n == 0, "%s", n > 0 ? r[0].text : "");
	db_close(db);
}
END_TEST

UNIT_MAIN("adopt", {
	ADD(an_old_database_is_refused);
	ADD(a_dry_run_changes_nothing);
	ADD(adopted_in_one_run);
	ADD(adopted_though_killed_after_every_step);
	ADD_LOOP(what_an_admin_changes_is_named_and_mended, N(changes));
	ADD(a_fresh_database_has_no_remarks);
})
