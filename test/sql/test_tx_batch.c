/* SPDX-License-Identifier: Apache-2.0 */
/* Transactions in one message (db/tx_batch.c), against a real server. */
#include "test/sql/world.h"

#include "model/rows.h"
#include "lib/banned.h"

/* Claims both results for a host in one message. */
static enum err claim_two(int64_t first, int64_t second, int64_t hostid, int64_t once)
{
	enum err e = db_begin_tx_batch(db, &f);

	if (e == OK)
		e = claim(first, hostid, 1, once);
	if (e == OK)
		e = claim(second, hostid, 1, once);
	if (e == OK)
		e = db_commit(db, &f);
	if (e != OK)
		db_rollback(db);
	return e;
}

static int64_t host_of(int64_t result_id)
{
	struct result *r;

	ck_ok(result_by_id(db, &a, result_id, &r, &f));
	return r->hostid;
}

/*
 * The caller must go statement by statement: nothing is committed, and nothing is
 * uncertain.
 */
static void ck_refused(enum err e)
{
	ck_err(e, E_RETRY);
	ck_assert(db_tx_batch_refused(db) && !db_commit_uncertain(db));
}

/* Runs two claims, so that the connection knows this kind of transaction. */
static void make_known(void)
{
	ck_refused(claim_two(1 << 30, 1 << 30, 1, 0));
}

START_TEST(what_came_once_goes_in_one_message)
{
	struct workunit wu;
	int64_t id = make_unsent_results("together", 1, 960, 4, 1, &wu);

	ck_refused(claim_two(id, id + 1, 11, 0));
	ck_assert_int_eq(host_of(id), 0);
	uint64_t before = db_statements(db);
	ck_ok(claim_two(id, id + 1, 11, 0));
	ck_assert(!db_tx_batch_refused(db));
	ck_assert_uint_eq(db_statements(db) - before, 4); /* BEGIN, COMMIT */
	ck_assert_int_eq(host_of(id), 11);
	ck_assert_int_eq(host_of(id + 1), 11);
	ck_ok(claim_two(id + 2, id + 3, 12, 0));
	ck_assert_int_eq(host_of(id + 3), 12);
}
END_TEST

/*
 * One of two claims is lost or breaks the once rule: neither is committed, whichever it
 * is, and the connection is as after a rollback.
 */
START_TEST(what_is_not_as_read_undoes_all)
{
	struct workunit wu;
	int64_t id = make_unsent_results("undone", 1, 961, 4, 1, &wu);

	make_known();
	ck_ok(claim(id, 21, 1, 0));
	ck_refused(claim_two(id, id + 1, 22, 0));
	ck_refused(claim_two(id + 1, id, 22, 0));
	ck_refused(claim_two(id + 1, id + 2, 22, 7)); /* both for the same account */
	for (int64_t i = 1; i < 4; i++)
		ck_assert_int_eq(host_of(id + i), 0);
	ck_ok(db_begin(db, &f));
	ck_assert(!db_tx_batch_refused(db));
	ck_ok(claim(id + 1, 22, 1, 0));
	ck_ok(db_commit(db, &f));
	ck_ok(claim_two(id + 2, id + 3, 23, 0));
}
END_TEST

/* Rows written by a project's own SQL trigger are not counted as matches. */
START_TEST(a_trigger_does_not_spoil_the_counts)
{
	struct workunit wu;
	int64_t id = make_unsent_results("together_trigger", 1, 962, 3, 1, &wu);

	make_known();
	sql_by_hand("CREATE TABLE noted (id BIGINT)");
	sql_by_hand("CREATE TRIGGER note AFTER UPDATE ON result FOR EACH ROW "
		    "INSERT INTO noted SELECT NEW.id UNION ALL SELECT 1");
	enum err both = claim_two(id, id + 1, 31, 0);
	enum err one = claim_two(id + 2, id + 1, 32, 0);
	sql_by_hand("DROP TRIGGER note");
	sql_by_hand("DROP TABLE noted");
	ck_ok(both);
	ck_refused(one);
	ck_assert_int_eq(host_of(id + 2), 0);
}
END_TEST

