/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler reply taken over into the state: identity, acks and aborts, files,
 * versions, workunits, tasks, delete orders, delays (wire.md 2; stock-client.md 6).
 */
#include "client/client.h"

#include <math.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { DELAY_MOST_S = 30 * 86400 };
static const int64_t DEADLINE_MOST = (int64_t)1 << 40;

/* No rows have no place: memcpy() must not see it. */
static void
rows_copy(void *to, const void *from, size_t bytes)
{
	if (bytes > 0)
		memcpy(to, from, bytes);
}

static struct rp_file_ref *
keep_refs(struct client *c, const struct rp_file_ref *refs, size_t n)
{
	struct rp_file_ref *copy = NEWN(&c->keep, struct rp_file_ref, n + 1);

	for (size_t i = 0; i < n; i++) {
		copy[i] = refs[i];
		copy[i].file_name = arena_strdup(&c->keep, refs[i].file_name);
		copy[i].open_name = arena_strdup(&c->keep, refs[i].open_name);
	}
	return copy;
}

static char **
keep_strings(struct client *c, char **v, size_t n)
{
	char **copy = NEWN(&c->keep, char *, n + 1);

	for (size_t i = 0; i < n; i++)
		copy[i] = arena_strdup(&c->keep, v[i]);
	return copy;
}

static struct rp_file
keep_info(struct client *c, const struct rp_file *f)
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

static bool
usable_name(const char *name)
{
	return name != NULL && name[0] != '\0' && strcmp(name, ".") != 0 &&
	       strpbrk(name, "%/") == NULL && strstr(name, "..") == NULL;
}

/*
 * A file that the host has takes over URLs, signatures and stickiness; its content may
 * not change under its name (stock-client.md 6.3).  One that failed is tried again.
 */
static void
merge_file(struct client *c, struct cfile *f, const struct rp_file *in)
{
	const struct rp_file old = f->info;

	f->info = keep_info(c, in);
	if (f->status == FS_PRESENT) {
		f->info.nbytes = old.nbytes;
		f->info.md5_cksum = old.md5_cksum;
		return;
	}
	if (f->status == FS_FAILED) {
		f->status = FS_ABSENT;
		f->failures = f->url = 0;
		f->try_after = 0;
	}
}

static void
take_files(struct client *c, const struct reply *rp)
{
	struct state *st = c->st;
	struct cfile *files = NEWN(&c->keep, struct cfile, st->nfiles + rp->nfiles + 1);

	rows_copy(files, st->files, st->nfiles * sizeof(*files));
	st->files = files;
	for (size_t i = 0; i < rp->nfiles; i++) {
		const struct rp_file *in = &rp->files[i];
		struct cfile *f;

		if (!usable_name(in->name)) {
			log_warn("a file of the reply has no usable name");
			continue;
		}
		f = state_file(st, in->name);
		if (f != NULL) {
			merge_file(c, f, in);
			continue;
		}
		f = &st->files[st->nfiles++];
		f->info = keep_info(c, in);
		f->output = in->generated_locally ||
		            (in->nupload_urls > 0 && in->nurls == 0);
	}
}

static void
take_versions(struct client *c, const struct reply *rp)
{
	struct state *st = c->st;
	struct rp_app_version *all = NEWN(
	    &c->keep, struct rp_app_version, st->nversions + rp->napp_versions + 1);

	rows_copy(all, st->versions, st->nversions * sizeof(*all));
	st->versions = all;
	for (size_t i = 0; i < rp->napp_versions; i++) {
		const struct rp_app_version *in = &rp->app_versions[i];
		struct rp_result key = { .version_num = in->version_num,
			.platform = in->platform,
			.plan_class = in->plan_class };
		struct rp_app_version *v;

		if (in->platform[0] == '\0')
			key.platform = c->platform;
		if (strcmp(key.platform, c->platform) != 0) {
			log_warn("a version of %s for %s is not for this host",
			    in->app_name, in->platform);
			continue;
		}
		v = state_version(st, in->app_name, &key);
		if (v != NULL) { /* files of a version cannot change */
			v->flops = in->flops;
			v->avg_ncpus = in->avg_ncpus;
			continue;
		}
		v = &st->versions[st->nversions++];
		*v = *in;
		v->app_name = arena_strdup(&c->keep, in->app_name);
		v->platform = arena_strdup(&c->keep, key.platform);
		v->plan_class = arena_strdup(&c->keep, in->plan_class);
		v->api_version = arena_strdup(&c->keep, in->api_version);
		v->cmdline = arena_strdup(&c->keep, in->cmdline);
		v->coproc_type = arena_strdup(&c->keep, in->coproc_type);
		v->refs = keep_refs(c, in->refs, in->nrefs);
	}
}

