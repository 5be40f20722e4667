/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus key rotate: replaces the code signing key. Clients accept another one only with
 * a signature by the key that they have (protocol.md 5.6), and use it to check program
 * files, so what the old key has signed is signed again. What must be signed is listed
 * in a sheet (key_sheet.h); the private keys that sign are here, or on a machine that
 * gets the request and returns the answer.
 *
 * The schedulers are stopped meanwhile. The next rotation completes one that was
 * interrupted: the answer is kept in the key directory until it is carried out, and all
 * steps derive from it and may be repeated.
 */
#include <stdio.h>
#include <string.h>
#include "lib/clock.h"
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/dir_cure.h"
#include "tools/key.h"
#include "tools/key_sheet.h"
#include "lib/banned.h"

enum { UNDER_WAY_S = 2 };

struct rotate_opts {
	const char *key, *new, *answer;
	struct text_list old;
	bool request, dry_run;
};

static const struct field rotate_options[] = {
	{ "request", FIELD_OF(struct rotate_opts, request), NULL,
	    "Changes nothing; prints what locus key sign must sign on the machine that has the private keys." },
	{ "answer", FIELD_OF(struct rotate_opts, answer), "FILE",
	    "What locus key sign has written there: no private key comes to this machine." },
	{ "old", FIELD_OF(struct rotate_opts, old), "KEY",
	    "The current private code signing key, if it is not keys/code_sign_private, and earlier ones, each with an --old of its own; they are not copied to the project." },
	{ "new", FIELD_OF(struct rotate_opts, new), "KEY",
	    "A new private code signing key made by locus key make, with its public key beside it; it is not copied to the project. By default a pair is made." },
	{ "key", FIELD_OF(struct rotate_opts, key), "KEY", "Another name of --old." },
	DRY_RUN_OPTION(struct rotate_opts),
	{ 0 },
};

struct rotation {
	struct cmd_ctx *x;
	const struct rotate_opts *o;
	struct key_sheet sheet;
	struct key_sheet answer; /* if one was given */
	struct sheet_signers by; /* else the private keys */
	struct key *present;     /* public key that made the signatures of now */
	bool archived;           /* the present key is an old one already */
	struct app_version *versions;
	size_t nversions, cap;
	size_t nprograms, programs_cap;
	struct sheet_program *programs;
	char **docs; /* new app_version.xml_doc of each of versions */
	char **left; /* names of files that the present key has not signed */
	size_t nleft, left_cap;
};

static enum err key_file_read(struct cmd_ctx *x, const char *name, char **text)
{
	return fs_read(x->a, key_file_path(x, name), KEY_FILE_MAX, text, NULL, x->f);
}

/* Writes a text with a line feed at its end. */
static enum err key_file_write(
    struct cmd_ctx *x, const char *name, const char *text, unsigned mode)
{
	const char *line = arena_printf(
	    x->a, "%s%s", text, text_ends_with(text, "\n") ? "" : "\n");

	return fs_write(key_file_path(x, name), line, strlen(line), mode, x->f);
}

bool key_rotation_began(struct arena *a, const struct conf *cf)
{
	return fs_exists(arena_printf(a, "%s/" KEY_ROTATION, cf->key_dir));
}

/* --- what must be signed --- */

/* Lists the keys that clients may have: old_key_0, _1, ... and the present one. */
static enum err gather_keys(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	struct sheet_key *keys = NULL;
	size_t n = 0, cap = 0;
	char *public, *text;
	enum err e;

	e = key_file_read(x, "code_sign_public", &public);
	if (e == E_NOTFOUND)
		return FAIL(x->f, E_CONFIG, "%s",
		    key_absent_cure(x->a, x, key_file_path(x, "code_sign_public")));
	TRY(e);
	TRY(key_parse_public(public, &r->present, x->f));
	while (fs_exists(key_file_path(x, arena_printf(x->a, "old_key_%zu", n)))) {
		TRY(key_file_read(x, arena_printf(x->a, "old_key_%zu", n), &text));
		PUSH(x->a, keys, n, cap) = (struct sheet_key){ .key = text };
	}
	if (n == 0 || !text_same_words(keys[n - 1].key, public))
		PUSH(x->a, keys, n, cap) = (struct sheet_key){ .key = public };
	if (n > OLD_CODE_KEYS)
		return FAIL(x->f, E_CONFIG, "%s already has %d old keys",
		    x->cf->key_dir, OLD_CODE_KEYS);
	r->sheet.keys = (struct xml_list){ .rows = keys, .n = n, .cap = cap };
	return OK;
}

