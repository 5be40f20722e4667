/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the upper limit of the database's throughput: transactions that read one
 * host, claim one result and update the host, on the tables of a project.
 *
 *   floor --socket PATH --database NAME --results FIRST:NUMBER --hosts FIRST:NUMBER
 *       [--connections N] [--seconds N]
 *
 * Each connection works on its own part of the results and of the hosts.
 */
#include <getopt.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>
#include <mysql.h>
#include "lib/arena.h"
#include "lib/clock.h"
#include "lib/banned.h"

static const char *const sql[] = {
	"SELECT * FROM host WHERE id = ?",
	"UPDATE result SET server_state = 4, ready = -9223372036854775807, hostid = ?, "
	"userid = ?, sent_time = ?, report_deadline = ?, app_version_id = 1, "
	"flops_estimate = 1e9, once = ?, bytes_saved = 1 WHERE id = ? AND server_state "
	"= 2",
	"UPDATE host SET rpc_seqno = rpc_seqno + 1, rpc_time = ?, rpc_token = ? "
	"WHERE id = ?",
};
enum {
	READ_HOST,
	CLAIM,
	SAVE_HOST,
	STATEMENTS,
	CONNECTIONS_MOST = 1024,
	DELAY_S = 864000
};

struct plan {
	const char *socket, *database;
	int64_t first_result, nresults, first_host, nhosts;
	int connections, seconds;
};

struct count {
	long long done, lost;
	double seconds;
};

/* Runs one statement with these arguments; fetches and discards its rows. */
static bool
run_statement(MYSQL_STMT *s, int64_t *args, unsigned n)
{
	MYSQL_BIND bind[8] = { 0 };

	for (unsigned i = 0; i < n; i++)
		bind[i] = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_LONGLONG,
			.buffer = &args[i] };
	if (mysql_stmt_bind_param(s, bind) != 0 || mysql_stmt_execute(s) != 0 ||
	    (mysql_stmt_field_count(s) > 0 && mysql_stmt_store_result(s) != 0)) {
		fprintf(stderr, "floor: %s\n", mysql_stmt_error(s));
		return false;
	}
	mysql_stmt_free_result(s);
	return true;
}

static MYSQL *
open_one(const struct plan *p, MYSQL_STMT **stmts)
{
	MYSQL *my = mysql_init(NULL);

	if (mysql_real_connect(my, NULL, "root", NULL, p->database, 0, p->socket,
		CLIENT_FOUND_ROWS) == NULL ||
	    mysql_autocommit(my, 0) != 0) {
		fprintf(stderr, "floor: %s\n", mysql_error(my));
		return NULL;
	}
	for (int i = 0; i < STATEMENTS; i++) {
		stmts[i] = mysql_stmt_init(my);
		if (mysql_stmt_prepare(stmts[i], sql[i], strlen(sql[i])) != 0) {
			fprintf(stderr, "floor: %s\n", mysql_stmt_error(stmts[i]));
			return NULL;
		}
	}
	return my;
}

static void
connection(const struct plan *p, int number, struct count *c)
{
	MYSQL_STMT *stmts[STATEMENTS];
	MYSQL *my = open_one(p, stmts);
	double start = clock_now_f();
	int64_t now = clock_now();
	bool good = my != NULL;

	for (int64_t i = number;
	     good && i < p->nresults && clock_now_f() < start + p->seconds;
	     i += p->connections) {
		int64_t host = p->first_host + i % p->nhosts;
		int64_t claim[] = { host, host, now, now + DELAY_S, host,
			p->first_result + i };
		int64_t save[] = { now, i, host };

		good = run_statement(stmts[READ_HOST], &host, 1) &&
		       run_statement(stmts[CLAIM], claim, N(claim));
		c->lost += good && mysql_stmt_affected_rows(stmts[CLAIM]) != 1;
		good = good && run_statement(stmts[SAVE_HOST], save, N(save)) &&
		       mysql_commit(my) == 0;
		c->done += good;
	}
	c->seconds = clock_now_f() - start;
	for (int i = 0; my != NULL && i < STATEMENTS; i++)
		mysql_stmt_close(stmts[i]);
	if (my != NULL)
		mysql_close(my);
}

static int
run_connections(const struct plan *p)
{
	size_t size = sizeof(struct count) * (size_t)p->connections;
	struct count *all = mmap(
	    NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	struct count sum = { 0 };
	struct rusage u;
	double rate = 0;

	if (all == MAP_FAILED)
		return 1;
	for (int i = 0; i < p->connections; i++)
		if (fork() == 0) {
			connection(p, i, &all[i]);
			_exit(0);
		}
	while (wait(NULL) > 0)
		;
	getrusage(RUSAGE_CHILDREN, &u);
	for (int i = 0; i < p->connections; i++) {
		sum.done += all[i].done;
		sum.lost += all[i].lost;
		rate += all[i].seconds > 0 ? (double)all[i].done / all[i].seconds : 0;
	}
	printf("floor: done=%lld lost=%lld rate=%.0f cpu=%.3f\n", sum.done, sum.lost,
	    rate,
	    (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	return sum.done > 0 ? 0 : 1;
}

static bool
span(const char *text, int64_t *first, int64_t *n)
{
	long long a, b;
	bool good = sscanf(text, "%lld:%lld", &a, &b) == 2 && b > 0;

	*first = good ? a : 0;
	*n = good ? b : 0;
	return good;
}

static bool
take_option(struct plan *p, int c)
{
	switch (c) {
	case 's':
		p->socket = optarg;
		return true;
	case 'd':
		p->database = optarg;
		return true;
	case 'r':
		return span(optarg, &p->first_result, &p->nresults);
	case 'h':
		return span(optarg, &p->first_host, &p->nhosts);
	case 'c':
		p->connections = (int)strtol(optarg, NULL, 10);
		return true;
	case 't':
		p->seconds = (int)strtol(optarg, NULL, 10);
		return true;
	default:
		return false;
	}
}

int
main(int argc, char **argv)
{
	static const struct option options[] = { { "socket", 1, NULL, 's' },
		{ "database", 1, NULL, 'd' }, { "results", 1, NULL, 'r' },
		{ "hosts", 1, NULL, 'h' }, { "connections", 1, NULL, 'c' },
		{ "seconds", 1, NULL, 't' }, { "sql", 0, NULL, 'q' },
		{ NULL, 0, NULL, 0 } };
	struct plan p = { .connections = 16, .seconds = 2 };
	bool good = true;
	int c;

	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == 'q') {
			for (int i = 0; i < STATEMENTS; i++)
				printf("floor: %s\n", sql[i]);
			puts("floor: COMMIT");
			return 0;
		}
		good = take_option(&p, c) && good;
	}
	if (!good || p.socket == NULL || p.database == NULL || p.nresults == 0 ||
	    p.nhosts == 0 || p.connections < 1 || p.connections > CONNECTIONS_MOST) {
		fprintf(stderr,
		    "usage: floor --socket PATH --database NAME --results FIRST:NUMBER "
		    "--hosts FIRST:NUMBER [--connections N] [--seconds N] | --sql\n");
		return 2;
	}
	return run_connections(&p);
}
