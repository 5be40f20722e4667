/* SPDX-License-Identifier: Apache-2.0 */
/* The host, its projects, files, messages and preferences, for tools. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "client/app.h"
#include "client/control/control.h"
#include "client/control/gui.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "proto/normalise.h"
#include "lib/banned.h"

/* Tasks, and the rows that they refer to, for tools. */

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

static int32_t result_state(const struct cproject *p, const struct ctask *t)
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
static const char *resources_text(struct client *c, const struct rp_app_version *v)
{
	int32_t rsc = version_resource(c, v);

	return rsc > CW_CPU ?
	           arena_printf(&c->scratch, "%.3g CPUs + %.3g %s", v->avg_ncpus,
		       v->coproc_count, c->options.coproc[rsc - 1].name) :
	           arena_printf(&c->scratch, "%.3g CPU%s", v->avg_ncpus,
		       v->avg_ncpus == 1 ? "" : "s");
}

static void put_active_task(struct client *c, struct buf *b, const struct ctask *t)
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

static void put_if(struct buf *b, const char *tag, bool yes)
{
	if (yes)
		buf_printf(b, "    <%s/>\n", tag);
}

/* Appends what a task is, and a project. */
static void gui_put_task(
    struct client *c, struct buf *b, struct cproject *p, struct ctask *t)
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

static void gui_put_app(struct buf *b, const struct rp_app *app)
{
	const char *friendly = app->user_friendly_name;

	buf_puts(b, "<app>\n");
	buf_tag(b, "name", app->name);
	buf_tag(b, "user_friendly_name",
	    friendly == NULL || friendly[0] == '\0' ? app->name : friendly);
	buf_tag_i64(b, "non_cpu_intensive", app->non_cpu_intensive);
	buf_puts(b, "</app>\n");
}

static void put_version(struct buf *b, const struct rp_app_version *v)
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

static void gui_put_workunit(struct buf *b, const struct rp_workunit *wu)
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

static void gui_put_tasks(
    struct client *c, struct buf *b, struct cproject *p, bool active_only)
{
	for (size_t i = 0; i < p->ntasks; i++)
		if (!p->tasks[i].acked && (!active_only || p->tasks[i].pid != 0))
			gui_put_task(c, b, p, &p->tasks[i]);
}

void gui_results(const struct gui_call *g)
{
	const char *active = gui_argument(g, "active_only");

	buf_puts(g->out, "<results>\n");
	for (size_t i = 0; i < g->c->state->nprojects; i++)
		gui_put_tasks(g->c, g->out, &g->c->state->projects[i],
		    active != NULL && strcmp(active, "1") == 0);
	buf_puts(g->out, "</results>\n");
}

static void gui_put_project(struct client *c, struct buf *b, struct cproject *p);

void gui_simple(const struct gui_call *g)
{
	struct state *st = g->c->state;

	buf_puts(g->out, "<simple_gui_info>\n");
	for (size_t i = 0; i < st->nprojects; i++)
		gui_put_project(g->c, g->out, &st->projects[i]);
	for (size_t i = 0; i < st->nprojects; i++)
		gui_put_tasks(g->c, g->out, &st->projects[i], true);
	buf_puts(g->out, "</simple_gui_info>\n");
}

static void put_time_stats(struct client *c, struct buf *b)
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

void gui_state(const struct gui_call *g)
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

enum { /* tools show what is between these two as an alert */
	PRIORITY_INFO = 1,
	PRIORITY_ERROR = 3
};
enum { FILE_MOST = 64 << 10, NETWORK_NOT_NEEDED = 2, EVENT_LINES = 1000 };

/* An unknown text is an empty one. */
static void put_known(struct buf *b, const char *tag, const char *text)
{
	buf_tag(b, tag, text == NULL ? "" : text);
}

/* --- projects --- */

