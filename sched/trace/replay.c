/* SPDX-License-Identifier: Apache-2.0 */
/* Restores struct rpc from the trace that sched/trace/recording.c wrote. */
#include "sched/trace/replay.h"

#include <string.h>
#include "lib/fs.h"
#include "proto/template_check.h"
#include "proto/plan_class.h"
#include "proto/request.h"
#include "proto/trace.h"
#include "lib/banned.h"

enum { CONFIG_MAX = 16 << 20, FILE_MAX = 1 << 30 };

static const char *stored_signature(void *ctx, const char *client_key, int32_t version)
{
	const struct trace *t = ctx;

	(void)client_key, (void)version;
	return t->reply.old_signature[0] == '\0' ? NULL : t->reply.old_signature;
}

static enum err set_conf(
    struct rpc *x, const struct trace *t, const char *config, struct fail *f)
{
	const char *hash = t->rpc.config;
	struct conf *cf;
	size_t n;
	char *text = trace_text(t, "config.xml", &n);

	if (config != NULL)
		TRY(fs_read(x->a, config, CONFIG_MAX, &text, &n, f));
	TRY(conf_parse(x->a, config == NULL ? "/config.xml" : config, text, n, &cf,
	    NULL, NULL, f));
	if (config == NULL && strlen(hash) < sizeof(cf->hash))
		memcpy(cf->hash, hash, strlen(hash) + 1);
	x->conf = cf;
	return OK;
}

/* Parses the files beside config.xml. Ignores a file with errors, as the scheduler
 * did. */
static void set_catalog(struct rpc *x, struct trace *t)
{
	struct plan_classes *classes;
	struct limits_read limits;
	struct pc_remark *remarks;
	struct fail f = { 0 };
	size_t n;
	char *text = trace_text(t, PLAN_CLASS_FILE, &n);

	if (text == NULL)
		t->cat.classes = plan_classes_built_in(x->a);
	else if (plan_classes_parse(
		     x->a, PLAN_CLASS_FILE, text, n, &classes, &remarks, &n, &f) == OK)
		t->cat.classes = classes;
	text = trace_text(t, JOB_LIMITS_FILE, &n);
	if (text != NULL &&
	    job_limits_parse(x->a, JOB_LIMITS_FILE, text, n, &limits, &f) == OK)
		t->cat.limits = limits.limits;
	x->cat = &t->cat;
}

static enum err set_snapshot(struct rpc *x, struct trace *t, struct fail *f)
{
	if (t->nreported != x->req->nreports || t->nresults != x->req->nreports ||
	    (t->reply.others_read && t->nothers != x->req->nother_results))
		return FAIL(f, E_BADREQ, "the recording lacks rows of the request");
	for (size_t i = 0; i < t->nresults; i++)
		t->snap.reports[i].result = t->results[i];
	if (t->reply.others_read && t->snap.others == NULL)
		t->snap.others = NEW(x->a, struct snap_other);
	x->snap = &t->snap;
	x->user = &t->snap.user;
	return OK;
}

static void set_rpc(struct rpc *x, struct trace *t)
{
	struct reply_keys *keys = NEW(x->a, struct reply_keys);
	const char **texts = NEWN(x->a, const char *, PROJECT_TEXTS);
	char *key = t->reply.code_sign_public;

	for (int i = 0; i < PROJECT_TEXTS; i++)
		texts[i] = trace_text(t, project_text_file((enum project_text)i), NULL);
	for (int s = 0; s < REFUSE__MAX; s++)
		if (strcmp(refuse_name((enum situation)s), t->rpc.refused) == 0)
			x->refused = (enum situation)s;
	*keys = (struct reply_keys){ .code_sign_public = key[0] == '\0' ? NULL : key,
		.old_key_signature = stored_signature,
		.ctx = t };
	x->keys = keys;
	x->texts = texts;
	x->now = t->rpc.at;
	x->seed = (uint64_t)t->rpc.seed;
	x->notes = t->notes;
	x->nnotes = x->notes_cap = t->nnotes;
	x->lost = t->lost;
	x->nlost = t->nlost;
	x->dry = true;
	rpc_prefs(x, x->snap);
}

/* Repeats what the recorded commit changed in the reply. */
static void apply_commit(struct rpc *x, const struct trace *t)
{
	struct decision *d = x->dec;
	size_t kept = 0;

	if (t->reply.no_sends)
		d->nsends = 0;
	for (size_t i = 0; i < d->nsends; i++) {
		bool dropped = false;

		for (size_t k = 0; k < t->ndropped; k++)
			dropped |= d->sends[i].job->id == t->dropped[k];
		if (!dropped)
			d->sends[kept++] = d->sends[i];
	}
	d->nsends = kept;
	x->trickles_stored = t->reply.trickles_stored;
}

static enum err read_recording(
    struct rpc *x, const char *path, struct trace **t, struct fail *f)
{
	char *text, *request;
	size_t n;

	TRY(fs_read(x->a, path, FILE_MAX, &text, &n, f));
	TRY(trace_read(x->a, text, n, t, f));
	request = trace_text(*t, "request", &n);
	if (request == NULL || trace_text(*t, "config.xml", NULL) == NULL)
		return FAIL(
		    f, E_BADREQ, "the trace is no recording: texts are missing");
	return request_parse(x->a, request, n, &x->req, f);
}

enum err rpc_replay(struct rpc *x, const char *path, const char *config, struct fail *f)
{
	struct trace *t;
	enum err e = OK;

	TRY(read_recording(x, path, &t, f));
	TRY(set_conf(x, t, config, f));
	TRY(set_snapshot(x, t, f));
	set_catalog(x, t);
	set_rpc(x, t);
	x->out = buf_new(x->a);
	while (e == OK && x->next != RPC_join) {
		e = rpc_decide(x);
		/* Another configuration may ask for rows that were not recorded:
		 * continue without them. */
		if (x->next == RPC_more)
			x->snap->search.left = x->snap->search.held_left =
			    x->snap->nci_search.left = false;
		x->snap->waited |= x->next == RPC_wait;
	}
	if (e != OK)
		return e;
	apply_commit(x, t);
	e = rpc_render(x);
	x->step = x->next;
	return e;
}
