/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes a scheduler reply over into the state: identity, acks and aborts, files,
 * versions, workunits, tasks, delete orders, delays (protocol.md 2, 13.6).
 */
#include <math.h>
#include <string.h>
#include "client/app.h"
#include "client/client.h"
#include "lib/crypt.h"
#include "lib/log.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "model/catalog.h"
#include "proto/coproc.h"
#include "proto/prefs.h"
#include "lib/banned.h"

/* What a reply says about the project and the host in it: identity, key,
 * preferences. */

static const double SHARE_MOST = 1e12;

/* Files signed while the old key was the project's keep that key. */
static void change_key(struct client *c, struct cproject *p, const char *text)
{
	for (size_t i = 0; i < p->nfiles; i++) {
		struct cfile *f = &p->files[i];

		if (f->info.file_signature != NULL &&
		    f->info.file_signature[0] != '\0' &&
		    (f->sign_key == NULL || f->sign_key[0] == '\0'))
			f->sign_key = p->code_sign_key;
	}
	p->code_sign_key = arena_strdup(&c->keep, text);
}

/* Trusts the first key; a later one must be signed by the present one (protocol.md
 * 5.6). */
static void take_code_sign_key(
    struct client *c, struct cproject *p, const struct reply *rp)
{
	const char *signature = rp->code_sign_key_signature;
	struct key *ours;
	enum err e = E_BADREQ;

	if (rp->code_sign_key == NULL)
		return;
	if (p->code_sign_key == NULL || p->code_sign_key[0] == '\0') {
		p->code_sign_key = arena_strdup(&c->keep, rp->code_sign_key);
		return;
	}
	if (strcmp(p->code_sign_key, rp->code_sign_key) == 0)
		return;
	if (signature != NULL &&
	    key_parse_public(p->code_sign_key, &ours, &c->fail) == OK) {
		e = verify_text(ours, rp->code_sign_key, signature, &c->fail);
		key_free(ours);
	}
	if (e == OK)
		change_key(c, p, rp->code_sign_key);
	else
		log_warn(
		    "the project's new code signing key is not signed with the old key; keeping the old key");
}

static void account_text(struct client *c, char **into, const char *text)
{
	if (text != NULL)
		*into = arena_strdup(&c->keep, text);
}

static void account_number(double *into, double x)
{
	if (x > 0)
		*into = x;
}

static void take_account(
    struct client *c, struct cproject *p, const struct rp_account *in)
{
	struct rp_account *a = &p->account;

	account_text(c, &a->user_name, in->user_name);
	account_text(c, &a->team_name, in->team_name);
	account_text(c, &a->email_hash, in->email_hash);
	account_text(c, &a->cross_project_id, in->cross_project_id);
	account_text(c, &a->external_cpid, in->external_cpid);
	account_number(&a->user_total_credit, in->user_total_credit);
	account_number(&a->user_expavg_credit, in->user_expavg_credit);
	account_number(&a->user_create_time, in->user_create_time);
	account_number(&a->host_total_credit, in->host_total_credit);
	account_number(&a->host_expavg_credit, in->host_expavg_credit);
	account_number(&a->host_create_time, in->host_create_time);
	if (in->teamid > 0 || in->team_name != NULL)
		a->teamid = in->teamid;
}

/* Takes over the account's preferences for this project at the host's venue; the user's
 * own share overrides theirs. */
