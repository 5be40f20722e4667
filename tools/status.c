/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus status: what runs, whether it serves, and the progress of the work. Also works
 * when the database is down.
 */
#include <stdio.h>
#include <string.h>
#include "db/host_ends.h"
#include "db/trigger_rows.h"
#include "db/stmts.h"
#include "db/wu_trouble.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/decision.h"
#include "model/trouble.h"
#include "rules/daemon/daemon_rules.h"
#include "rules/sched/unsendable.h"
#include "tools/catalog.h"
#include "tools/census.h"
#include "tools/color.h"
#include "tools/config_key.h"
#include "tools/dir_cure.h"
#include "tools/failures.h"
#include "tools/file_view.h"
#include "tools/human.h"
#include "tools/json.h"
#include "tools/probe.h"
#include "tools/running.h"
#include "tools/screen.h"
#include "tools/stuck.h"
#include "tools/table.h"
#include "tools/upstream.h"
#include "tools/work_words.h"
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

/* The first word of a line that is about something wrong. */
static const char *
status_label(struct cmd_ctx *x, enum color c, const char *text)
{
	return color_text(x->a, c, arena_printf(x->a, "%-10s", text));
}

/* --- hosts that stand out --- */

enum { SUSPECTS_SHOWN = 5 };

static enum suspicion
suspicion_of(const struct project_status *r, const struct row_tally *t)
{
	const struct host_ends h = host_ends_of(t);

	return host_suspicion(&h, &r->ends);
}

static enum err
find_suspects(struct cmd_ctx *x, struct project_status *r)
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
static char *
suspect_text(struct arena *a, const struct project_status *r, const struct row_tally *t)
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

static void
print_suspects(struct cmd_ctx *x, const struct project_status *r)
{
	for (size_t i = 0; i < r->nsuspects && i < SUSPECTS_SHOWN; i++)
		printf("%s host %lld: %s; %s %lld\n",
		    i == 0 ? status_label(x, COLOR_WARN, "hosts") : "          ",
		    (long long)r->suspects[i].id,
		    suspect_text(x->a, r, &r->suspects[i]),
		    locus_command(x->a, x->cf, "host show"),
		    (long long)r->suspects[i].id);
	if (r->nsuspects > SUSPECTS_SHOWN)
		printf("           and %zu others, by %s inconclusive or errors\n",
		    r->nsuspects - SUSPECTS_SHOWN,
		    locus_command(x->a, x->cf, "host list --sort"));
}

static json_t *
suspects_json(struct cmd_ctx *x, const struct project_status *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->nsuspects; i++)
		json_array_append_new(
		    list, json_pack("{s:I, s:s}", "host", (json_int_t)r->suspects[i].id,
			      "why", suspect_text(x->a, r, &r->suspects[i])));
	return list;
}

/* --- what never makes progress --- */

struct finder {
	struct cmd_ctx *x;
	struct arena *a;
	struct project_status *r;
};

static void
status_stuck_found(void *arg, const struct fsck_finding *found)
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
static enum err
find_stuck(struct cmd_ctx *x, struct project_status *r)
{
	struct finder f = { x, x->a, r };

	TRY(stuck_find(x, STUCK_QUEUED, r->c.wus.lacking > 0,
	    &(const struct stuck_listener){ status_stuck_found, &f }));
	for (int c = FSCK_WORK_APP_OFF; c < FSCK_WORK_APP_OFF + UNSENDABLE__MAX; c++)
		if (r->stuck[c].n > 0)
			r->c.work.stuck = r->c.set.stuck = true;
	return OK;
}

static char *
stuck_text(struct arena *a, int code, const struct stuck_sum *s)
{
	const struct fsck_words *w = fsck_words((enum fsck_code)code);
	const char *more = s->more[0] == '\0' ? "" : arena_printf(a, " (%s)", s->more);

	return arena_printf(
	    a, "%s %s: %s%s; %s", w->noun, s->name, w->text, more, s->cure);
}

static void
print_stuck(struct cmd_ctx *x, const struct project_status *r)
{
	for (int i = 0; i < FSCK__MAX; i++) {
		const struct stuck_sum *s = &r->stuck[i];

		if (s->n == 0)
			continue;
		printf("%s %s\n", status_label(x, COLOR_BAD, "stuck"),
		    stuck_text(x->a, i, s));
		if (s->n > 1)
			printf("           and %lld more, listed by %s\n",
			    (long long)s->n - 1, locus_command(x->a, x->cf, "fsck"));
	}
}

