/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Transactions as the daemons have them, on two nodes of a Galera cluster at once, and
 * all change the workunit THEIRS.  What the first node answers to COMMIT is held
 * against what stands: of a transaction that the other node's ended nothing may be
 * there, and none that is done may be missing.  Its connection is a new one each time,
 * as a daemon's first transactions prepare most of what they run.
 *
 *   two_nodes SOCKET OTHER_SOCKET DATABASE THEIRS FIRST LAST
 *
 * FIRST and LAST are ids of workunits that nobody else changes.  Then both nodes count
 * demand for file set 1, each time by a statement of its own.
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

enum { ENDED = 150, ROUNDS = 20000, COUNTS = 300 }; /* rounds: at most */

static struct arena a;
static struct fail f;
static char none[1], root[] = "root";
static struct conf cf = { .db_user = root, .db_host = none, .db_passwd = none };

static struct db *
open_db(void)
{
	struct db *db;

	if (db_open(&cf, DB_WORK, &db, &f) != OK) {
		fprintf(stderr, "two_nodes: %s\n", f.detail);
		_exit(1);
	}
	return db;
}

/* The other node: until it is ended. */
static void
disturb(int64_t theirs)
{
	struct db *db = open_db();

	for (;;) {
		if (workunits_touch(db, &theirs, 1, 1, &f) != OK)
			db_rollback(db);
		clock_nap_ms(1);
	}
}

/* One transaction; the rows that it reads are no matter, and may be missing. */
static enum err
change(struct db *db, const int64_t *theirs, const int64_t *first, const int64_t *last)
{
	static const enum stmt_id reads[] = { SQL_USER_BY_ID, SQL_ACCOUNT_BY_ID,
		SQL_TEAM_NAME, SQL_HOST_BY_ID, SQL_HOST_TOKEN, SQL_APP_BY_ID,
		SQL_FILESET_BY_ID, SQL_WU_XML_DOC, SQL_RESULT_BY_ID, SQL_RESULT_DOCS };
	const args_USER_BY_ID args = { .id = 1 }; /* of each of them: an id */
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

/* How often it was touched. */
static int64_t
touched(int64_t id)
{
	struct db *db = open_db();
	struct workunit *row = NULL;

	if (db_row(db, &a, &f, &row, WU_BY_ID, .id = id) != OK) {
		fprintf(stderr, "two_nodes: %s\n", f.detail);
		_exit(1);
	}
	db_close(db);
	return row->transition_seq;
}

/* How many failed, at most 100, the most that an exit status can tell. */
static int
count(void)
{
	struct db *db = open_db();
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

static int64_t
counted(void)
{
	struct db *db = open_db();
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
 * true: all is counted but what they say has failed, and that is next to nothing.  (One
 * in five fails of those that are not tried again.)
 */
static bool
both_count(char *sock, char *other_sock)
{
	int64_t before = counted();
	int here, there = 0;
	pid_t other;

	cf.db_socket = other_sock;
	if ((other = fork()) == 0)
		_exit(count());
	cf.db_socket = sock;
	here = count();
	waitpid(other, &there, 0);
	int64_t n = counted() - before;
	int failed = here + WEXITSTATUS(there);
	printf("counts=%d counted=%lld failed=%d\n", 2 * COUNTS, (long long)n, failed);
	return n == 2 * COUNTS - failed && failed * 50 < 2 * COUNTS;
}

int
main(int argc, char **argv)
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
	first = touched(id[1]);
	last = touched(id[2]);
	for (rounds = 0; rounds < ROUNDS && ended < ENDED; rounds++) {
		struct db *db = open_db();
		enum err e = change(db, &id[0], &id[1], &id[2]);

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
	first = touched(id[1]) - first;
	last = touched(id[2]) - last;
	printf("done=%lld ended=%lld first=%lld last=%lld\n", (long long)done,
	    (long long)ended, (long long)first, (long long)last);
	bool right = done == first && done == last && ended > 0 && done > 0;
	return both_count(argv[1], argv[2]) && right ? 0 : 1;
}
