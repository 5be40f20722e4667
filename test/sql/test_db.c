/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database layer on a real server, whose socket is $DB_SOCKET: claims, reports,
 * lost connections. The database "fresh" has the schema; every test makes its own rows
 * under its own names.
 */
#include "test/sql/world.h"

#include "db/id_walk.h"
#include "db/stmts.h"
#include "model/rows.h"
#include "lib/banned.h"

START_TEST(race_02_a_result_is_claimed_once)
{
	struct workunit wu;
	int64_t id = make_unsent_results("claim", 1, 900, 1, 1, &wu);
	struct result *r;

	ck_ok(claim(id, 11, 1, 0));
	ck_err(claim(id, 12, 2, 0), E_RACE);
	ck_ok(result_by_id(db, &a, id, &r, &f));
	ck_assert_int_eq(r->server_state, RESULT_IN_PROGRESS);
	ck_assert_int_eq(r->hostid, 11);
}
END_TEST

START_TEST(once_rule_is_the_index)
{
	struct workunit wu;
	int64_t id = make_unsent_results("once", 1, 901, 2, 1, &wu);

	ck_ok(claim(id, 11, 1, 1));
	ck_err(claim(id + 1, 12, 1, 1), E_RACE);
	ck_ok(claim(id + 1, 13, 2, 2));
}
END_TEST

START_TEST(two_claims_without_a_rule_do_not_collide)
{
	struct workunit wu;
	int64_t id = make_unsent_results("norule", 1, 902, 2, 1, &wu);

	ck_ok(claim(id, 11, 1, 0));
	ck_ok(claim(id + 1, 11, 1, 0));
}
END_TEST

static enum err report_result(
    int64_t id, int64_t hostid, int32_t state, int32_t outcome)
{
	struct dec_report d = { .result_id = id,
		.expect_state = state,
		.expect_outcome = outcome,
		.outcome = OUTCOME_SUCCESS };
	char raw[] = "\xff\xfe raw <stderr> \x01";
	struct rq_report r = {
		.state = CLIENT_UPLOADED, .stderr_out = raw, .xml_doc_out = raw
	};

	struct user user = { .id = 1 };

	struct db_batch *b = db_batch(&a, SQL_RESULT_REPORT);

	result_report_put(b, &d, &r, hostid, &user, 1500);
	return db_batch_all(db, b, &f);
}

START_TEST(a_report_expects_what_was_read)
{
	struct workunit wu;
	int64_t id = make_unsent_results("report", 1, 903, 1, 1, &wu);
	char *out, *err;

	ck_err(report_result(id, 11, RESULT_IN_PROGRESS, 0), E_RACE);
	ck_ok(claim(id, 11, 1, 0));
	ck_ok(report_result(id, 11, RESULT_IN_PROGRESS, OUTCOME_INIT));
	ck_err(report_result(id, 11, RESULT_IN_PROGRESS, OUTCOME_INIT), E_RACE);
	ck_ok(result_xml_docs(db, &a, id, NULL, &out, &err, &f));
	ck_assert_str_eq(err, "\xff\xfe raw <stderr> \x01");
	ck_assert_str_eq(out, err);
}
END_TEST

/*
 * A result is taken over only while in progress; its key of the once rule by host moves
 * with it.
 */
START_TEST(a_result_moves_to_another_host)
{
	struct workunit wu;
	int64_t id = make_unsent_results("move", 1, 905, 3, 1, &wu), n;
	struct result *r;

	ck_err(result_to_host(db, id, 31, 32, &f), E_RACE);
	ck_ok(claim(id, 31, 1, -31));
	ck_err(result_to_host(db, id, 30, 32, &f), E_RACE);
	ck_ok(result_to_host(db, id, 31, 32, &f));
	ck_ok(result_by_id(db, &a, id, &r, &f));
	ck_assert_int_eq(r->hostid, 32);
	ck_ok(claim(id + 1, 31, 1,
	    -31)); /* host 31 may have another result of the workunit now */
	ck_err(claim(id + 2, 32, 1, -32), E_RACE);
	ck_ok(result_to_host(db, id, 32, 31, &f)); /* back: host 31's key is taken */
	ck_ok(result_by_id(db, &a, id, &r, &f));
	ck_assert_int_eq(r->hostid, 31);
	ck_ok(db_number(
	    db, &f, &n, WUS_ONCE, .once = -31, .workunitids = db_ids(&wu.id, 1)));
	ck_assert_int_eq(n, wu.id);
	ck_ok(claim(id + 2, 32, 1, -32));
}
END_TEST

