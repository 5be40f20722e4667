/* SPDX-License-Identifier: Apache-2.0 */
/* Counts for metrics: index entries only, except the rows at the head of each queue. */
#include "db/gauges.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/host.h"
#include "db/project.h"
#include "db/stmts.h"
#include "db/trigger_rows.h"
#include "db/work_tally.h"
#include "db/wu_updates.h"
#include "lib/text.h"
#include "model/rows.h"
#include "lib/banned.h"

enum { ACTIVE_S_OF_DAY = 86400, FILE_STATES_ALL = FILE_DEAD + 1 };

struct gauging {
	struct metric_set *s;
	const struct gauge_source *src;
	struct app *apps;
	size_t napps;
	struct work_counts work;
	struct fail *f;
};

/* --- jobs --- */

/* Workunits of an app, by its states in work_tally. */
static void put_app(struct gauging *g, const struct app *app)
{
	int64_t open = 0, to_validate = 0, to_assimilate = 0, done = 0;

	for (size_t i = 0; i < g->work.apps.n; i++) {
		const struct row_work_tally *t = &g->work.apps.v[i];

		if (t->id != app->id)
			continue;
		if ((t->code & TALLY_ASSIMILATED) != 0)
			done += t->wus;
		else if ((t->code & TALLY_TO_ASSIMILATE) != 0)
			to_assimilate += t->wus;
		else if ((t->code & TALLY_TO_VALIDATE) != 0)
			to_validate += t->wus;
		else
			open += t->wus;
	}
	const struct {
		const char *state;
		int64_t n;
	} states[] = { { "open", open }, { "to_validate", to_validate },
		{ "to_assimilate", to_assimilate }, { "done", done } };

	for (size_t k = 0; k < N(states); k++)
		metric_put(g->s, METRIC_WORKUNITS, (double)states[k].n,
		    (const char *[]){ app->name, states[k].state });
}

static enum err put_workunits(struct gauging *g)
{
	struct app *apps = NULL;

	TRY(db_query(g->src->db, g->s->a, g->f, &apps, &g->napps, APPS));
	TRY(work_counts_read(g->src->db, g->s->a, g->src->now, &g->work, g->f));
	g->apps = apps;
	for (size_t i = 0; i < g->napps; i++)
		put_app(g, &g->apps[i]);
	return OK;
}

/* What waits although daemons have seen it: workunits put aside, and messages. */
static enum err put_waiting(struct gauging *g)
{
	struct row_named *rows = NULL;
	struct row_pair *waiting;
	size_t n = 0;

	TRY(db_query(g->src->db, g->s->a, g->f, &rows, &n, METRICS_ASIDE));
	for (size_t i = 0; i < n; i++)
		metric_put_one(g->s, METRIC_ASIDE, (double)rows[i].id, rows[i].name);
	TRY(db_row(g->src->db, g->s->a, g->f, &waiting, STATUS_TRICKLES));
	metric_put_one(g->s, METRIC_WAITING_MESSAGES, (double)waiting->a, "");
	return OK;
}

static enum err put_results(struct gauging *g)
{
	const struct result_counts *r = &g->work.results;
	const struct {
		const char *name;
		int64_t n;
	} states[] = { { "inactive", r->inactive }, { "unsent", r->unsent },
		{ "in_progress", r->in_progress }, { "over", r->over } };
	const char *app = g->napps == 1 ? g->apps[0].name : "all";

	for (size_t k = 0; k < N(states); k++)
		metric_put(g->s, METRIC_RESULTS, (double)states[k].n,
		    (const char *[]){ app, states[k].name });
	return OK;
}

static enum err put_files(struct gauging *g)
{
	const struct triggers t = triggers_of(g->src->conf, g->src->db, NULL);
	int64_t count[FILE_STATES_ALL] = { 0 };
	struct row_fileset_state *fs;
	size_t n, nno_work;
	char **no_work;

	TRY(fileset_states(g->src->db, g->s->a, 0, INT64_MAX, &fs, &n, g->f));
	TRY(trigger_list(
	    &t, g->s->a, TRIGGER_NO_WORK_AVAILABLE, &no_work, &nno_work, g->f));
	for (size_t i = 0; i < n; i++) {
		const struct snap_file file = { .has_unsent = fs[i].has_unsent != 0,
			.has_open_wu = fs[i].has_open_wu != 0,
			.has_any_wu = fs[i].has_any_wu != 0,
			.no_work_available = trigger_in(no_work, nno_work, fs[i].name),
			.draining = fs[i].paused == FILESET_DRAINING };

		count[g->src->file_state(g->src->conf, &file)]++;
	}
	for (int k = 0; k < FILE_STATES_ALL; k++) {
		char *name = arena_strdup(g->s->a, file_state_name((enum file_state)k));

		for (char *p = name; *p != '\0'; p++)
			*p = (char)tolower((unsigned char)*p);
		metric_put_one(g->s, METRIC_FILES, (double)count[k], name);
	}
	return OK;
}

