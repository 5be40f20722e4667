/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The ledger on a real server, whose socket is $DB_SOCKET: every sent job counts
 * exactly once, even if processes are killed, and no job is purged before it counts.
 */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "db/ledger.h"
#include "db/wu_updates.h"
#include "db/schema.h"
#include "db/stmts.h"
#include "lib/proc.h"
#include "model/rows.h"
#include "test/unit/unit.h"
#include "lib/banned.h"

enum { JOBS = 120, HOSTS = 5, FILES = 3, DAY = 20000, DAY_S = 86400, KILLS = 25 };

static struct arena a;
static struct fail f;
static struct conf cf;
static struct db *db;
static char root[] = "root", database[] = "ledger", empty[] = "";
static const struct id_share all = { 1, 0 };

#define ck_ok(call)                                                                    \
	ck_assert_msg((call) == OK, "%s: %s: %s", err_name(f.code), f.where, f.detail)
#define ck_err(call, code) ck_assert_str_eq(err_name(call), err_name(code))

/* Runs SQL with the server's own client; returns its output. */
static char *ledger_by_hand(const char *sql, const char *options)
{
	const char *const argv[] = { "sh", "-c",
		"mariadb --no-defaults -u root -N -S $DB_SOCKET -D ledger $1 -e \"$0\"",
		sql, options, NULL };
	const struct proc_run run = {
		.argv = argv, .out = { PROC_PIPE }, .err = { PROC_OURS }
	};
	struct proc_told told;

	ck_ok(proc_collect(&a, &run, 300, 1000, &told, &f));
	ck_assert_int_eq(told.status, 0);
	return told.out;
}

/* Sums up the results of these sets; the ledger must agree. */
static char *truth(const char *where)
{
	return ledger_by_hand(
	    arena_printf(&a,
		"SELECT COUNT(*), COALESCE(SUM(bytes_needed = 0), 0), "
		"COALESCE(SUM(bytes_needed), 0), COALESCE(SUM(bytes_saved), "
		"0) "
		"FROM result WHERE sent_time > 0 AND fileset_id > 0 AND %s",
		where),
	    "");
}

static char *text_of(const struct row_ledger *l)
{
	return arena_printf(&a, "%lld\t%lld\t%lld\t%lld\n", (long long)l->jobs,
	    (long long)l->hits, (long long)l->bytes_needed, (long long)l->bytes_saved);
}

/*
 * Makes results of three file sets and without one, some of them sent to several hosts
 * on two days.
 */
static void ledger_fill(void)
{
	for (int i = 0; i < JOBS; i++) {
		struct workunit wu = { .name = arena_printf(&a, "wu_%d", i),
			.appid = 1,
			.fileset_id = i % (FILES + 1),
			.transition_time = TRANSITION_NEVER };
		struct result r = { .name = arena_printf(&a, "wu_%d_0", i) };
		struct job job = { 0 };
		struct dec_send s = { .job = &job,
			.bytes_needed = i % 3 == 0 ? 1000 + i : 0,
			.bytes_saved = i % 3 == 0 ? 0 : 1000 + i };

		ck_ok(workunit_insert(db, &wu, "<workunit/>", &f));
		ck_ok(result_insert(db, &wu, &r, "<result/>", 1, &f));
		job.id = r.id;
		if (i % 7 == 0)
			continue;
		struct db_batch *b = db_batch(&a, SQL_RESULT_CLAIM);
		result_claim_put(b, &s, 1 + i % HOSTS, 1,
		    (DAY + i / 4 % 2) * INT64_C(86400) + i, 1 << 30);
		ck_ok(db_batch_all(db, b, &f));
	}
}

static void setup(void)
{
	cf = (struct conf){ .db_socket = getenv("DB_SOCKET"),
		.db_name = database,
		.db_user = root,
		.db_host = empty,
		.db_passwd = empty };
	ck_assert_msg(cf.db_socket != NULL, "DB_SOCKET is not set");
	ledger_by_hand(
	    "CREATE DATABASE IF NOT EXISTS ledger CHARACTER SET utf8mb4", "-D mysql");
	ck_ok(db_open(&cf, DB_ANY_SCHEMA, &db, &f));
	ck_ok(schema_create(db, &f));
	ledger_by_hand(
	    "DELETE FROM ledger; DELETE FROM result; DELETE FROM workunit", "");
	ledger_fill();
}

static void teardown(void)
{
	db_close(db);
	arena_free(&a);
}