/* Withdrawn versions count, too: one of them may be sent again. */
static enum err gather_versions(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	struct catalog *cat;
	struct app_version *v;
	size_t n;

	TRY(tools_catalog(x, &cat));
	for (size_t i = 0; i < cat->napps; i++) {
		TRY(app_versions_of(x->db, x->a, cat->apps[i].id, &v, &n, x->f));
		for (size_t k = 0; k < n; k++)
			PUSH(x->a, r->versions, r->nversions, r->cap) = v[k];
	}
	return OK;
}

/* Notes a file that the present key has signed: clients accept no other one now, and
 * shall not do so afterwards. */
static enum err note_program(
    void *ctx, const char *name, const char *was, char **sig, struct fail *f)
{
	struct rotation *r = ctx;
	struct arena *a = r->x->a;
	struct fail ignored = { 0 };
	char md5[MD5_HEX];

	(void)sig, (void)f;
	if (signed_md5(r->present, was, md5, &ignored) != OK) {
		PUSH(a, r->left, r->nleft, r->left_cap) = arena_strdup(a, name);
		return OK;
	}
	PUSH(a, r->programs, r->nprograms,
	    r->programs_cap) = (struct sheet_program){ .name = arena_strdup(a, name),
		.signature = text_trim(arena_strdup(a, was)) };
	return OK;
}

static enum err gather_programs(struct rotation *r)
{
	const struct blob_signer noting = { note_program, r };
	struct cmd_ctx *x = r->x;
	char *same;

	TRY(gather_versions(r));
	for (size_t i = 0; i < r->nversions; i++)
		TRY(blob_resign(x->a, r->versions[i].xml_doc, &noting, &same, x->f));
	r->sheet.programs = (struct xml_list){
		.rows = r->programs, .n = r->nprograms, .cap = r->programs_cap
	};
	return OK;
}

/* --- signatures --- */

/* Takes the signatures of an answer for the same present key. */
static enum err take_answer(struct rotation *r)
{
	struct key_sheet *s = &r->sheet, *from = &r->answer;
	struct cmd_ctx *x = r->x;

	if (!text_same_words(key_sheet_present(s)->key, key_sheet_present(from)->key))
		return FAIL(x->f, E_CONFIG,
		    "%s is about another code signing key than the present one: make a new request",
		    r->o->answer);
	s->new_key = from->new_key;
	for (size_t i = 0; i < s->keys.n; i++)
		for (size_t k = 0; k < from->keys.n; k++) {
			const struct sheet_key *given = &SHEET_KEYS(from)[k];
			struct sheet_key *to = &SHEET_KEYS(s)[i];

			if (!text_same_words(to->key, given->key))
				continue;
			to->signature = given->signature;
			to->stripped = given->stripped;
		}
	for (size_t i = 0; i < s->programs.n; i++) {
		struct sheet_program *p = &SHEET_PROGRAMS(s)[i];
		size_t k = 0;

		while (k < from->programs.n && !text_same_words(p->signature,
						   SHEET_PROGRAMS(from)[k].signature))
			k++;
		if (k == from->programs.n)
			return FAIL(x->f, E_CONFIG,
			    "%s says nothing of %s, which came after the request: make a new request",
			    r->o->answer, p->name);
		p->renewed = SHEET_PROGRAMS(from)[k].renewed;
	}
	return OK;
}

/* The private keys that are on this machine, besides those that were named. */
static enum err add_own_keys(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	const char *path = key_file_path(x, "code_sign_private");

	if (fs_exists(path))
		TRY(key_signers_add(x, &r->by, path));
	else if (r->by.nold == 0)
		return FAIL(x->f, E_CONFIG,
		    "%s does not exist: give the current private key with --old KEY, or leave it where it is and use --request",
		    path);
	for (size_t i = 0; i < r->sheet.keys.n; i++) {
		path = key_file_path(x, arena_printf(x->a, "old_private_%zu", i));
		if (fs_exists(path))
			TRY(key_signers_add(x, &r->by, path));
	}
	return OK;
}

static enum err sign_here(struct rotation *r)
{
	struct cmd_ctx *x = r->x;

	TRY(add_own_keys(r));
	r->sheet.made_here = r->o->new == NULL;
	if (r->sheet.made_here)
		TRY(key_make(x->a, &r->by.new_private, &r->by.new_public, x->f));
	return key_sheet_sign(x->a, &r->sheet, &r->by, x->cf->key_dir, x->f);
}

/* --- carrying it out --- */

/*
 * Archives the present pair. Private key first: without it an old_key could never sign
 * again. One that was not on this machine does not come to it.
 */
static enum err archive_present(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	size_t i = r->sheet.keys.n - 1;
	const char *old = arena_printf(x->a, "old_key_%zu", i);
	char *private;
	enum err e;

	if (fs_exists(key_file_path(x, old)))
		return OK;
	e = key_file_read(x, "code_sign_private", &private);
	if (e == OK)
		e = key_file_write(
		    x, arena_printf(x->a, "old_private_%zu", i), private, 0600);
	if (e != OK && e != E_NOTFOUND)
		return e;
	return key_file_write(x, old, key_sheet_present(&r->sheet)->key, 0640);
}