static json_t *
stuck_json(struct cmd_ctx *x, const struct project_status *r)
{
	json_t *list = json_array();

	for (int i = 0; i < FSCK__MAX; i++) {
		const struct stuck_sum *s = &r->stuck[i];

		if (s->n > 0)
			json_array_append_new(
			    list, json_pack("{s:s, s:o, s:I, s:o}", "code",
				      fsck_words((enum fsck_code)i)->code, "name",
				      json_text(s->name), "found", (json_int_t)s->n,
				      "text", json_text(stuck_text(x->a, i, s))));
	}
	return list;
}

/* --- what fails --- */

static enum err
find_failures(struct cmd_ctx *x, struct project_status *r)
{
	TRY(tools_catalog(x, &r->cat));
	return failures_read(x, 0, clock_now() - DAY_S, FAILURES_LOOKED, &r->failed);
}

static const char *
failing_app(const struct project_status *r, const struct failure_kind *k)
{
	const struct app *app = catalog_app(r->cat, k->appid);

	return app == NULL ? "" : app->name;
}

static void
print_failures(struct cmd_ctx *x, const struct project_status *r)
{
	const struct failures *f = &r->failed;

	if (f->total == 0)
		return;
	printf("%s %lld tasks failed in the last day%s\n",
	    status_label(x, COLOR_WARN, "failures"), (long long)f->total,
	    f->looked < f->total ? ", of the newest:" : ":");
	for (size_t i = 0; i < f->n && i < FAILURES_SHOWN; i++)
		printf("           %lld of %s on %lld host%s: %s\n             %s\n",
		    (long long)f->v[i].n, failing_app(r, &f->v[i]),
		    (long long)f->v[i].hosts, f->v[i].hosts == 1 ? "" : "s",
		    failure_words(x->a, &f->v[i]), failure_cure(x, &f->v[i]));
	if (f->n > FAILURES_SHOWN)
		printf("           and %zu other kinds, by %s %s\n",
		    f->n - FAILURES_SHOWN, locus_command(x->a, x->cf, "explain app"),
		    failing_app(r, &f->v[FAILURES_SHOWN]));
}

static json_t *
failures_json(struct cmd_ctx *x, const struct project_status *r)
{
	json_t *list = json_array();
	char last[21];

	for (size_t i = 0; i < r->failed.n && i < FAILURES_JSON; i++) {
		const struct failure_kind *k = &r->failed.v[i];

		json_array_append_new(list,
		    json_pack("{s:s, s:I, s:I, s:i, s:o, s:o, s:s, s:o}", "app",
			failing_app(r, k), "failures", (json_int_t)k->n, "on_hosts",
			(json_int_t)k->hosts, "exit_status", k->exit_status, "words",
			json_text(failure_words(x->a, k)), "example",
			json_text(k->example), "last", clock_text(k->last, last), "try",
			json_text(failure_cure(x, k))));
	}
	return list;
}

/* --- text output --- */

static const char *
proc_state_text(struct arena *a, enum proc_state s)
{
	return color_text(a,
	    s == PROC_RUNNING ? COLOR_GOOD :
	    s == PROC_FAILED  ? COLOR_BAD :
				COLOR_WARN,
	    proc_state_name(s));
}

static void
print_services(struct cmd_ctx *x, const struct project_status *r)
{
	struct table t = table_new(x->a, "llrrl");
	int64_t now = clock_now();

	for (size_t i = 0; i < r->s.n; i++) {
		const struct state_proc *p = &r->s.procs[i];

		table_printf(&t, "  %s", p->name);
		table_put_own(&t, proc_state_text(x->a, p->state));
		table_put(&t, p->pid == 0 ? "" : arena_printf(x->a, "%d", (int)p->pid));
		table_put(&t, p->pid == 0 ? "" : human_span(x->a, now - p->since));
		if (p->restarts > 0)
			table_printf(&t, "%d restarts%s%s", p->restarts,
			    p->note[0] == '\0' ? "" : ", the last: ", p->note);
		else
			table_put(&t, p->note);
	}
	table_print(&t);
}