static void
take_workunits(struct client *c, const struct reply *rp)
{
	struct state *st = c->st;
	struct rp_workunit *all = NEWN(
	    &c->keep, struct rp_workunit, st->nworkunits + rp->nworkunits + 1);

	rows_copy(all, st->workunits, st->nworkunits * sizeof(*all));
	st->workunits = all;
	for (size_t i = 0; i < rp->nworkunits; i++) {
		const struct rp_workunit *in = &rp->workunits[i];
		struct rp_workunit *wu;

		if (state_workunit(st, in->name) != NULL)
			continue;
		wu = &st->workunits[st->nworkunits++];
		*wu = *in;
		wu->name = arena_strdup(&c->keep, in->name);
		wu->app_name = arena_strdup(&c->keep, in->app_name);
		wu->command_line = arena_strdup(&c->keep, in->command_line);
		wu->refs = keep_refs(c, in->refs, in->nrefs);
	}
}

/* One line per task received, with what of its sticky input was here or on its way. */
static void
log_received(struct client *c, const struct rp_result *r, const bool *known_before)
{
	const struct rp_workunit *wu = state_workunit(c->st, r->wu_name);
	const char *name = "";
	double needed = 0, saved = 0;

	for (size_t i = 0; i < wu->nrefs; i++) {
		const struct cfile *f = state_file(c->st, wu->refs[i].file_name);

		if (!f->info.sticky)
			continue;
		name = f->info.name;
		*(known_before[f - c->st->files] ? &saved : &needed) += f->info.nbytes;
	}
	event(c,
	    "received result=%s wu=%s file=%s held=%d bytes_needed=%.0f "
	    "bytes_saved=%.0f",
	    r->name, r->wu_name, name, needed == 0, needed, saved);
}

static void
mark_known(struct client *c, const struct rp_result *r, bool *known)
{
	const struct rp_workunit *wu = state_workunit(c->st, r->wu_name);

	for (size_t i = 0; i < wu->nrefs; i++)
		known[state_file(c->st, wu->refs[i].file_name) - c->st->files] = true;
}

/*
 * A result without platform and number runs with the newest version for the primary
 * platform (stock-client.md 6.3).
 */
static void
choose_version(struct client *c, struct rp_result *r)
{
	const struct state *st = c->st;
	const struct rp_workunit *wu = state_workunit(st, r->wu_name);

	if (r->platform[0] != '\0' || r->version_num != 0 || wu == NULL)
		return;
	r->platform = c->platform;
	for (size_t i = 0; i < st->nversions; i++) {
		const struct rp_app_version *v = &st->versions[i];

		if (strcmp(v->app_name, wu->app_name) == 0 &&
		    strcmp(v->platform, c->platform) == 0 &&
		    strcmp(v->plan_class, r->plan_class) == 0 &&
		    v->version_num > r->version_num)
			r->version_num = v->version_num;
	}
}

static void
add_task(struct client *c, const struct rp_result *in)
{
	struct ctask *t = &c->st->tasks[c->st->ntasks++];

	*t = (struct ctask){
		.r = *in, .state = CLIENT_NEW, .slot = -1, .received_at = c->now
	};
	t->r.name = arena_strdup(&c->keep, in->name);
	t->r.wu_name = arena_strdup(&c->keep, in->wu_name);
	t->r.platform = arena_strdup(&c->keep, in->platform);
	t->r.plan_class = arena_strdup(&c->keep, in->plan_class);
	t->r.refs = keep_refs(c, in->refs, in->nrefs);
	for (size_t i = 0; i < in->nrefs; i++)
		state_file(c->st, in->refs[i].file_name)->output = true;
}

/* Seconds or a time as a project gives it, within what a number of ours holds. */
static int64_t
whole_s(double s, int64_t most)
{
	return s >= (double)most ? most : s > 0 ? (int64_t)ceil(s) : 0;
}

static size_t
take_results(struct client *c, const struct reply *rp, size_t files_before)
{
	struct state *st = c->st;
	struct ctask *all = NEWN(&c->keep, struct ctask, st->ntasks + rp->nresults + 1);
	bool *known = NEWN(&c->a, bool, st->nfiles + 1);
	size_t taken = 0;

	for (size_t i = 0; i < files_before; i++)
		known[i] = st->files[i].status != FS_FAILED;
	rows_copy(all, st->tasks, st->ntasks * sizeof(*all));
	st->tasks = all;
	for (size_t i = 0; i < rp->nresults; i++) {
		struct rp_result in = rp->results[i];
		struct ctask *t = state_task(st, in.name);
		const char *why;

		in.report_deadline = (double)whole_s(in.report_deadline, DEADLINE_MOST);
		if (t != NULL) {
			t->r.report_deadline = in.report_deadline;
			continue;
		}
		choose_version(c, &in);
		why = state_lacks(st, &in);
		if (why != NULL) {
			log_warn("task %s dropped: %s", in.name, why);
			continue;
		}
		log_received(c, &in, known);
		mark_known(c, &in, known);
		add_task(c, &in);
		taken++;
	}
	return taken;
}

static void
abort_task(struct client *c, struct ctask *t, const char *why)
{
	event(c, "aborted result=%s", t->r.name);
	task_abort(c, t, EXIT_ABORTED_BY_PROJECT, why);
}