static size_t due(int64_t **ids)
{
	size_t n;

	ck_ok(ledger_due(db, &a, all, 10000, ids, &n, &f));
	return n;
}

/* Folds the results into the ledger in one transaction, as the transitioner does. */
static enum err fold_ledger(struct db *with, const int64_t *ids, size_t n)
{
	enum err e = db_begin(with, &f);

	if (e == OK)
		e = ledger_fold(with, ids, n, &f);
	if (e == OK)
		return db_commit(with, &f);
	db_rollback(with);
	return e;
}

static void fold_all(void)
{
	int64_t *ids;
	size_t n = due(&ids);

	for (size_t i = 0; i < n; i += DB_LIST_MAX)
		ck_ok(fold_ledger(
		    db, ids + i, n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX));
	ck_assert_uint_eq(due(&ids), 0);
}

static void ck_sums(void)
{
	struct row_ledger l;

	ck_ok(ledger_of_all(db, &a, 0, &l, &f));
	ck_assert_str_eq(text_of(&l), truth("1"));
	for (int64_t id = 1; id <= FILES; id++) {
		ck_ok(ledger_of_file(db, &a, id, &l, &f));
		ck_assert_str_eq(
		    text_of(&l), truth(arena_printf(&a, "fileset_id = %d", (int)id)));
	}
	for (int64_t id = 1; id <= HOSTS; id++) {
		ck_ok(ledger_of_host(db, &a, id, &l, &f));
		ck_assert_str_eq(
		    text_of(&l), truth(arena_printf(&a, "hostid = %d", (int)id)));
	}
}

START_TEST(it_says_what_the_results_say)
{
	int64_t *ids;
	struct row_ledger l;
	size_t n = due(&ids);

	ck_assert_uint_gt(n, JOBS / 2);
	ck_sums(); /* nothing is folded yet */
	ck_ok(fold_ledger(db, ids, 10));
	ck_sums();
	fold_all();
	ck_sums();
	ck_assert_str_eq(
	    ledger_by_hand(
		"SELECT COUNT(*) FROM ledger WHERE fileset_id = 0 OR hostid = 0", ""),
	    "0\n");
	ck_ok(ledger_of_all(db, &a, DAY + 1, &l, &f));
	ck_assert_str_eq(text_of(&l), truth("sent_time >= 20001 * 86400"));
}
END_TEST

START_TEST(a_job_counts_once)
{
	int64_t *ids;
	size_t n = due(&ids);

	ck_assert_uint_gt(n, 20);
	ck_ok(fold_ledger(db, ids, 10));
	ck_err(fold_ledger(db, ids + 5, 10),
	    E_RACE); /* all or nothing: not the new ones either */
	ck_ok(fold_ledger(db, ids + 10, 10));
	ck_sums();
}
END_TEST

/* Gives each process a share of the ids; together the shares are all. */
START_TEST(instances_share_the_work)
{
	int64_t *ids, *odd, *even;
	size_t n = due(&ids), nodd, neven;

	ck_ok(ledger_due(db, &a, (struct id_share){ 2, 0 }, 10000, &even, &neven, &f));
	ck_ok(ledger_due(db, &a, (struct id_share){ 2, 1 }, 10000, &odd, &nodd, &f));
	ck_assert_uint_eq(nodd + neven, n);
	ck_assert_uint_gt(nodd, 0);
	for (size_t i = 0; i < nodd; i++)
		ck_assert_int_eq(odd[i] % 2, 1);
}
END_TEST

/* Folds job by job in a process of its own, until it is killed. */
static void fold_until_killed(void)
{
	struct db *own;
	int64_t *ids;
	size_t n;

	if (db_open(&cf, DB_WORK, &own, &f) != OK)
		_exit(1);
	for (;;) {
		if (ledger_due(own, &a, all, 1, &ids, &n, &f) != OK)
			_exit(1);
		if (n > 0)
			fold_ledger(own, ids, n);
		else
			usleep(1000);
	}
}

START_TEST(killed_between_any_two_statements)
{
	int64_t *ids;

	/*
	 * The delays grow, because on a slow machine the first processes do not even
	 * connect.
	 */
	for (int i = 0; i < KILLS || (i < 40 * KILLS && due(&ids) >= JOBS / 2); i++) {
		pid_t pid = fork();
		int status;

		ck_assert_int_ge(pid, 0);
		if (pid == 0)
			fold_until_killed();
		usleep((useconds_t)(15000 + i * 377));
		kill(pid, SIGKILL);
		ck_assert_int_eq(waitpid(pid, &status, 0), pid);
		ck_assert(WIFSIGNALED(status));
		ck_sums();
	}
	ck_assert_msg(due(&ids) < JOBS / 2, "the processes did next to nothing");
	fold_all();
	ck_sums();
}
END_TEST

