/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages to users: one decisive reason first, with its numbers. Clients do not parse
 * the text, except for one phrase: "too recent" keeps an empty reply from counting
 * against the project.
 */
#include "rules/sched/ctx.h"

#include <string.h>
#include "rules/sched/version.h"
#include "rules/sched/limits.h"
#include "lib/banned.h"

static const double MIB = 1048576;
enum { ANONYMOUS_DELAY_S = 14400, OTHERS_MOST = 3, APPS_MOST = 5 };

/* --- coprocessors --- */

/* The plan class of a version for this client's platforms, else NULL. */
static const struct plan_class *class_for_host(
    const struct ctx *c, const struct app_version *v)
{
	if (v->plan_class[0] == '\0' || v->deprecated || !version_for_platforms(c, v))
		return NULL;
	return plan_class_named(c->snap->cat->classes, v->plan_class);
}

/*
 * Lists the types of coprocessor that versions need and the host lacks; s may be NULL.
 * Returns how many.
 */
static size_t say_missing(const struct ctx *c, struct say *s)
{
	const struct catalog *cat = c->snap->cat;
	struct names said = { 0 };

	for (size_t i = 0; i < cat->nversions; i++) {
		const struct plan_class *pc = class_for_host(c, &cat->versions[i]);
		const char *type = pc == NULL ? "" : plan_class_type(pc);

		if (pc == NULL || plan_class_resource(pc, c->req) != SIZE_MAX ||
		    !names_put(c->a, &said, type, 0))
			continue;
		if (s != NULL) {
			say_str(s, said.n == 1 ? ": " : " or ");
			say_str(s, type);
		}
	}
	return said.n;
}

/*
 * Finds why wanted work can never be sent, although no candidate was examined: its
 * resources are disabled in the account's preferences, or unused by all apps, or all
 * versions need a coprocessor that the host lacks.
 */
static enum reason out_of_reach(const struct ctx *c)
{
	const struct serving *s = &c->serving;
	bool any = false, off = false;

	for (size_t r = 0; r < c->req->nresources; r++) {
		bool served = serving_any(s, r);
		bool refused = prefs_refuse_device(
		    &c->snap->project_prefs, &c->req->resources[r]);

		any = any || served;
		if (!served || !work_req_wants(&c->work, r))
			continue;
		if (!refused)
			return WHY_NONE;
		off = true;
	}
	if (off)
		return WHY_RSC_DISABLED;
	if (any)
		return WHY_RSC_NOT_WANTED;
	if (c->snap->cat->napps == 0)
		return WHY_NONE;
	return !request_is_anonymous(c->req) && say_missing(c, NULL) > 0 ?
	           WHY_NO_COPROC :
	           WHY_NO_APP_VERSION;
}

/* Reports the smallest demand of a class that the host's device does not meet. */
static void say_demand(const struct ctx *c, struct say *s, enum reason why)
{
	const struct catalog *cat = c->snap->cat;
	const struct rq_resource *dev = NULL;
	double least = 0, has = 0;

	for (size_t i = 0; i < cat->nversions; i++) {
		const struct plan_class *pc = class_for_host(c, &cat->versions[i]);
		size_t r = pc == NULL ? 0 : plan_class_resource(pc, c->req);
		const struct rq_resource *d;
		double needs;

		if (r == 0 || r == SIZE_MAX)
			continue;
		d = &c->req->resources[r];
		needs = why == WHY_COPROC_RAM ? pc->min_gpu_ram_mb :
		                                (double)pc->min_driver_version;
		if (needs > (why == WHY_COPROC_RAM ? d->total_ram / MIB :
						     d->driver_version) &&
		    (dev == NULL || needs < least)) {
			dev = d;
			least = needs;
			has = why == WHY_COPROC_RAM ? d->total_ram / MIB :
			                              d->driver_version;
		}
	}
	if (dev == NULL)
		return;
	say_str(s, "; ");
	say_fixed(s, least, 0);
	say_str(s, why == WHY_COPROC_RAM ? " MB are needed, " : " is needed, ");
	say_str(s, dev->type);
	say_str(s, " has ");
	say_fixed(s, has, 0);
}

