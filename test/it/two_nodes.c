/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions like those of the daemons, on two nodes of a Galera cluster at once, all
 * of which change the workunit THEIRS. Compares the first node's answers to COMMIT
 * with the rows: a transaction that the other node aborted must have left nothing, and
 * none that was committed may be missing. Each transaction has a new connection, as a
 * daemon's first transactions prepare most of their statements.
 *
 *   two_nodes SOCKET OTHER_SOCKET DATABASE THEIRS FIRST LAST
 *
 * FIRST and LAST are ids of workunits that nobody else changes. Afterwards both nodes
 * count demand for file set 1, with one statement per count.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { ENDED = 150, ROUNDS = 20000, COUNTS = 300 }; /* ROUNDS is a limit */

static struct arena a;
static struct fail f;
static char none[1], root[] = "root";
static struct conf cf = { .db_user = root, .db_host = none, .db_passwd = none };

static struct db *node_open(void)
{
	struct db *db;

	if (db_open(&cf, DB_WORK, &db, &f) != OK) {
		fprintf(stderr, "two_nodes: %s\n", f.detail);
		_exit(1);
	}
	return db;
}

/* Touches THEIRS on the other node until it is killed. */
static void disturb(int64_t theirs)
{
	struct db *db = node_open();

	for (;;) {
		if (workunits_touch(db, &theirs, 1, 1, &f) != OK)
			db_rollback(db);
		clock_nap_ms(1);
	}
}

/* One transaction. The rows that it reads do not matter and may be missing. */
static enum err touch_all(
    struct db *db, const int64_t *theirs, const int64_t *first, const int64_t *last)
{
	static const enum stmt_id reads[] = { SQL_USER_BY_ID, SQL_ACCOUNT_BY_ID,
		SQL_TEAM_NAME, SQL_HOST_BY_ID, SQL_HOST_TOKEN, SQL_APP_BY_ID,
		SQL_FILESET_BY_ID, SQL_WU_XML_DOC, SQL_RESULT_BY_ID, SQL_RESULT_DOCS };
	const args_USER_BY_ID args = { .id = 1 }; /* all of them take an id */
	enum err e = db_begin(db, &f);
	void *row;

	if (e == OK)
		e = workunits_touch(db, theirs, 1, 1, &f);
	if (e == OK)
		e = workunits_touch(db, first, 1, 1, &f);
	for (size_t i = 0; i < N(reads) && e == OK; i++) {
		e = db_run_row(db, &a, &f, &row, reads[i], &args);
		e = e == E_NOTFOUND ? OK : e;
	}
	if (e == OK)
		e = workunits_touch(db, last, 1, 1, &f);
	return e == OK ? db_commit(db, &f) : e;
}

/* Returns how often the workunit was touched. */
static int64_t times_touched(int64_t id)
{
	struct db *db = node_open();
	struct workunit *row = NULL;

	if (db_row(db, &a, &f, &row, WU_BY_ID, .id = id) != OK) {
		fprintf(stderr, "two_nodes: %s\n", f.detail);
		_exit(1);
	}
	db_close(db);
	return row->transition_seq;
}

/* Counts demand. Returns the number of failures, at most 100 to fit into an exit
 * status. */
static int node_count_demand(void)
{
	struct db *db = node_open();
	int64_t id = 1;
	int bad = 0;

	for (int i = 0; i < COUNTS; i++)
		if (db_exec(db, &f, NULL, FILESETS_DEMANDED, .now = i,
			.ids = db_ids(&id, 1)) != OK)
			bad++;
	if (bad > 0)
		fprintf(stderr, "two_nodes: %s\n", f.detail);
	db_close(db);
	return bad < 100 ? bad : 100;
}

static int64_t demand_counted(void)
{
	struct db *db = node_open();
	struct fileset *set;

	if (db_begin_current(db, &f) != OK ||
	    fileset_by_id(db, &a, 1, &set, &f) != OK) {
		fprintf(stderr, "two_nodes: %s\n", f.detail);
		_exit(1);
	}
	db_rollback(db);
	db_close(db);
	return set->demand;
}

/*
 * Tells whether all demand was counted except what failed, and hardly any failed.
 * (Without a retry one in five fails.)
 */
static bool both_count(char *sock, char *other_sock)
{
	int64_t before = demand_counted();
	int here, there = 0;
	pid_t other;

	cf.db_socket = other_sock;
	if ((other = fork()) == 0)
		_exit(node_count_demand());
	cf.db_socket = sock;
	here = node_count_demand();
	waitpid(other, &there, 0);
	int64_t n = demand_counted() - before;
	int failed = here + WEXITSTATUS(there);
	printf("counts=%d counted=%lld failed=%d\n", 2 * COUNTS, (long long)n, failed);
	return n == 2 * COUNTS - failed && failed * 50 < 2 * COUNTS;
}

int main(int argc, char **argv)
{
	int64_t id[3], done = 0, ended = 0, first, last;
	int rounds;
	pid_t other;

	if (argc != 7)
		return 2;
	for (int i = 0; i < 3; i++)
		id[i] = strtoll(argv[4 + i], NULL, 10);
	cf.db_name = argv[3];
	cf.db_socket = argv[2];
	if ((other = fork()) == 0)
		disturb(id[0]);
	cf.db_socket = argv[1];
	first = times_touched(id[1]);
	last = times_touched(id[2]);
	for (rounds = 0; rounds < ROUNDS && ended < ENDED; rounds++) {
		struct db *db = node_open();
		enum err e = touch_all(db, &id[0], &id[1], &id[2]);

		done += e == OK;
		ended += e == E_RETRY;
		if (e != OK && e != E_RETRY)
			fprintf(stderr, "two_nodes: %s\n", f.detail);
		db_rollback(db);
		db_close(db);
		arena_reset(&a);
	}
	kill(other, SIGKILL);
	waitpid(other, NULL, 0);
	first = times_touched(id[1]) - first;
	last = times_touched(id[2]) - last;
	printf("done=%lld ended=%lld first=%lld last=%lld\n", (long long)done,
	    (long long)ended, (long long)first, (long long)last);
	bool right = done == first && done == last && ended > 0 && done > 0;
	return both_count(argv[1], argv[2]) && right ? 0 : 1;
}
