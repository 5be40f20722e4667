/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Measures the upper limit of the database's throughput: transactions that read one
 * host, claim one result and update the host, on the tables of a project.
 *
 *   floor --socket PATH --database NAME --results FIRST:NUMBER --hosts FIRST:NUMBER
 *       [--claims N] [--connections N] [--seconds N]
 *
 * With --claims N each transaction does that for N hosts: one statement with a list
 * reads the hosts, one bulk message claims N results, another updates the N hosts.
 * Figures are per claim. Each connection works on its own part of the results and of
 * the hosts.
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
	("UPDATE result SET server_state = 4, ready = -9223372036854775807, hostid = ?, "
	 "userid = ?, sent_time = ?, report_deadline = ?, app_version_id = 1, "
	 "flops_estimate = 1e9, once = ?, bytes_saved = 1 WHERE id = ? AND server_state "
	 "= 2"),
	("UPDATE host SET rpc_seqno = rpc_seqno + 1, rpc_time = ?, rpc_token = ? "
	 "WHERE id = ?"),
};
enum {
	READ_HOST,
	CLAIM,
	SAVE_HOST,
	STATEMENTS,
	CONNECTIONS_MOST = 1024,
	CLAIMS_MOST = 64,
	COLUMNS = 6, /* most arguments of a statement with arrays */
	DELAY_S = 864000
};

struct plan {
	const char *socket, *database;
	int64_t first_result, nresults, first_host, nhosts;
	int connections, seconds, claims;
};

/* Arguments of a statement, one array for each. */
typedef int64_t columns[COLUMNS][CLAIMS_MOST];

struct count {
	long long done, lost;
	double seconds;
};

/*
 * Runs one statement, for each of `rows` rows of arguments in one message; fetches and
 * discards the rows it returns.
 */
static bool run_statement(MYSQL_STMT *s, columns args, unsigned n, unsigned rows)
{
	MYSQL_BIND bind[COLUMNS] = { 0 };

	for (unsigned i = 0; i < n; i++)
		bind[i] = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_LONGLONG,
			.buffer = args[i] };
	if ((rows > 1 && mysql_stmt_attr_set(s, STMT_ATTR_ARRAY_SIZE, &rows) != 0) ||
	    mysql_stmt_bind_param(s, bind) != 0 || mysql_stmt_execute(s) != 0 ||
	    (mysql_stmt_field_count(s) > 0 && mysql_stmt_store_result(s) != 0)) {
		fprintf(stderr, "floor: %s\n", mysql_stmt_error(s));
		return false;
	}
	mysql_stmt_free_result(s);
	return true;
}

/* Reads the hosts in the first array with one list. */
static bool read_hosts(MYSQL_STMT *s, columns hosts, unsigned n)
{
	MYSQL_BIND bind[CLAIMS_MOST] = { 0 };

	for (unsigned i = 0; i < n; i++)
		bind[i] = (MYSQL_BIND){ .buffer_type = MYSQL_TYPE_LONGLONG,
			.buffer = &hosts[0][i] };
	if (mysql_stmt_bind_param(s, bind) != 0 || mysql_stmt_execute(s) != 0 ||
	    mysql_stmt_store_result(s) != 0) {
		fprintf(stderr, "floor: %s\n", mysql_stmt_error(s));
		return false;
	}
	mysql_stmt_free_result(s);
	return true;
}

/* Returns the text of a statement of the plan. */
static const char *sql_text(
    const struct plan *p, int statement, char *list, size_t size)
{
	size_t n;

	if (statement != READ_HOST || p->claims == 1)
		return sql[statement];
	n = (size_t)snprintf(list, size, "SELECT * FROM host WHERE id IN (?");
	for (int i = 1; i < p->claims; i++)
		n += (size_t)snprintf(list + n, size - n, ", ?");
	snprintf(list + n, size - n, ")");
	return list;
}

