/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load generator's simulated hosts, their request template, the log of events, and
 * the connections.
 */
#ifndef TEST_BENCH_LOAD_H
#define TEST_BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/buf.h"

enum { TASKS = 64, HOLD_MOST = 5000, MORE_HELD = 12, TASK_NAME = 28, FILE_DIGITS = 6 };

/* What each host does; see options[] in load.c. */
struct habits {
	int first_host, nhosts;
	int per_account; /* hosts of one account, whose number is that of the first */
	int first_file, nfiles; /* files to hold are drawn from these */
	int hold;               /* number of files held from the start */
	bool forget;          /* files downloaded later are gone by the next request */
	int want, first_want; /* jobs asked for; in the first request */
	int instances;        /* idle CPUs, for which they are asked */
	int report;           /* results reported in one request at most */
	double file_bytes, job_s;
};

struct host {
	int64_t id, seqno;
	bool busy;
	int ntasks, nheld;
	char tasks[TASKS][TASK_NAME]; /* names of results, oldest first */
	int *held;         /* numbers of files; room for habits.hold + MORE_HELD */
	int reported;      /* tasks[0..reported) are in the open request */
	double not_before; /* when the server, which was busy, asked it to come back */
};

enum event_kind { SENT, ACKED };
struct event {
	char name[TASK_NAME];
	int host;
	enum event_kind kind;
};

struct tally {
	long long rpcs, sent, acked, hits, again, unknown, overflow, invalid;
	long long empty; /* requests for work that got none */
	long long busy;  /* replies that only say that the server is busy */
	double busy_least_s, busy_most_s; /* delays in these replies */
};

struct template
{
	char **parts; /* text before each mark, and after the last one */
	int *marks;   /* enum mark */
	size_t n;
};

struct world {
	struct habits habits;
	struct template template;
	struct host *hosts;
	struct event *events;
	size_t nevents, events_cap;
	struct arena life;
	struct tally tally;
};

/*
 * Reads a stock client's request and splits it where a host's own values go. Returns
 * false if the request is unusable.
 */
bool template_read(struct world *, const char *path);
/* Makes the hosts in their state before the first request. */
void hosts_make(struct world *);
/*
 * Writes the body of the host's next request for `want` jobs, and marks the results it
 * reports.
 */
void request_put(struct world *, struct host *, int want, struct buf *);
/* Applies a reply to the host. Returns false if the body is not a reply. */
bool reply_take(
    struct world *, struct host *, bool wanted, const char *body, double now);
/* Returns the number of results sent more than once; sorts the events. */
long long events_twice(struct world *);
/* Writes lines "HOST sent|acked RESULT". */
bool events_write(const struct world *, const char *path);

/* --- connections --- */

struct line {              /* a connection */
	int fd;            /* -1: closed */
	struct host *host; /* NULL: idle */
	bool wanted;
	bool used; /* has served a request before */
	long long
	    empty; /* number of requests without work so far when this one was sent */
	struct arena a;
	struct buf out, in;
	size_t sent;
	double from;
};

struct run {
	struct world w;
	const char *path, *where, *log, *keep;
	int port, nlines;
	double seconds; /* of a measured phase */
	long long until;
	bool keep_alive;
	bool down; /* no server runs, so that requests fail */
	struct line *lines;
	int poll; /* descriptor of epoll */
	int open; /* connections with a request */
	double last_event;
	float *took_ms; /* of each reply but the busy ones */
	size_t ntook, took_cap;
	int next; /* host */
	double phase_from, measured_s, cpu_s;
	long long bytes_out, bytes_in;
	long long errors;  /* requests without a reply */
	long long refused; /* the same while no server ran */
	long long empty_before, hungry, hungry_before; /* for the measured phase */
	struct tally before;
};

/* Writes the host's next request into an idle connection's buffer. */
void line_prepare(struct run *, struct line *, struct host *, int want);
/* Begins to send it, on a new connection if there is none. */
void line_open(struct run *, struct line *);
void line_close(struct line *);
/*
 * Waits a moment for events and serves them. Returns false if there was none for too
 * long.
 */
bool lines_serve(struct run *);

#endif