/* Reports, time-outs and their consequences keep the mark; a purge waits for it. */
START_TEST(nothing_is_purged_before_it_counts)
{
	struct wu_updates *b = wu_updates_new(&a);
	struct result *was, to;
	struct workunit *wus;
	int64_t *ids;
	size_t n;

	due(&ids);
	ck_ok(result_by_id(db, &a, ids[0], &was, &f));
	to = *was;
	to.server_state = RESULT_OVER;
	to.outcome = OUTCOME_NO_REPLY;
	result_move(b, was, &to);
	ck_ok(wu_updates_save(db, b, &f));
	*was = to;
	to.file_delete_state = FILE_DELETE_READY;
	result_move(b, was, &to);
	ck_ok(wu_updates_save(db, b, &f));
	result_files_deleted(b, to.id, FILE_DELETE_READY, FILE_DELETE_DONE);
	ck_ok(wu_updates_save(db, b, &f));
	ledger_by_hand(
	    arena_printf(&a,
		"UPDATE workunit SET assimilate_state = 2, file_delete_state = 2 "
		"WHERE id = %lld",
		(long long)to.workunitid),
	    "");
	ck_ok(workunits_to_purge(db, &a, &to.workunitid, 1, INT32_MAX, &wus, &n, &f));
	ck_assert_uint_eq(n, 0);
	ck_ok(fold_ledger(db, ids, 1));
	ck_ok(workunits_to_purge(db, &a, &to.workunitid, 1, INT32_MAX, &wus, &n, &f));
	ck_assert_uint_eq(n, 1);
	ck_sums();
}
END_TEST

/* A report of another host, or a resend, does not move bytes to that host. */
START_TEST(what_was_folded_stays)
{
	char *before;
	int64_t *ids;

	due(&ids);
	fold_all();
	before = ledger_by_hand("SELECT * FROM ledger ORDER BY 1, 2, 3", "");
	ledger_by_hand(
	    "UPDATE result SET hostid = 99, sent_time = sent_time + 86400 WHERE "
	    "sent_time > 0",
	    "");
	ck_assert_uint_eq(due(&ids), 0);
	ck_assert_str_eq(
	    ledger_by_hand("SELECT * FROM ledger ORDER BY 1, 2, 3", ""), before);
}
END_TEST

static void close_day(const struct row_ledger *old, enum err expect)
{
	ck_ok(db_begin(db, &f));
	ck_err(ledger_close(db, old, &f), expect);
	if (expect == OK)
		ck_ok(db_commit(db, &f));
	else
		db_rollback(db);
}

START_TEST(old_days_are_summed_up)
{
	struct row_ledger *old, *again;
	size_t n, nagain;

	fold_all();
	ck_ok(ledger_old(db, &a, DAY, 1000, &old, &n, &f));
	ck_assert_uint_eq(n, 0);
	ck_ok(ledger_old(db, &a, DAY + 1, 1000, &old, &n, &f));
	ck_assert_uint_ge(n, 5);
	close_day(&old[0], OK);
	close_day(&old[0], E_RACE); /* the row is gone */
	ck_sums();
	ledger_by_hand(arena_printf(&a,
			   "UPDATE ledger SET jobs = jobs + 1 WHERE day = 20000 AND "
			   "fileset_id = %lld AND hostid = %lld",
			   (long long)old[1].fileset_id, (long long)old[1].hostid),
	    "");
	close_day(&old[1], E_RACE); /* a late job was added */
	ledger_by_hand(arena_printf(&a,
			   "UPDATE ledger SET jobs = jobs - 1 WHERE day = 20000 AND "
			   "fileset_id = %lld AND hostid = %lld",
			   (long long)old[1].fileset_id, (long long)old[1].hostid),
	    "");
	for (size_t i = 1; i < n; i++)
		close_day(&old[i], OK);
	ck_ok(ledger_old(db, &a, DAY + 1, 1000, &again, &nagain, &f));
	ck_assert_uint_eq(nagain, 0);
	ck_sums();
	ck_assert_str_eq(
	    ledger_by_hand(
		"SELECT SUM(fileset_id > 0), SUM(hostid > 0) FROM ledger WHERE day "
		"= 0",
		""),
	    arena_printf(&a, "%d\t%d\n", FILES, HOSTS));
}
END_TEST

