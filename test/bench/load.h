/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The load generator's simulated hosts, their request template, and the log of events.
 */
#ifndef TEST_BENCH_LOAD_H
#define TEST_BENCH_LOAD_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/buf.h"

enum { TASKS = 64, HELD = 16, TASK_NAME = 28, FILE_DIGITS = 6 };

/* What each host does; see options[] in load.c. */
struct habits {
	int first_host, nhosts;
	int first_file, nfiles; /* files to hold are drawn from these */
	int hold;               /* number of files held from the start */
	bool forget;          /* files downloaded later are gone by the next request */
	int want, first_want; /* jobs asked for; in the first request */
	int report;           /* results reported in one request at most */
	double file_bytes, job_s;
};

struct host {
	int64_t id, seqno;
	bool busy;
	int ntasks, nheld;
	char tasks[TASKS][TASK_NAME]; /* names of results, oldest first */
	int held[HELD];               /* numbers of files */
	int reported;                 /* tasks[0..reported) are in the open request */
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
bool reply_take(struct world *, struct host *, bool wanted, const char *body);
/* Returns the number of results sent more than once; sorts the events. */
long long events_twice(struct world *);
/* Writes lines "HOST sent|acked RESULT". */
bool events_write(const struct world *, const char *path);

#endif