START_TEST(a_detached_result_may_still_be_reported)
{
	struct workunit wu, *now;
	int64_t id = make_unsent_results("detach", 1, 904, 1, 1, &wu);

	ck_ok(claim(id, 21, 1, 0));
	ck_ok(results_detach(db, &a, 21, 1200, &f));
	ck_ok(workunit_by_id(db, &a, wu.id, &now, &f));
	ck_assert_int_eq(now->transition_time, 1200);
	ck_assert_int_eq(now->transition_seq, 1);
	ck_ok(report_result(id, 21, RESULT_OVER, OUTCOME_CLIENT_DETACHED));
}
END_TEST

/* Changes made since a daemon read the workunit are not overwritten. */
START_TEST(asked_5_a_report_during_a_pass_is_not_lost)
{
	struct wu_updates *b = wu_updates_new(&a);
	struct workunit wu, *was, becomes, *now;
	int64_t id = make_unsent_results("pass", 1, 0, 1, 1, &wu);

	ck_ok(claim(id, 22, 1, 0));
	ck_ok(workunit_by_id(db, &a, wu.id, &was, &f));
	ck_ok(results_detach(
	    db, &a, 22, 1200, &f)); /* happens between reading and saving */
	becomes = *was;
	becomes.assimilate_state = ASSIMILATE_READY;
	becomes.transition_time = TRANSITION_NEVER;
	workunit_transitioned(b, was, &becomes, 1200);
	ck_err(wu_updates_save(db, b, &f), E_RACE);
	workunit_validated(b, was, &becomes);
	ck_err(wu_updates_save(db, b, &f), E_RACE);
	ck_err(workunits_purge(db, &a, &was, 1, &f), E_RACE);
	ck_ok(workunit_by_id(db, &a, wu.id, &now, &f));
	ck_assert_int_eq(now->transition_time, 1200); /* still due for transition */
	ck_assert_int_eq(now->assimilate_state, ASSIMILATE_INIT);
	becomes = *now;
	becomes.assimilate_state = ASSIMILATE_READY;
	workunit_transitioned(b, now, &becomes, 1200);
	ck_ok(wu_updates_save(db, b, &f));
	ck_ok(workunit_by_id(db, &a, wu.id, &now, &f));
	ck_assert_int_eq(now->assimilate_state, ASSIMILATE_READY);
}
END_TEST

START_TEST(a_killed_connection_is_retried)
{
	struct workunit wu, *read;
	int64_t id = make_unsent_results("killed", 1, 905, 1, 1, &wu);

	kill_connections();
	ck_err(workunit_by_id(db, &a, wu.id, &read, &f), E_RETRY);
	ck_ok(workunit_by_id(db, &a, wu.id, &read, &f));

	ck_ok(db_begin(db, &f));
	ck_ok(claim(id, 11, 1, 0));
	kill_connections();
	ck_err(claim(id, 11, 1, 0), E_RETRY);
	ck_err(claim(id, 11, 1, 0),
	    E_RETRY); /* a transaction does not continue on a new connection */
	db_rollback(db);
	ck_ok(db_begin(db, &f));
	ck_ok(claim(id, 11, 1, 0)); /* the server rolled the first claim back */
	ck_ok(db_commit(db, &f));
}
END_TEST

START_TEST(an_uncertain_commit_is_settled_by_the_token)
{
	struct host host = { .userid = 1 };
	int64_t token;

	ck_ok(host_insert(db, &host, &f));
	ck_ok(db_begin(db, &f));
	ck_ok(save_host(&host, 4711));
	kill_connections();
	ck_err(db_commit(db, &f), E_RETRY);
	ck_assert(db_commit_uncertain(db));
	ck_ok(host_token(db, host.id, &token, &f));
	ck_assert_int_eq(token, 0); /* so the transaction was not committed */
	ck_ok(db_begin(db, &f));
	ck_ok(save_host(&host, 4712));
	ck_ok(db_commit(db, &f));
	ck_assert(!db_commit_uncertain(db));
	ck_ok(host_token(db, host.id, &token, &f));
	ck_assert_int_eq(token, 4712);
}
END_TEST

START_TEST(a_lock_that_is_held_is_retried)
{
	struct workunit wu;
	int64_t id = make_unsent_results("locked", 1, 906, 1, 1, &wu);
	struct db *mine = db, *other;

	ck_ok(db_open(&cf, DB_WORK, &other, &f));
	ck_ok(db_begin(other, &f));
	db = other;
	ck_ok(claim(id, 11, 1, 0));
	db = mine;
	ck_err(claim(id, 12, 2, 0), E_RETRY);
	db_rollback(other);
	db_close(other);
	ck_ok(claim(id, 12, 2, 0));
}
END_TEST