static void take_prefs(struct client *c, struct cproject *p, const struct reply *rp)
{
	struct project_prefs prefs;
	char *text;
	double share;

	if (rp->project_preferences == NULL)
		return;
	prefs = prefs_project(&c->scratch,
	    arena_printf(&c->scratch, "<project_preferences>%s</project_preferences>",
		rp->project_preferences),
	    rp->host_venue);
	preferences_complain("the account's project preferences", prefs.bad);
	/* Notes the resources for which the account wants no work from the project. */
	for (size_t r = 0; r <= c->options.ncoprocs; r++) {
		const char *name = r == 0 ? resource_names[RESOURCE_CPU] :
		                            c->options.coproc[r - 1].name;

		state_standing(&c->keep, p, name)->refused = prefs_refuse_resource(
		    &prefs, name);
	}
	if (p->own_share)
		return;
	text = prefs.text == NULL ?
	           NULL :
	           xml_between(&c->scratch, prefs.text, "resource_share");
	if (text == NULL)
		return;
	if (text_f64(text_trim(text), &share) && share >= 0 && share <= SHARE_MOST)
		p->share = share;
	else
		log_warn(
		    "the account's resource share \"%.40s\" is not a number from 0 to %g (write decimals with a point): it stays %g",
		    text, (double)SHARE_MOST, p->share);
}

/* Takes over the project's identity, key and preferences from a reply. */
static void take_project(struct client *c, struct cproject *p, const struct reply *rp)
{
	if (rp->hostid > 0) {
		p->hostid = rp->hostid;
		p->rpc_seqno = 0;
	}
	if (rp->userid > 0)
		p->userid = rp->userid;
	if (rp->project_name != NULL)
		p->project_name = arena_strdup(&c->keep, rp->project_name);
	account_text(c, &p->venue, rp->host_venue);
	account_text(c, &p->preferences, rp->project_preferences);
	take_account(c, p, &rp->account);
	take_code_sign_key(c, p, rp);
	take_prefs(c, p, rp);
	preferences_take(c, p, rp);
	p->no_dcf = rp->dont_use_dcf;
	p->nci = rp->non_cpu_intensive;
	c->state->full_workload |= rp->send_full_workload;
}

/* Leaves room in a file name for the mark of a partial download. */
enum { NAME_MAX_BYTES = 254 };
static const int64_t DEADLINE_MOST = (int64_t)1 << 40;
static const double DELAY_MOST_S = 30 * 86400;

/* With no rows the pointers may be NULL, which memcpy() must not get. */
static void rows_copy(void *to, const void *from, size_t bytes)
{
	if (bytes > 0)
		memcpy(to, from, bytes);
}

static struct rp_file_ref *keep_refs(
    struct client *c, const struct rp_file_ref *refs, size_t n)
{
	struct rp_file_ref *copy = NEWN(&c->keep, struct rp_file_ref, n + 1);

	for (size_t i = 0; i < n; i++) {
		copy[i] = refs[i];
		copy[i].file_name = arena_strdup(&c->keep, refs[i].file_name);
		copy[i].open_name = arena_strdup(&c->keep, refs[i].open_name);
	}
	return copy;
}

static char **keep_strings(struct client *c, char **v, size_t n)
{
	char **copy = NEWN(&c->keep, char *, n + 1);

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_strdup(&c->keep, v[i]);
	return copy;
}

static struct rp_file keep_info(struct client *c, const struct rp_file *f)
{
	struct rp_file k = *f;

	k.name = arena_strdup(&c->keep, f->name);
	k.md5_cksum = arena_strdup(&c->keep, f->md5_cksum);
	k.file_signature = arena_strdup(&c->keep, f->file_signature);
	k.xml_signature = arena_strdup(&c->keep, f->xml_signature);
	k.urls = keep_strings(c, f->urls, f->nurls);
	k.upload_urls = keep_strings(c, f->upload_urls, f->nupload_urls);
	return k;
}