/* Lists the wanted resources that are disabled, or at their limit. */
static void say_resources(const struct ctx *c, struct say *s, enum reason why)
{
	const char *before = ": ";

	for (size_t r = 0; r < c->req->nresources; r++) {
		const char *type = c->req->resources[r].type;
		bool off = prefs_refuse_device(
		    &c->snap->project_prefs, &c->req->resources[r]);

		if (!work_req_wants(&c->work, r) || (why == WHY_RSC_DISABLED && !off) ||
		    (why != WHY_RSC_DISABLED && limits_resource(c, r) != why))
			continue;
		say_str(s, before);
		if (why == WHY_IN_PROGRESS_LIMIT) {
			say_fixed(s, limits_in_progress(c, r), 0);
			say_str(s, " for ");
		}
		say_str(s, type);
		before = ", ";
	}
}

/*
 * Lists the apps that are at a limit of their own, with their numbers of jobs on the
 * host.
 */
static void say_app_limits(const struct ctx *c, struct say *s)
{
	const struct catalog *cat = c->snap->cat;
	const char *before = ": ";

	for (size_t i = 0; i < cat->napps; i++) {
		const struct app *app = &cat->apps[i];
		bool reached = false;

		for (size_t r = 0; r < c->req->nresources; r++)
			reached |= work_req_wants(&c->work, r) &&
			           limits_app(c, app, r) != WHY_NONE;
		if (!reached)
			continue;
		say_str(s, before);
		say_fixed(s, limits_app_jobs(c, app), 0);
		say_str(s, " of ");
		say_str(s, app->name);
		before = ", ";
	}
}

/* --- the decisive reason --- */

/*
 * Does some app send its jobs to where their files are? mine: only apps that this host
 * could work for.
 */
static bool some_app_by_locality(const struct ctx *c, bool mine)
{
	const struct catalog *cat = c->snap->cat;
	bool any = false, all = c->conf->locality_scheduling;

	for (size_t i = 0; i < cat->napps; i++) {
		const struct app *app = &cat->apps[i];
		bool served = !mine;

		for (size_t r = 0; r < c->req->nresources; r++)
			served = served || (work_req_wants(&c->work, r) &&
					       serving_app(&c->serving, app, r));
		any = any ||
		      ((all || app->locality_scheduling) && !app->deprecated && served);
	}
	return any;
}

/* Does the admin drain an app that this host could work for? */
static bool some_app_drains(const struct ctx *c)
{
	const struct catalog *cat = c->snap->cat;
	bool any = false;

	for (size_t i = 0; i < cat->napps; i++) {
		const struct app *app = &cat->apps[i];

		for (size_t r = 0; r < c->req->nresources; r++)
			any = any || (app->drain_time != 0 && !app->deprecated &&
					 work_req_wants(&c->work, r) &&
					 serving_app(&c->serving, app, r));
	}
	return any;
}

/* The first reason of the table for which a candidate or file was left out. */
static enum reason decisive_reason(const struct ctx *c)
{
	const struct decision *d = c->d;
	enum reason why;

	if (c->could_not_wait)
		return WHY_WAITING;
	for (size_t i = 0; i < nanswers; i++)
		if (d->counts[answers[i].why] > 0)
			return answers[i].why;
	why = limits_more(c);
	if (why == WHY_IN_PROGRESS_LIMIT || why == WHY_MAX_JOBS)
		return why;
	why = out_of_reach(c);
	if (why != WHY_NONE)
		return why;
	if (some_app_drains(c))
		return WHY_DRAINING;
	return !c->snap->cat->no_filesets && some_app_by_locality(c, true) ?
	           WHY_LOCALITY :
	           WHY_NO_WORK;
}