START_TEST(work_begins_again_until_it_is_done)
{
	struct workunit wu;
	int64_t id = make_unsent_results("again", 1, 909, 1, 1, &wu);
	int attempt = 0, begun = 0;
	struct result *r;
	enum err e;

	do { /* its connection is lost twice */
		ck_ok(db_begin(db, &f));
		if (begun++ < 2)
			kill_connections();
		e = claim(id, 11, 1, 0);
		ck_assert(!db_commit_uncertain(db)); /* no COMMIT was tried */
	} while (db_again(db, &attempt, &e, &f));
	ck_ok(e);
	ck_assert_int_eq(begun, 3);
	ck_ok(db_begin(db, &f)); /* so the other transaction has ended */
	db_rollback(db);
	ck_ok(result_by_id(db, &a, id, &r, &f));
	ck_assert_int_eq(r->hostid, 11);

	attempt = begun = 0;
	do { /* never */
		ck_ok(db_begin(db, &f));
		begun++;
		e = E_RETRY;
	} while (db_again(db, &attempt, &e, &f));
	ck_err(e, E_RETRY);
	ck_assert_int_eq(begun, DB_TRIES);

	attempt = 0;
	ck_ok(db_begin(db, &f));
	e = claim(id, 12, 2, 0); /* lost: not tried again */
	ck_assert(!db_again(db, &attempt, &e, &f));
	ck_err(e, E_RACE);
	e = OK; /* without a transaction */
	ck_assert(!db_again(db, &attempt, &e, &f));
	ck_ok(e);
}
END_TEST

START_TEST(who_cannot_connect_is_told_why)
{
	struct conf bad = cf;
	struct db *none;

	bad.db_socket = arena_strdup(&a, "/nonexistent/mysql.sock");
	ck_err(db_open(&bad, DB_WORK, &none, &f), E_DB);
	ck_assert_ptr_nonnull(strstr(f.detail, "/nonexistent/mysql.sock"));
	bad = cf;
	bad.db_name = arena_strdup(&a, "no_such_database");
	ck_err(db_open(&bad, DB_WORK, &none, &f), E_CONFIG);
	ck_assert_ptr_nonnull(strstr(f.detail, "no_such_database"));
}
END_TEST

START_TEST(no_byte_fails_an_rpc)
{
	char every[300], *at = every;
	struct host host = { .userid = 2 }, *read;

	for (int round = 0; round < 299; round++)
		*at++ = (char)(1 + round % 255);
	*at = '\0';
	host.domain_name = host.os_name = host.misc = host.p_vendor = every;
	host.host_cpid = arena_strdup(&a, "every byte");
	ck_ok(host_insert(db, &host, &f));
	ck_ok(save_host(&host, 1));
	ck_ok(host_by_cpid(db, &a, 2, "every byte", &read, &f));
	ck_assert_int_eq(read->id, host.id);
	ck_assert_uint_eq(strlen(read->domain_name), DB_VARCHAR_MAX);
}
END_TEST

static enum err version_move(
    const struct host_app_version *was, const struct host_app_version *becomes)
{
	struct db_batch *b = db_batch(&a, SQL_HOST_APP_VERSION_MOVE);

	db_batch_add(b, HOST_APP_VERSION_MOVE, .becomes = becomes, .was = was);
	return db_batch_all(db, b, &f);
}

