/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus key rotate: a new pair of code signing keys.  Clients take it only with a
 * signature by the key that they have (protocol.md 5.6), and check program files with
 * it, so the files of all versions are signed again.
 *
 * The schedulers are stopped meanwhile.  A rotation that was cut off is finished by the
 * next one: the new pair is made first, under the names *.new, and everything else
 * follows from it and may be done twice.
 */
#include <string.h>
#include "lib/clock.h"
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "lib/banned.h"

enum { KEY_MAX = 16 << 10, OLD_KEYS_MAX = 100, UNDER_WAY_S = 2 };

struct rotate_opts {
	const char *key;
};

static const struct opt rotate_options[] = {
	{ "key", OPT_TEXT, offsetof(struct rotate_opts, key), "KEY",
	    "Today's private key, if it is not keys/code_sign_private." },
	{ 0 },
};

struct rotation {
	struct cmd_ctx *x;
	char *old_private, *old_public; /* texts of today's pair */
	char *private, *public;         /* and of tomorrow's */
	struct key *signer;             /* tomorrow's */
	bool cut_off;                   /* finishes an earlier one */
	int nold;                       /* old_key_0 ... */
	struct catalog *cat;
	char **docs; /* aligned with cat->versions: app_version.xml_doc */
};

static char *
key_path(struct cmd_ctx *x, const char *name)
{
	return arena_printf(x->a, "%s/%s", x->cf->key_dir, name);
}

static enum err
read_text(struct cmd_ctx *x, const char *path, char **text)
{
	return fs_read(x->a, path, KEY_MAX, text, NULL, x->f);
}

static enum err
write_text(struct cmd_ctx *x, const char *name, const char *text, unsigned mode)
{
	return fs_write(key_path(x, name), text, strlen(text), mode, x->f);
}

/* Today's pair; that both belong together is tried out. */
static enum err
read_today(struct rotation *r, const char *private_path)
{
	struct cmd_ctx *x = r->x;
	struct key *private = NULL, *public = NULL;
	char *sig;
	enum err e;

	if (private_path == NULL)
		private_path = key_path(x, "code_sign_private");
	e = read_text(x, private_path, &r->old_private);
	if (e == E_NOTFOUND)
		return FAIL(x->f, E_CONFIG,
		    "%s is not there: name today's private key with --key KEY",
		    private_path);
	if (e == OK)
		e = read_text(x, key_path(x, "code_sign_public"), &r->old_public);
	if (e == OK)
		e = key_parse_private(r->old_private, &private, x->f);
	if (e == OK)
		e = key_parse_public(r->old_public, &public, x->f);
	if (e == OK)
		e = sign_text(x->a, private, "x", &sig, x->f);
	if (e == OK && verify_text(public, "x", sig, x->f) != OK)
		e = FAIL(x->f, E_CONFIG, "%s is not the private key of %s",
		    private_path, key_path(x, "code_sign_public"));
	key_free(private);
	key_free(public);
	return e;
}

/* The pair of a rotation that was cut off, or a new one. */
static enum err
make_tomorrow(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	enum err e = OK;

	if (r->cut_off) {
		e = read_text(x, key_path(x, "code_sign_private.new"), &r->private);
		if (e == OK)
			e = read_text(
			    x, key_path(x, "code_sign_public.new"), &r->public);
	} else { /* the public one first, as a private one alone means something else */
		e = key_make(x->a, &r->private, &r->public, x->f);
		if (e == OK)
			e = write_text(x, "code_sign_public.new", r->public, 0640);
		if (e == OK)
			e = write_text(x, "code_sign_private.new", r->private, 0600);
	}
	return e == OK ? key_parse_private(r->private, &r->signer, x->f) : e;
}

/* --- signatures of the new key by old ones --- */