static void
print_file_faults(struct cmd_ctx *x, const struct project_status *r)
{
	for (size_t i = 0; i < r->faults.n && i < FAULTS_SHOWN; i++)
		printf("%s %s\n", status_label(x, COLOR_BAD, "file"),
		    config_fault_text(x->a, &r->faults.v[i]));
	if (r->faults.n > 0)
		printf("           %s%s\n",
		    r->faults.n > FAULTS_SHOWN ?
			arena_printf(x->a, "and %zu more, listed by ",
			    r->faults.n - FAULTS_SHOWN) :
			"what the project's files lose: ",
		    locus_command(x->a, x->cf, "config check"));
}

static json_t *
faults_json(struct cmd_ctx *x, const struct project_status *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->faults.n; i++)
		json_array_append_new(
		    list, json_text(config_fault_text(x->a, &r->faults.v[i])));
	return list;
}

static void
print_drained(struct cmd_ctx *x, const struct census *c)
{
	if (c->drained_since != 0)
		printf("%s for %s: hosts report and get no work; %s ends this\n",
		    status_label(x, COLOR_WARN, "drained"),
		    human_span(x->a, clock_now() - c->drained_since),
		    locus_command(x->a, x->cf, "resume project"));
}

static void
print_drained_apps(struct cmd_ctx *x, const struct catalog *c)
{
	for (size_t i = 0; i < c->napps; i++)
		if (c->apps[i].drain_time != 0)
			printf(
			    "%s app %s for %s: its tasks are reported and not sent; %s %s ends this\n",
			    status_label(x, COLOR_WARN, "drained"), c->apps[i].name,
			    human_span(x->a, clock_now() - c->apps[i].drain_time),
			    locus_command(x->a, x->cf, "resume app"), c->apps[i].name);
}

static json_t *
drained_apps_json(const struct catalog *c)
{
	json_t *list = json_array();
	char since[21];

	for (size_t i = 0; i < c->napps; i++)
		if (c->apps[i].drain_time != 0)
			json_array_append_new(list,
			    json_pack("{s:o, s:s}", "app", json_text(c->apps[i].name),
				"since", clock_text(c->apps[i].drain_time, since)));
	return list;
}

static void
print_work(struct cmd_ctx *x, const struct census *c)
{
	const struct result_counts *r = &c->results;

	printf("workunits  %s\n", work_counts_text(x->a, &c->wus));
	printf(
	    "results    %lld: %lld unsent, %lld in progress, %lld over (%lld success, %lld valid)\n",
	    (long long)r->total, (long long)r->unsent, (long long)r->in_progress,
	    (long long)r->over, (long long)r->success, (long long)r->valid);
}

static void
print_locality(struct cmd_ctx *x, const struct census *c)
{
	int64_t now = clock_now();
	char *saves = locality_saves_text(x->a, &c->sent, &c->without);

	printf("locality   %s\n", saved_text(x->a, &c->sent));
	if (saves != NULL)
		printf("           %s\n", saves);
	printf("today      %s\n", saved_text(x->a, &c->today));
	printf("files     ");
	for (int s = 0; s < FILE_STATES; s++)
		printf("%s %lld %s", s == 0 ? "" : ",", (long long)c->files[s],
		    file_state_name((enum file_state)s));
	printf("\n");
	if (c->paused > 0 || c->draining > 0)
		printf(
		    "held       %lld file sets are paused, %lld are draining; %s NAME ends this\n",
		    (long long)c->paused, (long long)c->draining,
		    locus_command(x->a, x->cf, "file resume"));
	printf("work       %s\n", drain_text(x->a, &c->work, now));
	printf("demand     %s\n", demand_text(x->a, &c->demand, now));
	printf("hosts      %lld, of which %lld active in the last %lld days\n",
	    (long long)c->hosts, (long long)c->active,
	    (long long)x->cf->locality_active_host_days);
}

static void
print_upstream(struct cmd_ctx *x)
{
	struct fail f = { 0 };
	char **lines;
	size_t n;

	if (upstream_says(x->a, x->cf, &lines, &n, &f) != OK)
		return;
	for (size_t i = 0; i < n; i++)
		printf("  %s\n", lines[i]);
}

static void
print_troubles(struct cmd_ctx *x, const struct project_status *r)
{
	for (size_t i = 0; i < r->ntroubles; i++)
		printf("%s %s: %s (%s ago)\n", status_label(x, COLOR_BAD, "trouble"),
		    r->troubles[i].daemon, r->troubles[i].text,
		    human_span(x->a, clock_now() - r->troubles[i].at));
}

