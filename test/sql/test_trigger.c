/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers in directories and in rows of a real server, whose socket is $DB_SOCKET: the
 * same cases on both stores, and several processes at once.
 */
#include <sys/wait.h>
#include <unistd.h>
#include "db/entity.h"
#include "db/schema.h"
#include "lib/fs.h"
#include "lib/proc.h"
#include "test/unit/trigger_cases.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

enum { PROCESSES = 4, MANY = 60 };

static struct arena a;
static struct fail f;
static char dir[PATH_MAX], store_dir[] = "dir", store_db[] = "db", empty[] = "",
			   root[] = "root", database[] = "triggers";
static char *const stores[] = { store_dir, store_db };
static struct conf cf;
static struct triggers one, two;

#define ck_ok(call)                                                                    \
	ck_assert_msg((call) == OK, "%s: %s: %s", err_name(f.code), f.where, f.detail)
#define ck_err(call, code) ck_assert_str_eq(err_name(call), err_name(code))

/* Runs SQL with the server's own client. */
static void trigger_by_hand(const char *sql, const char *options)
{
	const char *const argv[] = { "sh", "-c",
		arena_printf(&a,
		    "mariadb --no-defaults -u root -S $DB_SOCKET -D triggers -e \"$0\" "
		    "%s",
		    options),
		sql, NULL };
	const struct proc_run run = {
		.argv = argv, .out = { PROC_PIPE }, .err = { PROC_OURS }
	};
	struct proc_told told;

	ck_ok(proc_collect(&a, &run, 300, 1000, &told, &f));
	ck_assert_int_eq(told.status, 0);
}

static void add_file(const char *name)
{
	struct fileset set = { .name = arena_strdup(&a, name), .appid = 1 };

	ck_ok(fileset_insert(one.db, &set, NULL, 0, &f));
}

/* Makes an empty project with triggers in this store, and opens two connections. */
static void trigger_project(char *store)
{
	struct db *db;

	cf = (struct conf){ .db_socket = getenv("DB_SOCKET"),
		.db_name = database,
		.db_user = root,
		.db_host = empty,
		.db_passwd = empty,
		.project_dir = unit_dir(dir),
		.locality_store = store };
	ck_assert_msg(cf.db_socket != NULL, "DB_SOCKET is not set");
	trigger_by_hand(
	    "CREATE DATABASE IF NOT EXISTS triggers CHARACTER SET utf8mb4", "-D mysql");
	ck_ok(db_open(&cf, DB_ANY_SCHEMA, &db, &f));
	ck_ok(schema_create(db, &f));
	one = triggers_of(&cf, db, "here/one");
	ck_ok(db_open(&cf, DB_WORK, &db, &f));
	two = triggers_of(&cf, db, "there/two");
	ck_ok(trigger_dirs_make(&cf, &f));
	trigger_by_hand("DELETE FROM sched_trigger; DELETE FROM fileset", "");
	for (size_t i = 0; trigger_files[i] != NULL; i++)
		add_file(trigger_files[i]);
}

static void project_end(void)
{
	db_close(one.db);
	db_close(two.db);
	ck_ok(fs_rmtree(dir, &f));
	arena_free(&a);
}

START_TEST(same_in_both_stores)
{
	trigger_project(stores[_i % (int)N(stores)]);
	trigger_cases[_i / (int)N(stores)].run(&one, &two);
	project_end();
}
END_TEST

/*
 * Claims whatever it can, as a process of its own with its own connection; returns how
 * many claims it got.
 */
static int claim_all(int number)
{
	struct triggers t;
	struct db *db;
	char **names;
	size_t n;
	int got = 0;

	if (db_open(&cf, DB_WORK, &db, &f) != OK)
		return 255;
	t = triggers_of(&cf, db, arena_printf(&a, "here/%d", number));
	if (trigger_list(&t, &a, TRIGGER_NEED_WORK, &names, &n, &f) != OK)
		return 255;
	for (size_t i = 0; i < n; i++) {
		enum err e = trigger_claim(&t, names[i], &f);

		if (e != OK && e != E_NOTFOUND)
			return 255;
		got += e == OK;
	}
	db_close(t.db);
	return got;
}

START_TEST(each_trigger_is_claimed_once)
{
	int got = 0;

	trigger_project(stores[_i]);
	for (int i = 0; i < MANY; i++) {
		char *name = arena_printf(&a, "many_%d", i);

		add_file(name);
		ck_ok(trigger_raise(&one, TRIGGER_NEED_WORK, name, &f));
	}
	for (int i = 0; i < PROCESSES; i++) {
		pid_t pid = fork();

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			_exit(claim_all(i));
	}
	for (int i = 0; i < PROCESSES; i++) {
		int status;

		ck_assert_int_gt(wait(&status), 0);
		ck_assert(WIFEXITED(status) && WEXITSTATUS(status) <= MANY);
		got += WEXITSTATUS(status);
	}
	ck_assert_int_eq(got, MANY);
	project_end();
}
END_TEST

