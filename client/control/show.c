/* SPDX-License-Identifier: Apache-2.0 */
/* The host as JSON, for its user. */
#include "client/control/control.h"

#include <string.h>
#include <unistd.h>
#include "config.h"
#include "lib/json_text.h"
#include "lib/banned.h"

static const char *const mode_words
    [] = { [MODE_AUTO] = "auto", [MODE_ALWAYS] = "always", [MODE_NEVER] = "never" };

static bool
is_suspended(const struct client *c, const struct cproject *p, const struct ctask *t)
{
	return t->suspended || p->suspended || orders_name(c, "suspend", t->r.name) ||
	       orders_name(c, "suspend", p->master_url);
}

/* What a finished task waits for. */
static const char *
ended_word(const struct cproject *p, const struct ctask *t)
{
	if (transfer_uploads_pending(p, t))
		return "uploading";
	if (t->state == CLIENT_UPLOADED)
		return "finished";
	return t->state == CLIENT_ABORTED ? "aborted" : "failed";
}

const char *
task_word(const struct client *c, const struct cproject *p, const struct ctask *t)
{
	const char *name;
	int32_t error;

	if (t->ready)
		return ended_word(p, t);
	if (t->pid != 0 && !t->paused)
		return "running";
	if (is_suspended(c, p, t))
		return "suspended";
	if (!task_files_ready(p, t, &error, &name))
		return "downloading";
	return t->started_at != 0 ? "preempted" : "waiting";
}

static void
show_text(json_t *o, const char *key, const char *text)
{
	json_object_set_new(o, key, json_text(text == NULL ? "" : text));
}

static void
show_number(json_t *o, const char *key, double x)
{
	json_object_set_new(o, key, json_real(x));
}

static void
set_whole(json_t *o, const char *key, int64_t x)
{
	json_object_set_new(o, key, json_integer(x));
}

static json_t *
show_task(struct client *c, struct cproject *p, const struct ctask *t)
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

static json_t *
show_tasks(struct client *c)
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

static json_t *
show_project(struct client *c, const struct cproject *p)
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

static json_t *
show_projects(struct client *c)
{
	json_t *all = json_array(), *o = json_object();

	for (size_t i = 0; i < c->state->nprojects; i++)
		json_array_append_new(all, show_project(c, &c->state->projects[i]));
	json_object_set_new(o, "projects", all);
	return o;
}

static json_t *
show_mode(struct client *c, const struct mode *m, enum hindrance by)
{
	json_t *o = json_object();

	show_text(o, "mode", mode_words[mode_now(c, m)]);
	set_whole(
	    o, "until", m->brief_until > (double)c->now ? (int64_t)m->brief_until : 0);
	json_object_set_new(o, "allowed", json_boolean(by == HINDER_NOTHING));
	show_text(o, "hindered_by", by == HINDER_NOTHING ? "" : hindrance_words[by]);
	return o;
}

static json_t *
count_tasks(struct client *c)
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

static json_t *
show_status(struct client *c)
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

json_t *
show_host(struct client *c, const char *what)
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
