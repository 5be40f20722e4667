/* SPDX-License-Identifier: Apache-2.0 */
/* locus key show: which keys the project has. No byte of a private key is shown. */
#include "tools/key.h"

#include <errno.h>
#include <pwd.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/create.h"
#include "tools/dir_cure.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { PRINT_DIGITS = 16 };

static const struct print_column key_columns[] = {
	{ "file", "FILE", PRINT_TEXT, "in the key directory" },
	{ "use", "USE", PRINT_TEXT, "what it is for" },
	{ "state", "STATE", PRINT_TEXT,
	    "ok, missing, elsewhere (a private key that need not be here), unusable, open (others may read or change it), or another pair's" },
	{ "fingerprint", "FINGERPRINT", PRINT_TEXT,
	    "of the public key, also for its private one: the first 16 digits of the SHA-256 of its file" },
	{ "mode", "MODE", PRINT_TEXT, NULL },
	{ "owner", "OWNER", PRINT_TEXT, NULL },
	{ "changed", "CHANGED", PRINT_TIME, NULL },
	{ 0 },
};

struct key_row {
	const char *file, *use;
	const char *pair;    /* the file of the public key of a private one */
	bool may_be_missing; /* else it is "missing", not "elsewhere" */
};

static const char *fingerprint(struct cmd_ctx *x, const char *text)
{
	struct sha256 *sum = sha256_new(x->a);
	char hex[SHA256_HEX];

	sha256_add(sum, text, strlen(text));
	sha256_end(sum, hex);
	return arena_memdup(x->a, hex, PRINT_DIGITS);
}

static bool key_is_usable(const char *text, bool private)
{
	struct fail f = { 0 };
	struct key *key = NULL;
	enum err e = private ? key_parse_private(text, &key, &f) :
	                       key_parse_public(text, &key, &f);

	if (key != NULL)
		key_free(key);
	return e == OK;
}

/* Sets the fingerprint if the file is a key, or fits one. */
static const char *key_state(struct cmd_ctx *x, const struct key_row *r,
    const struct stat *st, const char **print)
{
	unsigned forbidden = r->pair != NULL ? 027 : 022;
	struct fail f = { 0 };
	char *text, *public;

	if (fs_read(x->a, key_file_path(x, r->file), KEY_FILE_MAX, &text, NULL, &f) !=
	    OK)
		return "unreadable";
	if (!key_is_usable(text, r->pair != NULL))
		return "unusable";
	if (r->pair == NULL)
		*print = fingerprint(x, text);
	else if (fs_read(x->a, key_file_path(x, r->pair), KEY_FILE_MAX, &public, NULL,
		     &f) != OK ||
		 !key_pair_fits(x->a, text, public))
		return "another pair's";
	else
		*print = fingerprint(x, public);
	return (st->st_mode & forbidden) != 0 ? "open" : "ok";
}

static void put_key(struct cmd_ctx *x, struct print *l, const struct key_row *r)
{
	const char *path = key_file_path(x, r->file), *print = NULL, *state;
	const struct passwd *pw;
	struct stat st;

	print_cells(l, r->file, r->use);
	if (stat(path, &st) < 0) {
		print_cells(l, errno != ENOENT   ? "unreadable" :
			       r->may_be_missing ? "elsewhere" :
						   "missing");
		for (int i = 0; i < 4; i++)
			print_cells(l, NULL);
		return;
	}
	state = key_state(x, r, &st, &print);
	pw = getpwuid(st.st_uid);
	print_cells(l, state, print,
	    arena_printf(x->a, "%04o", (unsigned)st.st_mode & 07777),
	    pw != NULL ? pw->pw_name : arena_printf(x->a, "%u", (unsigned)st.st_uid),
	    st.st_mtim.tv_sec);
}

/* Numbered files, from 0; those of the code signing key have no gaps. */
static void put_old_keys(struct cmd_ctx *x, struct print *l, const char *name, int most,
    const char *use, const char *private)
{
	for (int i = 0; i < most; i++) {
		struct key_row r = { .file = arena_printf(x->a, "%s_%d", name, i),
			.use = use };

		if (!fs_exists(key_file_path(x, r.file)))
			continue;
		put_key(x, l, &r);
		if (private == NULL)
			continue;
		r.pair = r.file;
		r.file = arena_printf(x->a, "%s_%d", private, i);
		r.use = "signs new code signing keys for its clients";
		r.may_be_missing = true;
		put_key(x, l, &r);
	}
}

static enum err key_show_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	static const struct key_row rows[] = {
		{ "upload_public", "checks the certificates of uploads", NULL, false },
		{ "upload_private", "signs the certificates of uploads",
		    "upload_public", false },
		{ "code_sign_public", "clients check programs with it", NULL, false },
		{ "code_sign_private", "signs programs", "code_sign_public", true },
	};
	struct print *l;

	(void)opts, (void)args, (void)n;
	TRY(ctx_conf(x));
	l = print_list(x, key_columns);
	for (size_t i = 0; i < N(rows); i++)
		put_key(x, l, &rows[i]);
	put_old_keys(x, l, "old_upload_public", OLD_UPLOAD_KEYS,
	    "accepts uploads of tasks made before it was replaced", NULL);
	put_old_keys(x, l, "old_key", OLD_CODE_KEYS,
	    "clients may still have it as code signing key", "old_private");
	print_end(l);
	return OK;
}

