/* SPDX-License-Identifier: Apache-2.0 */
/* The host as JSON, for its user. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "client/control/control.h"
#include "config.h"
#include "lib/clock.h"
#include "lib/json_text.h"
#include "lib/banned.h"

/* A running host's answers, for people. */

enum { COLUMNS_MOST = 8, CELL_MOST = 512, MINUTE_S = 60, HOUR_S = 3600 };

/* --- cells --- */

static const char *text_cell(const json_t *v, char *cell)
{
	(void)cell;
	return json_is_string(v) && json_string_length(v) > 0 ? json_string_value(v) :
	                                                        "-";
}

static const char *number_cell(const json_t *v, char *cell)
{
	snprintf(cell, CELL_MOST, "%.6g", json_number_value(v));
	return cell;
}

static const char *percent_cell(const json_t *v, char *cell)
{
	snprintf(cell, CELL_MOST, "%.1f%%", 100 * json_number_value(v));
	return cell;
}

static const char *duration_cell(const json_t *v, char *cell)
{
	double s = json_number_value(v);
	int64_t n = s > 1e15 ? (int64_t)1e15 : (int64_t)s;

	snprintf(cell, CELL_MOST, "%lld:%02lld:%02lld", (long long)(n / HOUR_S),
	    (long long)(n % HOUR_S / MINUTE_S), (long long)(n % MINUTE_S));
	return cell;
}

static const char *time_cell(const json_t *v, char *cell)
{
	if (json_integer_value(v) <= 0)
		return "-";
	return clock_text(json_integer_value(v), cell);
}

static const char *flag_cell(const json_t *v, char *cell)
{
	(void)cell;
	return json_is_true(v) ? "yes" : "no";
}

/* --- tables --- */

struct column {
	const char *title, *key;
	const char *(*cell)(const json_t *, char *);
};
static const struct column task_columns[] = { { "TASK", "name", text_cell },
	{ "STATE", "state", text_cell }, { "DONE", "fraction_done", percent_cell },
	{ "RAN", "elapsed_s", duration_cell }, { "LEFT", "remaining_s", duration_cell },
	{ "DEADLINE", "deadline", time_cell }, { "PROJECT", "project", text_cell } };
static const struct column project_columns[] = { { "PROJECT", "url", text_cell },
	{ "NAME", "name", text_cell }, { "HOST", "hostid", number_cell },
	{ "SHARE", "share", number_cell }, { "TASKS", "unfinished", number_cell },
	{ "TO REPORT", "to_report", number_cell },
	{ "SUSPENDED", "suspended", flag_cell },
	{ "NO MORE", "nomorework", flag_cell } };

_Static_assert(N(task_columns) <= COLUMNS_MOST && N(project_columns) <= COLUMNS_MOST,
    "every column has a width");

static void print_table(const struct column *columns, size_t n, const json_t *rows)
{
	size_t width[COLUMNS_MOST];
	char cell[CELL_MOST];
	const json_t *row;
	size_t i;

	for (size_t k = 0; k < n; k++) {
		width[k] = strlen(columns[k].title);
		json_array_foreach(rows, i, row)
		{
			const json_t *v = json_object_get(row, columns[k].key);
			size_t w = strlen(columns[k].cell(v, cell));

			width[k] = w > width[k] ? w : width[k];
		}
	}
	for (size_t k = 0; k < n; k++)
		printf("%-*s%s", k + 1 < n ? (int)width[k] : 0, columns[k].title,
		    k + 1 < n ? "  " : "\n");
	json_array_foreach(rows, i, row) for (size_t k = 0; k < n; k++)
	    printf("%-*s%s", k + 1 < n ? (int)width[k] : 0,
		columns[k].cell(json_object_get(row, columns[k].key), cell),
		k + 1 < n ? "  " : "\n");
}

/* --- status --- */

static void print_mode(const char *name, const json_t *mode)
{
	const char *by = json_string_value(json_object_get(mode, "hindered_by"));
	int64_t until = json_integer_value(json_object_get(mode, "until"));
	char when[CELL_MOST];

	printf("%-14s %s", name,
	    json_is_true(json_object_get(mode, "allowed")) ? "yes" : "no");
	if (by != NULL && by[0] != '\0')
		printf(", because of %s", by);
	printf("; mode %s", json_string_value(json_object_get(mode, "mode")));
	if (until > 0)
		printf(" until %s", clock_text(until, when));
	printf("\n");
}

