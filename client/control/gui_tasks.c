/* SPDX-License-Identifier: Apache-2.0 */
/* Tasks, and the rows that they refer to, for tools. */
#include "client/control/gui.h"

#include <string.h>
#include "client/app.h"
#include "client/control/control.h"
#include "lib/banned.h"

enum { /* as tools number them */
	TASK_UNSTARTED = 0,
	TASK_EXECUTING = 1,
	TASK_SUSPENDED = 9,
	SCHEDULED_NOT = 0,
	SCHEDULED_PREEMPTED = 1,
	SCHEDULED = 2,
	RESULT_DOWNLOADING = 1,
	RESULT_DOWNLOADED = 2,
	RESULT_UPLOADING = 4
};

static int32_t
result_state(const struct cproject *p, const struct ctask *t)
{
	const char *name;
	int32_t error;

	if (t->ready && t->state == CLIENT_UPLOADED && transfer_uploads_pending(p, t))
		return RESULT_UPLOADING;
	if (t->ready)
		return t->state;
	return task_files_ready(p, t, &error, &name) ? RESULT_DOWNLOADED :
	                                               RESULT_DOWNLOADING;
}

/* What the task uses, in words. */
static const char *
resources_text(struct client *c, const struct rp_app_version *v)
{
	int32_t rsc = version_resource(c, v);

	return rsc > CW_CPU ?
	           arena_printf(&c->scratch, "%.3g CPUs + %.3g %s", v->avg_ncpus,
		       v->coproc_count, c->options.coproc[rsc - 1].name) :
	           arena_printf(&c->scratch, "%.3g CPU%s", v->avg_ncpus,
		       v->avg_ncpus == 1 ? "" : "s");
}

static void
put_active_task(struct client *c, struct buf *b, const struct ctask *t)
{
	struct usage u = usage_of(t->pid);
	double cpu = t->reported_cpu_s > 0 ? t->reported_cpu_s : t->cpu_s + u.cpu_s;

	buf_puts(b, "<active_task>\n");
	buf_tag_i64(b, "active_task_state",
	    t->pid == 0 ? TASK_UNSTARTED :
	    t->paused   ? TASK_SUSPENDED :
			  TASK_EXECUTING);
	buf_tag_i64(b, "app_version_num", t->r.version_num);
	buf_tag_i64(b, "slot", t->slot);
	buf_tag_i64(b, "pid", t->pid);
	buf_tag_i64(b, "scheduler_state",
	    t->pid != 0 && !t->paused ? SCHEDULED :
	    t->started_at != 0        ? SCHEDULED_PREEMPTED :
					SCHEDULED_NOT);
	buf_tag_fixed(b, "checkpoint_cpu_time", t->saved_cpu_s);
	buf_tag_fixed(b, "fraction_done", t->fraction_done);
	buf_tag_fixed(b, "current_cpu_time", cpu);
	buf_tag_fixed(b, "elapsed_time", task_ran_s(c, t));
	buf_tag_fixed(b, "swap_size", u.vm_bytes);
	buf_tag_fixed(b, "working_set_size", u.rss_bytes);
	buf_tag_fixed(b, "working_set_size_smoothed", u.rss_bytes);
	buf_tag_fixed(b, "page_fault_rate", 0);
	buf_tag_fixed(b, "bytes_sent", 0);
	buf_tag_fixed(b, "bytes_received", 0);
	buf_tag_fixed(b, "progress_rate",
	    task_ran_s(c, t) > 0 ? t->fraction_done / task_ran_s(c, t) : 0);
	buf_puts(b, "</active_task>\n");
}

static void
put_if(struct buf *b, const char *tag, bool yes)
{
	if (yes)
		buf_printf(b, "    <%s/>\n", tag);
}

void
gui_put_task(struct client *c, struct buf *b, struct cproject *p, struct ctask *t)
{
	buf_puts(b, "<result>\n");
	buf_tag(b, "name", t->r.name);
	buf_tag(b, "wu_name", t->r.wu_name);
	buf_tag(b, "platform", t->r.platform);
	buf_tag_i64(b, "version_num", t->r.version_num);
	buf_tag(b, "plan_class", t->r.plan_class);
	buf_tag(b, "project_url", p->master_url);
	buf_tag_fixed(b, "final_cpu_time", t->ready ? t->cpu_s : 0);
	buf_tag_fixed(b, "final_elapsed_time", t->ready ? t->elapsed_s : 0);
	buf_tag_i64(b, "exit_status", t->exit_status);
	buf_tag_i64(b, "state", result_state(p, t));
	buf_tag_fixed(b, "report_deadline", t->r.report_deadline);
	buf_tag_fixed(b, "received_time", (double)t->received_at);
	buf_tag_fixed(b, "estimated_cpu_time_remaining",
	    t->ready ? 0 : task_remaining_s(c, p, t));
	if (t->ready && t->ready_at > 0)
		buf_tag_fixed(b, "completed_time", (double)t->ready_at);
	put_if(b, "ready_to_report", t->ready && !transfer_uploads_pending(p, t));
	put_if(b, "suspended_via_gui",
	    t->suspended || orders_name(c, "suspend", t->r.name));
	put_if(b, "project_suspended_via_gui",
	    p->suspended || orders_name(c, "suspend", p->master_url));
	if (t->again_at > c->now) {
		put_if(b, "scheduler_wait", true);
		buf_tag(b, "scheduler_wait_reason", "the program asked for it");
	}
	buf_tag(b, "resources", resources_text(c, task_version(p, t)));
	if (!t->ready && t->slot >= 0)
		put_active_task(c, b, t);
	buf_puts(b, "</result>\n");
}