static void put_backoffs(struct buf *b, const struct cproject *p, double now)
{
	for (size_t i = 0; i < p->nstandings; i++) {
		const struct standing *s = &p->standings[i];

		buf_puts(b, "<rsc_backoff_time>\n");
		buf_tag(b, "name", s->name);
		buf_tag_fixed(
		    b, "value", s->backoff_until > now ? s->backoff_until : 0);
		buf_puts(b, "</rsc_backoff_time>\n<rsc_backoff_interval>\n");
		buf_tag(b, "name", s->name);
		buf_tag_fixed(b, "value", s->backoff_s);
		buf_puts(b, "</rsc_backoff_interval>\n");
	}
}

static void put_project_account(struct buf *b, const struct cproject *p)
{
	const struct rp_account *a = &p->account;

	put_known(b, "user_name", a->user_name);
	put_known(b, "team_name", a->team_name);
	put_known(b, "host_venue", p->venue);
	put_known(b, "email_hash", a->email_hash);
	put_known(b, "cross_project_id", a->cross_project_id);
	put_known(b, "external_cpid", a->external_cpid);
	buf_tag_fixed(b, "user_total_credit", a->user_total_credit);
	buf_tag_fixed(b, "user_expavg_credit", a->user_expavg_credit);
	buf_tag_fixed(b, "user_create_time", a->user_create_time);
	buf_tag_i64(b, "rpc_seqno", p->rpc_seqno);
	buf_tag_i64(b, "userid", p->userid);
	buf_tag_i64(b, "teamid", a->teamid);
	buf_tag_i64(b, "hostid", p->hostid);
	buf_tag_fixed(b, "host_total_credit", a->host_total_credit);
	buf_tag_fixed(b, "host_expavg_credit", a->host_expavg_credit);
	buf_tag_fixed(b, "host_create_time", a->host_create_time);
}

static void gui_put_project(struct client *c, struct buf *b, struct cproject *p)
{
	buf_puts(b, "<project>\n");
	buf_tag(b, "master_url", p->master_url);
	put_known(b, "project_name", p->project_name);
	put_project_account(b, p);
	buf_tag_i64(b, "nrpc_failures", p->rpc.nrpc_failures);
	buf_tag_i64(b, "master_fetch_failures", p->rpc.nmaster_failures);
	buf_tag_fixed(b, "min_rpc_time", p->rpc.min_rpc_time);
	buf_tag_fixed(b, "next_rpc_time", p->rpc.next_rpc_time);
	buf_tag_fixed(b, "rec", p->acct.rec);
	buf_tag_fixed(b, "resource_share", p->share);
	buf_tag_fixed(b, "disk_usage", disk_used_bytes(p));
	buf_tag_fixed(b, "duration_correction_factor", p->dcf);
	buf_tag_i64(b, "sched_rpc_pending", p->rpc.user_request);
	buf_tag_i64(b, "njobs_success", p->nsucceeded);
	buf_tag_i64(b, "njobs_error", p->nfailed);
	buf_tag_fixed(b, "elapsed_time", p->computed_s);
	buf_tag_fixed(b, "last_rpc_time", p->rpc.last_contact);
	if (p->rpc.master_pending || p->nschedulers == 0)
		buf_puts(b, "    <master_url_fetch_pending/>\n");
	if (p->ntrickles > 0)
		buf_puts(b, "    <trickle_up_pending/>\n");
	if (p->nci)
		buf_puts(b, "    <non_cpu_intensive/>\n");
	if (p->suspended || orders_name(c, "suspend", p->master_url))
		buf_puts(b, "    <suspended_via_gui/>\n");
	if (p->no_new_work || orders_all(c, "no-new-work") ||
	    orders_name(c, "no-new-work", p->master_url))
		buf_puts(b, "    <dont_request_more_work/>\n");
	put_backoffs(b, p, (double)c->now);
	buf_tag(b, "project_dir", transfer_project_dir(c, p));
	buf_puts(b, "</project>\n");
}

void gui_projects(const struct gui_call *g)
{
	buf_puts(g->out, "<projects>\n");
	for (size_t i = 0; i < g->c->state->nprojects; i++)
		gui_put_project(g->c, g->out, &g->c->state->projects[i]);
	buf_puts(g->out, "</projects>\n");
}

