/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus status: what runs, whether it serves, and the progress of the work. Also works
 * when the database is down.
 */
#include <stdio.h>
#include <string.h>
#include "db/host.h"
#include "db/trigger_rows.h"
#include "db/stmts.h"
#include "db/workunit.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/decision.h"
#include "model/trouble.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/unsendable.h"
#include "tools/catalog.h"
#include "tools/census.h"
#include "tools/print/print.h"
#include "tools/conf_edit.h"
#include "tools/dir_cure.h"
#include "tools/failures.h"
#include "tools/file_view.h"
#include "lib/human.h"
#include "tools/probe.h"
#include "tools/running.h"
#include "tools/terminal.h"
#include "tools/stuck.h"
#include "tools/upstream.h"
#include "tools/work_list.h"
#include "lib/banned.h"

enum {
	DAY_S = 86400,
	FAILURES_LOOKED = 2000,
	FAILURES_SHOWN = 3,
	FAILURES_JSON = 20,
	ASIDE_LOOKED = 100000,
	ASIDE_SHOWN = 4,
	FAULTS_SHOWN = 3,
	WATCH_S = 5
};

struct project_status {
	struct state s;
	enum running running;
	bool counted;       /* true if the database answered */
	struct probe probe; /* made only while something runs */
	bool triggers; /* true if the triggers are known; those in directories do not
	                  need the database */
	struct census c;
	struct failures failed;   /* of the last day */
	struct catalog *cat;      /* with the names of their apps */
	struct trouble *troubles; /* reported by this machine's daemons */
	struct trouble *late;     /* those that run and finish no pass */
	struct trouble *standbys; /* its daemons that do not work, with the reason */
	struct trouble *paused;   /* those that pause because nothing succeeds */
	size_t ntroubles, nlate, nstandbys, npaused;
	struct row_tally *suspects; /* hosts that stand out, the worst first */
	size_t nsuspects;
	struct host_ends ends;   /* of all hosts */
	struct row_aside *aside; /* workunits put aside, by reason */
	size_t naside;
	struct config_faults faults; /* what files of the project lose by mistakes */
	struct row_pair *messages;   /* of tasks, waiting: number, time of the oldest */
	struct stuck_sum { /* for each code: the first finding and the number of
		              findings */
		char *name, *more, *cure;
		int64_t n;
	} stuck[FSCK__MAX];
};

/* --- hosts that stand out --- */

enum { SUSPECTS_SHOWN = 5 };

static enum suspicion suspicion_of(
    const struct project_status *r, const struct row_tally *t)
{
	const struct host_ends h = host_ends_of(t);

	return host_suspicion(&h, &r->ends);
}

static enum err find_suspects(struct cmd_ctx *x, struct project_status *r)
{
	struct row_tally *v;
	size_t n;

	TRY(host_ends_lately(x->db, x->a, &v, &n, &r->ends, x->f));
	r->suspects = v;
	for (size_t i = 0; i < n; i++)
		if (suspicion_of(r, &v[i]) != SUSPICION_NONE)
			r->suspects[r->nsuspects++] = v[i];
	return OK;
}

/* "30 of 42 successes are invalid or inconclusive, 2 % of all hosts'". */
static char *suspect_text(
    struct arena *a, const struct project_status *r, const struct row_tally *t)
{
	const struct host_ends h = host_ends_of(t), *all = &r->ends;

	if (suspicion_of(r, t) == SUSPICION_WRONG)
		return arena_printf(a,
		    "%lld of its newest %lld successes are invalid or inconclusive, %.0f %% of all hosts'",
		    (long long)h.wrong, (long long)h.success,
		    100 * (double)all->wrong / (double)all->success);
	return arena_printf(a,
	    "%lld of its newest %lld results failed, %.0f %% of all hosts'",
	    (long long)h.failed, (long long)(h.failed + h.success),
	    100 * (double)all->failed / (double)(all->failed + all->success));
}

