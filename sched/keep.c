/* SPDX-License-Identifier: Apache-2.0 */
/* Between the scheduler's struct rpc and the recorded one (proto/recording.h). */
#include "sched/keep.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/text.h"
#include "proto/job_limits.h"
#include "proto/plan_class.h"
#include "proto/recording.h"
#include "proto/request.h"
#include "lib/banned.h"

enum { UNTIL_MAX = 64, CONFIG_MAX = 16 << 20, FILES_MOST = 1000, FILE_MAX = 1 << 30 };

/* --- recording --- */

void
keep_look(struct rpc *x)
{
	char *path = arena_printf(
	    x->a, "%s/recording/%lld", x->conf->run_dir, (long long)x->snap->host.id);
	struct fail f = { 0 };
	char *text;
	int64_t until;

	x->keep = false;
	if (x->dry || x->snap->host.id == 0 || !fs_exists(path) ||
	    fs_read(x->a, path, UNTIL_MAX, &text, NULL, &f) != OK)
		return;
	text[strcspn(text, "\n")] = '\0';
	x->keep = text_i64(text, 0, INT64_MAX, &until) && x->now < until;
}

static char *
old_signature(const struct rpc *x)
{
	const struct reply_keys *k = x->keys;
	const char *has = x->req->code_sign_key, *sig = NULL;

	if (has != NULL && k->code_sign_public != NULL &&
	    !text_same_words(has, k->code_sign_public))
		sig = k->old_key_signature(k->ctx, has, x->req->version);
	return arena_strdup(x->a, sig == NULL ? "" : sig);
}

void
keep_rows(struct rpc *x)
{
	struct recording *r = NEW(x->a, struct recording);
	struct buf b = buf_new(x->a);

	if (!x->keep)
		return;
	r->snap = *x->snap;
	r->cat = *x->snap->cat;
	r->at = x->now;
	r->seed = (int64_t)x->seed;
	r->no_sends = rpc_sends_given_up(x);
	r->refused = arena_strdup(
	    x->a, x->refused == REFUSE_NOTHING ? "" : refuse_name(x->refused));
	r->config_hash = arena_strdup(x->a, x->conf->hash);
	r->code_sign_public = x->keys->code_sign_public;
	r->old_signature = old_signature(x);
	r->others_read = x->snap->others != NULL;
	r->nothers = r->others_read ? x->req->nother_results : 0;
	r->nreports = x->req->nreports;
	r->notes = x->notes;
	r->nnotes = x->nnotes;
	r->lost = x->lost;
	r->nlost = x->nlost;
	r->hostid = x->snap->host.id;
	r->snap.user.authenticator = r->snap.user.passwd_hash = NULL;
	r->snap.user.old_keys_of = r->snap.user.old_weak_key = NULL;
	r->trickles_stored = x->req->ntrickles > 0;
	recording_rows(&b, r);
	x->kept = b.p;
	x->kept_lost = x->nlost;
}

/* Nobody needs the password to decide. */
static void
forget_password(char *config)
{
	char *from = strstr(config, "<db_passwd>"), *to;

	if (from == NULL || (to = strstr(from, "</db_passwd>")) == NULL)
		return;
	for (from += strlen("<db_passwd>"); from < to; from++)
		*from = '*';
}

static enum err
gather(struct rpc *x, struct recording *r, struct fail *f)
{
	struct buf rows = buf_new(x->a);
	char *classes = project_path(x->a, x->conf, PLAN_CLASS_FILE);
	char *limits = project_path(x->a, x->conf, JOB_LIMITS_FILE);
	enum err e = fs_read(x->a, x->conf->path, CONFIG_MAX, &r->config, NULL, f);

	if (e == OK && fs_exists(classes))
		e = fs_read(x->a, classes, CONFIG_MAX, &r->classes, NULL, f);
	if (e == OK && fs_exists(limits))
		e = fs_read(x->a, limits, CONFIG_MAX, &r->limits, NULL, f);
	if (e != OK)
		return e;
	forget_password(r->config);
	buf_puts(&rows, x->kept);
	for (size_t i = x->kept_lost; i < x->nlost; i++)
		buf_printf(&rows, "dropped id=%lld\n", (long long)x->lost[i]);
	r->rows = rows.p;
	r->request = arena_memdup(x->a, x->in, x->in_n);
	r->request_n = x->in_n;
	for (size_t i = 0; i < PROJECT_TEXTS; i++)
		r->texts[i] = x->texts == NULL || x->texts[i] == NULL ?
		                  NULL :
		                  arena_strdup(x->a, x->texts[i]);
	r->reply = x->out.p;
	r->reply_n = x->out.n;
	return OK;
}

void
keep_write(struct rpc *x)
{
	char *dir = project_path(x->a, x->conf, "recordings"), **names;
	struct recording *r = NEW(x->a, struct recording);
	struct buf b = buf_new(x->a);
	struct fail f = { 0 };
	size_t n;
	enum err e;

	if (!x->keep || x->kept == NULL || x->step != RPC_served)
		return;
	e = fs_mkdirs(dir, 0700, &f);
	if (e == OK)
		e = fs_list(x->a, dir, FILES_MOST + 1, &names, &n, &f);
	if (e == OK && n >= FILES_MOST)
		e = FAIL(&f, E_DISK_FULL, "%s holds %zu files", dir, n);
	if (e == OK)
		e = gather(x, r, &f);
	if (e == OK) {
		recording_put(&b, r);
		e = fs_write(
		    arena_printf(x->a, "%s/%lld-%lld-%08llx.recording", dir,
			(long long)x->snap->host.id, (long long)x->req->rpc_seqno,
			(unsigned long long)x->seed & 0xffffffff),
		    b.p, b.n, 0600, &f);
	}
	if (e != OK)
		log_fail("this request is not recorded", &f);
}

/* --- replaying --- */

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
keep_replay(struct rpc *x, const char *path, const char *config, struct fail *f)
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