START_TEST(what_cannot_wait_is_refused)
{
	struct host_app_version hav = { .host_id = 41, .app_version_id = 1 };
	struct workunit wu, *read;
	int64_t id = make_unsent_results("cannot_wait", 1, 963, 20, 1, &wu);

	ck_ok(db_begin_tx_batch(db, &f));
	ck_refused(workunit_by_id(db, &a, wu.id, &read, &f));
	db_rollback(db);
	ck_ok(workunit_by_id(db, &a, wu.id, &read, &f));
	ck_ok(db_begin_tx_batch(db, &f));
	ck_refused(db_exec(db, &f, NULL, HOST_APP_VERSION_INSERT, .hav = &hav));
	db_rollback(db);
	ck_ok(db_begin_tx_batch(db, &f));
	for (int64_t i = 0; i < 16; i++)
		ck_ok(claim(id + i, 41, 1, 0));
	for (int i = 0; i < 2; i++) { /* the second transaction could be batched */
		ck_refused(claim(id + 16, 41, 1, 0));
		ck_refused(db_commit(db, &f));
		ck_assert_int_eq(host_of(id), 0);
		ck_ok(db_begin_tx_batch(db, &f));
		for (int64_t k = 0; k < 16; k++)
			ck_ok(claim(id + k, 41, 1, 0));
	}
	db_rollback(db);
	ck_assert_int_eq(host_of(id), 0);
	char *text = arena_alloc(&a, 300 * 1024 + 1);
	memset(text, 'x', 300 * 1024);
	text[300 * 1024] = '\0';
	ck_ok(db_begin_tx_batch(db, &f));
	ck_ok(user_set_prefs(db, 1, text, &f));
	ck_refused(user_set_prefs(db, 1, text, &f));
	db_rollback(db);
}
END_TEST

/* The caller's list may be gone by the time the statement is sent. */
START_TEST(arguments_are_kept)
{
	struct workunit wu;
	int64_t id = make_unsent_results("kept", 1, 964, 2, 5000, &wu);
	struct workunit *got;

	for (int i = 0; i < 2; i++) {
		struct row_pair pairs[] = { { wu.id, 100 + i }, { wu.id, 100 + i } };

		ck_ok(db_begin_tx_batch(db, &f));
		ck_ok(workunits_touch_each(db, pairs, N(pairs), &f));
		memset(pairs, 0xff, sizeof(pairs));
		ck_ok(claim(id, 51, 1, 0));
		if (i == 0)
			ck_refused(db_commit(db, &f));
		else
			ck_ok(db_commit(db, &f));
	}
	ck_ok(workunit_by_id(db, &a, wu.id, &got, &f));
	ck_assert_int_eq(got->transition_seq, 1);
	ck_assert_int_eq(got->transition_time, 101);
}
END_TEST

/* A connection forgets the oldest of too many kinds of transactions. */
START_TEST(the_oldest_programs_make_room)
{
	enum { KINDS = 40, LISTS = 4 };
	struct workunit wu;
	int64_t id = make_unsent_results("room", 1, 965, 1, 5000, &wu);
	struct workunit *got;
	int64_t ids[64];

	for (size_t i = 0; i < N(ids); i++)
		ids[i] = wu.id;
	for (int round = 0; round < 2 * KINDS; round++) {
		static const size_t lens[LISTS] = { 1, 4, 16, 64 };
		int kind = round / 2;

		ck_ok(db_begin_tx_batch(db, &f));
		for (int i = 0, k = kind; i < 3; i++, k /= LISTS)
			ck_ok(workunits_touch(db, ids, lens[k % LISTS], 1, &f));
		if (round % 2 == 0)
			ck_refused(db_commit(db, &f));
		else
			ck_ok(db_commit(db, &f));
	}
	ck_ok(workunit_by_id(db, &a, wu.id, &got, &f));
	ck_assert_int_eq(got->transition_seq, 3 * KINDS);
	ck_assert_int_eq(host_of(id), 0);
}
END_TEST