static void show_suspects(
    struct cmd_ctx *x, struct print *p, const struct project_status *r)
{
	print_open(p, "hosts_that_stand_out", PRINT_ARRAY);
	for (size_t i = 0; i < r->nsuspects; i++) {
		long long id = r->suspects[i].id;
		const char *why = suspect_text(x->a, r, &r->suspects[i]);

		print_object(p, NULL, "host", id, "why", why);
		if (i < SUSPECTS_SHOWN)
			print_alert(p, COLOR_WARN, i == 0 ? "hosts" : "",
			    "host %lld: %s; %s %lld", id, why,
			    locus_command(x->a, x->cf, "host show"), id);
	}
	print_close(p);
	if (r->nsuspects > SUSPECTS_SHOWN)
		print_line(p, "", "and %zu others, by %s inconclusive or errors",
		    r->nsuspects - SUSPECTS_SHOWN,
		    locus_command(x->a, x->cf, "host list --sort"));
}

/* --- what never makes progress --- */

struct finder {
	struct cmd_ctx *x;
	struct arena *a;
	struct project_status *r;
};

static void status_stuck_found(void *arg, const struct fsck_finding *found)
{
	const struct finder *f = arg;
	struct stuck_sum *s = &f->r->stuck[found->code];

	if (s->n++ == 0) {
		s->name = arena_strdup(f->a, found->name);
		s->more = arena_strdup(f->a, found->more);
		s->cure = fsck_cure(f->a, f->x, found);
	}
}

/*
 * Looks for workunits that lack results only if the counts show that there may be any.
 */
static enum err find_stuck(struct cmd_ctx *x, struct project_status *r)
{
	struct finder f = { x, x->a, r };

	TRY(stuck_find(x, STUCK_QUEUED, r->c.wus.lacking > 0,
	    &(const struct stuck_listener){ status_stuck_found, &f }));
	for (int c = FSCK_WORK_APP_OFF; c < FSCK_WORK_APP_OFF + UNSENDABLE__MAX; c++)
		if (r->stuck[c].n > 0)
			r->c.work.stuck = r->c.set.stuck = true;
	return OK;
}

static char *stuck_text(struct arena *a, int code, const struct stuck_sum *s)
{
	const struct fsck_words *w = fsck_words((enum fsck_code)code);
	const char *more = s->more[0] == '\0' ? "" : arena_printf(a, " (%s)", s->more);

	return arena_printf(
	    a, "%s %s: %s%s; %s", w->noun, s->name, w->text, more, s->cure);
}

static void show_stuck(
    struct cmd_ctx *x, struct print *p, const struct project_status *r)
{
	print_open(p, "stuck", PRINT_ARRAY);
	for (int i = 0; i < FSCK__MAX; i++) {
		const struct stuck_sum *s = &r->stuck[i];
		const char *text = s->n == 0 ? "" : stuck_text(x->a, i, s);

		if (s->n == 0)
			continue;
		print_object(p, NULL, "code", fsck_words((enum fsck_code)i)->code,
		    "name", s->name, "found", s->n, "text", text);
		print_alert(p, COLOR_BAD, "stuck", "%s", text);
		if (s->n > 1)
			print_line(p, "", "and %lld more, listed by %s",
			    (long long)s->n - 1, locus_command(x->a, x->cf, "fsck"));
	}
	print_close(p);
}

/* --- what fails --- */

static const char *failing_app(
    const struct project_status *r, const struct failure_kind *k)
{
	const struct app *app = catalog_app(r->cat, k->appid);

	return app == NULL ? "" : app->name;
}

static void show_failures(
    struct cmd_ctx *x, struct print *p, const struct project_status *r)
{
	const struct failures *f = &r->failed;
	char last[21];

	print_put(p, "failed_last_day", f->total);
	if (f->total > 0)
		print_alert(p, COLOR_WARN, "failures",
		    "%lld tasks failed in the last day%s", (long long)f->total,
		    f->looked < f->total ? ", of the newest:" : ":");
	print_open(p, "failing", PRINT_ARRAY);
	for (size_t i = 0; i < f->n && i < FAILURES_JSON; i++) {
		const struct failure_kind *k = &f->v[i];
		const char *app = failing_app(r, k), *cure = failure_cure(x, k);
		const char *words = failure_words(x->a, k);

		print_object(p, NULL, "app", app, "failures", k->n, "on_hosts",
		    k->hosts, "exit_status", k->exit_status, "words", words, "example",
		    k->example, "last", clock_text(k->last, last), "try", cure);
		if (i < FAILURES_SHOWN)
			print_line(p, "",
			    "%lld of %s on %lld host%s: %s\n             %s",
			    (long long)k->n, app, (long long)k->hosts,
			    k->hosts == 1 ? "" : "s", words, cure);
	}
	print_close(p);
	if (f->n > FAILURES_SHOWN)
		print_line(p, "", "and %zu other kinds, by %s %s",
		    f->n - FAILURES_SHOWN, locus_command(x->a, x->cf, "explain app"),
		    failing_app(r, &f->v[FAILURES_SHOWN]));
}