static void
gui_put_app(struct buf *b, const struct rp_app *app)
{
	const char *friendly = app->user_friendly_name;

	buf_puts(b, "<app>\n");
	buf_tag(b, "name", app->name);
	buf_tag(b, "user_friendly_name",
	    friendly == NULL || friendly[0] == '\0' ? app->name : friendly);
	buf_tag_i64(b, "non_cpu_intensive", app->non_cpu_intensive);
	buf_puts(b, "</app>\n");
}

static void
put_version(struct buf *b, const struct rp_app_version *v)
{
	buf_puts(b, "<app_version>\n");
	buf_tag(b, "app_name", v->app_name);
	buf_tag_i64(b, "version_num", v->version_num);
	buf_tag(b, "platform", v->platform);
	buf_tag_fixed(b, "avg_ncpus", v->avg_ncpus);
	buf_tag_fixed(b, "flops", v->flops);
	buf_tag(b, "plan_class", v->plan_class);
	buf_tag(b, "api_version", v->api_version == NULL ? "" : v->api_version);
	if (v->coproc_type != NULL && v->coproc_type[0] != '\0') {
		buf_puts(b, "<coproc>\n");
		buf_tag(b, "type", v->coproc_type);
		buf_tag_fixed(b, "count", v->coproc_count);
		buf_puts(b, "</coproc>\n");
	}
	buf_puts(b, "</app_version>\n");
}

static void
gui_put_workunit(struct buf *b, const struct rp_workunit *wu)
{
	buf_puts(b, "<workunit>\n");
	buf_tag(b, "name", wu->name);
	buf_tag(b, "app_name", wu->app_name);
	buf_tag_fixed(b, "rsc_fpops_est", wu->rsc_fpops_est);
	buf_tag_fixed(b, "rsc_fpops_bound", wu->rsc_fpops_bound);
	buf_tag_fixed(b, "rsc_memory_bound", wu->rsc_memory_bound);
	buf_tag_fixed(b, "rsc_disk_bound", wu->rsc_disk_bound);
	buf_tag(b, "command_line", wu->command_line);
	buf_puts(b, "</workunit>\n");
}

static void
gui_put_tasks(struct client *c, struct buf *b, struct cproject *p, bool active_only)
{
	for (size_t i = 0; i < p->ntasks; i++)
		if (!p->tasks[i].acked && (!active_only || p->tasks[i].pid != 0))
			gui_put_task(c, b, p, &p->tasks[i]);
}

void
gui_results(const struct gui_call *g)
{
	const char *active = gui_argument(g, "active_only");

	buf_puts(g->out, "<results>\n");
	for (size_t i = 0; i < g->c->state->nprojects; i++)
		gui_put_tasks(g->c, g->out, &g->c->state->projects[i],
		    active != NULL && strcmp(active, "1") == 0);
	buf_puts(g->out, "</results>\n");
}

void
gui_simple(const struct gui_call *g)
{
	struct state *st = g->c->state;

	buf_puts(g->out, "<simple_gui_info>\n");
	for (size_t i = 0; i < st->nprojects; i++)
		gui_put_project(g->c, g->out, &st->projects[i]);
	for (size_t i = 0; i < st->nprojects; i++)
		gui_put_tasks(g->c, g->out, &st->projects[i], true);
	buf_puts(g->out, "</simple_gui_info>\n");
}

static void
put_time_stats(struct client *c, struct buf *b)
{
	struct cw_fractions f = availability_now(c);
	double up = (double)(c->now - c->started_at);

	buf_puts(b, "<time_stats>\n");
	buf_tag_fixed(b, "on_frac", f.on);
	buf_tag_fixed(b, "connected_frac", -1);
	buf_tag_fixed(b, "cpu_and_network_available_frac", f.active);
	buf_tag_fixed(b, "active_frac", f.active);
	buf_tag_fixed(b, "gpu_active_frac", f.gpu_active);
	buf_tag_fixed(b, "client_start_time", (double)c->started_at);
	buf_tag_fixed(b, "total_start_time", (double)c->started_at);
	buf_tag_fixed(b, "total_duration", up);
	buf_tag_fixed(b, "total_active_duration", up * f.active);
	buf_tag_fixed(b, "total_gpu_active_duration", up * f.gpu_active);
	buf_tag_fixed(b, "now", (double)c->now);
	buf_puts(b, "</time_stats>\n");
}

void
gui_state(const struct gui_call *g)
{
	struct client *c = g->c;
	struct buf *b = g->out;

	buf_puts(b, "<client_state>\n");
	app_host_info(c, b);
	buf_puts(b, "<net_stats>\n</net_stats>\n");
	put_time_stats(c, b);
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];

		gui_put_project(c, b, p);
		for (size_t k = 0; k < p->napps; k++)
			gui_put_app(b, &p->apps[k]);
		for (size_t k = 0; k < p->nversions; k++)
			put_version(b, &p->versions[k]);
		for (size_t k = 0; k < p->nworkunits; k++)
			gui_put_workunit(b, &p->workunits[k]);
		gui_put_tasks(c, b, p, false);
	}
	buf_tag(b, "platform_name", c->options.platform);
	buf_tag_i64(b, "core_client_major_version", CLIENT_MAJOR);
	buf_tag_i64(b, "core_client_minor_version", CLIENT_MINOR);
	buf_tag_i64(b, "core_client_release", 0);
	buf_tag_i64(b, "executing_as_daemon", 0);
	buf_tag(b, "platform", c->options.platform);
	preferences_put(c, b);
	buf_puts(b, "</client_state>\n");
}
