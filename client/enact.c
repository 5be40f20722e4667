/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Enacts what the rules decide: starts and stops tasks, contacts schedulers, asks for
 * work; and informs the rules of the outcome.
 */
#include "client/client.h"

#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

enum { DOWNLOAD_FAILED = -186, EXIT_NO_COPROC = 201 };

/* --- tasks --- */

/* Ends a task at once that can never run here, or need not run any more. task_fail()
 * makes its project back off, task_abort() does not. */
static void end_hopeless(struct client *c, struct cproject *p, struct ctask *t)
{
	const char *name = NULL;
	int32_t error;

	if (version_resource(c, task_version(p, t)) < 0) {
		task_abort(c, p, t, EXIT_NO_COPROC, "Missing coprocessor");
		return;
	}
	/*
	 * The task is too late to be of use, and no work on it would be lost
	 * (client.md 4.8). A deadline that had passed when the task came is doubted:
	 * this computer's clock is ahead, or the project's is behind, and by the
	 * project's clock there is time.
	 */
	if (t->started_at == 0 && t->r.report_deadline > (double)t->received_at &&
	    (double)c->now > t->r.report_deadline) {
		task_abort(c, p, t, EXIT_UNSTARTED_LATE, "Not started by deadline");
		return;
	}
	if (task_files_ready(p, t, &error, &name) || error == 0)
		return;
	task_fail(c, p, t, CLIENT_DOWNLOADING, DOWNLOAD_FAILED,
	    arena_printf(&c->scratch,
		"WU download error: couldn't get input files:\n"
		"<file_xfer_error>\n  <file_name>%s</file_name>\n"
		"  <error_code>%d</error_code>\n</file_xfer_error>",
		name, error));
}

static void fail_hopeless(struct client *c)
{
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];
		const struct ctask *aborted = NULL;

		for (size_t k = 0; k < p->ntasks; k++) {
			struct ctask *t = &p->tasks[k];

			if (t->ready || t->acked)
				continue;
			end_hopeless(c, p, t);
			if (t->ready && t->state == CLIENT_ABORTED)
				aborted = t;
		}
		/* Those of one moment have one cause, and count as one failure: whoever
		 * was away for a month must not be kept from work for hours. */
		if (aborted != NULL)
			standing_task_ended(c, p, aborted, false);
	}
}

void enact_tasks(struct client *c)
{
	const struct policy *policy = c->options.policy;
	struct run_list list;
	struct enforced e;
	struct view v;

	fail_hopeless(c);
	view_load(c, &v);
	policy->order(&v.world, policy, &c->scratch, &v.rr, &list);
	enforce(&v.world, policy, &c->scratch, &list, &e);
	for (size_t i = 0; i < e.nstop; i++)
		v.world.tasks[e.stop[i].task].running = false;
	for (size_t i = 0; i < e.nstart; i++)
		v.world.tasks[e.start[i]].running = true;
	enforce_done(&v.world, &v.rr);
	view_store(c, &v.world);
	for (size_t i = 0; i < v.world.ntasks; i++)
		v.task[i]->endangered_at = v.world.tasks[i].endangered_at;
	for (size_t i = 0; i < e.nstop; i++) {
		struct ctask *t = v.task[e.stop[i].task];

		if (e.stop[i].keep)
			task_pause(c, t);
		else
			task_quit(c, t);
	}
	for (size_t i = 0; i < e.nstart; i++) {
		struct ctask *t = v.task[e.start[i]];
		int32_t project = v.world.tasks[e.start[i]].project;

		t->device = e.device[i];
		if (t->pid != 0)
			task_resume(c, t);
		else
			task_start(c, &c->state->projects[project], t);
	}
}

/* --- contact --- */

static void log_no_answer(struct client *c, size_t project, const char *why)
{
	const struct cproject *p = &c->state->projects[project];

	log_warn("no answer from %s: %s; next try in %.0f s", p->master_url, why,
	    p->rpc.min_rpc_time - (double)c->now);
}

static void fetch_master(struct client *c, size_t project)
{
	int32_t nurls = 0, nnew = 0;
	enum err e = rpc_fetch_master(c, &c->state->projects[project], &nurls, &nnew);
	struct view v;

	if (proc_stopping) /* this client interrupted the fetch itself */
		return;
	view_load(c, &v);
	contact_master(&v.world, c->options.policy, project, nurls, nnew, &c->rng);
	view_store(c, &v.world);
	c->changed = true;
	if (e != OK)
		log_no_answer(c, project, c->fail.detail);
}

void enact_replied(
    struct client *c, const struct contact *contact, const struct answer *answer)
{
	struct cproject *p = &c->state->projects[contact->project];
	struct reply_facts facts;
	struct view v;

	take_reply(c, p, answer, &facts);
	view_load(c, &v);
	contact_replied(&v.world, c->options.policy, contact, &facts, &c->rng);
	view_store(c, &v.world);
	c->changed = true;
	if (facts.project_down)
		log_no_answer(c, (size_t)contact->project, "the project is down");
}

bool enact_contact(struct client *c)
{
	struct contact contact;
	struct answer answer;
	struct view v;
	enum err e;

	view_load(c, &v);
	contact_next(&v.world, c->options.policy, &c->scratch, &v.rr, &contact);
	if (contact.why == CONTACT_NONE)
		return false;
	if (contact.why == CONTACT_MASTER) {
		fetch_master(c, (size_t)contact.project);
		return true;
	}
	e = rpc_scheduler(c, &v, &contact, &answer);
	if (e == OK) {
		enact_replied(c, &contact, &answer);
	} else if (!proc_stopping) {
		view_load(c, &v);
		contact_failed(
		    &v.world, c->options.policy, (size_t)contact.project, &c->rng);
		view_store(c, &v.world);
		c->changed = true;
		log_no_answer(c, (size_t)contact.project, c->fail.detail);
	}
	return true;
}