/* --- what runs --- */

static void show_services(struct cmd_ctx *x, struct print *p, const struct state *s)
{
	int64_t now = clock_now();
	char since[21];

	print_open(p, "services", PRINT_ARRAY);
	for (size_t i = 0; i < s->n; i++) {
		const struct state_proc *v = &s->procs[i];
		const char *state = proc_state_name(v->state), *note = v->note;
		enum color color = v->state == PROC_RUNNING ? COLOR_GOOD :
		                   v->state == PROC_FAILED  ? COLOR_BAD :
		                                              COLOR_WARN;

		print_object(p, NULL, "name", v->name, "state", state, "pid", v->pid,
		    "since", v->pid == 0 ? "" : clock_text(v->since, since), "restarts",
		    v->restarts, "note", note);
		if (v->restarts > 0)
			note = arena_printf(x->a, "%d restarts%s%s", v->restarts,
			    note[0] == '\0' ? "" : ", the last: ", note);
		print_aligned(p, "llrrl", arena_printf(x->a, "  %s", v->name),
		    print_own(color_text(x->a, color, state)),
		    print_unless(v->pid == 0, v->pid),
		    print_unless(v->pid == 0, human_span(x->a, now - v->since)), note);
	}
	print_close(p);
}

static void show_upstream(struct cmd_ctx *x, struct print *p)
{
	struct fail f = { 0 };
	char **lines;
	size_t n;

	if (x->format != FORMAT_TABLE ||
	    upstream_says(x->a, x->cf, &lines, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		print_line(p, NULL, "  %s", lines[i]);
}

/* The daemons end when they see the file, and wait as long as it is there. */
static char *daemons_stopped(struct cmd_ctx *x)
{
	const char *stop = project_path(x->a, x->cf, "stop_daemons");

	return fs_exists(stop) ?
	           owner_command(x->a, &x->owner, arena_printf(x->a, "rm %s", stop)) :
	           NULL;
}

static void show_faults(
    struct cmd_ctx *x, struct print *p, const struct config_faults *f)
{
	print_open(p, "faults", PRINT_ARRAY);
	for (size_t i = 0; i < f->n; i++) {
		const char *text = config_fault_text(x->a, &f->v[i]);

		print_put(p, NULL, text);
		if (i < FAULTS_SHOWN)
			print_alert(p, COLOR_BAD, "file", "%s", text);
	}
	print_close(p);
	if (f->n > 0)
		print_line(p, "", "%s%s",
		    f->n > FAULTS_SHOWN ? arena_printf(x->a, "and %zu more, listed by ",
					      f->n - FAULTS_SHOWN) :
					  "what the project's files lose: ",
		    locus_command(x->a, x->cf, "config check"));
}

/* What daemons say about themselves. */
static void show_troubles(struct cmd_ctx *x, struct print *p, const char *key,
    const struct trouble *v, size_t n)
{
	print_open(p, key, PRINT_ARRAY);
	for (size_t i = 0; i < n; i++) {
		const char *span = human_span(x->a, clock_now() - v[i].at);

		print_object(p, NULL, "daemon", v[i].daemon, "text", v[i].text, "time",
		    print_time(v[i].at));
		if (strcmp(key, "standbys") == 0)
			print_line(p, "standby", "%s: %s (since %s)", v[i].daemon,
			    v[i].text, span);
		else if (strcmp(key, "paused") == 0)
			print_alert(p, COLOR_BAD, "paused", "%s, for %s: %s",
			    v[i].daemon, span, v[i].text);
		else if (strcmp(key, "late") == 0)
			print_alert(p, COLOR_BAD, "late",
			    "%s runs, but has finished no pass for %s: %s %s, if its log shows no work",
			    v[i].daemon, span, locus_command(x->a, x->cf, "restart"),
			    v[i].daemon);
		else
			print_alert(p, COLOR_BAD, "trouble", "%s: %s (%s ago)",
			    v[i].daemon, v[i].text, span);
	}
	print_close(p);
}

static void show_running(
    struct cmd_ctx *x, struct print *p, const struct project_status *r)
{
	const char *go_on = daemons_stopped(x), *state = running_name(r->running);
	const struct probe *probe = &r->probe;
	const char **names, *text;
	size_t n;

	print_put(p, "name", x->cf->long_name, "url", x->cf->master_url, "project_dir",
	    x->cf->project_dir, "state", state, "running",
	    print_of_flag(r->running == RUNNING_ALL), "supervisor", r->s.supervisor,
	    "services", NULL, "database", r->counted);
	if (r->counted && x->age_s >= 0)
		print_put(p, "replica_age_s", x->age_s);
	print_put(p, "restart_for", NULL, "daemons_stopped",
	    print_of_flag(go_on != NULL), "standbys", NULL, "troubles", NULL, "late",
	    NULL, "paused", NULL, "faults", NULL);
	print_line(p, NULL, "%s at %s is %s", x->cf->long_name, x->cf->master_url,
	    color_text(x->a,
		r->running == RUNNING_ALL  ? COLOR_GOOD :
		r->running == RUNNING_NONE ? COLOR_WARN :
					     COLOR_BAD,
		state));
	show_services(x, p, &r->s);
	show_upstream(x, p);
	if (go_on != NULL)
		print_alert(p, COLOR_BAD, "stopped",
		    "no daemon works while the file stop_daemons exists; %s ends this",
		    go_on);
	text = running_waits(x, &r->s, &names, &n);
	print_open(p, "restart_for", PRINT_ARRAY);
	for (size_t i = 0; i < n; i++)
		print_put(p, NULL, names[i]);
	print_close(p);
	if (text != NULL)
		print_line(p, "restart", "%s", text);
	show_faults(x, p, &r->faults);
	show_troubles(x, p, "standbys", r->standbys, r->nstandbys);
	show_troubles(x, p, "paused", r->paused, r->npaused);
	show_troubles(x, p, "troubles", r->troubles, r->ntroubles);
	show_troubles(x, p, "late", r->late, r->nlate);
	if (probe->why != NULL)
		print_alert(p, COLOR_BAD, "serving", "no: %s\n           %s",
		    probe->why, probe->mend);
}

/* --- the work --- */

static void show_drained(
    struct cmd_ctx *x, struct print *p, int64_t since, const struct catalog *c)
{
	int64_t now = clock_now();

	print_put(p, "drained_since", print_time(since));
	if (since != 0)
		print_alert(p, COLOR_WARN, "drained",
		    "for %s: hosts report and get no work; %s ends this",
		    human_span(x->a, now - since),
		    locus_command(x->a, x->cf, "resume"));
	print_open(p, "drained_apps", PRINT_ARRAY);
	for (size_t i = 0; i < c->napps; i++) {
		const struct app *app = &c->apps[i];

		if (app->drain_time == 0)
			continue;
		print_object(
		    p, NULL, "app", app->name, "since", print_time(app->drain_time));
		print_alert(p, COLOR_WARN, "drained",
		    "app %s for %s: its tasks are reported and not sent; %s %s ends this",
		    app->name, human_span(x->a, now - app->drain_time),
		    locus_command(x->a, x->cf, "app resume"), app->name);
	}
	print_close(p);
}

static void show_work(struct print *p, const struct census *c)
{
	const struct result_counts *r = &c->results;

	work_counts_show(p, &c->wus);
	print_open(p, "workunits", PRINT_OBJECT);
	print_put(p, "live", c->wus_live);
	print_close(p);
	print_object(p, "results", "total", r->total, "inactive", r->inactive, "unsent",
	    r->unsent, "in_progress", r->in_progress, "over", r->over, "success",
	    r->success, "valid", r->valid, "sent", r->sent);
	print_line(p, "results",
	    "%lld: %lld unsent, %lld in progress, %lld over (%lld success, %lld valid)",
	    (long long)r->total, (long long)r->unsent, (long long)r->in_progress,
	    (long long)r->over, (long long)r->success, (long long)r->valid);
}

static void show_locality(struct cmd_ctx *x, struct print *p, const struct census *c)
{
	int64_t now = clock_now();
	char *saves = locality_saves_text(x->a, &c->sent, &c->without);
	const char *files = "";

	saved_show(x, p, &c->sent);
	print_put(p, "bytes_without_locality",
	    bytes_without_locality(&c->sent, &c->without), "requests_looked_at",
	    c->without.requests);
	if (saves != NULL)
		print_line(p, "", "%s", saves);
	print_line(p, "today", "%s", saved_text(x->a, &c->today));
	print_open(p, "files", PRINT_OBJECT);
	for (int s = 0; s < FILE_STATES; s++) {
		const char *state = file_state_name((enum file_state)s);

		print_put(p, state, c->files[s]);
		files = arena_printf(x->a, "%s%s%lld %s", files, s == 0 ? "" : ", ",
		    (long long)c->files[s], state);
	}
	print_close(p);
	print_line(p, "files", "%s", files);
	print_object(p, "held", "paused", c->paused, "draining", c->draining);
	if (c->paused > 0 || c->draining > 0)
		print_line(p, "held",
		    "%lld file sets are paused, %lld are draining; %s NAME ends this",
		    (long long)c->paused, (long long)c->draining,
		    locus_command(x->a, x->cf, "file resume"));
	drain_put(p, "work_left", &c->work, now);
	print_line(p, "work", "%s", drain_text(x->a, &c->work, now));
	demand_show(x, p, &c->demand);
	print_object(p, "hosts", "total", c->hosts, "active", c->active);
	print_line(p, "hosts", "%lld, of which %lld active in the last %lld days",
	    (long long)c->hosts, (long long)c->active,
	    (long long)x->cf->locality_active_host_days);
}

/* What waits although daemons have seen it. */
static void show_aside(
    struct cmd_ctx *x, struct print *p, const struct project_status *r)
{
	print_open(p, "aside", PRINT_ARRAY);
	for (size_t i = 0; i < r->naside; i++) {
		const struct row_aside *s = &r->aside[i];

		print_object(p, NULL, "workunits", s->n, "by", s->stage, "reason",
		    s->reason, "example", s->example);
		print_alert(p, COLOR_WARN, "put aside",
		    "%lld workunits, by %s, such as %lld: %s", (long long)s->n,
		    s->stage, (long long)s->example, s->reason);
	}
	print_close(p);
	print_put(p, "messages_waiting", r->messages->a);
	if (r->messages->a > 0)
		print_line(p, "messages",
		    "%lld of running tasks wait for a handler, the oldest for %s",
		    (long long)r->messages->a,
		    human_span(x->a, clock_now() - r->messages->b));
}

static void show_counted(
    struct cmd_ctx *x, struct print *p, const struct project_status *r)
{
	const struct census *c = &r->c;

	/* Programs find the members in this order, people the lines as they come. */
	print_put(p, "workunits", NULL, "results", NULL, "jobs_sent", NULL, "hits",
	    NULL, "hit_rate", NULL, "bytes_needed", NULL, "bytes_saved", NULL,
	    "bytes_without_locality", NULL, "requests_looked_at", NULL, "work_left",
	    NULL, "working_set_left", NULL, "demand", NULL, "files", NULL,
	    "drained_since", NULL, "held", NULL, "hosts", NULL, "drained_apps", NULL,
	    "hosts_that_stand_out", NULL, "stuck", NULL, "aside", NULL,
	    "messages_waiting", NULL);
	if (x->age_s >= 0)
		print_line(p, "data", "from the replica, at most %lld s old",
		    (long long)x->age_s);
	show_drained(x, p, c->drained_since, r->cat);
	show_work(p, c);
	show_locality(x, p, c);
	drain_put(p, "working_set_left", &c->set, clock_now());
	show_failures(x, p, r);
	show_suspects(x, p, r);
	show_aside(x, p, r);
	show_stuck(x, p, r);
}

static void show_project_status(struct cmd_ctx *x, const struct project_status *r)
{
	struct print *p = print_tree(x, PRINT_OBJECT);

	print_label(p, 10);
	show_running(x, p, r);
	if (r->counted) {
		show_counted(x, p, r);
	} else {
		print_put(p, "why", x->f->detail);
		print_line(p, "database", "not available: %s", x->f->detail);
	}
	print_put(p, "serves",
	    print_of_flag(r->running == RUNNING_ALL && r->probe.why == NULL));
	if (r->probe.why != NULL)
		print_put(p, "why_not",
		    arena_printf(x->a, "%s; %s", r->probe.why, r->probe.mend));
	if (r->triggers) {
		print_put(p, "working_set", r->c.working_set);
		print_object(p, "triggers", "need_work", r->c.need_work, "claims",
		    r->c.claims, "no_work_available", r->c.no_work_available,
		    "files_no_work", r->c.files_no_work);
		print_line(p, "triggers",
		    "%lld need_work, %lld claims, %lld no_work_available, %lld files_no_work",
		    (long long)r->c.need_work, (long long)r->c.claims,
		    (long long)r->c.no_work_available, (long long)r->c.files_no_work);
		print_line(p, "set", "%lld files in the working set%s%s",
		    (long long)r->c.working_set, r->c.set.files > 0 ? ": " : "",
		    r->c.set.files > 0 ? drain_text(x->a, &r->c.set, clock_now()) : "");
	}
	print_end(p);
}

struct status_opts {
	const char *watch;
};
static const struct field status_options[] = {
	{ "watch", FIELD_OF(struct status_opts, watch), "SECONDS",
	    "Repeats every 5 seconds, or so many, with rates and trends since it began, until ^C.",
	    .maybe = true },
	{ 0 },
};

/* Reads what only the database knows. */
static enum err status_read_rows(struct cmd_ctx *x, struct project_status *r)
{
	TRY(census_take(x, &r->c));
	TRY(tools_catalog(x, &r->cat));
	TRY(failures_read(x, 0, clock_now() - DAY_S, FAILURES_LOOKED, &r->failed));
	TRY(find_suspects(x, r));
	TRY(wu_troubles_reasons(
	    x->db, x->a, ASIDE_LOOKED, ASIDE_SHOWN, &r->aside, &r->naside, x->f));
	TRY(db_row(x->db, x->a, x->f, &r->messages, STATUS_TRICKLES));
	return find_stuck(x, r);
}

/* An error of the connection to the database is part of the status. */
static enum err status_take(struct cmd_ctx *x, struct project_status *r, enum err e)
{
	*r = (struct project_status){ 0 };
	TRY(running_read(x, &r->s, &r->running));
	trouble_list(x->a, x->cf, &r->troubles, &r->ntroubles);
	late_list(x->a, x->cf, clock_now(), &r->late, &r->nlate);
	standby_list(x->a, x->cf, &r->standbys, &r->nstandbys);
	paused_list(x->a, x->cf, &r->paused, &r->npaused);
	config_errors_find(x, &r->faults);
	r->triggers = !triggers_in_rows(x->cf);
	if (r->triggers)
		TRY(census_triggers(x, &r->c));
	r->counted = e == OK && status_read_rows(x, r) == OK;
	if (r->counted && !r->triggers)
		r->triggers = census_triggers(x, &r->c) == OK;
	if (r->running != RUNNING_NONE)
		r->probe = probe_project(x, x->a);
	if (r->probe.why != NULL && r->running == RUNNING_ALL)
		r->running = RUNNING_PART;
	/* A running project that cannot reach its database does not serve. */
	if (!r->counted && r->running == RUNNING_ALL)
		r->running = RUNNING_PART;
	x->status = running_exit(r->running);
	return OK;
}

/* --- watching --- */

struct watch {               /* figures when it began, and at the last look */
	struct arena *whole; /* of the command */
	bool counted;
	int64_t began_ms;
	int64_t sent, over, valid, bytes;
};

/* What came since the beginning, and how much of it in a minute. */
static char *trend(
    struct arena *a, const char *what, int64_t was, int64_t is, int64_t ms)
{
	double per_minute = ms > 0 ? (double)(is - was) * 60000 / (double)ms : 0;

	return arena_printf(
	    a, "%lld %s (%.3g a minute)", (long long)(is - was), what, per_minute);
}

static void print_trends(
    struct cmd_ctx *x, const struct project_status *r, struct watch *w)
{
	const struct census *c = &r->c;
	int64_t ms = clock_mono_ms() - w->began_ms;
	int64_t left = c->results.unsent + c->work.makeable + c->results.in_progress;
	int64_t over = c->results.over - w->over;

	if (!r->counted)
		return;
	if (!w->counted) {
		w->counted = true;
		w->sent = c->results.sent;
		w->over = c->results.over;
		w->valid = c->wus.with_canonical;
		w->bytes = c->sent.bytes_needed;
	}
	printf("since      %s: %s, %s, %s", human_span(x->a, ms / 1000),
	    trend(x->a, "sent", w->sent, c->results.sent, ms),
	    trend(x->a, "over", w->over, c->results.over, ms),
	    trend(x->a, "workunits valid", w->valid, c->wus.with_canonical, ms));
	printf("; %s sent\n",
	    human_bytes(x->a, (double)(c->sent.bytes_needed - w->bytes)));
	if (over > 0 && left > 0)
		printf("left       %lld results to be over; at this rate in %s\n",
		    (long long)left,
		    human_span(x->a,
			(int64_t)((double)left * (double)ms / 1000 / (double)over)));
	else
		printf("left       %lld results to be over\n", (long long)left);
}

static enum err watch_look(struct cmd_ctx *x, void *arg)
{
	struct watch *w = arg;
	struct arena *round = x->a;
	struct project_status r;
	enum err e;

	/* The connection stays; a database that was down may be back. */
	*x->f = (struct fail){ 0 };
	x->a = w->whole;
	e = ctx_db_report(x);
	x->a = round;
	if (e == OK)
		e = db_ready(x->db, x->f);
	TRY(status_take(x, &r, e));
	print_trends(x, &r, w);
	show_project_status(x, &r);
	return OK;
}

static enum err status_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct status_opts *o = opts;
	struct watch w = { .whole = x->a, .began_ms = clock_mono_ms() };
	int64_t every = WATCH_S;
	struct project_status r;

	(void)args, (void)n;
	if (o->watch != NULL && o->watch[0] != '\0' &&
	    !text_i64(o->watch, 1, 86400, &every))
		return ctx_usage(
		    x, "--watch=%.40s: it must be a number of seconds", o->watch);
	if (o->watch != NULL && x->format != FORMAT_TABLE)
		return ctx_usage(
		    x, "--watch shows text; run locus status -o json again and again");
	TRY(ctx_conf(x));
	if (o->watch != NULL)
		return screen_repeat(x, every, watch_look, &w);
	TRY(status_take(x, &r, ctx_db_report(x)));
	show_project_status(x, &r);
	return OK;
}

const struct cmd cmd_status = { .name = "status",
	.args = "",
	.purpose = "show what runs, and the progress of the work",
	.about =
	    "Shows whether each service runs, the number of workunits and results in each state,\n"
	    "the bytes sent and saved by the ledger, how long the work will last, the triggers, and\n"
	    "what never makes progress without the admin; for this it looks at the first jobs of\n"
	    "each app, while locus fsck looks at all. Probes the project as locus start does, and\n"
	    "reports what keeps it from serving and which changes of config.xml wait for a restart.\n"
	    "Names the most frequent failures of the last day with what to try. Also works when the\n"
	    "database is down. Exit status 0: running and serving, 3: stopped, 4: something in\n"
	    "between.",
	.details =
	    "What hosts held already is not what locality saves: without it, too, a host gets\n"
	    "several jobs on a file that it has fetched once, which the estimate takes into\n"
	    "account. A daemon is late if it runs, but has finished no pass for ten minutes.",
	.opts = status_options,
	.opts_size = sizeof(struct status_opts),
	.tree = true,
	.run = status_run };