const struct cmd cmd_key_show = { .name = "key show",
	.args = "",
	.purpose = "show which keys the project has",
	.about =
	    "Lists the keys in the key directory with their state, fingerprint, mode and owner, and\n"
	    "which are missing. No byte of a private key is shown. A code signing key that is\n"
	    "\"elsewhere\" is as it should be: only signing programs and rotating keys need it.",
	.columns = key_columns,
	.run = key_show_run };

/* locus key make: makes code signing keys; needs neither project nor network. */

bool key_pair_fits(struct arena *a, const char *private, const char *public)
{
	struct key *ours = NULL, *theirs = NULL;
	struct fail f = { 0 };
	char *sig;
	bool fits = key_parse_private(private, &ours, &f) == OK &&
	            key_parse_public(public, &theirs, &f) == OK &&
	            sign_text(a, ours, "x", &sig, &f) == OK &&
	            verify_text(theirs, "x", sig, &f) == OK;

	if (ours != NULL)
		key_free(ours);
	if (theirs != NULL)
		key_free(theirs);
	return fits;
}

char *key_absent_cure(struct arena *a, const struct cmd_ctx *x, const char *path)
{
	const struct conf *cf = x->cf;
	char *lost = restore_cure(a, &x->owner, path, "600");

	if (!conf_is_installed(cf) ||
	    strcmp(text_base_name(path), "code_sign_public") != 0)
		return lost;
	return arena_printf(a,
	    "locus key make DIR on a machine without a network, and here: locus create %s --url %s --code-sign-public FILE; if there was a key: %s",
	    conf_installation(a, cf).name, cf->master_url, lost);
}

static enum err key_make_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const char *dir = args[0];

	(void)opts, (void)n;
	TRY(owner_enter_place(x->a, dir, false, &x->owner, x->f));
	TRY(fs_mkdirs(dir, 0700, x->f));
	if (fs_exists(arena_printf(x->a, "%s/code_sign_private", dir)) ||
	    fs_exists(arena_printf(x->a, "%s/code_sign_public", dir)))
		return FAIL(x->f, E_SYS,
		    "%s has code signing keys already, which are not replaced", dir);
	TRY(create_key_pair(x, dir, "code_sign", 0600, 0644));
	ctx_progress(x, "created",
	    "%s/code_sign_private (keep it here) and %s/code_sign_public (for the server)",
	    dir, dir);
	return OK;
}

const struct cmd cmd_key_make = { .name = "key make",
	.args = "DIR",
	.min_args = 1,
	.max_args = 1,
	.purpose = "make code signing keys",
	.about =
	    "Writes code_sign_private and code_sign_public to DIR. Needs no project: run it on a\n"
	    "machine without a network, keep the private key there, and give the public key to\n"
	    "the server with locus create --code-sign-public. Files of app versions are then\n"
	    "signed there with locus sign.",
	.run = key_make_run };

/*
 * locus key rotate upload. Tasks that exist have certificates by the old key, and
 * hosts may upload their output for as long as a task may take; so its public part is
 * kept, and the upload handler accepts both. The public keys are in place before the
 * daemons sign with the new private one, and an interrupted rotation can simply be
 * repeated.
 */

char *key_file_path(struct cmd_ctx *x, const char *name)
{
	return arena_printf(x->a, "%s/%s", x->cf->key_dir, name);
}

enum err key_dir_check(struct cmd_ctx *x)
{
	return fs_check_change(key_file_path(x, "upload_public"), x->f);
}

static enum err next_old_key(struct cmd_ctx *x, char **path)
{
	for (int i = 0; i < OLD_UPLOAD_KEYS; i++) {
		*path = key_file_path(x, arena_printf(x->a, "old_upload_public_%d", i));
		if (!fs_exists(*path))
			return OK;
	}
	return FAIL(x->f, E_CONFIG,
	    "%s has %d old upload keys already: remove the old_upload_public_* of which no task is in progress any more (locus key show says how old they are)",
	    x->cf->key_dir, OLD_UPLOAD_KEYS);
}

enum err key_file_put(struct cmd_ctx *x, const char *name, const char *like,
    const char *text, unsigned mode)
{
	struct stat st;

	if (stat(key_file_path(x, like), &st) == 0)
		mode = st.st_mode & 0777;
	return fs_write(key_file_path(x, name), text, strlen(text), mode, x->f);
}

enum err key_rotate_upload(struct cmd_ctx *x, bool dry)
{
	char *old, *was = NULL, *private, *public;
	enum err e;

	TRY(ctx_conf(x));
	TRY(ctx_alone(x));
	TRY(next_old_key(x, &old));
	e = fs_read(
	    x->a, key_file_path(x, "upload_public"), KEY_FILE_MAX, &was, NULL, x->f);
	if (e != OK && e != E_NOTFOUND)
		return e;
	if (e == OK)
		TRY(key_dir_check(x));
	if (dry) {
		ctx_progress(x, "would",
		    "rotate: a new pair of upload keys; %s keeps the old public key",
		    old);
		return OK;
	}
	TRY(key_make(x->a, &private, &public, x->f));
	if (was != NULL)
		TRY(key_file_put(x, text_base_name(old), "upload_public", was, 0640));
	TRY(key_file_put(x, "upload_public", "upload_public", public, 0640));
	TRY(key_file_put(x, "upload_private", "upload_private", private, 0600));
	if (was == NULL)
		ctx_progress(x, "made",
		    "a pair of upload keys; upload_public was lost, so uploads of tasks that hosts have are refused, unless a backup has it: put it back as %s",
		    old);
	else
		ctx_progress(x, "rotated",
		    "the upload key; what tasks made until now upload is accepted by %s, which may be removed when none of them is in progress",
		    old);
	return OK;
}