/* A row holds the owner of a claim: nobody else can end it. */
START_TEST(a_claim_has_an_owner)
{
	struct claim *c;
	size_t n;

	trigger_project(store_db);
	ck_ok(trigger_raise(&one, TRIGGER_NEED_WORK, "F", &f));
	ck_ok(trigger_claim(&one, "F", &f));
	ck_ok(trigger_claim_done(&two, "F", &f));
	ck_err(trigger_claim_back(&two, "F", &f), E_NOTFOUND);
	ck_ok(trigger_claims(&two, &a, 0, &c, &n, &f));
	ck_assert_uint_eq(n, 1);
	ck_assert_str_eq(c[0].owner, "here/one");
	ck_assert_int_eq(c[0].age_s, 0);
	two.owner = c[0].owner; /* as for a stale claim */
	ck_ok(trigger_claim_back(&two, "F", &f));
	ck_ok(trigger_claim_done(&one, "F", &f)); /* too late, but harmless */
	ck_ok(trigger_claim(&two, "F", &f));
	project_end();
}
END_TEST

/* A row keeps the time of the first of several raises, as a file does. */
START_TEST(raised_again_it_keeps_its_time)
{
	int64_t age_s;

	trigger_project(store_db);
	ck_ok(trigger_raise(&one, TRIGGER_NEED_WORK, "F", &f));
	trigger_by_hand("UPDATE sched_trigger SET need_work_time = 1000", "");
	ck_ok(trigger_raise(&one, TRIGGER_NEED_WORK, "F", &f));
	ck_ok(trigger_age(&one, TRIGGER_NEED_WORK, "F", 1500, &age_s, &f));
	ck_assert_int_eq(age_s, 500);
	ck_ok(trigger_claim(&one, "F", &f));
	trigger_by_hand("UPDATE sched_trigger SET claim_time = 1200", "");
	ck_ok(trigger_claim_back(&one, "F", &f));
	ck_ok(trigger_age(&one, TRIGGER_NEED_WORK, "F", 1500, &age_s, &f));
	ck_assert_int_eq(age_s, 300);
	project_end();
}
END_TEST

START_TEST(rows_are_of_files_only)
{
	struct triggers none;
	char **names;
	size_t n;

	trigger_project(store_db);
	none = triggers_of(&cf, NULL, NULL);
	ck_err(trigger_raise(&one, TRIGGER_NEED_WORK, "stranger", &f), E_NOTFOUND);
	trigger_by_hand(
	    "INSERT INTO sched_trigger (fileset_id, need_work) VALUES (99999, 1)", "");
	ck_ok(trigger_list(&one, &a, TRIGGER_NEED_WORK, &names, &n, &f));
	ck_assert_uint_eq(n, 0);
	ck_err(trigger_raise(&none, TRIGGER_NEED_WORK, "F", &f), E_DB);
	ck_err(trigger_list(&none, &a, TRIGGER_NEED_WORK, &names, &n, &f), E_DB);
	project_end();
}
END_TEST

/* A flag set by another program, which does not know all columns. */
START_TEST(flags_of_other_programs)
{
	int64_t age_s;

	trigger_project(store_db);
	trigger_by_hand(
	    "INSERT INTO sched_trigger (fileset_id, no_work_available) SELECT id, 1 "
	    "FROM fileset WHERE name = 'G'",
	    "");
	ck_ok(trigger_age(&one, TRIGGER_NO_WORK_AVAILABLE, "G", 1500, &age_s, &f));
	ck_assert_int_eq(age_s, 1500);
	ck_ok(trigger_raise(&one, TRIGGER_WORKING_SET, "G", &f));
	ck_ok(trigger_age(&one, TRIGGER_NO_WORK_AVAILABLE, "G", 1500, &age_s, &f));
	ck_assert_int_eq(age_s, 1500);
	project_end();
}
END_TEST

/* The server drops the connection: a statement outside a transaction is retried. */
START_TEST(a_lost_connection_is_no_lost_trigger)
{
	int64_t age_s;

	trigger_project(store_db);
	trigger_by_hand(
	    "SELECT CONCAT('KILL ', id, ';') FROM information_schema.processlist "
	    "WHERE db = 'triggers' AND id <> connection_id()",
	    "-N | mariadb --no-defaults -u root -S $DB_SOCKET");
	ck_ok(trigger_raise(&one, TRIGGER_NEED_WORK, "G", &f));
	ck_ok(trigger_claim(&two, "G", &f));
	ck_ok(trigger_age(&one, TRIGGER_NEED_WORK, "G", 0, &age_s, &f));
	ck_assert_int_eq(age_s, -1);
	project_end();
}
END_TEST

UNIT_MAIN("trigger", {
	ADD_LOOP(same_in_both_stores, N(stores) * trigger_ncases);
	ADD_LOOP(each_trigger_is_claimed_once, N(stores));
	ADD(a_claim_has_an_owner);
	ADD(raised_again_it_keeps_its_time);
	ADD(rows_are_of_files_only);
	ADD(flags_of_other_programs);
	ADD(a_lost_connection_is_no_lost_trigger);
})