/* How many of the reports were acked. */
static size_t
take_acks(struct client *c, const struct reply *rp)
{
	size_t acked = 0;

	for (size_t i = 0; i < rp->nacks; i++) {
		struct ctask *t = state_task(c->st, rp->acks[i]);

		if (t == NULL || !t->ready || t->acked)
			continue;
		t->acked = true;
		acked++;
		event(c, "acked result=%s", t->r.name);
	}
	return acked;
}

static void
take_aborts(struct client *c, const struct reply *rp)
{
	for (size_t i = 0; i < rp->naborts; i++) {
		struct ctask *t = state_task(c->st, rp->aborts[i]);

		if (t != NULL && !t->ready)
			abort_task(c, t, "aborted by project");
	}
	for (size_t i = 0; i < rp->naborts_if_not_started; i++) {
		struct ctask *t = state_task(c->st, rp->aborts_if_not_started[i]);

		if (t != NULL && !t->ready && t->started_at == 0)
			abort_task(c, t, "aborted by project before it was started");
	}
}

/* The order clears the flag; the file goes with the last that needs it (wire.md 8.4):
 * when the state is saved. */
static void
take_deletes(struct client *c, const struct reply *rp)
{
	for (size_t i = 0; i < rp->ndelete_files; i++) {
		struct cfile *f = state_file(c->st, rp->delete_files[i]);

		if (f == NULL || !f->info.sticky)
			continue;
		f->info.sticky = false;
		event(c, "deleted file=%s bytes=%.0f", f->info.name, f->info.nbytes);
	}
}

/* The first key is trusted; another must be signed by the one we have (wire.md 5.6). */
static void
take_key(struct client *c, const struct reply *rp)
{
	struct state *st = c->st;
	const char *signature = rp->code_sign_key_signature;
	struct key *ours;
	enum err e = E_BADREQ;

	if (rp->code_sign_key == NULL)
		return;
	if (st->code_sign_key == NULL || st->code_sign_key[0] == '\0') {
		st->code_sign_key = arena_strdup(&c->keep, rp->code_sign_key);
		return;
	}
	if (strcmp(st->code_sign_key, rp->code_sign_key) == 0)
		return;
	if (signature != NULL &&
	    key_parse_public(st->code_sign_key, &ours, &c->fail) == OK) {
		e = verify_text(ours, rp->code_sign_key, signature, &c->fail);
		key_free(ours);
	}
	if (e == OK)
		st->code_sign_key = arena_strdup(&c->keep, rp->code_sign_key);
	else
		log_warn("the project's new code signing key is not signed by the old "
			 "one: the old one is kept");
}

static void
take_identity(struct client *c, const struct reply *rp)
{
	struct state *st = c->st;

	if (rp->hostid > 0) {
		st->hostid = rp->hostid;
		st->rpc_seqno = 0;
	}
	if (rp->userid > 0)
		st->userid = rp->userid;
	if (rp->project_name != NULL)
		st->project_name = arena_strdup(&c->keep, rp->project_name);
	take_key(c, rp);
}

static int64_t
wait_s(struct client *c, int32_t failures)
{
	return (int64_t)ceil(backoff_s(&c->o.rpc_backoff, failures, &c->rng));
}

/*
 * When to make contact again.  A reply that brings nothing of what was hoped for, be it
 * an id, acks or work, must not be asked for again at once.
 */
static void
succeeded(struct client *c, const struct reply *rp, const struct rpc_hope *hope,
    size_t got, size_t acked)
{
	struct state *st = c->st;
	bool in_vain = st->hostid == 0 || (hope->reports > 0 && acked == 0);
	int64_t delay = whole_s(rp->request_delay, DELAY_MOST_S), wait = 0;

	st->contacted = st->hostid != 0;
	st->nrpc_failures = 0;
	st->nvain_replies = in_vain ? st->nvain_replies + 1 : 0;
	if (in_vain)
		wait = wait_s(c, st->nvain_replies);
	st->min_rpc_time = c->now + (wait > delay ? wait : delay);
	st->next_rpc_time = rp->next_rpc_delay > 0 ?
	                        c->now + whole_s(rp->next_rpc_delay, DELAY_MOST_S) :
	                        0;
	if (got > 0) {
		st->nempty_replies = 0;
		st->work_backoff_until = 0;
	} else if (hope->work) {
		st->nempty_replies++;
		st->work_backoff_until = c->now + wait_s(c, st->nempty_replies);
	}
}

void
rpc_take_reply(struct client *c, const struct reply *rp, const struct rpc_hope *hope)
{
	size_t files_before = c->st->nfiles, got, acked;

	take_identity(c, rp);
	acked = take_acks(c, rp);
	take_aborts(c, rp);
	take_files(c, rp);
	take_versions(c, rp);
	take_workunits(c, rp);
	got = take_results(c, rp, files_before);
	take_deletes(c, rp);
	succeeded(c, rp, hope, got, acked);
	c->changed = true;
	log_info("got %zu tasks, %zu acks", got, acked);
}
