/* SPDX-License-Identifier: Apache-2.0 */
/* Writes struct rpc as the trace that sched/trace/replay.c reads. */
#include "sched/trace/recording.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/job_limits.h"
#include "proto/plan_class.h"
#include "proto/trace.h"
#include "lib/banned.h"

enum { UNTIL_MAX = 64, CONFIG_MAX = 16 << 20 };

void
recording_begin(struct rpc *x)
{
	char *path = arena_printf(
	    x->a, "%s/recording/%lld", x->conf->run_dir, (long long)x->snap->host.id);
	struct fail f = { 0 };
	char *text;
	int64_t until;

	x->recorded = false;
	if (x->dry || x->snap->host.id == 0 || !fs_exists(path) ||
	    fs_read(x->a, path, UNTIL_MAX, &text, NULL, &f) != OK)
		return;
	text[strcspn(text, "\n")] = '\0';
	x->recorded = text_i64(text, 0, INT64_MAX, &until) && x->now < until;
}

static char *
old_signature(const struct rpc *x)
{
	const struct reply_keys *k = x->keys;
	const char *has = x->req->code_sign_key, *sig = NULL;

	if (has != NULL && k->code_sign_public != NULL &&
	    !text_same_words(has, k->code_sign_public))
		sig = k->old_key_signature(k->ctx, has, x->req->version);
	return arena_strdup(x->a, sig);
}

void
recording_rows(struct rpc *x)
{
	struct trace *t;

	if (!x->recorded)
		return;
	t = trace_of(x->a,
	    &(struct trace_from){ .conf = x->conf,
		.req = x->req,
		.snap = x->snap,
		.at = x->now,
		.seed = (int64_t)x->seed,
		.userid = x->user->id,
		.refused = x->refused == REFUSE_NOTHING ? "" :
	                                                  refuse_name(x->refused) },
	    TRACE_SNAPSHOT);
	t->reply = (struct trace_reply){ .code_sign_public = x->keys->code_sign_public,
		.old_signature = old_signature(x),
		.trickles_stored = x->req->ntrickles > 0,
		.no_sends = rpc_sends_given_up(x),
		.others_read = x->snap->others != NULL };
	t->snap = *x->snap;
	t->cat = *x->snap->cat;
	t->snap.user.authenticator = t->snap.user.passwd_hash = NULL;
	t->snap.user.old_keys_of = t->snap.user.old_weak_key = NULL;
	t->nothers = t->reply.others_read ? x->req->nother_results : 0;
	t->nreported = t->nresults = x->req->nreports;
	t->results = NEWN(x->a, struct result, t->nresults + 1);
	for (size_t i = 0; i < t->nresults; i++)
		t->results[i] = x->snap->reports[i].result;
	t->notes = x->notes;
	t->nnotes = x->nnotes;
	t->lost = x->without;
	t->nlost = x->nwithout;
	x->recorded_lost = x->nlost;
	x->recording = buf_new(x->a);
	trace_put(&x->recording, t, TRACE_SNAPSHOT);
}

static void
record_text(struct trace *t, const char *name, const char *p, size_t n)
{
	t->texts[t->ntexts++] = (struct trace_text){ .name = (char *)(uintptr_t)name,
		.bytes = (int64_t)n,
		.p = (char *)(uintptr_t)p };
}

static enum err
record_file(const struct rpc *x, struct trace *t, const char *name, struct fail *f)
{
	char *path = project_path(x->a, x->conf, name), *text;
	size_t n;

	if (!fs_exists(path))
		return OK;
	TRY(fs_read(x->a, path, CONFIG_MAX, &text, &n, f));
	record_text(t, name, text, n);
	return OK;
}

enum err
recording_end(struct rpc *x, struct fail *f)
{
	enum { TEXTS = 5 + PROJECT_TEXTS };
	struct trace *t = NEW(x->a, struct trace);
	char *config;

	t->dropped = x->lost + x->recorded_lost;
	t->ndropped = x->nlost - x->recorded_lost;
	t->texts = NEWN(x->a, struct trace_text, TEXTS);
	TRY(fs_read(x->a, x->conf->path, CONFIG_MAX, &config, NULL, f));
	conf_mask_secrets(x->a, config);
	record_text(t, "request", x->in, x->in_n);
	record_text(t, "config.xml", config, strlen(config));
	TRY(record_file(x, t, PLAN_CLASS_FILE, f));
	TRY(record_file(x, t, JOB_LIMITS_FILE, f));
	for (int i = 0; i < PROJECT_TEXTS && x->texts != NULL; i++)
		if (x->texts[i] != NULL)
			record_text(t, project_text_file((enum project_text)i),
			    x->texts[i], strlen(x->texts[i]));
	record_text(t, "reply", x->out.p, x->out.n);
	trace_put(&x->recording, t, TRACE_OUTCOME);
	trace_end(&x->recording);
	return OK;
}