START_TEST(an_rpc_keeps_what_validation_learned)
{
	struct host_app_version becomes, *got,
	    seen = { .host_id = 77,
		    .app_version_id = 3,
		    .max_jobs_per_day = 8,
		    .consecutive_valid = 4 };
	struct result r = { .hostid = 77, .app_version_id = 3 };
	struct wu_updates *b = wu_updates_new(&a);
	const int64_t hosts[] = { 77, 78 };
	struct hav_table t;
	struct hav_entry *of;
	size_t n;

	ck_ok(db_exec(db, &f, NULL, HOST_APP_VERSION_INSERT, .hav = &seen));
	ck_assert_int_eq(
	    db_exec(db, &f, NULL, HOST_APP_VERSION_INSERT, .hav = &seen), E_RACE);
	ck_ok(havs_lock(db, &a, hosts, N(hosts), &t, &f));
	ck_assert_uint_eq(t.n, 1);
	of = hav_of(&t, &r, 10);
	ck_assert_int_eq(of->v.max_jobs_per_day, 8);
	of->v.consecutive_valid++;
	of->v.et_n = 1;
	of->v.et_avg = 5e-10;
	of->judged = true;
	ck_assert_ptr_eq(
	    hav_of(&t, &r, 10), of); /* several results give one row of samples */
	havs_judged(b, &t);
	ck_ok(wu_updates_save(db, b, &f));
	becomes = seen;
	becomes.n_jobs_today = 2;
	becomes.consecutive_valid = 0;
	ck_err(version_move(&seen, &becomes), E_RACE);
	ck_ok(host_app_versions(db, &a, &of->v.host_id, 1, &got, &n, &f));
	ck_assert_uint_eq(n, 1);
	ck_assert_int_eq(got->n_jobs_today, 0);
	ck_assert_int_eq(got->consecutive_valid, 5);
	ck_assert_double_eq(got->et_n, 1);
	ck_assert_double_eq_tol(got->et_avg, 5e-10, 1e-20);
	ck_ok(version_move(&of->v, &becomes));
	ck_ok(host_app_versions(db, &a, &of->v.host_id, 1, &got, &n, &f));
	ck_assert_int_eq(got->max_jobs_per_day, 8);
	ck_assert_int_eq(got->n_jobs_today, 2);
	ck_assert_int_eq(got->consecutive_valid, 0);
	ck_assert_double_eq(got->et_n, 1);
	r.hostid = 78; /* the first sample of it */
	of = hav_of(&t, &r, 10);
	ck_assert_int_eq(of->v.max_jobs_per_day, 10);
	ck_assert_ptr_eq(hav_of(&t, &r, 10), of);
	t.v[0].judged = false;
	of->judged = true;
	havs_judged(b, &t);
	ck_ok(wu_updates_save(db, b, &f));
	ck_ok(host_app_versions(db, &a, &r.hostid, 1, &got, &n, &f));
	ck_assert_uint_eq(n, 1);
}
END_TEST

/*
 * Rows that match count even if they do not change. A project's own SQL triggers spoil
 * the count of a bulk, and must not stop anybody.
 */
START_TEST(a_batch_tells_what_it_matched)
{
	struct workunit wu;
	int64_t id = make_unsent_results("batch", 1, 919, 3, 1, &wu), n;
	struct db_batch *b = db_batch(&a, SQL_RESULT_FILES_DELETED);

	for (int64_t i = 0; i < 3; i++)
		db_batch_add(
		    b, RESULT_FILES_DELETED, .becomes = 0, .id = id + i, .was = 0);
	ck_ok(db_batch_run(db, b, &n, &f));
	ck_assert_int_eq(n, 3);
	ck_ok(db_batch_all(db, b, &f));
	db_batch_add(b, RESULT_FILES_DELETED, .becomes = 0, .id = id + 2, .was = 1);
	ck_ok(db_batch_run(db, b, &n, &f));
	ck_assert_int_eq(n, 3);
	ck_err(db_batch_all(db, b, &f), E_RACE);

	b = db_batch(&a, SQL_RESULT_FILES_DELETED);
	sql_by_hand("CREATE TABLE noted (id BIGINT)");
	sql_by_hand("CREATE TRIGGER note AFTER UPDATE ON result FOR EACH ROW "
		    "INSERT INTO noted SELECT NEW.id FROM DUAL WHERE NEW.id % 2 = 0");
	for (int64_t i = 0; i < 3; i++)
		db_batch_add(
		    b, RESULT_FILES_DELETED, .becomes = 0, .id = id + i, .was = 0);
	enum err e = OK;
	for (int i = 0; i < 2; i++)
		e = db_batch_all(db, b, &f);
	sql_by_hand("DROP TRIGGER note");
	sql_by_hand("DROP TABLE noted");
	ck_ok(e);
}
END_TEST

/*
 * One row is not as expected, and an SQL trigger writes another one: the count of two
 * looks right.
 */