static void
print_late(struct cmd_ctx *x, const struct project_status *r)
{
	for (size_t i = 0; i < r->nlate; i++)
		printf(
		    "%s %s runs, but has finished no pass for %s: %s %s, if its log shows no work\n",
		    status_label(x, COLOR_BAD, "late"), r->late[i].daemon,
		    human_span(x->a, clock_now() - r->late[i].at),
		    locus_command(x->a, x->cf, "restart"), r->late[i].daemon);
}

static void
print_paused(struct cmd_ctx *x, const struct project_status *r)
{
	for (size_t i = 0; i < r->npaused; i++)
		printf("%s %s, for %s: %s\n", status_label(x, COLOR_BAD, "paused"),
		    r->paused[i].daemon,
		    human_span(x->a, clock_now() - r->paused[i].at), r->paused[i].text);
}

/* What waits although daemons have seen it. */
static void
print_aside(struct cmd_ctx *x, const struct project_status *r)
{
	for (size_t i = 0; i < r->naside; i++) {
		const struct row_aside *s = &r->aside[i];

		printf("%s %lld workunits, by %s, such as %lld: %s\n",
		    status_label(x, COLOR_WARN, "put aside"), (long long)s->n, s->stage,
		    (long long)s->example, s->reason);
	}
	if (r->messages != NULL && r->messages->a > 0)
		printf(
		    "messages   %lld of running tasks wait for a handler, the oldest for %s\n",
		    (long long)r->messages->a,
		    human_span(x->a, clock_now() - r->messages->b));
}

static json_t *
aside_json(const struct project_status *r)
{
	json_t *list = json_array();

	for (size_t i = 0; i < r->naside; i++)
		json_array_append_new(list,
		    json_pack("{s:I, s:o, s:o, s:I}", "workunits",
			(json_int_t)r->aside[i].n, "by", json_text(r->aside[i].stage),
			"reason", json_text(r->aside[i].reason), "example",
			(json_int_t)r->aside[i].example));
	return list;
}

/* Reads what print_aside() shows. */
static enum err
find_aside(struct cmd_ctx *x, struct project_status *r)
{
	TRY(wu_troubles_reasons(
	    x->db, x->a, ASIDE_LOOKED, ASIDE_SHOWN, &r->aside, &r->naside, x->f));
	return db_row(x->db, x->a, x->f, &r->messages, STATUS_TRICKLES);
}

static void
print_standbys(struct cmd_ctx *x, const struct project_status *r)
{
	for (size_t i = 0; i < r->nstandbys; i++)
		printf("standby    %s: %s (since %s)\n", r->standbys[i].daemon,
		    r->standbys[i].text,
		    human_span(x->a, clock_now() - r->standbys[i].at));
}

/* The daemons end when they see the file, and wait as long as it is there. */
static char *
daemons_stopped(struct cmd_ctx *x)
{
	const char *stop = project_path(x->a, x->cf, "stop_daemons");

	return fs_exists(stop) ?
	           owner_command(x->a, &x->owner, arena_printf(x->a, "rm %s", stop)) :
	           NULL;
}

static void
print_waits(struct cmd_ctx *x, const struct project_status *r)
{
	const char **names;
	size_t n;
	const char *text = running_waits(x, &r->s, &names, &n);

	if (text != NULL)
		printf("restart    %s\n", text);
}