/* Acts as a server without such statements: from then on each goes alone. */
START_TEST(a_server_that_prepares_none_is_not_asked_again)
{
	struct workunit wu;
	int64_t id = make_unsent_results("unable", 1, 967, 3, 1, &wu);

	ck_ok(claim(id, 71, 1, 0));
	make_known();
	sql_by_hand("SET GLOBAL max_prepared_stmt_count = 0");
	enum err first = claim_two(id + 1, id + 2, 72, 0);
	bool refused = db_tx_batch_refused(db);
	enum err second = claim_two(id + 1, id + 2, 72, 0);
	sql_by_hand("SET GLOBAL max_prepared_stmt_count = DEFAULT");
	ck_err(first, E_RETRY);
	ck_assert(refused);
	ck_ok(second);
	ck_assert_int_eq(host_of(id + 2), 72);
}
END_TEST

START_TEST(a_lock_that_is_held_is_retried)
{
	struct workunit wu;
	int64_t id = make_unsent_results("together_locked", 1, 966, 2, 1, &wu);
	struct db *mine = db, *other;

	if (getenv("LOCUS_TEST_MYSQLD") == NULL)
		make_known();
	ck_ok(db_open(&cf, DB_WORK, &other, &f));
	ck_ok(db_begin(other, &f));
	db = other;
	ck_ok(claim(id + 1, 61, 1, 0));
	db = mine;
	ck_err(claim_two(id, id + 1, 62, 0), E_RETRY);
	ck_assert(!db_tx_batch_refused(db) && !db_commit_uncertain(db));
	db_rollback(other);
	db_close(other);
	ck_assert_int_eq(host_of(id), 0);
	ck_ok(claim_two(id, id + 1, 62, 0));
}
END_TEST

/*
 * Only the row's token tells whether the commit was done before the connection broke.
 */
START_TEST(a_lost_connection_is_uncertain)
{
	struct host host = { .userid = 1 };
	int64_t token;

	ck_ok(host_insert(db, &host, &f));
	for (int64_t i = 1; i <= 3; i++) {
		ck_ok(db_begin_tx_batch(db, &f));
		ck_ok(save_host(&host, 4710 + i));
		if (i == 3)
			kill_connections();
		ck_err(db_commit(db, &f), i == 1 ? E_RETRY : i == 2 ? OK : E_RETRY);
	}
	ck_assert(db_commit_uncertain(db));
	ck_ok(host_token(db, host.id, &token, &f));
	ck_assert_int_eq(token, 4712);
	ck_ok(db_begin_tx_batch(db, &f)); /* a new connection knows no transactions */
	ck_ok(save_host(&host, 4714));
	ck_refused(db_commit(db, &f));
}
END_TEST

/* On a server that is not MariaDB each statement goes alone, every time. */
START_TEST(another_server_takes_them_one_by_one)
{
	struct workunit wu;
	int64_t id = make_unsent_results("alone", 1, 968, 4, 1, &wu);

	ck_ok(claim_two(id, id + 1, 81, 0));
	ck_ok(claim_two(id + 2, id + 3, 82, 0));
	ck_assert_int_eq(host_of(id + 1), 81);
	ck_err(claim_two(id, id + 1, 83, 0), E_RACE);
	ck_assert(!db_tx_batch_refused(db));
	ck_assert_int_eq(host_of(id), 81);
}
END_TEST

UNIT_MAIN("together", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(a_lock_that_is_held_is_retried);
	if (getenv("LOCUS_TEST_MYSQLD") != NULL) {
		ADD(another_server_takes_them_one_by_one);
	} else {
		ADD(what_came_once_goes_in_one_message);
		ADD(what_is_not_as_read_undoes_all);
		ADD(a_trigger_does_not_spoil_the_counts);
		ADD(what_cannot_wait_is_refused);
		ADD(arguments_are_kept);
		ADD(the_oldest_programs_make_room);
		ADD(a_server_that_prepares_none_is_not_asked_again);
		ADD(a_lost_connection_is_uncertain);
	}
})