/* Daily credits are not kept; the present ones are those of today. */
void gui_statistics(const struct gui_call *g)
{
	struct buf *b = g->out;

	buf_puts(b, "<statistics>\n");
	for (size_t i = 0; i < g->c->state->nprojects; i++) {
		const struct cproject *p = &g->c->state->projects[i];

		buf_puts(b, "<project_statistics>\n");
		buf_tag(b, "master_url", p->master_url);
		buf_puts(b, "<daily_statistics>\n");
		buf_tag_fixed(b, "day", floor((double)g->c->now / 86400) * 86400);
		buf_tag_fixed(b, "user_total_credit", p->account.user_total_credit);
		buf_tag_fixed(b, "user_expavg_credit", p->account.user_expavg_credit);
		buf_tag_fixed(b, "host_total_credit", p->account.host_total_credit);
		buf_tag_fixed(b, "host_expavg_credit", p->account.host_expavg_credit);
		buf_puts(b, "</daily_statistics>\n</project_statistics>\n");
	}
	buf_puts(b, "</statistics>\n");
}

/* --- the host --- */

void gui_host(const struct gui_call *g)
{
	app_host_info(g->c, g->out);
}

void gui_disk_usage(const struct gui_call *g)
{
	struct client *c = g->c;
	struct disk d = disk_now(c);

	buf_puts(g->out, "<disk_usage_summary>\n");
	for (size_t i = 0; i < c->state->nprojects; i++) {
		const struct cproject *p = &c->state->projects[i];

		buf_puts(g->out, "<project>\n");
		buf_tag(g->out, "master_url", p->master_url);
		buf_tag_fixed(g->out, "disk_usage", disk_used_bytes(p));
		buf_puts(g->out, "</project>\n");
	}
	buf_tag_fixed(g->out, "d_total", d.total);
	buf_tag_fixed(g->out, "d_free", d.free);
	buf_tag_fixed(g->out, "d_boinc", d.used);
	buf_tag_fixed(g->out, "d_allowed", d.allowed);
	buf_puts(g->out, "</disk_usage_summary>\n");
}

/* As tools number the modes. */
static int32_t mode_number(enum mode_kind kind)
{
	static const int32_t numbers[] = {
		[MODE_ALWAYS] = 1, [MODE_AUTO] = 2, [MODE_NEVER] = 3
	};

	return numbers[kind];
}

static void put_mode(struct client *c, struct buf *b, const char *what,
    const struct mode *m, enum hindrance by)
{
	double left = m->brief_until - (double)c->now;

	buf_tag_i64(b, arena_printf(&c->scratch, "%s_suspend_reason", what),
	    hindrance_numbers[by]);
	buf_tag_i64(
	    b, arena_printf(&c->scratch, "%s_mode", what), mode_number(mode_now(c, m)));
	buf_tag_i64(b, arena_printf(&c->scratch, "%s_mode_perm", what),
	    mode_number((enum mode_kind)m->lasting));
	buf_tag_fixed(
	    b, arena_printf(&c->scratch, "%s_mode_delay", what), left > 0 ? left : 0);
}

void gui_cc_status(const struct gui_call *g)
{
	struct client *c = g->c;
	struct buf *b = g->out;

	buf_puts(b, "<cc_status>\n");
	buf_tag_i64(b, "network_status", NETWORK_NOT_NEEDED);
	buf_tag_i64(b, "ams_password_error", 0);
	put_mode(c, b, "task", &c->state->run_mode, c->hindered.run);
	put_mode(c, b, "gpu", &c->state->gpu_mode, c->hindered.gpu);
	put_mode(c, b, "network", &c->state->network_mode, c->hindered.network);
	buf_tag_i64(b, "disallow_attach", 0);
	buf_tag_i64(b, "simple_gui_only", 0);
	buf_tag_i64(b, "max_event_log_lines", EVENT_LINES);
	buf_puts(b, "</cc_status>\n");
}

void gui_account_manager(const struct gui_call *g)
{
	buf_puts(g->out, "<acct_mgr_info>\n");
	buf_tag(g->out, "acct_mgr_url", "");
	buf_tag(g->out, "acct_mgr_name", "");
	buf_puts(g->out, "</acct_mgr_info>\n");
}