static enum err put_hosts(struct gauging *g)
{
	int64_t all, active,
	    since = g->src->now -
	            g->src->conf->locality_active_host_days * ACTIVE_S_OF_DAY;

	TRY(db_number(g->src->db, g->f, &all, STATUS_HOSTS));
	TRY(hosts_active(g->src->db, since, &active, g->f));
	metric_put_one(g->s, METRIC_HOSTS, (double)all, "all");
	metric_put_one(g->s, METRIC_HOSTS, (double)active, "active");
	return OK;
}

static enum err put_project(struct gauging *g)
{
	int64_t drained, backup;

	TRY(project_drained_since(g->src->db, &drained, g->f));
	TRY(project_backed_up(g->src->db, &backup, g->f));
	metric_put_one(g->s, METRIC_DRAINED, drained != 0, "");
	metric_put_one(g->s, METRIC_BACKUP, (double)backup, "");
	return OK;
}

static enum err put_suspects(struct gauging *g)
{
	struct row_tally *rows;
	struct host_ends all;
	int64_t by[SUSPICION_FAILED + 1] = { 0 };
	size_t n;

	TRY(host_ends_lately(g->src->db, g->s->a, &rows, &n, &all, g->f));
	for (size_t i = 0; i < n; i++) {
		const struct host_ends h = host_ends_of(&rows[i]);

		by[g->src->suspicion(&h, &all)]++;
	}
	metric_put_one(
	    g->s, METRIC_HOSTS_SUSPECT, (double)by[SUSPICION_WRONG], "wrong");
	metric_put_one(
	    g->s, METRIC_HOSTS_SUSPECT, (double)by[SUSPICION_FAILED], "failed");
	return OK;
}

/* --- queues --- */

struct queue {
	int64_t n, age_s;
};

static void queue_add(struct queue *q, int64_t n, int64_t age_s)
{
	q->n += n;
	q->age_s = age_s > q->age_s ? age_s : q->age_s;
}

/* Of all apps, or only of the one that the daemon was given. */
static enum err queue_of_apps(
    struct gauging *g, enum stmt_id id, const char *app, struct queue *q)
{
	for (size_t i = 0; i < g->napps; i++) {
		struct row_pair *row;

		if (app != NULL && strcmp(app, g->apps[i].name) != 0)
			continue;
		TRY(db_row_like(g->src->db, g->s->a, g->f, &row, id, QUEUE_VALIDATOR,
		    .now = g->src->now, .appid = g->apps[i].id));
		queue_add(q, row->a, row->b);
	}
	return OK;
}

static enum err queue_of_all(struct gauging *g, enum stmt_id id, struct queue *q)
{
	struct row_pair *row;

	TRY(db_row_like(g->src->db, g->s->a, g->f, &row, id, QUEUE_TRANSITIONER,
	    .now = g->src->now));
	queue_add(q, row->a, row->b);
	return OK;
}

/* The files for which requests wait that work is made. */
static enum err queue_of_generator(struct gauging *g, struct queue *q)
{
	const struct triggers t = triggers_of(g->src->conf, g->src->db, NULL);
	int64_t *ages;
	char **names;
	size_t n;

	TRY(trigger_list(&t, g->s->a, TRIGGER_NEED_WORK, &names, &n, g->f));
	ages = NEWN(g->s->a, int64_t, n + 1);
	TRY(trigger_ages(
	    &t, g->s->a, TRIGGER_NEED_WORK, names, n, g->src->now, ages, g->f));
	for (size_t i = 0; i < n; i++)
		queue_add(q, 1, ages[i]);
	return OK;
}

/* Returns the value of --app in a daemon's command; NULL if there is none. */
static const char *app_of_command(struct arena *a, const char *cmd)
{
	const char *at = strstr(cmd, "-app");

	if (at == NULL || (at[4] != ' ' && at[4] != '='))
		return NULL;
	at += 5 + strspn(at + 5, " ");
	return arena_memdup(a, at, strcspn(at, " "));
}

