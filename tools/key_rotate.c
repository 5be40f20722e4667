/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus key rotate: makes a new pair of code signing keys. Clients accept it only with
 * a signature by the key that they have (protocol.md 5.6), and use it to check program
 * files, so the files of all versions are signed again.
 *
 * The schedulers are stopped meanwhile. The next rotation completes one that was
 * interrupted: the new pair is written first, under the names *.new, and all later
 * steps derive from it and may be repeated.
 */
#include <string.h>
#include "lib/clock.h"
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/confirm.h"
#include "tools/key.h"
#include "lib/banned.h"

enum { KEY_MAX = 16 << 10, UNDER_WAY_S = 2 };

struct rotate_opts {
	const char *key, *old, *new;
	bool dry_run;
};

static const struct opt rotate_options[] = {
	{ "old", OPT_TEXT, offsetof(struct rotate_opts, old), "KEY",
	    "The current private code signing key, if it is not keys/code_sign_private." },
	{ "new", OPT_TEXT, offsetof(struct rotate_opts, new), "KEY",
	    "A new private code signing key made by locus key make, with its public key beside it; it is not copied to the project. By default a pair is made." },
	{ "key", OPT_TEXT, offsetof(struct rotate_opts, key), "KEY",
	    "Another name of --old." },
	DRY_RUN_OPTION(struct rotate_opts),
	{ 0 },
};

struct rotation {
	struct cmd_ctx *x;
	char *old_private, *old_public; /* texts of the current pair */
	char *private, *public;         /* texts of the new pair */
	struct key *signer;             /* the new private key */
	const char *given;              /* path of the new private key; NULL: is made */
	bool cut_off;                   /* completes an interrupted rotation */
	bool archived;                  /* the current pair is an old one already */
	int nold;                       /* number of files old_key_0, old_key_1, ... */
	struct catalog *cat;
	char **docs; /* new app_version.xml_doc of each of cat->versions */
};

static enum err
key_file_read(struct cmd_ctx *x, const char *path, char **text)
{
	return fs_read(x->a, path, KEY_MAX, text, NULL, x->f);
}

static enum err
key_file_write(struct cmd_ctx *x, const char *name, const char *text, unsigned mode)
{
	return fs_write(key_file_path(x, name), text, strlen(text), mode, x->f);
}

static enum err
read_old_private(struct rotation *r, const char *path)
{
	enum err e = key_file_read(r->x, path, &r->old_private);

	if (e == E_NOTFOUND)
		return FAIL(r->x->f, E_CONFIG,
		    "%s does not exist: give the current private key with --old KEY",
		    path);
	return e;
}

/* Loads the current pair, of which the private key may have been given, and verifies
 * that its keys belong together. */
static enum err
load_old_pair(struct rotation *r, const char *private_path)
{
	struct cmd_ctx *x = r->x;
	struct key *private = NULL, *public = NULL;
	char *sig;
	enum err e = OK;

	if (private_path == NULL) {
		private_path = key_file_path(x, "code_sign_private");
		e = read_old_private(r, private_path);
	}
	if (e == OK)
		e = key_file_read(
		    x, key_file_path(x, "code_sign_public"), &r->old_public);
	if (e == OK)
		e = key_parse_private(r->old_private, &private, x->f);
	if (e == OK)
		e = key_parse_public(r->old_public, &public, x->f);
	if (e == OK)
		e = sign_text(x->a, private, "x", &sig, x->f);
	if (e == OK && verify_text(public, "x", sig, x->f) != OK)
		e = FAIL(x->f, E_CONFIG, "%s is not the private key of %s",
		    private_path, key_file_path(x, "code_sign_public"));
	key_free(private);
	key_free(public);
	return e;
}

