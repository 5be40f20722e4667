/* SPDX-License-Identifier: Apache-2.0 */
/* From the recorded RPC (proto/recording.h) to the scheduler's, and its decision again.
 */
#include "sched/trace/replay.h"

#include <string.h>
#include "lib/fs.h"
#include "proto/job_limits.h"
#include "proto/plan_class.h"
#include "proto/recording.h"
#include "proto/request.h"
#include "lib/banned.h"

enum { CONFIG_MAX = 16 << 20, FILE_MAX = 1 << 30 };

static const char *
stored_signature(void *ctx, const char *client_key, int32_t version)
{
	const struct recording *r = ctx;

	(void)client_key, (void)version;
	return r->old_signature[0] == '\0' ? NULL : r->old_signature;
}

static enum err
set_conf(struct rpc *x, struct recording *r, const char *config, struct fail *f)
{
	char *text = r->config;
	size_t n = strlen(text);
	struct conf *cf;
	enum err e = OK;

	if (config != NULL)
		e = fs_read(x->a, config, CONFIG_MAX, &text, &n, f);
	if (e == OK)
		e = conf_parse(x->a, config == NULL ? "/config.xml" : config, text, n,
		    &cf, NULL, NULL, f);
	if (e != OK)
		return e;
	if (config == NULL && strlen(r->config_hash) < sizeof(cf->hash))
		memcpy(cf->hash, r->config_hash, strlen(r->config_hash) + 1);
	x->conf = cf;
	return OK;
}

/* Files beside config.xml.  One that could not be used then is left out as it was. */
static void
set_catalog(struct rpc *x, struct recording *r)
{
	struct plan_classes *classes;
	struct job_limits *limits;
	struct pc_remark *remarks;
	struct fail f = { 0 };
	size_t n;

	if (r->classes != NULL &&
	    plan_classes_parse(x->a, "plan_classes", r->classes, strlen(r->classes),
		&classes, &remarks, &n, &f) == OK)
		r->cat.classes = classes;
	if (r->limits != NULL && job_limits_parse(x->a, "limits", r->limits,
				     strlen(r->limits), &limits, &f) == OK)
		r->cat.limits = limits;
}

static enum err
set_rpc(struct rpc *x, struct recording *r, struct fail *f)
{
	struct reply_keys *keys = NEW(x->a, struct reply_keys);
	const char **texts = NEWN(x->a, const char *, PROJECT_TEXTS);

	if (r->nreports != x->req->nreports ||
	    (r->others_read && r->nothers != x->req->nother_results))
		return FAIL(f, E_BADREQ, "the recording lacks rows of the request");
	if (r->others_read && r->snap.others == NULL)
		r->snap.others = NEW(x->a, struct snap_other);
	for (size_t i = 0; i < PROJECT_TEXTS; i++)
		texts[i] = r->texts[i];
	for (int s = 0; s < REFUSE__MAX; s++)
		if (strcmp(refuse_name((enum situation)s), r->refused) == 0)
			x->refused = (enum situation)s;
	keys->code_sign_public = r->code_sign_public[0] == '\0' ? NULL :
	                                                          r->code_sign_public;
	keys->old_key_signature = stored_signature;
	keys->ctx = r;
	x->keys = keys;
	x->texts = texts;
	x->cat = &r->cat;
	x->snap = &r->snap;
	x->user = &r->snap.user;
	x->now = r->at;
	x->seed = (uint64_t)r->seed;
	x->notes = r->notes;
	x->nnotes = x->notes_cap = r->nnotes;
	x->lost = r->lost;
	x->nlost = r->nlost;
	x->dry = true;
	rpc_prefs(x, x->snap);
	return OK;
}

/* The commit of then, as far as the reply shows it. */
static void
apply_commit(struct rpc *x, const struct recording *r)
{
	struct decision *d = x->dec;
	size_t kept = 0;

	if (r->no_sends)
		d->nsends = 0;
	for (size_t i = 0; i < d->nsends; i++) {
		bool dropped = false;

		for (size_t k = 0; k < r->ndropped; k++)
			dropped |= d->sends[i].job->id == r->dropped[k];
		if (!dropped)
			d->sends[kept++] = d->sends[i];
	}
	d->nsends = kept;
	x->trickles_stored = r->trickles_stored;
}

enum err
rpc_replay(struct rpc *x, const char *path, const char *config, struct fail *f)
{
	struct recording *r;
	char *text;
	size_t n;
	enum err e = fs_read(x->a, path, FILE_MAX, &text, &n, f);

	if (e == OK)
		e = recording_read(x->a, text, n, &r, f);
	if (e == OK)
		e = request_parse(x->a, r->request, r->request_n, &x->req, f);
	if (e == OK)
		e = set_conf(x, r, config, f);
	if (e == OK)
		set_catalog(x, r);
	if (e == OK)
		e = set_rpc(x, r, f);
	if (e != OK)
		return e;
	x->out = buf_new(x->a);
	while (e == OK && x->step != RPC_commit) {
		e = rpc_decide(x, &x->step);
		/* Another configuration may want what is not here: do without. */
		if (x->step == RPC_more)
			x->snap->search.left = x->snap->search.held_left =
			    x->snap->nci_search.left = false;
		x->snap->waited |= x->step == RPC_wait;
	}
	if (e != OK)
		return e;
	apply_commit(x, r);
	return rpc_render(x, &x->step);
}
