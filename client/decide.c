/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The host as its rules see it, and what they decide: which tasks run, when there is
 * contact, what is asked for.  One project and the CPUs; a coprocessor is used by
 * programs, but not shared out by this host.
 */
#include "client/client.h"

#include <math.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/banned.h"

enum { ORDERS_MAX = 64 << 10, DOWNLOAD_FAILED = -186 };
static const double PERIOD_S = 3600;

/* --- what the user wants --- */

static void
read_orders(struct client *c)
{
	struct fail f;
	size_t n;

	if (fs_read(&c->a, arena_printf(&c->a, "%s/orders", c->dir), ORDERS_MAX,
		&c->orders, &n, &f) != OK)
		c->orders = arena_strdup(&c->a, "");
}

/* Is there such a line? */
static bool
ordered(const struct client *c, const char *word, const char *task)
{
	size_t n = strlen(word), k = task == NULL ? 0 : strlen(task);

	for (const char *p = c->orders; *p != '\0';
	     p += strcspn(p, "\n"), p += *p != '\0') {
		size_t line = strcspn(p, "\n");

		if (strncmp(p, word, n) != 0)
			continue;
		if (task == NULL ? line == n :
				   line == n + 1 + k && p[n] == ' ' &&
				       strncmp(p + n + 1, task, k) == 0)
			return true;
	}
	return false;
}

/* --- the world --- */

/* One that wants more than there is gets all there is. */
static double
task_ncpus(const struct client *c, const struct ctask *t)
{
	return fmin(fmax(task_version(c->st, t)->avg_ncpus, 0.01), c->o.ncpus);
}

static struct cw_task
task_of(struct client *c, const struct ctask *t)
{
	const char *name = NULL;
	int32_t error;
	double ncpus = task_ncpus(c, t);

	return (struct cw_task){ .rsc = CW_CPU,
		.use = ncpus,
		.ncpus = ncpus,
		.remaining_s = task_remaining_s(c, t),
		.deadline = t->r.report_deadline,
		.received_at = (double)t->received_at,
		.suspended = ordered(c, "suspend", t->r.name),
		.downloading = !task_files_ready(c, t, &error, &name),
		.running = t->pid != 0 && !t->paused,
		.started = t->pid != 0,
		.in_memory = t->pid != 0 && t->paused,
		.run_since = (double)t->started_at };
}

/* Tasks that are not finished; which[] tells whose they are. */
static void
list_tasks(struct client *c, struct client_world *w, size_t **which)
{
	struct state *st = c->st;

	w->tasks = NEWN(&c->a, struct cw_task, st->ntasks + 1);
	*which = NEWN(&c->a, size_t, st->ntasks + 1);
	for (size_t i = 0; i < st->ntasks; i++)
		if (!st->tasks[i].ready && !st->tasks[i].acked) {
			(*which)[w->ntasks] = i;
			w->tasks[w->ntasks] = task_of(c, &st->tasks[i]);
			w->tasks[w->ntasks].id = (uint32_t)w->ntasks;
			w->ntasks++;
		}
}

static void
count_reports(struct client *c, struct cw_rpc *rpc)
{
	for (size_t i = 0; i < c->st->ntasks; i++) {
		const struct ctask *t = &c->st->tasks[i];

		if (!t->ready || t->acked || uploads_pending(c, t))
			continue;
		if (rpc->nready == 0 || t->r.report_deadline < rpc->first_deadline)
			rpc->first_deadline = t->r.report_deadline;
		if (rpc->nready == 0 || (double)t->ready_at < rpc->first_ready_at)
			rpc->first_ready_at = (double)t->ready_at;
		rpc->nready++;
		rpc->report_now |= t->r.report_immediately;
	}
}

static struct cw_project *
project_of(struct client *c)
{
	struct cw_project *p = NEW(&c->a, struct cw_project);
	const struct state *st = c->st;

	*p = (struct cw_project){ .name = st->master_url,
		.share = 100,
		.suspended = ordered(c, "suspend", NULL),
		.no_new_work = ordered(c, "no-new-work", NULL),
		.dcf = 1,
		.acct = c->acct,
		.rsc = { { .backoff_until = (double)st->work_backoff_until } },
		.rpc = { .min_rpc_time = (double)st->min_rpc_time,
		    .next_rpc_time = (double)st->next_rpc_time,
		    .nrpc_failures = st->nrpc_failures,
		    .never_contacted = !st->contacted,
		    .nurls = (int32_t)st->nschedulers } };
	count_reports(c, &p->rpc);
	return p;
}

/* As of now, with what was used until now in the accounts. */
static struct client_world *
look(struct client *c, size_t **which, struct rr_sim *rr)
{
	struct client_world *w = NEW(&c->a, struct client_world);
	double flops = fmax(c->st->p_fpops, 1);

	*w = (struct client_world){ .now = (double)c->now,
		.prefs = { .min_s = c->o.min_buffer_s,
		    .extra_s = c->o.extra_buffer_s,
		    .period_s = PERIOD_S,
		    .cushion_s = c->o.min_buffer_s,
		    .leave_in_memory = true },
		.rsc = { { "CPU", c->o.ncpus, flops, 1 } },
		.nrsc = 1,
		.projects = project_of(c),
		.nprojects = 1,
		.accounted_at = c->accounted_at };
	list_tasks(c, w, which);
	if (c->accounted_at > 0 && w->now > c->accounted_at)
		cw_accrue(w, w->now - c->accounted_at);
	c->o.policy->account(w, c->o.policy);
	c->acct = w->projects[0].acct;
	c->accounted_at = w->now;
	rr_simulate(w, &c->a, rr);
	return w;
}

/* --- what is done --- */

static void
fail_without_files(struct client *c)
{
	for (size_t i = 0; i < c->st->ntasks; i++) {
		struct ctask *t = &c->st->tasks[i];
		const char *name = NULL;
		int32_t error;

		if (t->ready || t->acked || task_files_ready(c, t, &error, &name) ||
		    error == 0)
			continue;
		task_fail(c, t, CLIENT_DOWNLOADING, DOWNLOAD_FAILED,
		    arena_printf(&c->a,
			"WU download error: couldn't get input files:\n"
			"<file_xfer_error>\n  "
			"<file_name>%s</file_name>\n"
			"  <error_code>%d</error_code>\n"
			"</file_xfer_error>",
			name, error));
	}
}

void
decide_tasks(struct client *c)
{
	struct client_world *w;
	struct run_list list;
	struct enforced e;
	struct rr_sim rr;
	size_t *which;

	read_orders(c);
	fail_without_files(c);
	w = look(c, &which, &rr);
	c->o.policy->order(w, c->o.policy, &c->a, &rr, &list);
	enforce(w, c->o.policy, &c->a, &list, &e);
	for (size_t i = 0; i < e.nstop; i++)
		task_pause(c, &c->st->tasks[which[e.stop[i].task]]);
	for (size_t i = 0; i < e.nstart; i++) {
		struct ctask *t = &c->st->tasks[which[e.start[i]]];

		if (t->pid != 0)
			task_resume(c, t);
		else
			task_start(c, t);
	}
}

bool
decide_contact(struct client *c)
{
	struct contact contact;
	struct rr_sim rr;
	size_t *which;
	const struct client_world *w = look(c, &which, &rr);

	contact_next(w, c->o.policy, &c->a, &rr, &contact);
	if (contact.why == CONTACT_NONE)
		return false;
	if (c->st->nschedulers == 0 && rpc_fetch_master(c) != OK)
		return true;
	rpc_scheduler(c, &contact);
	return true;
}