static void end_ledger_rows(enum ledger_ended what, size_t want)
{
	struct row_ledger *ended;
	size_t n;

	ck_ok(ledger_ended(db, &a, what, 0, LEDGER_ENDED_SET - 1, &ended, &n, &f));
	ck_assert_uint_eq(n, want);
	for (size_t i = 0; i < n; i++) {
		ck_ok(db_begin(db, &f));
		ck_ok(ledger_end(db, &ended[i], &f));
		ck_ok(db_commit(db, &f));
	}
}

/* The sums of all stay, those of files and hosts that exist, too. */
START_TEST(what_is_gone_leaves_one_row)
{
	static const char count[] = "SELECT COUNT(*) FROM ledger";
	struct row_ledger *old, l;
	int64_t to;
	size_t n;

	ledger_by_hand("INSERT INTO fileset (id, name) VALUES (2, 'two');"
		       "INSERT INTO host (id) VALUES (1), (3)",
	    "");
	fold_all();
	ck_ok(ledger_old(db, &a, DAY + 3, 1000, &old, &n, &f));
	end_ledger_rows(LEDGER_SETS, 0); /* single days stay as they are */
	for (size_t i = 0; i < n; i++)
		close_day(&old[i], OK);
	end_ledger_rows(LEDGER_SETS, FILES - 1);
	end_ledger_rows(LEDGER_SETS, 0);
	end_ledger_rows(LEDGER_HOSTS, HOSTS - 2);
	end_ledger_rows(LEDGER_HOSTS, 0);
	ck_assert_str_eq(ledger_by_hand(count, ""), "4\n");
	ck_ok(ledger_of_all(db, &a, 0, &l, &f));
	ck_assert_str_eq(text_of(&l), truth("1"));
	ck_ok(ledger_of_file(db, &a, 2, &l, &f));
	ck_assert_str_eq(text_of(&l), truth("fileset_id = 2"));
	ck_ok(ledger_of_host(db, &a, 3, &l, &f));
	ck_assert_str_eq(text_of(&l), truth("hostid = 3"));
	ck_ok(ledger_ended_to(db, LEDGER_HOSTS, 0, 1, &to, &f));
	ck_assert_int_eq(to, 1);
	ck_ok(ledger_ended_to(db, LEDGER_HOSTS, to, 1, &to, &f));
	ck_assert_int_eq(to, 3);
	ck_ok(ledger_ended_to(db, LEDGER_HOSTS, to, 1, &to, &f));
	ck_assert_int_eq(to, LEDGER_ENDED_SET - 1);
	ck_ok(ledger_ended_to(db, LEDGER_SETS, 0, 2, &to, &f));
	ck_assert_int_eq(to, LEDGER_ENDED_SET - 1);

	/* Two more sets go, one after the other: still one row. */
	ledger_by_hand("DELETE FROM fileset; DELETE FROM host", "");
	end_ledger_rows(LEDGER_SETS, 1);
	end_ledger_rows(LEDGER_HOSTS, 2);
	ck_assert_str_eq(ledger_by_hand(count, ""), "1\n");
	ck_ok(ledger_of_all(db, &a, 0, &l, &f));
	ck_assert_str_eq(text_of(&l), truth("1"));
}
END_TEST

static void quiet(const char *text)
{
	(void)text;
}

/* The ledger counts jobs sent before the adoption, once. */
START_TEST(an_adoption_marks_what_was_sent)
{
	int64_t *ids;

	ledger_by_hand("UPDATE result SET ready = NULL WHERE sent_time > 0; UPDATE "
		       "locus_schema SET version = 0",
	    "");
	ck_assert_uint_eq(due(&ids), 0);
	ck_ok(schema_upgrade(db, &a, false, quiet, &f));
	ck_sums();
	fold_all();
	ck_sums();
	ck_ok(schema_upgrade(db, &a, false, quiet, &f));
	ck_assert_uint_eq(due(&ids), 0);
}
END_TEST

UNIT_MAIN("ledger", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(it_says_what_the_results_say);
	ADD(a_job_counts_once);
	ADD(instances_share_the_work);
	ADD(killed_between_any_two_statements);
	ADD(nothing_is_purged_before_it_counts);
	ADD(what_was_folded_stays);
	ADD(old_days_are_summed_up);
	ADD(what_is_gone_leaves_one_row);
	ADD(an_adoption_marks_what_was_sent);
})