static void
print_report(struct cmd_ctx *x, const struct project_status *r)
{
	const struct census *c = &r->c;
	const char *go_on = daemons_stopped(x);

	printf("%s at %s is %s\n", x->cf->long_name, x->cf->master_url,
	    color_text(x->a,
		r->running == RUNNING_ALL  ? COLOR_GOOD :
		r->running == RUNNING_NONE ? COLOR_WARN :
					     COLOR_BAD,
		running_name(r->running)));
	print_services(x, r);
	print_upstream(x);
	if (go_on != NULL)
		printf(
		    "%s no daemon works while the file stop_daemons exists; %s ends this\n",
		    status_label(x, COLOR_BAD, "stopped"), go_on);
	print_waits(x, r);
	print_file_faults(x, r);
	print_standbys(x, r);
	print_paused(x, r);
	print_troubles(x, r);
	print_late(x, r);
	if (r->probe.why != NULL)
		printf("%s no: %s\n           %s\n",
		    status_label(x, COLOR_BAD, "serving"), r->probe.why, r->probe.mend);
	if (r->counted && x->age_s >= 0)
		printf("data       from the replica, at most %lld s old\n",
		    (long long)x->age_s);
	if (r->counted) {
		print_drained(x, c);
		print_drained_apps(x, r->cat);
		print_work(x, c);
		print_locality(x, c);
		print_failures(x, r);
		print_suspects(x, r);
		print_aside(x, r);
		print_stuck(x, r);
	} else {
		printf("database   not available: %s\n", x->f->detail);
	}
	if (!r->triggers)
		return;
	printf(
	    "triggers   %lld need_work, %lld claims, %lld no_work_available, %lld files_no_work\n",
	    (long long)c->need_work, (long long)c->claims,
	    (long long)c->no_work_available, (long long)c->files_no_work);
	printf("set        %lld files in the working set%s%s\n",
	    (long long)c->working_set, c->set.files > 0 ? ": " : "",
	    c->set.files > 0 ? drain_text(x->a, &c->set, clock_now()) : "");
}

/* --- JSON output --- */

static json_t *
services_json(const struct state *s)
{
	json_t *list = json_array();
	char since[21];

	for (size_t i = 0; i < s->n; i++) {
		const struct state_proc *p = &s->procs[i];

		json_array_append_new(list,
		    json_pack("{s:s, s:s, s:I, s:s, s:i, s:s}", "name", p->name,
			"state", proc_state_name(p->state), "pid", (json_int_t)p->pid,
			"since", p->pid == 0 ? "" : clock_text(p->since, since),
			"restarts", p->restarts, "note", p->note));
	}
	return list;
}

static json_t *
troubles_json(const struct trouble *v, size_t n)
{
	json_t *list = json_array();
	char at[21];

	for (size_t i = 0; i < n; i++)
		json_array_append_new(list,
		    json_pack("{s:o, s:o, s:s}", "daemon", json_text(v[i].daemon),
			"text", json_text(v[i].text), "time", clock_text(v[i].at, at)));
	return list;
}

static json_t *
waits_json(struct cmd_ctx *x, const struct project_status *r)
{
	json_t *list = json_array();
	const char **names;
	size_t n;

	running_waits(x, &r->s, &names, &n);
	for (size_t i = 0; i < n; i++)
		json_array_append_new(list, json_string(names[i]));
	return list;
}

static void
put_integer(json_t *object, const char *key, int64_t value)
{
	json_object_set_new(object, key, json_integer(value));
}

static json_t *
workunits_json(const struct census *c)
{
	json_t *root = work_counts_json(&c->wus);

	json_object_set_new(root, "live", json_integer(c->wus_live));
	return root;
}

static json_t *
result_counts_json(const struct result_counts *r)
{
	return json_pack("{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "total",
	    (json_int_t)r->total, "inactive", (json_int_t)r->inactive, "unsent",
	    (json_int_t)r->unsent, "in_progress", (json_int_t)r->in_progress, "over",
	    (json_int_t)r->over, "success", (json_int_t)r->success, "valid",
	    (json_int_t)r->valid, "sent", (json_int_t)r->sent);
}

static void
put_census(json_t *root, const struct census *c)
{
	json_t *files = json_object();
	char since[21];

	for (int s = 0; s < FILE_STATES; s++)
		put_integer(files, file_state_name((enum file_state)s), c->files[s]);
	json_object_set_new(root, "workunits", workunits_json(c));
	json_object_set_new(root, "results", result_counts_json(&c->results));
	saved_json(root, &c->sent);
	json_object_set_new(root, "bytes_without_locality",
	    json_real(bytes_without_locality(&c->sent, &c->without)));
	put_integer(root, "requests_looked_at", c->without.requests);
	json_object_set_new(root, "work_left", drain_json(&c->work, clock_now()));
	json_object_set_new(root, "working_set_left", drain_json(&c->set, clock_now()));
	demand_json(root, &c->demand);
	json_object_set_new(root, "files", files);
	if (c->drained_since != 0)
		json_object_set_new(root, "drained_since",
		    json_string(clock_text(c->drained_since, since)));
	else
		json_object_set_new(root, "drained_since", json_null());
	json_object_set_new(root, "held",
	    json_pack("{s:I, s:I}", "paused", (json_int_t)c->paused, "draining",
		(json_int_t)c->draining));
	json_object_set_new(root, "hosts",
	    json_pack("{s:I, s:I}", "total", (json_int_t)c->hosts, "active",
		(json_int_t)c->active));
}