static bool usable_name(const char *name)
{
	if (name == NULL || name[0] == '\0' || strcmp(name, ".") == 0 ||
	    strlen(name) > NAME_MAX_BYTES)
		return false;
	for (const char *s = name; *s != '\0'; s++)
		if ((unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return strpbrk(name, "%/") == NULL && strstr(name, "..") == NULL;
}

/* A known file takes over URLs, signatures and stickiness; its content must not change
 * under its name (protocol.md 13.6.3). A file that failed is tried again. */
static void merge_file(struct client *c, struct cfile *f, const struct rp_file *in)
{
	const struct rp_file old = f->info;

	f->info = keep_info(c, in);
	if (f->status == FS_PRESENT) {
		f->info.nbytes = old.nbytes;
		f->info.md5_cksum = old.md5_cksum;
		if (in->file_signature == NULL || in->file_signature[0] == '\0')
			f->info.file_signature = old.file_signature;
	}
	/* A new signature was made with the current key; an old one keeps its own
	 * key. */
	if (strcmp(f->info.file_signature, old.file_signature) != 0)
		f->sign_key = NULL;
	if (f->status == FS_PRESENT)
		return;
	if (f->status == FS_FAILED) {
		f->status = FS_ABSENT;
		f->failures = f->url = f->changed = 0;
		f->try_after = 0;
	}
}

static void take_files(struct client *c, struct cproject *p, const struct reply *rp)
{
	struct cfile *files = NEWN(&c->keep, struct cfile, p->nfiles + rp->nfiles + 1);

	rows_copy(files, p->files, p->nfiles * sizeof(*files));
	p->files = files;
	for (size_t i = 0; i < rp->nfiles; i++) {
		const struct rp_file *in = &rp->files[i];
		struct cfile *f;

		if (!usable_name(in->name)) {
			log_warn("ignored a file in the reply: its name is not usable");
			continue;
		}
		f = state_file(p, in->name);
		if (f != NULL) {
			merge_file(c, f, in);
			f->told_at = c->now;
			continue;
		}
		f = &p->files[p->nfiles++];
		f->info = keep_info(c, in);
		state_index(&c->keep, p);
		f->told_at = c->now;
		f->output = in->generated_locally ||
		            (in->nupload_urls > 0 && in->nurls == 0);
	}
}

/* A reply's description of an app replaces the earlier one. */
static void store_apps(struct client *c, struct cproject *p, const struct reply *rp)
{
	struct rp_app *all = NEWN(&c->keep, struct rp_app, p->napps + rp->napps + 1);

	rows_copy(all, p->apps, p->napps * sizeof(*all));
	p->apps = all;
	for (size_t i = 0; i < rp->napps; i++) {
		const struct rp_app *in = &rp->apps[i];
		struct rp_app *app = state_app(p, in->name);

		if (app == NULL)
			app = &p->apps[p->napps++];
		*app = *in;
		app->name = arena_strdup(&c->keep, in->name);
		app->user_friendly_name = arena_strdup(
		    &c->keep, in->user_friendly_name);
	}
}

/* A version for the processor that does not say how many it uses uses one. */
static double version_ncpus(const struct rp_app_version *in)
{
	return in->avg_ncpus <= 0 && in->coproc_type[0] == '\0' ? 1 : in->avg_ncpus;
}

static void take_versions(struct client *c, struct cproject *p, const struct reply *rp)
{
	struct rp_app_version *all = NEWN(
	    &c->keep, struct rp_app_version, p->nversions + rp->napp_versions + 1);

	rows_copy(all, p->versions, p->nversions * sizeof(*all));
	p->versions = all;
	for (size_t i = 0; i < rp->napp_versions; i++) {
		const struct rp_app_version *in = &rp->app_versions[i];
		struct rp_result key = { .version_num = in->version_num,
			.platform = in->platform,
			.plan_class = in->plan_class };
		struct rp_app_version *v;

		if (in->platform[0] == '\0')
			key.platform = c->options.platform;
		if (strcmp(key.platform, c->options.platform) != 0) {
			log_warn(
			    "ignored a version of %s: platform %s is not this host's",
			    in->app_name, in->platform);
			continue;
		}
		v = state_version(p, in->app_name, &key);
		if (v != NULL) { /* a version's files cannot change */
			v->flops = in->flops;
			v->avg_ncpus = version_ncpus(in);
			v->coproc_count = in->coproc_count;
			continue;
		}
		v = &p->versions[p->nversions++];
		*v = *in;
		v->avg_ncpus = version_ncpus(in);
		v->app_name = arena_strdup(&c->keep, in->app_name);
		v->platform = arena_strdup(&c->keep, key.platform);
		v->plan_class = arena_strdup(&c->keep, in->plan_class);
		v->api_version = arena_strdup(&c->keep, in->api_version);
		v->cmdline = arena_strdup(&c->keep, in->cmdline);
		v->coproc_type = arena_strdup(&c->keep, in->coproc_type);
		v->refs = keep_refs(c, in->refs, in->nrefs);
	}
}

static void take_workunits(struct client *c, struct cproject *p, const struct reply *rp)
{
	struct rp_workunit *all = NEWN(
	    &c->keep, struct rp_workunit, p->nworkunits + rp->nworkunits + 1);

	rows_copy(all, p->workunits, p->nworkunits * sizeof(*all));
	p->workunits = all;
	for (size_t i = 0; i < rp->nworkunits; i++) {
		const struct rp_workunit *in = &rp->workunits[i];
		struct rp_workunit *wu;

		if (state_workunit(p, in->name) != NULL)
			continue;
		wu = &p->workunits[p->nworkunits++];
		*wu = *in;
		wu->name = arena_strdup(&c->keep, in->name);
		wu->app_name = arena_strdup(&c->keep, in->app_name);
		wu->command_line = arena_strdup(&c->keep, in->command_line);
		wu->refs = keep_refs(c, in->refs, in->nrefs);
		state_index(&c->keep, p);
	}
}

/* Records each received task, with the bytes of its sticky input that were present or
 * on their way. */
static void log_received(struct client *c, struct cproject *p,
    const struct rp_result *r, const bool *known_before)
{
	const struct rp_workunit *wu = state_workunit(p, r->wu_name);
	const char *name = "";
	double needed = 0, saved = 0;

	for (size_t i = 0; i < wu->nrefs; i++) {
		const struct cfile *f = state_file(p, wu->refs[i].file_name);

		if (!f->info.sticky)
			continue;
		name = f->info.name;
		*(known_before[f - p->files] ? &saved : &needed) += f->info.nbytes;
	}
	event_log(c,
	    "received result=%s wu=%s file=%s held=%d bytes_needed=%.0f bytes_saved=%.0f",
	    r->name, r->wu_name, name, needed == 0, needed, saved);
}

static void mark_known(const struct cproject *p, const struct rp_result *r, bool *known)
{
	const struct rp_workunit *wu = state_workunit(p, r->wu_name);

	for (size_t i = 0; i < wu->nrefs; i++)
		known[state_file(p, wu->refs[i].file_name) - p->files] = true;
}

/* A result without platform and number runs with the newest version for the primary
 * platform (protocol.md 13.6.3). */
static void choose_version(struct client *c, struct cproject *p, struct rp_result *r)
{
	const struct rp_workunit *wu = state_workunit(p, r->wu_name);

	if (r->platform[0] != '\0' || r->version_num != 0 || wu == NULL)
		return;
	r->platform = c->options.platform;
	for (size_t i = 0; i < p->nversions; i++) {
		const struct rp_app_version *v = &p->versions[i];

		if (strcmp(v->app_name, wu->app_name) == 0 &&
		    strcmp(v->platform, c->options.platform) == 0 &&
		    strcmp(v->plan_class, r->plan_class) == 0 &&
		    v->version_num > r->version_num)
			r->version_num = v->version_num;
	}
}

static void store_task(struct client *c, struct cproject *p, const struct rp_result *in)
{
	struct ctask *t = &p->tasks[p->ntasks++];

	*t = (struct ctask){
		.r = *in, .state = CLIENT_NEW, .slot = -1, .received_at = c->now
	};
	t->r.name = arena_strdup(&c->keep, in->name);
	t->r.wu_name = arena_strdup(&c->keep, in->wu_name);
	t->r.platform = arena_strdup(&c->keep, in->platform);
	t->r.plan_class = arena_strdup(&c->keep, in->plan_class);
	t->r.refs = keep_refs(c, in->refs, in->nrefs);
	state_index(&c->keep, p);
	for (size_t i = 0; i < in->nrefs; i++)
		state_file(p, in->refs[i].file_name)->output = true;
}

/* A task of an app that is not CPU-intensive keeps no processor busy: a project that
 * sends only such tasks had no work for the processor. */
static void count_task(const struct client *c, const struct cproject *p,
    const struct ctask *t, struct reply_facts *f)
{
	int32_t rsc = version_resource(c, task_version(p, t));

	if (rsc >= 0 && (p->nci || !task_app(p, t)->non_cpu_intensive))
		f->ntasks[rsc]++;
}

/* Rounds seconds or a time given by a project up, and limits them to 0 to most. */
static int64_t seconds_up_to(double s, int64_t most)
{
	return s >= (double)most ? most : s > 0 ? (int64_t)ceil(s) : 0;
}

/* An output file must not be a file of an application, nor the reverse. */
static bool mixes_app_and_output(const struct cproject *p, const struct rp_result *r)
{
	const struct rp_workunit *wu = state_workunit(p, r->wu_name);
	const struct rp_app_version *v = state_version(p, wu->app_name, r);

	for (size_t i = 0; i < v->nrefs; i++)
		if (state_file(p, v->refs[i].file_name)->output)
			return true;
	for (size_t i = 0; i < r->nrefs; i++)
		if (state_is_app_file(p, r->refs[i].file_name))
			return true;
	return false;
}

static void take_results(struct client *c, struct cproject *p, const struct reply *rp,
    size_t files_before, struct reply_facts *f)
{
	struct ctask *all = NEWN(&c->keep, struct ctask, p->ntasks + rp->nresults + 1);
	bool *known = NEWN(&c->scratch, bool, p->nfiles + 1);
	size_t late = 0;

	for (size_t i = 0; i < files_before; i++)
		known[i] = p->files[i].status != FS_FAILED;
	rows_copy(all, p->tasks, p->ntasks * sizeof(*all));
	p->tasks = all;
	for (size_t i = 0; i < rp->nresults; i++) {
		struct rp_result in = rp->results[i];
		struct ctask *t = state_task(p, in.name);
		const char *why;

		in.report_deadline = (double)seconds_up_to(
		    in.report_deadline, DEADLINE_MOST);
		if (t != NULL) {
			t->r.report_deadline = in.report_deadline;
			continue;
		}
		choose_version(c, p, &in);
		why = state_lacks(p, &in);
		if (why == NULL && mixes_app_and_output(p, &in))
			why =
			    "a file belongs to the application and is an output file, too";
		if (why != NULL) {
			log_warn("task %s dropped: %s", in.name, why);
			continue;
		}
		log_received(c, p, &in, known);
		mark_known(p, &in, known);
		store_task(c, p, &in);
		count_task(c, p, &p->tasks[p->ntasks - 1], f);
		late += in.report_deadline > 0 && in.report_deadline <= (double)c->now;
	}
	if (late > 0)
		log_warn(
		    "the deadlines of %zu tasks had passed before they came: the clock of this computer is ahead, or that of the project is behind; the tasks run all the same",
		    late);
}

static void abort_task(
    struct client *c, struct cproject *p, struct ctask *t, const char *why)
{
	event_log(c, "aborted result=%s", t->r.name);
	task_abort(c, p, t, EXIT_ABORTED_BY_PROJECT, why);
}

/* Returns how many of the reports were acked. */
static size_t take_acks(struct client *c, struct cproject *p, const struct reply *rp)
{
	size_t acked = 0;

	for (size_t i = 0; i < rp->nacks; i++) {
		struct ctask *t = state_task(p, rp->acks[i]);

		if (t == NULL || !t->ready || t->acked)
			continue;
		t->acked = true;
		acked++;
		event_log(c, "acked result=%s", t->r.name);
	}
	return acked;
}

static void take_aborts(struct client *c, struct cproject *p, const struct reply *rp)
{
	for (size_t i = 0; i < rp->naborts; i++) {
		struct ctask *t = state_task(p, rp->aborts[i]);

		if (t != NULL && !t->ready)
			abort_task(c, p, t, "aborted by project");
	}
	for (size_t i = 0; i < rp->naborts_if_not_started; i++) {
		struct ctask *t = state_task(p, rp->aborts_if_not_started[i]);

		if (t != NULL && !t->ready && t->started_at == 0)
			abort_task(c, p, t, "aborted by project before it was started");
	}
}

/* A delete order clears the flag; the file goes with the last task that needs it, when
 * the state is saved (protocol.md 8.4). */
static void take_deletes(struct client *c, struct cproject *p, const struct reply *rp)
{
	for (size_t i = 0; i < rp->ndelete_files; i++) {
		struct cfile *f = state_file(p, rp->delete_files[i]);

		if (f == NULL || !f->info.sticky)
			continue;
		f->info.sticky = f->info.report_on_rpc = false;
		event_log(
		    c, "deleted file=%s bytes=%.0f", f->info.name, f->info.nbytes);
	}
}

void expire_files(struct client *c)
{
	for (size_t i = 0; i < c->state->nprojects; i++) {
		struct cproject *p = &c->state->projects[i];

		for (size_t k = 0; k < p->nfiles; k++) {
			struct cfile *f = &p->files[k];

			if (!file_expired(f, c->now))
				continue;
			f->info.sticky = f->info.report_on_rpc = false;
			c->changed = true;
			event_log(c, "deleted file=%s bytes=%.0f", f->info.name,
			    f->info.nbytes);
		}
	}
}

void take_reply(struct client *c, struct cproject *p, const struct answer *answer,
    struct reply_facts *f)
{
	const struct reply *rp = answer->rp;
	size_t files_before = p->nfiles, acked, before = p->ntasks;

	*f = (struct reply_facts){ 0 };
	for (size_t i = 0; i < rp->nmessages; i++)
		log_info("project says: %s", rp->messages[i].text);
	if (rp->no_work_deadlines)
		log_info("no work was sent because of deadlines");
	f->request_delay_s = fmin(fmax(rp->request_delay, 0), DELAY_MOST_S);
	f->next_rpc_delay_s = fmin(fmax(rp->next_rpc_delay, 0), DELAY_MOST_S);
	f->latency_limited = rp->no_work_deadlines;
	f->project_down = rp->project_is_down;
	for (size_t i = 0; i < rp->nno_rsc_apps; i++) {
		const char *type = coproc_type(rp->no_rsc_apps[i]);

		f->no_apps[CW_CPU] |= strcmp(type, resource_names[RESOURCE_CPU]) == 0;
		for (size_t k = 0; k < c->options.ncoprocs; k++)
			f->no_apps[k + 1] |= strcmp(type, c->options.coproc[k].name) ==
			                     0;
	}
	if (rp->project_is_down)
		return;
	take_project(c, p, rp);
	acked = take_acks(c, p, rp);
	take_aborts(c, p, rp);
	take_files(c, p, rp);
	store_apps(c, p, rp);
	take_versions(c, p, rp);
	take_workunits(c, p, rp);
	if (p->same_as == NULL || p->same_as[0] == '\0')
		take_results(c, p, rp, files_before, f);
	same_project_said(c, p, rp->master_url);
	take_deletes(c, p, rp);
	if (rp->message_ack)
		trickle_sent(c, p, answer->trickles, answer->ntrickles);
	trickle_take_down(c, p, rp);
	f->in_vain = p->hostid == 0 || (answer->nreports > 0 && acked == 0);
	c->changed = true;
	log_info("got %zu tasks, %zu acks", p->ntasks - before, acked);
}
