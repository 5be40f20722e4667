/* SPDX-License-Identifier: Apache-2.0 */
/* Answers readiness probes, as seen by the serving process. */
#include "sched/rpc/probe.h"

#include <string.h>
#include <unistd.h>
#include "db/trigger_rows.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/decision.h"
#include "proto/probe.h"
#include "sched/rpc/host_key.h"
#include "lib/banned.h"

enum { SECRET_MOST = 256 };

bool probe_asked(struct arena *a, const struct conf *cf, const char *body, size_t n)
{
	static const char open[] = "<" PROBE_ELEMENT ">";
	const char *at = memmem(
	    body, n < HOST_KEY_HEAD ? n : HOST_KEY_HEAD, open, strlen(open));
	struct fail f = { 0 };
	char *secret;
	size_t len;

	if (at == NULL)
		return false;
	at += strlen(open);
	if (fs_read(a, arena_printf(a, "%s/" PROBE_SECRET_FILE, cf->run_dir),
		SECRET_MOST, &secret, NULL, &f) != OK)
		return false;
	secret = text_trim(secret);
	len = strlen(secret);
	if (len == 0 || (size_t)(body + n - at) <= len || at[len] != '<')
		return false;
	return secret_equal(secret, arena_memdup(a, at, len));
}

/*
 * Checks that a directory is writable by creating and removing a file, because
 * permissions alone do not tell.
 */
static void try_dir(struct rpc *x, const char *dir)
{
	const char *path = arena_printf(x->a, "%s/.probe-%ld", dir, (long)getpid());
	struct fail f = { 0 };

	if (fs_write(path, "", 0, 0600, &f) == OK && fs_unlink(path, &f) == OK)
		return;
	buf_tag(&x->out, PROBE_DIR, dir);
	buf_tag(&x->out, PROBE_CODE, err_name(f.code));
	buf_tag(&x->out, PROBE_TROUBLE, f.detail);
}

/* Checks the key that new clients need to verify programs. */
static void try_key(struct rpc *x)
{
	const char *path = arena_printf(x->a, "%s/code_sign_public", x->conf->key_dir);
	struct fail f = { 0 };
	char *text;

	if (x->keys == NULL || x->keys->code_sign_public != NULL)
		return;
	if (fs_read(x->a, path, KEY_FILE_MAX, &text, NULL, &f) == OK)
		FAIL(&f, E_SYS, "it was not readable a moment ago");
	buf_tag(&x->out, PROBE_FILE, path);
	buf_tag(&x->out, PROBE_TROUBLE, f.detail);
}

static void try_dirs(struct rpc *x)
{
	const struct conf *cf = x->conf;

	try_dir(x, cf->run_dir);
	try_dir(x, cf->log_dir);
	try_dir(x, cf->upload_dir);
	for (enum trigger t = 0; t < TRIGGER__MAX; t++)
		if (!triggers_in_rows(cf))
			try_dir(x, trigger_dir(x->a, cf, t));
}

void probe_answer(struct rpc *x, const char *trouble)
{
	const struct decision *d = x->step == RPC_served ? x->dec : NULL;
	const char *what = d == NULL     ? "" :
	                   d->nsends > 0 ? "WORK" :
	                                   reason_code(d->why);

	if (trouble == NULL && d == NULL && x->fail.code != OK)
		trouble = x->fail.detail;
	x->out = buf_new(x->a);
	buf_puts(&x->out, "<scheduler_reply>\n<" PROBE_ELEMENT ">\n");
	buf_tag(&x->out, PROBE_DECISION,
	    arena_printf(x->a, "%08llx", (unsigned long long)x->seed & 0xffffffff));
	if (d != NULL)
		buf_tag(&x->out, PROBE_REASON, what);
	buf_tag_i64(&x->out, PROBE_ACCOUNT, geteuid());
	if (trouble != NULL)
		buf_tag(&x->out, PROBE_TROUBLE, trouble);
	try_key(x);
	try_dirs(x);
	buf_puts(&x->out, "</" PROBE_ELEMENT ">\n</scheduler_reply>\n");
}