static void say_numbers(const struct ctx *, struct say *, enum reason why);

/*
 * Says how many jobs were examined, and what the decisive reason would be without the
 * limit.
 */
static void say_searched(const struct ctx *c, struct say *s)
{
	size_t n = 0, i = answers_rank(WHY_SEARCH_LIMIT) + 1;

	for (int r = 0; r < WHY__MAX; r++)
		n += r == WHY_SEARCH_LIMIT ? 0 : c->d->counts[r];
	if (n == 0)
		return;
	say_str(s, ". None of ");
	say_int(s, (int64_t)n);
	say_str(s, " examined fits");
	while (i < nanswers && c->d->counts[answers[i].why] == 0)
		i++;
	if (i == nanswers)
		return;
	say_str(s, ": ");
	say_str(s, reason_text(answers[i].why));
	say_numbers(c, s, answers[i].why);
}

/*
 * Says what the computer lacks for an examined job; false if why is another kind of
 * reason.
 */
static bool say_lack(const struct ctx *c, struct say *s, enum reason why)
{
	switch (why) {
	case WHY_DISK:
		say_str(s, "; needs ");
		say_size(s, c->lack_disk);
		say_str(s, " more");
		return true;
	case WHY_MEM:
		say_str(s, "; needs ");
		say_size(s, c->lack_ram);
		say_str(s, " more");
		return true;
	case WHY_DEADLINE:
		say_str(s, "; tasks run ");
		say_fixed(s, 100 * c->late_availability, 0);
		say_str(s, "% of the time");
		return true;
	case WHY_BANDWIDTH:
		say_str(s, "; needs ");
		say_fixed(s, c->need_bw / 1e3, 0);
		say_str(s, " kB/s, has ");
		say_fixed(s, c->m.bwdown / 1e3, 0);
		return true;
	case WHY_NO_COPROC:
		say_missing(c, s);
		return true;
	case WHY_COPROC_RAM:
	case WHY_DRIVER_TOO_OLD:
		say_demand(c, s, why);
		return true;
	default:
		return false;
	}
}

static void say_numbers(const struct ctx *c, struct say *s, enum reason why)
{
	if (say_lack(c, s, why))
		return;
	switch (why) {
	case WHY_DAILY_QUOTA:
		say_str(s, "; the most is ");
		say_int(s, c->conf->daily_result_quota);
		say_str(s, " per processor, less after errors");
		if (quota_first(c->conf) < c->conf->daily_result_quota)
			say_str(s, " and before a first success");
		break;
	case WHY_SEARCH_LIMIT:
		say_searched(c, s);
		break;
	case WHY_IN_PROGRESS_LIMIT:
	case WHY_RSC_DISABLED:
		say_resources(c, s, why);
		break;
	case WHY_APP_LIMIT:
		say_app_limits(c, s);
		break;
	case WHY_ACCOUNT_LIMIT:
		say_str(s, "; it is ");
		say_int(s, c->conf->max_hosts_with_work_per_account);
		break;
	case WHY_MAX_JOBS:
		say_str(s, "; it is ");
		say_int(s, c->snap->project_prefs.max_jobs);
		break;
	case WHY_RPC_TOO_SOON:
		say_str(s, ": ");
		say_int(s, c->now - c->snap->last_rpc_time);
		say_str(s, " s ago, not ");
		say_int(s, c->conf->min_sendwork_interval);
		break;
	default:
		break;
	}
}

/*
 * Only its owner can help an anonymous-platform client that has no program for any of
 * the project's apps.
 */
static bool anonymous_without_app(const struct ctx *c, enum reason why)
{
	bool any = false;

	if (why != WHY_NO_APP_VERSION || !request_is_anonymous(c->req))
		return false;
	for (size_t r = 0; r < c->req->nresources; r++)
		any = any || serving_any(&c->serving, r);
	return !any;
}