START_TEST(a_trigger_does_not_hide_what_did_not_match)
{
	struct workunit wu;
	int64_t id = make_unsent_results("hidden", 1, 920, 2, 1, &wu);
	struct db_batch *b = db_batch(&a, SQL_RESULT_FILES_DELETED);
	struct db *fresh;
	enum err e;

	sql_by_hand("CREATE TABLE noted (id BIGINT)");
	sql_by_hand("CREATE TRIGGER note AFTER UPDATE ON result FOR EACH ROW "
		    "INSERT INTO noted SELECT NEW.id");
	db_batch_add(b, RESULT_FILES_DELETED, .becomes = 0, .id = id, .was = 0);
	db_batch_add(b, RESULT_FILES_DELETED, .becomes = 0, .id = id + 1, .was = 1);
	ck_ok(db_open(&cf, DB_WORK, &fresh, &f));
	e = db_batch_all(fresh, b, &f);
	db_close(fresh);
	sql_by_hand("DROP TRIGGER note");
	sql_by_hand("DROP TABLE noted");
	ck_err(e, E_RACE);
}
END_TEST

static int64_t make_input_file(const char *name)
{
	struct file file = { .name = arena_strdup(&a, name),
		.md5sum = arena_strdup(&a, "") };

	ck_ok(file_insert(db, &file, &f));
	return file.id;
}

/* Rows that are gone are left out. */
START_TEST(held_files_are_written_when_they_change)
{
	const int64_t one = make_input_file("held 1"), two = make_input_file("held 2"),
		      three = make_input_file("held 3"), gone = three + 1000000;
	const int64_t first[] = { three, one, two },
		      second[] = { two, make_input_file("held 4"), gone };
	struct row_number *rows;
	size_t n;

	ck_ok(host_files_save(db, &a, 501, first, N(first), 1, &f));
	uint64_t before = db_statements(db);
	ck_ok(host_files_save(db, &a, 501, first, N(first), 2, &f));
	ck_assert_uint_eq(db_statements(db) - before, 1); /* a single read */
	ck_ok(host_files_save(db, &a, 501, second, N(second), 3, &f));
	ck_ok(db_query(db, &a, &f, &rows, &n, HOST_FILES, .hostid = 501));
	ck_assert_uint_eq(n, 2);
	ck_ok(host_files_save(db, &a, 501, NULL, 0, 4, &f));
	ck_ok(db_query(db, &a, &f, &rows, &n, HOST_FILES, .hostid = 501));
	ck_assert_uint_eq(n, 0);
}
END_TEST

/* One statement serves all times, and no row is put off. */
START_TEST(workunits_are_touched_each_at_its_time)
{
	const int64_t was[] = { 5000, 5000, 100 }, at[] = { 3000, 9000, 200 };
	const int64_t becomes[] = { 3000, 5000, 100 };
	struct row_pair pairs[N(was)];
	struct workunit *got;

	for (size_t i = 0; i < N(was); i++) {
		struct workunit wu = { .name = arena_printf(&a, "touch_each_%zu", i),
			.appid = 1,
			.transition_time = was[i] };

		ck_ok(workunit_insert(db, &wu, "<workunit/>", &f));
		pairs[i] = (struct row_pair){ wu.id, at[i] };
	}
	uint64_t before = db_statements(db);
	ck_ok(workunits_touch_each(db, pairs, N(pairs), &f));
	ck_assert_uint_eq(db_statements(db) - before, 1);
	for (size_t i = 0; i < N(was); i++) {
		ck_ok(workunit_by_id(db, &a, pairs[i].a, &got, &f));
		ck_assert_int_eq(got->transition_time, becomes[i]);
		ck_assert_int_eq(got->transition_seq, 1);
	}
}
END_TEST

START_TEST(a_host_comes_with_its_account)
{
	char *text = arena_strdup(&a, "");
	struct user user = { .email_addr = arena_strdup(&a, "glance@example.com"),
		.name = arena_strdup(&a, "glance"),
		.authenticator = arena_strdup(&a, "glance"),
		.global_prefs = text,
		.project_prefs = text };
	struct host host = { .domain_name = arena_strdup(&a, "glance"), .misc = text };
	struct row_host_account *both;
	struct workunit wu;
	size_t n;

	ck_ok(user_insert(db, &user, &f));
	host.userid = user.id;
	ck_ok(host_insert(db, &host, &f));
	ck_ok(hosts_and_accounts(db, &a, &host.id, 1, false, &both, &n, &f));
	ck_assert_int_eq(both->host.id, host.id);
	ck_assert_str_eq(both->host.domain_name, "glance");
	ck_assert_int_eq(both->user.id, user.id);
	ck_assert_str_eq(both->user.authenticator, "glance");
	ck_assert(both->glance.there && !both->glance.has_jobs);
	ck_ok(hosts_and_accounts(db, &a, &host.id, 1, true, &both, &n, &f));
	ck_assert(both->glance.has_jobs); /* from the client's request */
	ck_assert_str_eq(both->glance.team_name, "");
	ck_ok(claim(
	    make_unsent_results("glance", 1, 950, 1, 1, &wu), host.id, user.id, 0));
	ck_ok(hosts_and_accounts(db, &a, &host.id, 1, false, &both, &n, &f));
	ck_assert(both->glance.has_jobs);
	host.userid = 0; /* merged into another host */
	ck_ok(host_insert(db, &host, &f));
	ck_ok(hosts_and_accounts(db, &a, &host.id, 1, false, &both, &n, &f));
	ck_assert_int_eq(both->user.id, 0);
	host.id = 1 << 30;
	ck_ok(hosts_and_accounts(db, &a, &host.id, 1, false, &both, &n, &f));
	ck_assert_uint_eq(n, 0);
}
END_TEST