static void
status_print_json(struct cmd_ctx *x, const struct project_status *r)
{
	const struct census *c = &r->c;
	json_t *root = json_pack("{s:o, s:o, s:o, s:s, s:b, s:I, s:o, s:b}", "name",
	    json_text(x->cf->long_name), "url", json_text(x->cf->master_url),
	    "project_dir", json_text(x->cf->project_dir), "state",
	    running_name(r->running), "running", r->running == RUNNING_ALL,
	    "supervisor", (json_int_t)r->s.supervisor, "services", services_json(&r->s),
	    "database", r->counted);

	if (r->counted && x->age_s >= 0)
		put_integer(root, "replica_age_s", x->age_s);
	json_object_set_new(root, "restart_for", waits_json(x, r));
	json_object_set_new(
	    root, "daemons_stopped", json_boolean(daemons_stopped(x) != NULL));
	json_object_set_new(root, "standbys", troubles_json(r->standbys, r->nstandbys));
	json_object_set_new(root, "troubles", troubles_json(r->troubles, r->ntroubles));
	json_object_set_new(root, "late", troubles_json(r->late, r->nlate));
	json_object_set_new(root, "paused", troubles_json(r->paused, r->npaused));
	json_object_set_new(root, "faults", faults_json(x, r));
	if (r->counted) {
		put_census(root, c);
		json_object_set_new(root, "drained_apps", drained_apps_json(r->cat));
		json_object_set_new(root, "hosts_that_stand_out", suspects_json(x, r));
		json_object_set_new(root, "stuck", stuck_json(x, r));
		json_object_set_new(root, "aside", aside_json(r));
		put_integer(root, "messages_waiting", r->messages->a);
		put_integer(root, "failed_last_day", r->failed.total);
		json_object_set_new(root, "failing", failures_json(x, r));
	} else {
		json_object_set_new(root, "why", json_text(x->f->detail));
	}
	json_object_set_new(root, "serves",
	    json_boolean(r->running == RUNNING_ALL && r->probe.why == NULL));
	if (r->probe.why != NULL)
		json_object_set_new(root, "why_not",
		    json_text(
			arena_printf(x->a, "%s; %s", r->probe.why, r->probe.mend)));
	if (r->triggers)
		put_integer(root, "working_set", c->working_set);
	if (r->triggers)
		json_object_set_new(root, "triggers",
		    json_pack("{s:I, s:I, s:I, s:I}", "need_work",
			(json_int_t)c->need_work, "claims", (json_int_t)c->claims,
			"no_work_available", (json_int_t)c->no_work_available,
			"files_no_work", (json_int_t)c->files_no_work));
	json_show(x->format, root);
}

struct status_opts {
	const char *watch;
};
static const struct opt status_options[] = {
	{ "watch", OPT_MAYBE, offsetof(struct status_opts, watch), "SECONDS",
	    "Repeats every 5 seconds, or so many, with rates and trends since it began, until ^C." },
	{ 0 },
};

/* An error of the connection to the database is part of the status. */
static enum err
status_take(struct cmd_ctx *x, struct project_status *r, enum err e)
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
	if (e == OK)
		e = census_take(x, &r->c);
	if (e == OK)
		e = find_failures(x, r);
	if (e == OK)
		e = find_suspects(x, r);
	if (e == OK)
		e = find_aside(x, r);
	if (e == OK)
		e = find_stuck(x, r);
	r->counted = e == OK;
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
static char *
trend(struct arena *a, const char *what, int64_t was, int64_t is, int64_t ms)
{
	double per_minute = ms > 0 ? (double)(is - was) * 60000 / (double)ms : 0;

	return arena_printf(
	    a, "%lld %s (%.3g a minute)", (long long)(is - was), what, per_minute);
}

static void
print_trends(struct cmd_ctx *x, const struct project_status *r, struct watch *w)
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

static enum err
watch_look(struct cmd_ctx *x, void *arg)
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
	print_report(x, &r);
	return OK;
}

static enum err
status_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
	if (x->format != FORMAT_TABLE)
		status_print_json(x, &r);
	else
		print_report(x, &r);
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