/* Writes the signatures of the new key, of which clients before version 7 and later
 * ones get one each. */
static enum err write_signatures(struct cmd_ctx *x, const struct key_sheet *s)
{
	for (size_t i = 0; i < s->keys.n; i++) {
		const struct sheet_key *k = &SHEET_KEYS(s)[i];
		const char *plain = arena_printf(x->a, "signature_%zu", i),
			   *strip = arena_printf(x->a, "signature_stripped_%zu", i);

		if (k->signature != NULL && k->stripped != NULL) {
			TRY(key_file_write(x, plain, k->signature, 0640));
			TRY(key_file_write(x, strip, k->stripped, 0640));
			continue;
		}
		ctx_progress(x, "dropped",
		    "keys/old_key_%zu: its private key has not signed the new one, so its clients must attach again",
		    i);
		TRY(fs_unlink(key_file_path(x, plain), x->f));
		TRY(fs_unlink(key_file_path(x, strip), x->f));
	}
	return OK;
}

/* Returns the new signature of what the present key has signed. */
static enum err renewed_signature(
    void *ctx, const char *name, const char *was, char **sig, struct fail *f)
{
	struct rotation *r = ctx;

	(void)name, (void)f;
	for (size_t i = 0; i < r->sheet.programs.n; i++) {
		const struct sheet_program *p = &SHEET_PROGRAMS(&r->sheet)[i];

		if (p->renewed == NULL || !text_same_words(p->signature, was))
			continue;
		*sig = arena_printf(r->x->a, "%s%s", p->renewed,
		    text_ends_with(p->renewed, "\n") ? "" : "\n");
		return OK;
	}
	return OK;
}

static enum err store_versions(struct cmd_ctx *x, void *arg)
{
	struct rotation *r = arg;

	for (size_t i = 0; i < r->nversions; i++)
		if (strcmp(r->docs[i], r->versions[i].xml_doc) != 0)
			TRY(db_exec(x->db, x->f, NULL, APP_VERSION_SET_DOC,
			    .xml_doc = r->docs[i], .id = r->versions[i].id));
	return OK;
}

static enum err sign_versions(struct rotation *r)
{
	const struct blob_signer renewing = { renewed_signature, r };
	struct cmd_ctx *x = r->x;

	r->docs = NEWN(x->a, char *, r->nversions + 1);
	for (size_t i = 0; i < r->nversions; i++)
		TRY(blob_resign(
		    x->a, r->versions[i].xml_doc, &renewing, &r->docs[i], x->f));
	return tools_transaction(x, store_versions, r);
}

/* The old private key is archived by now, if it was here. */
static enum err install_new_pair(struct rotation *r)
{
	const char *private = key_file_path(r->x, "code_sign_private"),
		   *made = key_file_path(r->x, "code_sign_private.new");
	struct cmd_ctx *x = r->x;

	TRY(key_file_put(x, "code_sign_public", "code_sign_public",
	    arena_printf(x->a, "%s\n", text_trim(r->sheet.new_key)), 0640));
	if (!r->sheet.made_here) {
		TRY(fs_unlink(private, x->f));
		TRY(fs_unlink(made, x->f)); /* of one that never began */
	} else if (fs_exists(made))
		TRY(fs_rename(made, private, x->f));
	return ctx_reread(x);
}

static void say_rotated(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	const char *move = "";

	if (fs_exists(key_file_path(x, "code_sign_private")) ||
	    fs_exists(key_file_path(
		x, arena_printf(x->a, "old_private_%zu", r->sheet.keys.n - 1))))
		move =
		    " (move keys/code_sign_private and keys/old_private_* to a safe place)";
	ctx_progress(x, "rotated",
	    "the code signing key; the files of all versions have new signatures%s",
	    move);
}

/* Once begun, a rotation has to be completed. */
static enum err rotation_complete(struct rotation *r)
{
	struct cmd_ctx *x = r->x;
	const char *stop = project_path(x->a, x->cf, "stop_sched");

	TRY(fs_touch(stop, x->f));
	if (!r->sheet.stay_stopped)
		clock_nap_ms(UNDER_WAY_S * 1000); /* let requests in flight finish */
	TRY(archive_present(r));
	TRY(write_signatures(x, &r->sheet));
	TRY(sign_versions(r));
	TRY(install_new_pair(r));
	if (!r->sheet.stay_stopped)
		TRY(fs_unlink(stop, x->f));
	TRY(fs_unlink(key_file_path(x, KEY_ROTATION), x->f));
	say_rotated(r);
	return OK;
}

