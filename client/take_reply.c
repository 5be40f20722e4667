/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler reply taken over into the state: identity, acks and aborts, files,
 * versions, workunits, tasks, delete orders, delays (wire.md 2; stock-client.md 6).
 */
#include "client/client.h"

#include <math.h>
#include <string.h>
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/banned.h"

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

/* A file that the host knows takes over URLs, signatures and stickiness
 * (stock-client.md 6.3). */
static void
take_files(struct client *c, const struct reply *rp)
{
	struct state *st = c->st;
	struct cfile *files = NEWN(&c->keep, struct cfile, st->nfiles + rp->nfiles + 1);

	memcpy(files, st->files, st->nfiles * sizeof(*files));
	st->files = files;
	for (size_t i = 0; i < rp->nfiles; i++) {
		const struct rp_file *in = &rp->files[i];
		struct cfile *f;

		if (in->name == NULL || in->name[0] == '\0' ||
		    strpbrk(in->name, "%/") != NULL || strstr(in->name, "..") != NULL) {
			log_warn("a file of the reply has no usable name");
			continue;
		}
		f = state_file(st, in->name);
		if (f == NULL)
			f = &st->files[st->nfiles++];
		else if (f->status == FS_FAILED)
			f->status = FS_ABSENT; /* sent again: try again */
		f->info = keep_info(c, in);
		f->output = in->nupload_urls > 0;
	}
}