/* Today's pair becomes the last of the old ones, once. */
static enum err
keep_today(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	enum err e = OK;
	char *last;

	while (r->nold < OLD_KEYS_MAX &&
	       fs_exists(key_path(x, arena_printf(x->a, "old_key_%d", r->nold))))
		r->nold++;
	if (r->nold > 0) {
		e = read_text(x,
		    key_path(x, arena_printf(x->a, "old_key_%d", r->nold - 1)), &last);
		if (e != OK || strcmp(last, r->old_public) == 0)
			return e;
	}
	if (r->nold == OLD_KEYS_MAX)
		return FAIL(x->f, E_CONFIG, "%s: there are %d old keys already",
		    x->cf->key_dir, OLD_KEYS_MAX);
	/* The private one first: an old_key without it could never sign again. */
	e = write_text(
	    x, arena_printf(x->a, "old_private_%d", r->nold), r->old_private, 0600);
	if (e == OK)
		e = write_text(
		    x, arena_printf(x->a, "old_key_%d", r->nold), r->old_public, 0640);
	r->nold++;
	return e;
}

static enum err
sign_to(struct cmd_ctx *x, const struct key *k, const char *name, const char *text)
{
	char *sig;
	enum err e = sign_text(x->a, k, text, &sig, x->f);

	return e == OK ? write_text(x, name, sig, 0640) : e;
}

/*
 * Clients before version 7 check the key as it stands between its tags, with a line
 * feed at its end; later ones without.
 */
static enum err
sign_by_old(struct rotation *r, int i)
{
	struct cmd_ctx *x = r->x;
	char *text = text_trim(arena_strdup(x->a, r->public)); /* as it is sent */
	const char *plain = arena_printf(x->a, "signature_%d", i),
		   *strip = arena_printf(x->a, "signature_stripped_%d", i);
	char *private = NULL;
	struct key *k = NULL;
	enum err e = read_text(
	    x, key_path(x, arena_printf(x->a, "old_private_%d", i)), &private);

	if (e == E_NOTFOUND) { /* what is there would sign a key that is gone */
		ctx_said(x, "dropped",
		    "keys/old_key_%d: without keys/old_private_%d its clients must attach anew",
		    i, i);
		e = fs_unlink(key_path(x, plain), x->f);
		return e == OK ? fs_unlink(key_path(x, strip), x->f) : e;
	}
	if (e == OK)
		e = key_parse_private(private, &k, x->f);
	if (e == OK)
		e = sign_to(x, k, plain, arena_printf(x->a, "%s\n", text));
	if (e == OK)
		e = sign_to(x, k, strip, text);
	key_free(k);
	return e;
}

/* --- signatures of program files --- */

/* Program files lie in the download directory itself, some of adopted projects below.
 */
static const char *
program_path(struct cmd_ctx *x, const char *name)
{
	const char *flat = arena_printf(x->a, "%s/%s", x->cf->download_dir, name);

	return fs_exists(flat) ? flat : download_path(x->a, x->cf, name);
}

static enum err
sign_file(void *ctx, const char *name, char **sig, struct fail *f)
{
	struct rotation *r = ctx;
	char md5[MD5_HEX];
	int64_t nbytes;
	enum err e;

	if (strchr(name, '/') != NULL)
		return FAIL(f, E_BADREQ, "a version has a file named %.100s", name);
	e = md5_file(program_path(r->x, name), md5, &nbytes, f);
	return e == OK ? sign_md5(r->x->a, r->signer, md5, sig, f) : e;
}

/* The new texts of all versions; nothing is changed yet. */
static enum err
sign_versions(struct rotation *r)
{
	const struct blob_signer signer = { sign_file, r };
	struct cmd_ctx *x = r->x;
	enum err e = tools_catalog(x, &r->cat);

	if (e != OK)
		return e;
	r->docs = NEWN(x->a, char *, r->cat->nversions + 1);
	for (size_t i = 0; i < r->cat->nversions && e == OK; i++)
		e = blob_resign(
		    x->a, r->cat->versions[i].xml_doc, &signer, &r->docs[i], x->f);
	return e;
}