/* An attachment is complete when it is made; its project may still be down. */
void gui_attach_poll(const struct gui_call *g)
{
	buf_puts(g->out, "<project_attach_reply>\n");
	buf_tag_i64(g->out, "error_num", 0);
	buf_puts(g->out, "</project_attach_reply>\n");
}

/* The proxy is the environment's affair. */
void gui_proxy(const struct gui_call *g)
{
	buf_puts(g->out, "<proxy_info>\n</proxy_info>\n");
}

/* --- files --- */

static void put_transfer(
    struct buf *b, const struct cproject *p, const struct cfile *f, bool up)
{
	buf_puts(b, "<file_transfer>\n");
	buf_tag(b, "project_url", p->master_url);
	put_known(b, "project_name", p->project_name);
	buf_tag(b, "name", f->info.name);
	buf_tag_fixed(b, "nbytes", up ? f->size : f->info.nbytes);
	buf_tag_fixed(b, "max_nbytes", f->info.max_nbytes);
	buf_tag_i64(b, "status", f->status);
	buf_puts(b, "<persistent_file_xfer>\n");
	buf_tag_i64(b, "num_retries", f->failures);
	buf_tag_fixed(b, "next_request_time", (double)f->try_after);
	buf_tag_i64(b, "is_upload", up);
	buf_puts(b, "</persistent_file_xfer>\n</file_transfer>\n");
}

void gui_transfers(const struct gui_call *g)
{
	buf_puts(g->out, "<file_transfers>\n");
	for (size_t i = 0; i < g->c->state->nprojects; i++) {
		const struct cproject *p = &g->c->state->projects[i];
		const bool *wanted = state_wanted(&g->c->scratch, p);

		for (size_t k = 0; k < p->nfiles; k++) {
			const struct cfile *f = &p->files[k];

			if (transfer_uploads(f))
				put_transfer(g->out, p, f, true);
			else if (!f->output && f->status == FS_ABSENT && wanted[k])
				put_transfer(g->out, p, f, false);
		}
	}
	buf_puts(g->out, "</file_transfers>\n");
}

/* --- messages --- */

void gui_message_count(const struct gui_call *g)
{
	buf_tag_i64(g->out, "seqno", messages_last(g->c->messages));
}

void gui_messages(const struct gui_call *g)
{
	const char *since = gui_argument(g, "seqno");
	const struct message *m;
	int64_t at = 0;

	if (since == NULL || !text_i64(since, 0, INT64_MAX, &at))
		at = 0;
	buf_puts(g->out, "<msgs>\n");
	while ((m = messages_after(g->c->messages, at)) != NULL) {
		at = m->seqno;
		buf_puts(g->out, "<msg>\n <project></project>\n");
		buf_tag_i64(g->out, "pri",
		    m->kind == MESSAGE_ERROR ? PRIORITY_ERROR : PRIORITY_INFO);
		buf_tag_i64(g->out, "seqno", m->seqno);
		buf_puts(g->out, "<body>");
		buf_xml(g->out, m->text);
		buf_puts(g->out, "</body>\n");
		buf_tag_i64(g->out, "time", m->at);
		buf_puts(g->out, "</msg>\n");
	}
	buf_puts(g->out, "</msgs>\n");
}

/* --- preferences --- */

void gui_prefs_working(const struct gui_call *g)
{
	preferences_put(g->c, g->out);
}

void gui_prefs_file(const struct gui_call *g)
{
	const char *text = g->c->state->preferences;

	buf_printf(g->out, "<global_preferences>%s</global_preferences>\n",
	    text == NULL ? "" : text);
}

void gui_prefs_override(const struct gui_call *g)
{
	char *text;
	struct fail f;

	if (fs_read(&g->c->scratch, preferences_override_path(g->c), FILE_MOST, &text,
		NULL, &f) == OK)
		buf_puts(g->out, text);
	else
		buf_puts(g->out, "<error>no prefs override file</error>\n");
}

char *gui_argument(const struct gui_call *g, const char *name)
{
	char *text = xml_between(&g->c->scratch, g->text, name);

	return text == NULL ?
	           NULL :
	           text_trim(text_decode(&g->c->scratch, text, strlen(text)));
}