static void
take_versions(struct client *c, const struct reply *rp)
{
	struct state *st = c->st;
	struct rp_app_version *all = NEWN(
	    &c->keep, struct rp_app_version, st->nversions + rp->napp_versions + 1);

	memcpy(all, st->versions, st->nversions * sizeof(*all));
	st->versions = all;
	for (size_t i = 0; i < rp->napp_versions; i++) {
		const struct rp_app_version *in = &rp->app_versions[i];
		struct rp_result key = { .version_num = in->version_num,
			.platform = in->platform,
			.plan_class = in->plan_class };
		struct rp_app_version *v = state_version(st, in->app_name, &key);

		if (v != NULL) { /* files of a version cannot change */
			v->flops = in->flops;
			v->avg_ncpus = in->avg_ncpus;
			continue;
		}
		v = &st->versions[st->nversions++];
		*v = *in;
		v->app_name = arena_strdup(&c->keep, in->app_name);
		v->platform = arena_strdup(&c->keep, in->platform);
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

	memcpy(all, st->workunits, st->nworkunits * sizeof(*all));
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

/* Everything that a task refers to must be known, else it is dropped with a word. */
static const char *
incomplete(struct client *c, const struct rp_result *r)
{
	const struct state *st = c->st;
	const struct rp_workunit *wu = state_workunit(st, r->wu_name);
	const struct rp_app_version *v;

	if (wu == NULL)
		return "its workunit is missing";
	v = state_version(st, wu->app_name, r);
	if (v == NULL)
		return "no such application version";
	for (size_t i = 0; i < v->nrefs; i++)
		if (state_file(st, v->refs[i].file_name) == NULL)
			return "a file of its version is missing";
	for (size_t i = 0; i < wu->nrefs; i++)
		if (state_file(st, wu->refs[i].file_name) == NULL)
			return "an input file is missing";
	for (size_t i = 0; i < r->nrefs; i++)
		if (state_file(st, r->refs[i].file_name) == NULL)
			return "an output file is missing";
	return NULL;
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

static size_t
take_results(struct client *c, const struct reply *rp, size_t files_before)
{
	struct state *st = c->st;
	struct ctask *all = NEWN(&c->keep, struct ctask, st->ntasks + rp->nresults + 1);
	bool *known = NEWN(&c->a, bool, st->nfiles + 1);
	size_t taken = 0;

	for (size_t i = 0; i < files_before; i++)
		known[i] = st->files[i].status != FS_FAILED;
	memcpy(all, st->tasks, st->ntasks * sizeof(*all));
	st->tasks = all;
	for (size_t i = 0; i < rp->nresults; i++) {
		const struct rp_result *in = &rp->results[i];
		const char *why = incomplete(c, in);
		struct ctask *t = state_task(st, in->name);

		if (t != NULL) {
			t->r.report_deadline = in->report_deadline;
			continue;
		}
		if (why != NULL) {
			log_warn("task %s dropped: %s", in->name, why);
			continue;
		}
		log_received(c, in, known);
		mark_known(c, in, known);
		t = &st->tasks[st->ntasks++];
		*t = (struct ctask){
			.r = *in, .state = CLIENT_NEW, .slot = -1, .received_at = c->now
		};
		t->r.name = arena_strdup(&c->keep, in->name);
		t->r.wu_name = arena_strdup(&c->keep, in->wu_name);
		t->r.platform = arena_strdup(&c->keep, in->platform);
		t->r.plan_class = arena_strdup(&c->keep, in->plan_class);
		t->r.refs = keep_refs(c, in->refs, in->nrefs);
		taken++;
	}
	return taken;
}

static void
take_acks_and_aborts(struct client *c, const struct reply *rp)
{
	struct ctask *t;

	for (size_t i = 0; i < rp->nacks; i++) {
		t = state_task(c->st, rp->acks[i]);
		if (t == NULL || !t->ready)
			continue;
		t->acked = true;
		event(c, "acked result=%s", t->r.name);
		for (size_t k = 0; k < t->r.nrefs; k++)
			fs_unlink(file_path(c, t->r.refs[k].file_name), &c->fail);
	}
	for (size_t i = 0; i < rp->naborts; i++) {
		t = state_task(c->st, rp->aborts[i]);
		if (t != NULL && !t->ready) {
			event(c, "aborted result=%s", t->r.name);
			task_abort(c, t, EXIT_ABORTED_BY_PROJECT, "aborted by project");
		}
	}
	for (size_t i = 0; i < rp->naborts_if_not_started; i++) {
		t = state_task(c->st, rp->aborts_if_not_started[i]);
		if (t != NULL && !t->ready && t->started_at == 0) {
			event(c, "aborted result=%s", t->r.name);
			task_abort(c, t, EXIT_ABORTED_BY_PROJECT,
			    "aborted by project before it was started");
		}
	}
}

static bool
workunit_uses(const struct rp_workunit *wu, const char *name)
{
	for (size_t i = 0; wu != NULL && i < wu->nrefs; i++)
		if (strcmp(wu->refs[i].file_name, name) == 0)
			return true;
	return false;
}

static bool
in_use(const struct state *st, const char *name)
{
	for (size_t i = 0; i < st->ntasks; i++)
		if (!st->tasks[i].acked &&
		    workunit_uses(state_workunit(st, st->tasks[i].r.wu_name), name))
			return true;
	return false;
}

/* The order clears the flag; the file goes with its last task (wire.md 8.4). */
static void
take_deletes(struct client *c, const struct reply *rp)
{
	for (size_t i = 0; i < rp->ndelete_files; i++) {
		struct cfile *f = state_file(c->st, rp->delete_files[i]);

		if (f == NULL || !f->info.sticky)
			continue;
		f->info.sticky = false;
		event(c, "deleted file=%s bytes=%.0f", f->info.name, f->info.nbytes);
		if (!in_use(c->st, f->info.name))
			fs_unlink(file_path(c, f->info.name), &c->fail);
	}
}

static void
take_identity(struct client *c, const struct reply *rp)
{
	struct state *st = c->st;

	if (rp->hostid != 0) {
		st->hostid = rp->hostid;
		st->rpc_seqno = 0;
	}
	if (rp->userid != 0)
		st->userid = rp->userid;
	if (rp->project_name != NULL)
		st->project_name = arena_strdup(&c->keep, rp->project_name);
	if (rp->code_sign_key != NULL && st->code_sign_key == NULL)
		st->code_sign_key = arena_strdup(&c->keep, rp->code_sign_key);
}

static void
succeeded(
    struct client *c, const struct reply *rp, const struct work_wish *wish, size_t got)
{
	struct state *st = c->st;

	st->contacted = st->hostid != 0;
	st->nrpc_failures = 0;
	st->min_rpc_time = rp->request_delay > 0 ?
	                       c->now + (int64_t)ceil(rp->request_delay) :
	                       0;
	st->next_rpc_time = rp->next_rpc_delay > 0 ?
	                        c->now + (int64_t)rp->next_rpc_delay :
	                        0;
	if (got > 0)
		st->nempty_replies = 0;
	st->work_backoff_until = 0;
	if (wish->req_secs > 0 && got == 0) {
		st->nempty_replies++;
		st->work_backoff_until = c->now +
		                         (int64_t)ceil(backoff_s(&c->o.rpc_backoff,
					     st->nempty_replies, &c->rng));
	}
}

void
rpc_take_reply(struct client *c, const struct reply *rp, const struct work_wish *wish)
{
	size_t files_before = c->st->nfiles, got;

	take_identity(c, rp);
	take_acks_and_aborts(c, rp);
	take_files(c, rp);
	take_versions(c, rp);
	take_workunits(c, rp);
	got = take_results(c, rp, files_before);
	take_deletes(c, rp);
	succeeded(c, rp, wish, got);
	log_info("got %zu tasks, %zu acks", got, rp->nacks);
}