static enum err
store_versions(struct cmd_ctx *x, void *arg)
{
	struct rotation *r = arg;
	enum err e = OK;

	for (size_t i = 0; i < r->cat->nversions && e == OK; i++)
		e = db_exec(x->db, x->f, NULL, APP_VERSION_SET_DOC,
		    .xml_doc = r->docs[i], .id = r->cat->versions[i].id);
	return e;
}

/* --- all of it --- */

/* The public one first: a private one that is left alone tells that all else is done.
 */
static enum err
put_in_place(struct cmd_ctx *x)
{
	enum err e = OK;

	if (fs_exists(key_path(x, "code_sign_public.new")))
		e = fs_rename(key_path(x, "code_sign_public.new"),
		    key_path(x, "code_sign_public"), x->f);
	if (e == OK)
		e = fs_rename(key_path(x, "code_sign_private.new"),
		    key_path(x, "code_sign_private"), x->f);
	return e == OK ? ctx_reread(x) : e;
}

/* Schedulers serve again; ours is the last word on the rotation. */
static enum err
end(struct cmd_ctx *x, bool stay_stopped)
{
	enum err e = OK;

	if (!stay_stopped)
		e = fs_unlink(project_path(x->a, x->cf, "stop_sched"), x->f);
	if (e == OK)
		ctx_said(x, "rotated",
		    "the code signing key; the files of all versions are signed anew (move keys/code_sign_private and keys/old_private_* to a safe place)");
	return e;
}

/* From here on it must be finished. */
static enum err
replace(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	enum err e = keep_today(r);

	for (int i = 0; i < r->nold && e == OK; i++)
		e = sign_by_old(r, i);
	if (e == OK)
		e = tools_transaction(x, store_versions, r);
	if (e == OK)
		e = put_in_place(x);
	return e;
}

/* A file that cannot be signed leaves everything as it was. */
static enum err
prepare(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	struct fail ignored = { 0 };
	enum err e;

	r->cut_off = fs_exists(key_path(x, "code_sign_public.new")) &&
	             fs_exists(key_path(x, "code_sign_private.new"));
	e = make_tomorrow(r);
	if (e == OK)
		e = sign_versions(r);
	if (e == OK || r->cut_off)
		return e;
	fs_unlink(key_path(x, "code_sign_private.new"), &ignored);
	fs_unlink(key_path(x, "code_sign_public.new"), &ignored);
	return e;
}

static enum err
key_rotate_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct rotate_opts *o = opts;
	struct rotation r = { .x = x };
	const char *stop;
	bool stopped;
	enum err e = ctx_db(x);

	(void)args, (void)n;
	/* Cut off between the last two names: all else is done. */
	if (e == OK && fs_exists(key_path(x, "code_sign_private.new")) &&
	    !fs_exists(key_path(x, "code_sign_public.new"))) {
		e = put_in_place(x);
		return e == OK ? end(x, false) : e;
	}
	if (e == OK)
		e = read_today(&r, o->key);
	if (e == OK)
		e = prepare(&r);
	if (e != OK)
		return e;
	stop = project_path(x->a, x->cf, "stop_sched");
	stopped = fs_exists(stop) && !r.cut_off;
	e = fs_touch(stop, x->f);
	if (e == OK)
		clock_nap_ms(UNDER_WAY_S * 1000); /* requests under way end */
	if (e == OK)
		e = replace(&r);
	key_free(r.signer);
	return e == OK ? end(x, stopped) : e;
}

const struct cmd cmd_key_rotate = { .name = "key rotate",
	.args = "",
	.min_args = 0,
	.max_args = 0,
	.purpose = "a new pair of code signing keys",
	.about =
	    "Makes a new pair, signs it with all earlier keys whose private part is there (keys/old_private_N), and signs the files of all versions anew.\n"
	    "Clients with an earlier key take the new one with their next request; those whose key nothing signs are asked to attach again.\n"
	    "The schedulers are stopped (stop_sched) while it runs.  If it says that it failed and they stay so, run it again.",
	.opts = rotate_options,
	.opts_size = sizeof(struct rotate_opts),
	.run = key_rotate_run };