static MYSQL *open_one(const struct plan *p, MYSQL_STMT **stmts)
{
	MYSQL *my = mysql_init(NULL);
	char list[CLAIMS_MOST * 3 + 50];

	if (mysql_real_connect(my, NULL, "root", NULL, p->database, 0, p->socket,
		CLIENT_FOUND_ROWS) == NULL ||
	    mysql_autocommit(my, 0) != 0) {
		fprintf(stderr, "floor: %s\n", mysql_error(my));
		return NULL;
	}
	for (int i = 0; i < STATEMENTS; i++) {
		const char *text = sql_text(p, i, list, sizeof(list));

		stmts[i] = mysql_stmt_init(my);
		if (mysql_stmt_prepare(stmts[i], text, strlen(text)) != 0) {
			fprintf(stderr, "floor: %s\n", mysql_stmt_error(stmts[i]));
			return NULL;
		}
	}
	return my;
}

/* One transaction that claims the results from `first` on. */
static bool transaction(
    const struct plan *p, MYSQL *my, MYSQL_STMT **stmts, int64_t first, struct count *c)
{
	unsigned n = (unsigned)p->claims;
	int64_t now = clock_now();
	columns hosts = { 0 }, claim = { 0 }, save = { 0 };

	for (unsigned k = 0; k < n; k++) {
		int64_t host = p->first_host + (first + k) % p->nhosts;
		int64_t args[COLUMNS] = { host, host, now, now + DELAY_S, host,
			p->first_result + first + k };

		hosts[0][k] = host;
		for (int i = 0; i < COLUMNS; i++)
			claim[i][k] = args[i];
		save[0][k] = now;
		save[1][k] = first + k;
		save[2][k] = host;
	}
	if (!read_hosts(stmts[READ_HOST], hosts, n) ||
	    !run_statement(stmts[CLAIM], claim, COLUMNS, n))
		return false;
	c->lost += n - (long long)mysql_stmt_affected_rows(stmts[CLAIM]);
	if (!run_statement(stmts[SAVE_HOST], save, 3, n) || mysql_commit(my) != 0)
		return false;
	c->done += n;
	return true;
}

static void connection(const struct plan *p, int number, struct count *c)
{
	MYSQL_STMT *stmts[STATEMENTS];
	MYSQL *my = open_one(p, stmts);
	double start = clock_now_f();
	bool good = my != NULL;

	for (int64_t i = (int64_t)number * p->claims;
	     good && i + p->claims <= p->nresults && clock_now_f() < start + p->seconds;
	     i += (int64_t)p->connections * p->claims)
		good = transaction(p, my, stmts, i, c);
	c->seconds = clock_now_f() - start;
	for (int i = 0; my != NULL && i < STATEMENTS; i++)
		mysql_stmt_close(stmts[i]);
	if (my != NULL)
		mysql_close(my);
}

static int run_connections(const struct plan *p)
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
	printf("floor: done=%lld lost=%lld claims=%d connections=%d rate=%.0f "
	       "cpu=%.3f\n",
	    sum.done, sum.lost, p->claims, p->connections, rate,
	    (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
		(double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6);
	return sum.done > 0 ? 0 : 1;
}

static bool span(const char *text, int64_t *first, int64_t *n)
{
	long long a, b;
	bool good = sscanf(text, "%lld:%lld", &a, &b) == 2 && b > 0;

	*first = good ? a : 0;
	*n = good ? b : 0;
	return good;
}

static bool take_option(struct plan *p, int c)
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
	case 'n':
		p->claims = (int)strtol(optarg, NULL, 10);
		return p->claims >= 1 && p->claims <= CLAIMS_MOST;
	default:
		return false;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = { { "socket", 1, NULL, 's' },
		{ "database", 1, NULL, 'd' }, { "results", 1, NULL, 'r' },
		{ "hosts", 1, NULL, 'h' }, { "connections", 1, NULL, 'c' },
		{ "seconds", 1, NULL, 't' }, { "claims", 1, NULL, 'n' },
		{ "sql", 0, NULL, 'q' }, { NULL, 0, NULL, 0 } };
	struct plan p = { .connections = 16, .seconds = 2, .claims = 1 };
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
		    "--hosts FIRST:NUMBER [--claims N] [--connections N] "
		    "[--seconds N] | --sql\n");
		return 2;
	}
	/* so many that a connection always gets the same ones */
	p.nhosts -= p.nhosts % ((int64_t)p.connections * p.claims);
	if (p.nhosts == 0) {
		fprintf(stderr, "floor: too few hosts\n");
		return 2;
	}
	return run_connections(&p);
}