/* Can nothing of the project ever run on this computer as it is? */
static bool is_hopeless(const struct ctx *c, enum reason why)
{
	return anonymous_without_app(c, why) ||
	       (why == WHY_NO_COPROC && c->d->counts[why] == 0);
}

/* Adds a notice for each further reason that the owner could do something about. */
static void say_others(struct ctx *c)
{
	size_t said = 0;

	if (c->d->why ==
	    WHY_SEARCH_LIMIT) /* its message names the next reason itself */
		return;
	for (size_t i = answers_rank(c->d->why) + 1; i < nanswers; i++) {
		struct say s = say_new(c->a);

		if (!answers[i].notice || c->d->counts[answers[i].why] == 0)
			continue;
		if (said++ == OTHERS_MOST)
			return;
		say_str(&s, "Other tasks were left out: ");
		say_str(&s, reason_text(answers[i].why));
		say_numbers(c, &s, answers[i].why);
		decision_message(c, true, &s);
	}
}

static bool app_in_jobs(const struct job *v, size_t n, int64_t appid)
{
	for (size_t i = 0; i < n; i++)
		if (v[i].appid == appid)
			return true;
	return false;
}

/*
 * Was every unsent job of the app that this host could get examined, and there was
 * none?
 */
static bool app_without_work(const struct ctx *c, const struct app *app)
{
	const struct snapshot *s = c->snap;
	size_t at = (size_t)(app - s->cat->apps);
	bool unread = s->search.unread != NULL && s->search.unread[at];

	if (app_is_held_back(app) || s->search.left || unread)
		return false;
	for (size_t i = 0; i < s->nfiles; i++)
		if (s->files[i].unread || s->files[i].has_unsent)
			return false;
	return !app_in_jobs(s->plain, s->nplain, app->id) &&
	       !app_in_jobs(s->targeted, s->ntargeted, app->id) &&
	       !app_in_jobs(s->nci, s->nnci, app->id);
}

/*
 * Names the apps that the account selected by name and that have no tasks
 * (scheduling.md 2.15).
 */
static void say_apps(struct ctx *c)
{
	const struct project_prefs *p = &c->snap->project_prefs;
	size_t said = 0;

	for (size_t i = 0; i < p->napps && said < APPS_MOST; i++) {
		const struct app *app = catalog_app(c->snap->cat, p->apps[i]);

		if (app == NULL || !app_without_work(c, app))
			continue;
		decision_say(c, false, "No tasks are available for ",
		    app->user_friendly_name[0] == '\0' ? app->name :
							 app->user_friendly_name,
		    "");
		said++;
	}
}

void messages_why(struct ctx *c)
{
	struct decision *d = c->d;
	const struct answer *answer;
	struct say s;

	if (d->why == WHY_DONT_SEND || d->nsends > 0)
		return;
	if (d->why == WHY_NONE && !d->work_wanted)
		return;
	if (d->why == WHY_NONE)
		d->why = decisive_reason(c);
	answer = answers_of(d->why);
	s = say_new(c->a);
	say_str(&s, "No tasks sent: ");
	say_str(&s, reason_text(d->why));
	say_numbers(c, &s, d->why);
	decision_message(c, answer->notice || is_hopeless(c, d->why), &s);
	/* Puts the decisive reason before all other messages. */
	struct dec_message last = d->messages[d->nmessages - 1];

	memmove(&d->messages[1], &d->messages[0], (d->nmessages - 1) * sizeof(last));
	d->messages[0] = last;
	if (d->why != WHY_CLIENT_TOO_OLD || !version_any_for_client(c))
		decision_delay(c, answer->delay_s);
	if (d->why == WHY_WAITING && c->snap->waited &&
	    !c->snap->wait_brought) /* the generator is slow or dead */
		decision_delay(c, (double)c->conf->locality_scheduling_wait_period);
	if (anonymous_without_app(c, d->why) && some_app_by_locality(c, false))
		decision_delay(c, ANONYMOUS_DELAY_S);
	say_others(c);
	say_apps(c);
}