/*
 * If two logins replace a hash at once, the second finds it replaced and changes
 * nothing.
 */
START_TEST(a_replaced_hash_leaves_what_keys_need)
{
	char *text = arena_strdup(&a, "");
	struct user user = { .email_addr = arena_strdup(&a, "weak@example.com"),
		.name = text,
		.authenticator = arena_strdup(&a, "weak"),
		.passwd_hash = arena_strdup(&a, "md5"),
		.global_prefs = text,
		.project_prefs = text },
		    *read;
	struct user_info *info;

	ck_ok(user_insert(db, &user, &f));
	for (int i = 0; i < 2; i++) {
		struct user_keys k = { i == 0 ? "of" : "x", "weak", "rss" };

		ck_ok(user_set_passwd_hash(db, &user, i == 0 ? "new" : "y", &k, &f));
	}
	ck_ok(user_by_id(db, &a, user.id, &read, &f));
	ck_assert_str_eq(read->passwd_hash, "new");
	ck_assert_str_eq(read->old_keys_of, "of");
	ck_assert_str_eq(read->old_weak_key, "weak");
	ck_ok(account_by_id(db, &a, user.id, &info, &f));
	ck_assert_str_eq(info->old_keys_of, "of");
	ck_assert_str_eq(info->old_rss_key, "rss");
}
END_TEST

/* Slices have as many rows as was asked for, whatever the ids are. */
START_TEST(slices_of_ids_follow_the_rows)
{
	static const int64_t ahead[] = { INT64_C(3000000001), INT64_C(9000000000000000),
		IDS_END };
	int64_t at = IDS_BEGIN;

	sql_by_hand("DELETE FROM team");
	sql_by_hand("INSERT INTO team (id, name) VALUES (7, 'a'), (3000000001, 'b'), "
		    "(3000000002, 'c'), (9000000000000000, 'd'), "
		    "(9000000000000001, 'e')");
	for (size_t i = 0; i < N(ahead); i++) {
		ck_ok(ids_ahead(db, IDS_TEAMS, at, 2, &at, &f));
		ck_assert_int_eq(at, ahead[i]);
	}
	sql_by_hand("DELETE FROM team");
	ck_ok(ids_ahead(db, IDS_TEAMS, IDS_BEGIN, 1, &at, &f));
	ck_assert_int_eq(at, IDS_END);
}
END_TEST

UNIT_MAIN("db", {
	tcase_add_checked_fixture(tc, setup, teardown);
	ADD(race_02_a_result_is_claimed_once);
	ADD(workunits_are_touched_each_at_its_time);
	ADD(a_host_comes_with_its_account);
	ADD(a_replaced_hash_leaves_what_keys_need);
	ADD(slices_of_ids_follow_the_rows);
	ADD(once_rule_is_the_index);
	ADD(two_claims_without_a_rule_do_not_collide);
	ADD(a_report_expects_what_was_read);
	ADD(a_result_moves_to_another_host);
	ADD(a_detached_result_may_still_be_reported);
	ADD(asked_5_a_report_during_a_pass_is_not_lost);
	ADD(a_killed_connection_is_retried);
	ADD(an_uncertain_commit_is_settled_by_the_token);
	ADD(a_lock_that_is_held_is_retried);
	ADD(work_begins_again_until_it_is_done);
	ADD(who_cannot_connect_is_told_why);
	ADD(no_byte_fails_an_rpc);
	ADD(an_rpc_keeps_what_validation_learned);
	ADD(a_batch_tells_what_it_matched);
	ADD(a_trigger_does_not_hide_what_did_not_match);
	ADD(held_files_are_written_when_they_change);
})
