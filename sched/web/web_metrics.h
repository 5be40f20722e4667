/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The metrics page. Requests of schedulers, services and disks are read for each
 * scrape; the figures of the database are counted by a thread of its own, so that a
 * scrape never waits for them, except the first.
 */
#ifndef SCHED_WEB_WEB_METRICS_H
#define SCHED_WEB_WEB_METRICS_H

#include <pthread.h>
#include <stdbool.h>
#include "lib/buf.h"
#include "model/conf.h"
#include "model/metrics.h"

struct web_figures { /* of a process, shared by its workers */
	pthread_mutex_t lock;
	pthread_cond_t changed;
	pthread_t thread;
	bool running, started, stopping;
	const char *dir;        /* of the project */
	struct arena arenas[2]; /* of set, and of the next one */
	struct metric_set set;  /* as last counted */
	int now_in;             /* which arena set is in */
	int64_t counted_at;     /* s UTC; 0 = never */
	int64_t asked_at;       /* s UTC, the last scrape */
	bool tried, up;         /* a count has ended; the last one succeeded */
};

/* dir must outlast the figures. */
void web_figures_begin(struct web_figures *, const char *dir);
/* Ends the thread; waits for the statement that it runs. */
void web_figures_end(struct web_figures *);
/*
 * Writes all metrics. Counting goes on while scrapes come: every 15 s, or less often if
 * it takes longer than a twentieth of the time.
 */
void web_figures_render(
    struct web_figures *, const struct conf *, int64_t now, struct buf *);

#endif