static void print_numbers(const char *name, json_t *counts)
{
	const char *key, *between = "";
	json_t *v;

	printf("%-14s ", name);
	json_object_foreach(counts, key, v)
	{
		printf("%s%s %.6g", between, key, json_number_value(v));
		between = ", ";
	}
	printf("%s\n", between[0] == '\0' ? "none" : "");
}

static void print_status(const json_t *o)
{
	printf("%-14s %s, process %lld, version %s\n", "client",
	    json_string_value(json_object_get(o, "dir")),
	    (long long)json_integer_value(json_object_get(o, "pid")),
	    json_string_value(json_object_get(o, "version")));
	printf("%-14s %.6g\n", "processors",
	    json_number_value(json_object_get(o, "ncpus")));
	print_numbers("coprocessors", json_object_get(o, "coprocessors"));
	printf("%-14s %s\n", "policy", json_string_value(json_object_get(o, "policy")));
	print_mode("computing", json_object_get(o, "computing"));
	print_mode("coprocessing", json_object_get(o, "coprocessing"));
	print_mode("network", json_object_get(o, "network"));
	printf("%-14s %lld\n", "projects",
	    (long long)json_integer_value(json_object_get(o, "projects")));
	print_numbers("tasks", json_object_get(o, "tasks"));
}

/* --- any answer --- */

static void print_document(const json_t *o)
{
	json_dumpf(o, stdout, JSON_INDENT(2));
	printf("\n");
}

int print_answer(const char *word, bool json, const json_t *o)
{
	const char *error = json_string_value(json_object_get(o, "error"));

	if (error != NULL) {
		if (json)
			print_document(o);
		fprintf(stderr, "locus-client: %s\n", error);
		return (int)json_integer_value(json_object_get(o, "exit"));
	}
	if (json)
		print_document(o);
	else if (strcmp(word, "status") == 0)
		print_status(o);
	else if (strcmp(word, "tasks") == 0)
		print_table(task_columns, N(task_columns), json_object_get(o, "tasks"));
	else if (strcmp(word, "projects") == 0)
		print_table(project_columns, N(project_columns),
		    json_object_get(o, "projects"));
	else
		printf("%s\n", json_string_value(json_object_get(o, "done")));
	return fflush(stdout) == 0 ? 0 : 1;
}

static const char *const mode_words
    [] = { [MODE_AUTO] = "auto", [MODE_ALWAYS] = "always", [MODE_NEVER] = "never" };

static bool is_suspended(
    const struct client *c, const struct cproject *p, const struct ctask *t)
{
	return t->suspended || p->suspended || orders_name(c, "suspend", t->r.name) ||
	       orders_name(c, "suspend", p->master_url);
}

/* What a task is doing, in a word. */
static const char *task_word(
    const struct client *c, const struct cproject *p, const struct ctask *t)
{
	const char *name;
	int32_t error;

	if (t->ready) {
		/* What a finished task waits for. */
		if (transfer_uploads_pending(p, t))
			return "uploading";
		if (t->state == CLIENT_UPLOADED)
			return "finished";
		return t->state == CLIENT_ABORTED ? "aborted" : "failed";
	}
	if (t->pid != 0 && !t->paused)
		return "running";
	if (is_suspended(c, p, t))
		return "suspended";
	if (!task_files_ready(p, t, &error, &name))
		return "downloading";
	return t->started_at != 0 ? "preempted" : "waiting";
}

static void show_text(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, json_text(text == NULL ? "" : text));
}

static void show_number(json_t *o, const char *key, double x)
{
	json_object_set_new(o, key, json_real(x));
}

static void set_whole(json_t *o, const char *key, int64_t x)
{
	json_object_set_new(o, key, json_integer(x));
}

static json_t *show_task(struct client *c, struct cproject *p, const struct ctask *t)
{
	const struct rp_workunit *wu = state_workunit(p, t->r.wu_name);
	json_t *o = json_object();

	show_text(o, "name", t->r.name);
	show_text(o, "project", p->master_url);
	show_text(o, "app", wu == NULL ? "" : wu->app_name);
	show_text(o, "workunit", t->r.wu_name);
	show_text(o, "state", task_word(c, p, t));
	json_object_set_new(o, "suspended", json_boolean(is_suspended(c, p, t)));
	show_number(o, "fraction_done", t->ready ? 1 : t->fraction_done);
	show_number(o, "elapsed_s", t->ready ? t->elapsed_s : task_ran_s(c, t));
	show_number(o, "remaining_s", t->ready ? 0 : task_remaining_s(c, p, t));
	set_whole(o, "received_at", t->received_at);
	set_whole(o, "deadline", (int64_t)t->r.report_deadline);
	set_whole(o, "exit_status", t->exit_status);
	set_whole(o, "slot", t->slot);
	set_whole(o, "pid", t->pid);
	return o;
}