/* Reads a pair that was made elsewhere, and verifies that its keys belong together. */
static enum err
read_given_pair(struct rotation *r)
{
	static const char tail[] = "_private";
	struct cmd_ctx *x = r->x;
	struct key *private = NULL, *public = NULL;
	size_t n = strlen(r->given), cut = strlen(tail);
	const char *path;
	char *sig;
	enum err e;

	if (n <= cut || strcmp(r->given + n - cut, tail) != 0)
		return FAIL(x->f, E_BADREQ,
		    "--new %s: the name of a private key ends in _private; its public key, beside it, in _public",
		    r->given);
	path = arena_printf(x->a, "%.*s_public", (int)(n - cut), r->given);
	TRY(key_file_read(x, r->given, &r->private));
	TRY(key_file_read(x, path, &r->public));
	e = key_parse_private(r->private, &private, x->f);
	if (e == OK)
		e = key_parse_public(r->public, &public, x->f);
	if (e == OK)
		e = sign_text(x->a, private, "x", &sig, x->f);
	if (e == OK && verify_text(public, "x", sig, x->f) != OK)
		e = FAIL(
		    x->f, E_CONFIG, "%s is not the private key of %s", r->given, path);
	if (private != NULL)
		key_free(private);
	if (public != NULL)
		key_free(public);
	return e;
}

/* Loads the new pair of an interrupted rotation, or makes one. */
static enum err
make_new_pair(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	enum err e = OK;

	if (r->cut_off) {
		e = key_file_read(
		    x, key_file_path(x, "code_sign_private.new"), &r->private);
		if (e == OK)
			e = key_file_read(
			    x, key_file_path(x, "code_sign_public.new"), &r->public);
	} else { /* public key first: a private key alone marks the last step */
		if (r->given == NULL)
			e = key_make(x->a, &r->private, &r->public, x->f);
		if (e == OK)
			e = key_file_put(x, "code_sign_public.new", "code_sign_public",
			    r->public, 0640);
		if (e == OK)
			e = key_file_put(x, "code_sign_private.new",
			    "code_sign_private", r->private, 0600);
	}
	return e == OK ? key_parse_private(r->private, &r->signer, x->f) : e;
}

/* --- signatures of the new key by old keys --- */

/* Counts the old keys; E_CONFIG if there is no room for the current one. Sets
 * r->archived if the current one is the last of them already. */
static enum err
count_old_keys(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	char *last;

	r->nold = 0;
	while (r->nold < OLD_CODE_KEYS &&
	       fs_exists(key_file_path(x, arena_printf(x->a, "old_key_%d", r->nold))))
		r->nold++;
	if (r->nold > 0) {
		TRY(key_file_read(x,
		    key_file_path(x, arena_printf(x->a, "old_key_%d", r->nold - 1)),
		    &last));
		r->archived = strcmp(last, r->old_public) == 0;
	}
	if (!r->archived && r->nold == OLD_CODE_KEYS)
		return FAIL(x->f, E_CONFIG, "%s already has %d old keys",
		    x->cf->key_dir, OLD_CODE_KEYS);
	return OK;
}

/* Archives the current pair as the last old pair, unless it is there already. */
static enum err
archive_old_pair(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	enum err e = count_old_keys(r);

	if (e != OK || r->archived)
		return e;
	/*
	 * Private key first: an old_key without its private key could never sign again.
	 */
	e = key_file_write(
	    x, arena_printf(x->a, "old_private_%d", r->nold), r->old_private, 0600);
	if (e == OK)
		e = key_file_write(
		    x, arena_printf(x->a, "old_key_%d", r->nold), r->old_public, 0640);
	r->nold++;
	return e;
}

static enum err
sign_to(struct cmd_ctx *x, const struct key *k, const char *name, const char *text)
{
	char *sig;
	enum err e = sign_text(x->a, k, text, &sig, x->f);

	return e == OK ? key_file_write(x, name, sig, 0640) : e;
}

/*
 * Signs the new key by old key i. Clients before version 7 check the key as it stands
 * between its tags, with a line feed at its end; later clients check it without.
 */