/* *has is false if the program has no queue that the database knows. */
static enum err queue_of_daemon(
    struct gauging *g, const struct conf_daemon *d, struct queue *q, bool *has)
{
	const char *program = text_base_name(
	    arena_memdup(g->s->a, d->cmd, strcspn(d->cmd, " ")));
	const char *app = app_of_command(g->s->a, d->cmd);

	*has = true;
	if (strcmp(program, "transitioner") == 0)
		return queue_of_all(g, SQL_QUEUE_TRANSITIONER, q);
	if (strcmp(program, "validator") == 0)
		return queue_of_apps(g, SQL_QUEUE_VALIDATOR, app, q);
	if (strcmp(program, "assimilator") == 0)
		return queue_of_apps(
		    g, SQL_LIKE(QUEUE_ASSIMILATOR, QUEUE_VALIDATOR), app, q);
	if (strcmp(program, "file_deleter") == 0) {
		TRY(queue_of_all(
		    g, SQL_LIKE(QUEUE_DELETE_INPUT, QUEUE_TRANSITIONER), q));
		return queue_of_all(
		    g, SQL_LIKE(QUEUE_DELETE_OUTPUT, QUEUE_TRANSITIONER), q);
	}
	if (strcmp(program, "work_generator") == 0)
		return queue_of_generator(g, q);
	*has = false;
	return OK;
}

static enum err put_queues(struct gauging *g)
{
	const struct conf *cf = g->src->conf;

	for (size_t i = 0; i < cf->ndaemons; i++) {
		struct queue q = { 0 };
		bool has;

		if (cf->daemons[i].disabled)
			continue;
		TRY(queue_of_daemon(g, &cf->daemons[i], &q, &has));
		if (!has)
			continue;
		metric_put_one(g->s, METRIC_BACKLOG, (double)q.n, cf->daemons[i].name);
		metric_put_one(
		    g->s, METRIC_BACKLOG_AGE, (double)q.age_s, cf->daemons[i].name);
	}
	return OK;
}

/* --- the server --- */

const char *status_value(const struct row_status *v, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++)
		if (strcmp(v[i].name, name) == 0)
			return v[i].value;
	return NULL;
}

static enum err put_server(struct gauging *g)
{
	struct row_status *v, *vars;
	size_t n, nvars;
	int64_t bytes;
	const char *text;
	char *state;

	TRY(db_query(g->src->db, g->s->a, g->f, &v, &n, METRICS_SERVER));
	TRY(db_query(g->src->db, g->s->a, g->f, &vars, &nvars, DOCTOR_VARIABLES));
	TRY(db_number(g->src->db, g->f, &bytes, METRICS_BYTES));
	metric_put_one(g->s, METRIC_DATABASE_BYTES, (double)bytes, "");
	text = status_value(v, n, "Threads_connected");
	if (text != NULL)
		metric_put_one(g->s, METRIC_DATABASE_CONNS, strtod(text, NULL), "");
	text = status_value(vars, nvars, "max_connections");
	if (text != NULL)
		metric_put_one(g->s, METRIC_DATABASE_MOST, strtod(text, NULL), "");
	text = status_value(vars, nvars, "wsrep_on");
	if (text == NULL || strcmp(text, "ON") != 0) {
		metric_put_one(g->s, METRIC_CLUSTER_SIZE, 1, "");
		return OK;
	}
	text = status_value(v, n, "wsrep_cluster_size");
	metric_put_one(
	    g->s, METRIC_CLUSTER_SIZE, text == NULL ? 0 : strtod(text, NULL), "");
	text = status_value(v, n, "wsrep_local_state_comment");
	state = arena_strdup(g->s->a, text == NULL ? "unknown" : text);
	for (char *p = state; *p != '\0'; p++)
		*p = isalnum((unsigned char)*p) ? (char)tolower((unsigned char)*p) :
		                                  '_';
	metric_put_one(g->s, METRIC_CLUSTER_STATE, 1, state);
	return OK;
}

bool gauges_database_up(struct db *db, enum err counted)
{
	struct fail ignored = { 0 };

	return counted == OK || (db != NULL && db_ready(db, &ignored) == OK);
}

enum err gauges_put(
    struct metric_set *s, const struct gauge_source *src, struct fail *f)
{
	static enum err (*const parts[])(struct gauging *) = { put_workunits,
		put_waiting, put_results, put_files, put_hosts, put_project,
		put_suspects, put_queues, put_server };
	struct gauging g = { .s = s, .src = src, .f = f };

	for (size_t i = 0; i < N(parts); i++)
		TRY(parts[i](&g));
	return OK;
}