/* Keeps the answer, and before it the private key that it is about. */
static enum err rotation_begin(struct rotation *r)
{
	struct cmd_ctx *x = r->x;

	r->sheet.stay_stopped = fs_exists(project_path(x->a, x->cf, "stop_sched"));
	if (r->sheet.made_here)
		TRY(key_file_put(x, "code_sign_private.new", "code_sign_private",
		    r->by.new_private, 0600));
	return key_file_write(x, KEY_ROTATION, key_sheet_text(x->a, &r->sheet), 0640);
}

/* --- the command --- */

static enum err rotation_new(struct rotation *r)
{
	struct cmd_ctx *x = r->x;

	TRY(gather_keys(r));
	TRY(gather_programs(r));
	r->sheet.url = x->cf->master_url;
	if (r->o->request) {
		printf("%s", key_sheet_text(x->a, &r->sheet));
		return OK;
	}
	TRY(key_dir_check(x));
	TRY(r->o->answer != NULL ? take_answer(r) : sign_here(r));
	TRY(key_sheet_check(x->a, &r->sheet, x->f));
	for (size_t i = 0; i < r->nleft; i++)
		ctx_progress(x, "left",
		    "the signature of %s, which the present key has not made: clients refuse the file before and after",
		    r->left[i]);
	if (r->o->dry_run) {
		ctx_progress(x, "would",
		    "rotate: a new pair of code signing keys; the files of %zu versions get new signatures",
		    r->nversions);
		return OK;
	}
	TRY(rotation_begin(r));
	return rotation_complete(r);
}

static enum err rotation_resume(struct rotation *r)
{
	struct cmd_ctx *x = r->x;

	if (r->o->request)
		return FAIL(x->f, E_CONFIG,
		    "a rotation was interrupted; to complete it, run: %s",
		    locus_command(x->a, x->cf, "key rotate code-sign"));
	TRY(key_dir_check(x));
	TRY(key_sheet_read(x->a, key_file_path(x, KEY_ROTATION), &r->sheet, x->f));
	TRY(key_sheet_check(x->a, &r->sheet, x->f));
	TRY(gather_versions(r));
	if (r->o->dry_run) {
		ctx_progress(x, "would", "complete the rotation that was interrupted");
		return OK;
	}
	return rotation_complete(r);
}

/* Reads the files that were named, which may be for root's eyes only, before this
 * process becomes the project's account. */
static enum err read_named_files(struct rotation *r)
{
	const struct rotate_opts *o = r->o;
	struct cmd_ctx *x = r->x;

	if (o->answer != NULL)
		TRY(key_sheet_read(x->a, o->answer, &r->answer, x->f));
	if (o->key != NULL)
		TRY(key_signers_add(x, &r->by, o->key));
	for (size_t i = 0; i < o->old.n; i++)
		TRY(key_signers_add(x, &r->by, o->old.v[i]));
	return o->new == NULL ? OK : key_signers_new(x, &r->by, o->new);
}

static enum err rotate_code_sign(struct cmd_ctx *x, const struct rotate_opts *o)
{
	struct rotation r = { .x = x, .o = o };
	bool keys = o->old.n > 0 || o->new != NULL || o->key != NULL;

	if ((o->request && (keys || o->answer != NULL)) || (keys && o->answer != NULL))
		return ctx_usage(x,
		    "--request, --answer and private keys (--old, --new) exclude each other");
	TRY(read_named_files(&r));
	TRY(ctx_alone(x));
	TRY(ctx_db(x));
	return key_rotation_began(x->a, x->cf) ? rotation_resume(&r) : rotation_new(&r);
}

static enum err key_rotate_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct rotate_opts *o = opts;

	if (n > 0 && strcmp(args[0], "upload") == 0) {
		if (o->old.n > 0 || o->new != NULL || o->key != NULL || o->request ||
		    o->answer != NULL)
			return ctx_usage(x,
			    "--request, --answer, --old and --new are for the code signing key; the upload key is always made here");
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
	    "by it; remove it when none of them is in progress, or at once if somebody may have the\n"
	    "private key. code-sign: replaces the pair. The new key is signed by the old one and by\n"
	    "earlier ones, and what the old key has signed is signed again. With --request and\n"
	    "--answer the private keys stay on another machine (locus key sign). locus-admin(7) has\n"
	    "the life of a code signing key step by step.",
	.details =
	    "Clients with an earlier key accept the new one with their next request; clients whose\n"
	    "key has not signed the new one are asked to attach again. The schedulers are stopped\n"
	    "(stop_sched) meanwhile. If the command fails and they stay stopped, run it again.",
	.opts = rotate_options,
	.opts_size = sizeof(struct rotate_opts),
	.run = key_rotate_run };