static json_t *show_tasks(struct client *c)
{
	json_t *all = json_array(), *o = json_object();

	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++)
			if (!p->tasks[k].acked)
				json_array_append_new(
				    all, show_task(c, p, &p->tasks[k]));
	}
	json_object_set_new(o, "tasks", all);
	return o;
}

static json_t *show_project(struct client *c, const struct cproject *p)
{
	json_t *o = json_object();
	int64_t unfinished = 0, ready = 0;

	for (size_t i = 0; i < p->ntasks; i++) {
		unfinished += !p->tasks[i].ready && !p->tasks[i].acked;
		ready += p->tasks[i].ready && !p->tasks[i].acked;
	}
	show_text(o, "url", p->master_url);
	show_text(o, "name", p->project_name);
	set_whole(o, "hostid", p->hostid);
	set_whole(o, "userid", p->userid);
	show_number(o, "share", p->share);
	json_object_set_new(o, "suspended",
	    json_boolean(p->suspended || orders_name(c, "suspend", p->master_url)));
	json_object_set_new(o, "nomorework",
	    json_boolean(p->no_new_work || orders_all(c, "no-new-work") ||
			 orders_name(c, "no-new-work", p->master_url)));
	set_whole(o, "unfinished", unfinished);
	set_whole(o, "to_report", ready);
	set_whole(o, "last_contact", (int64_t)p->rpc.last_contact);
	set_whole(o, "contact_after", (int64_t)p->rpc.min_rpc_time);
	set_whole(o, "failures", p->rpc.nrpc_failures + p->rpc.nmaster_failures);
	show_number(o, "duration_correction_factor", p->dcf);
	return o;
}

static json_t *show_projects(struct client *c)
{
	json_t *all = json_array(), *o = json_object();

	for (size_t i = 0; i < c->state->nprojects; i++)
		json_array_append_new(all, show_project(c, &c->state->projects[i]));
	json_object_set_new(o, "projects", all);
	return o;
}

static json_t *show_mode(struct client *c, const struct mode *m, enum hindrance by)
{
	json_t *o = json_object();

	show_text(o, "mode", mode_words[mode_now(c, m)]);
	set_whole(
	    o, "until", m->brief_until > (double)c->now ? (int64_t)m->brief_until : 0);
	json_object_set_new(o, "allowed", json_boolean(by == HINDER_NOTHING));
	show_text(o, "hindered_by", by == HINDER_NOTHING ? "" : hindrance_words[by]);
	return o;
}

static json_t *count_tasks(struct client *c)
{
	json_t *o = json_object();

	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->ntasks; k++) {
			const char *word = task_word(c, p, &p->tasks[k]);

			if (p->tasks[k].acked)
				continue;
			set_whole(
			    o, word, json_integer_value(json_object_get(o, word)) + 1);
		}
	}
	return o;
}

static json_t *show_status(struct client *c)
{
	json_t *o = json_object(), *coprocs = json_object();

	for (size_t i = 0; i < c->options.ncoprocs; i++)
		show_number(
		    coprocs, c->options.coproc[i].name, c->options.coproc[i].count);
	show_text(o, "version", PACKAGE_VERSION);
	show_text(o, "dir", c->dir);
	set_whole(o, "pid", getpid());
	show_text(o, "policy", c->options.policy->name);
	show_number(o, "ncpus", preferences_ncpus(c));
	json_object_set_new(o, "coprocessors", coprocs);
	json_object_set_new(
	    o, "computing", show_mode(c, &c->state->run_mode, c->hindered.run));
	json_object_set_new(
	    o, "coprocessing", show_mode(c, &c->state->gpu_mode, c->hindered.gpu));
	json_object_set_new(
	    o, "network", show_mode(c, &c->state->network_mode, c->hindered.network));
	set_whole(o, "projects", (int64_t)c->state->nprojects);
	json_object_set_new(o, "tasks", count_tasks(c));
	return o;
}

json_t *show_host(struct client *c, const char *what)
{
	static const struct {
		const char *what;
		json_t *(*make)(struct client *);
	} shows[] = { { "status", show_status }, { "tasks", show_tasks },
		{ "projects", show_projects } };

	for (size_t i = 0; i < N(shows); i++)
		if (strcmp(shows[i].what, what) == 0)
			return shows[i].make(c);
	return NULL;
}
