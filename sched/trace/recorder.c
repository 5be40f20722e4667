/* SPDX-License-Identifier: Apache-2.0 */
/* From the scheduler's struct rpc to the recorded one (proto/recording.h). */
#include "sched/trace/recorder.h"

#include <string.h>
#include "lib/fs.h"
#include "lib/log.h"
#include "lib/text.h"
#include "proto/job_limits.h"
#include "proto/plan_class.h"
#include "proto/recording.h"
#include "lib/banned.h"

enum { UNTIL_MAX = 64, CONFIG_MAX = 16 << 20, FILES_MOST = 1000 };

void
recorder_look(struct rpc *x)
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
recorder_rows(struct rpc *x)
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
recorder_write(struct rpc *x)
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
