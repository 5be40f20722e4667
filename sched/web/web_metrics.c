/* SPDX-License-Identifier: Apache-2.0 */
/* The thread has a database connection of its own only while scrapes come. */
#include "sched/web/web_metrics.h"

#include <time.h>
#include "config.h"
#include "db/gauges.h"
#include "db/schema.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/large.h"
#include "sched/project.h"
#include "lib/banned.h"

enum {
	COUNT_EVERY_MS = 15000,
	REST_FACTOR = 20, /* of the time that counting takes */
	GO_ON_S = 300,    /* after the last scrape */
	FIRST_WAIT_MS = 70
};

void web_figures_begin(struct web_figures *w, const char *dir)
{
	*w = (struct web_figures){ .dir = dir };
	pthread_mutex_init(&w->lock, NULL);
	pthread_cond_init(&w->changed, NULL);
}

/* Waits for a change at most ms; the lock is held. */
static void wait_for_change(struct web_figures *w, int64_t ms)
{
	double end = clock_now_f() + (double)ms / 1000;
	struct timespec until = { .tv_sec = (time_t)end };

	until.tv_nsec = (long)((end - (double)until.tv_sec) * 1e9);
	pthread_cond_timedwait(&w->changed, &w->lock, &until);
}

/* --- the thread --- */

static enum err figures_read(
    struct project *p, struct metric_set *to, int64_t now, struct fail *f)
{
	TRY(project_read_config(p, f));
	if (p->db == NULL)
		TRY(db_open(p->conf, DB_WORK, &p->db, f));
	TRY(db_ready(p->db, f));
	return gauges_put(to,
	    &(const struct gauge_source){ .db = p->db,
		.conf = p->conf,
		.now = now,
		.file_state = fileset_state,
		.suspicion = host_suspicion },
	    f);
}

/*
 * Counts once, into the arena that is not in use. The connection is the project's,
 * which is closed when the configuration that it was opened with is read anew.
 */
static void figures_count(struct web_figures *w, struct project *p)
{
	struct arena *a = &w->arenas[!w->now_in];
	struct metric_set next = { .a = a };
	struct fail f = { 0 };
	int64_t now = clock_now();
	enum err e;
	bool up;

	arena_reset(a);
	e = figures_read(p, &next, now, &f);
	if (e != OK)
		log_fail("counting for metrics", &f);
	up = gauges_database_up(p->db, e);
	pthread_mutex_lock(&w->lock);
	w->up = up;
	w->tried = true;
	if (e == OK) {
		w->set = next;
		w->now_in = !w->now_in;
		w->counted_at = now;
	}
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
}

static void *figures_main(void *arg)
{
	struct web_figures *w = arg;
	struct project p = { 0 };
	struct fail f = { 0 };
	bool go_on = true;

	if (project_find(&p, "web", w->dir, true, &f) != OK)
		log_fail("counting for metrics", &f);
	while (go_on) {
		int64_t began = clock_mono_ms(), took;

		figures_count(w, &p);
		took = clock_mono_ms() - began;
		pthread_mutex_lock(&w->lock);
		if (!w->stopping)
			wait_for_change(w, took * REST_FACTOR > COUNT_EVERY_MS ?
					       took * REST_FACTOR :
					       COUNT_EVERY_MS);
		go_on = !w->stopping && clock_now() - w->asked_at < GO_ON_S;
		if (!go_on)
			w->running = false;
		pthread_mutex_unlock(&w->lock);
	}
	project_close(&p);
	return NULL;
}

/* The lock is held. */
static void figures_start(struct web_figures *w)
{
	if (w->running || w->stopping)
		return;
	if (w->started)
		pthread_join(w->thread, NULL); /* it has ended for want of scrapes */
	w->started = w->running = pthread_create(&w->thread, NULL, figures_main, w) ==
	                          0;
}

void web_figures_end(struct web_figures *w)
{
	pthread_mutex_lock(&w->lock);
	w->stopping = true;
	pthread_cond_broadcast(&w->changed);
	pthread_mutex_unlock(&w->lock);
	if (w->started)
		pthread_join(w->thread, NULL);
	arena_free(&w->arenas[0]);
	arena_free(&w->arenas[1]);
}

/* --- a scrape --- */

/* Copies the figures, as the thread may replace them at any time. */
static void figures_copy(struct web_figures *w, struct metric_set *s, int64_t now)
{
	int64_t until = clock_mono_ms() + FIRST_WAIT_MS;
	bool first;

	pthread_mutex_lock(&w->lock);
	w->asked_at = now;
	first = w->counted_at == 0;
	figures_start(w);
	if (first && w->running)
		wait_for_change(w, until - clock_mono_ms());
	for (size_t i = 0; w->counted_at != 0 && i < w->set.n; i++)
		metric_put_series(s, w->set.v[i].metric,
		    arena_strdup(s->a, w->set.v[i].series), w->set.v[i].value);
	if (w->tried)
		metric_put_one(s, METRIC_DATABASE_UP, w->up, "");
	if (w->counted_at != 0)
		metric_put_one(s, METRIC_FIGURES_AGE,
		    now > w->counted_at ? (double)(now - w->counted_at) : 0, "");
	pthread_mutex_unlock(&w->lock);
}

void web_figures_render(
    struct web_figures *w, const struct conf *cf, int64_t now, struct buf *out)
{
	struct metric_set s = { .a = out->a };

	metric_put_machine(&s, cf, PACKAGE_VERSION, SCHEMA_VERSION);
	figures_copy(w, &s, now);
	metric_render(out, &s);
}