static enum err
sign_by_old(struct rotation *r, int i)
{
	struct cmd_ctx *x = r->x;
	char *text = text_trim(
	    arena_strdup(x->a, r->public)); /* as clients receive it */
	const char *plain = arena_printf(x->a, "signature_%d", i),
		   *strip = arena_printf(x->a, "signature_stripped_%d", i);
	char *private = NULL;
	struct key *k = NULL;
	enum err e = key_file_read(
	    x, key_file_path(x, arena_printf(x->a, "old_private_%d", i)), &private);

	if (e == E_NOTFOUND) { /* existing signatures are of an outdated key */
		ctx_progress(x, "dropped",
		    "keys/old_key_%d: without keys/old_private_%d its clients must attach again",
		    i, i);
		e = fs_unlink(key_file_path(x, plain), x->f);
		return e == OK ? fs_unlink(key_file_path(x, strip), x->f) : e;
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

/* Program files lie directly in the download directory; those of adopted projects may
 * lie in its subdirectories. */
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

/* Computes the new xml_doc of all versions; changes nothing yet. */
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

/* --- the rotation --- */

/*
 * Renames the public key first: a private key left alone shows that only its rename is
 * missing.  away: the private key is kept elsewhere.
 */
static enum err
install_new_pair(struct cmd_ctx *x, bool away)
{
	enum err e = OK;

	if (fs_exists(key_file_path(x, "code_sign_public.new")))
		e = fs_rename(key_file_path(x, "code_sign_public.new"),
		    key_file_path(x, "code_sign_public"), x->f);
	if (e == OK && away)
		e = fs_unlink(key_file_path(x, "code_sign_private"), x->f);
	if (e == OK)
		e = away ? fs_unlink(key_file_path(x, "code_sign_private.new"), x->f) :
		           fs_rename(key_file_path(x, "code_sign_private.new"),
			       key_file_path(x, "code_sign_private"), x->f);
	return e == OK ? ctx_reread(x) : e;
}

/* Lets the schedulers serve again, unless they were stopped before. */
static enum err
rotation_end(struct cmd_ctx *x, bool stay_stopped)
{
	enum err e = OK;

	if (!stay_stopped)
		e = fs_unlink(project_path(x->a, x->cf, "stop_sched"), x->f);
	if (e == OK)
		ctx_progress(x, "rotated",
		    "the code signing key; the files of all versions have new signatures (move keys/code_sign_private and keys/old_private_* to a safe place)");
	return e;
}

/* Replaces the old pair. Once begun, a rotation has to be completed. */
static enum err
rotation_commit(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	enum err e = archive_old_pair(r);

	for (int i = 0; i < r->nold && e == OK; i++)
		e = sign_by_old(r, i);
	if (e == OK)
		e = tools_transaction(x, store_versions, r);
	if (e == OK)
		e = install_new_pair(x, r->given != NULL);
	return e;
}

/*
 * Makes the new pair and signs all files with it; on failure everything is as before.
 */
static enum err
rotation_prepare(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	struct fail ignored = { 0 };
	enum err e;

	r->cut_off = fs_exists(key_file_path(x, "code_sign_public.new")) &&
	             fs_exists(key_file_path(x, "code_sign_private.new"));
	e = make_new_pair(r);
	if (e == OK)
		e = sign_versions(r);
	if (e == OK || r->cut_off)
		return e;
	fs_unlink(key_file_path(x, "code_sign_private.new"), &ignored);
	fs_unlink(key_file_path(x, "code_sign_public.new"), &ignored);
	return e;
}

/* Does all that a rotation does before it changes anything, with a pair that is thrown
 * away if none was given. */
static enum err
rotation_show(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	enum err e = OK;

	TRY(key_dir_check(x));
	TRY(count_old_keys(r));
	if (r->given == NULL)
		TRY(key_make(x->a, &r->private, &r->public, x->f));
	TRY(key_parse_private(r->private, &r->signer, x->f));
	e = sign_versions(r);
	key_free(r->signer);
	if (e != OK)
		return e;
	ctx_progress(x, "would",
	    "rotate: a new pair of code signing keys; the files of %zu versions get new signatures",
	    r->cat->nversions);
	return OK;
}

/* Reads the keys that were named, which may be for root's eyes only, before this
 * process becomes the project's account. */
static enum err
read_named_keys(struct rotation *r, const char *old)
{
	if (old != NULL)
		TRY(read_old_private(r, old));
	return r->given == NULL ? OK : read_given_pair(r);
}

/* The rotation itself, once its keys are loaded. */
static enum err
rotation_run(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	const char *stop = project_path(x->a, x->cf, "stop_sched");
	bool stopped;
	enum err e;

	TRY(rotation_prepare(r));
	stopped = fs_exists(stop) && !r->cut_off;
	e = fs_touch(stop, x->f);
	if (e == OK)
		clock_nap_ms(UNDER_WAY_S * 1000); /* let requests in flight finish */
	if (e == OK)
		e = rotation_commit(r);
	key_free(r->signer);
	return e == OK ? rotation_end(x, stopped) : e;
}

static enum err
rotate_code_sign(struct cmd_ctx *x, const struct rotate_opts *o)
{
	struct rotation r = { .x = x, .given = o->new };
	const char *old = o->old != NULL ? o->old : o->key;
	enum err e = read_named_keys(&r, old);

	if (e == OK)
		e = ctx_db(x);
	/* Interrupted between the last two renames: everything else is done. */
	if (e == OK && fs_exists(key_file_path(x, "code_sign_private.new")) &&
	    !fs_exists(key_file_path(x, "code_sign_public.new")) && !o->dry_run) {
		e = install_new_pair(x, o->new != NULL);
		return e == OK ? rotation_end(x, false) : e;
	}
	if (e == OK)
		e = load_old_pair(&r, old);
	if (e == OK && o->dry_run)
		return rotation_show(&r);
	return e == OK ? rotation_run(&r) : e;
}

static enum err
key_rotate_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct rotate_opts *o = opts;

	if (n > 0 && strcmp(args[0], "upload") == 0) {
		if (o->old != NULL || o->new != NULL || o->key != NULL)
			return ctx_usage(x,
			    "--old and --new are for the code signing key; the upload key is always made here");
		return key_rotate_upload(x, o->dry_run);
	}
	if (n == 0)
		return ctx_usage(x,
		    "which keys?  locus key rotate upload replaces those that permit uploads; locus key rotate code-sign those that sign programs");
	if (strcmp(args[0], "code-sign") != 0)
		return ctx_usage(x,
		    "\"%.60s\" is no kind of key: it must be upload or code-sign",
		    args[0]);
	return rotate_code_sign(x, o);
}

const struct cmd cmd_key_rotate = { .name = "key rotate",
	.args = "upload|code-sign",
	.min_args = 0, /* without one, the message says what each does */
	.max_args = 1,
	.purpose = "replace the upload keys or the code signing keys",
	.about =
	    "upload: makes a new pair, with which the certificates of new tasks are signed. The old\n"
	    "public key stays as old_upload_public_N, and uploads of tasks that exist are accepted\n"
	    "by it; remove it when none of them is in progress, or at once if somebody may have\n"
	    "the private key.\n"
	    "code-sign: makes a new pair, signs it with all earlier keys whose private part is available\n"
	    "(keys/old_private_N), and signs the files of all versions again. Clients with an\n"
	    "earlier key accept the new one with their next request; clients whose key cannot\n"
	    "sign the new one are asked to attach again. The schedulers are stopped (stop_sched)\n"
	    "meanwhile. If the command fails and they stay stopped, run it again.",
	.opts = rotate_options,
	.opts_size = sizeof(struct rotate_opts),
	.run = key_rotate_run };
