/* SPDX-License-Identifier: Apache-2.0 */
/* Requests and answers about a new code signing key: written, read, signed, verified.
 */
#include "tools/key_sheet.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/names.h"
#include "lib/text.h"
#include "tools/cmd.h"
#include "tools/key.h"
#include "lib/banned.h"

enum { SHEET_MAX = 256 << 20, SHEET_TEXT = 4095 };
#define SHEET_ROOT "code_sign_rotation"

#include "tools/key_sheet.def"

/* --- text --- */

static void put_lines(struct buf *b, const char *tag, const char *text)
{
	if (text != NULL)
		buf_printf(b, "<%s>\n%s%s</%s>\n", tag, text,
		    text_ends_with(text, "\n") ? "" : "\n", tag);
}

char *key_sheet_text(struct arena *a, const struct key_sheet *s)
{
	struct buf b = buf_new(a);

	buf_puts(&b, "<" SHEET_ROOT ">\n");
	buf_tag(&b, "project", s->url);
	put_lines(&b, "new_key", s->new_key);
	if (s->made_here)
		buf_puts(&b, "<made_here/>\n");
	if (s->stay_stopped)
		buf_puts(&b, "<stay_stopped/>\n");
	for (size_t i = 0; i < s->keys.n; i++) {
		buf_puts(&b, "<client_key>\n");
		put_lines(&b, "key", SHEET_KEYS(s)[i].key);
		put_lines(&b, "signature", SHEET_KEYS(s)[i].signature);
		put_lines(&b, "signature_stripped", SHEET_KEYS(s)[i].stripped);
		buf_puts(&b, "</client_key>\n");
	}
	for (size_t i = 0; i < s->programs.n; i++) {
		buf_puts(&b, "<program>\n");
		buf_tag(&b, "name", SHEET_PROGRAMS(s)[i].name);
		put_lines(&b, "signature", SHEET_PROGRAMS(s)[i].signature);
		put_lines(&b, "new_signature", SHEET_PROGRAMS(s)[i].renewed);
		buf_puts(&b, "</program>\n");
	}
	buf_puts(&b, "</" SHEET_ROOT ">\n");
	return b.p;
}

static bool public_is_usable(const char *text)
{
	struct fail f = { 0 };
	struct key *k = NULL;
	bool yes = text != NULL && key_parse_public(text, &k, &f) == OK;

	if (k != NULL)
		key_free(k);
	return yes;
}

enum err key_sheet_read(
    struct arena *a, const char *path, struct key_sheet *s, struct fail *f)
{
	char *text;
	size_t n;

	*s = (struct key_sheet){ 0 };
	TRY(fs_read(a, path, SHEET_MAX, &text, &n, f));
	if (xml_parse(a, text, n, SHEET_ROOT, sheet_table, s, NULL, f) != OK)
		return FAIL(f, E_CONFIG,
		    "%s is not what locus key rotate code-sign --request prints, nor an answer to it: %.200s",
		    path, f->detail);
	if (s->keys.n == 0 || s->keys.cut || s->programs.cut)
		return FAIL(f, E_CONFIG, "%s has no key, or is too large", path);
	if (s->new_key != NULL && !public_is_usable(s->new_key))
		return FAIL(f, E_CONFIG, "the new key in %s is no public key", path);
	for (size_t i = 0; i < s->keys.n; i++)
		if (!public_is_usable(SHEET_KEYS(s)[i].key))
			return FAIL(
			    f, E_CONFIG, "key %zu of %s is no public key", i, path);
	for (size_t i = 0; i < s->programs.n; i++)
		if (SHEET_PROGRAMS(s)[i].name == NULL ||
		    SHEET_PROGRAMS(s)[i].signature == NULL)
			return FAIL(f, E_CONFIG,
			    "program %zu of %s has no name or no signature", i, path);
	return OK;
}

struct sheet_key *key_sheet_present(const struct key_sheet *s)
{
	return &SHEET_KEYS(s)[s->keys.n - 1];
}

/* --- verifying --- */

/* A key that clients receive has no white space at its ends. */
static char *as_received(struct arena *a, const char *key)
{
	return text_trim(arena_strdup(a, key));
}

static enum err verify_new_key(
    struct arena *a, const struct key_sheet *s, size_t i, struct fail *f)
{
	const struct sheet_key *k = &SHEET_KEYS(s)[i];
	const char *text = as_received(a, s->new_key);
	struct key *by;
	enum err e;

	if (text_same_words(k->key, text))
		return FAIL(f, E_CONFIG,
		    "the new key is not new: it is key %zu of the project", i);
	if (k->signature == NULL || k->stripped == NULL)
		return OK;
	TRY(key_parse_public(k->key, &by, f));
	e = verify_text(by, arena_printf(a, "%s\n", text), k->signature, f);
	if (e == OK)
		e = verify_text(by, text, k->stripped, f);
	key_free(by);
	if (e == OK)
		return OK;
	return FAIL(
	    f, E_CONFIG, "key %zu of the project has not signed the new key", i);
}

enum err key_sheet_check(struct arena *a, const struct key_sheet *s, struct fail *f)
{
	char was[MD5_HEX];
	struct key *old, *new;
	enum err e = OK;
	if (s->new_key == NULL)
		return FAIL(f, E_CONFIG,
		    "this is a request without an answer: locus key sign makes one");
	for (size_t i = 0; i < s->keys.n; i++)
		TRY(verify_new_key(a, s, i, f));
	TRY(key_parse_public(key_sheet_present(s)->key, &old, f));
	TRY(key_parse_public(s->new_key, &new, f));
	for (size_t i = 0; i < s->programs.n && e == OK; i++) {
		const struct sheet_program *p = &SHEET_PROGRAMS(s)[i];

		e = signed_md5(old, p->signature, was, f);
		if (e == OK && p->renewed != NULL)
			e = verify_md5(new, was, p->renewed, f);
		if (e != OK)
			e = FAIL(f, E_CONFIG,
			    "the new key has not signed what the present one has signed: %s",
			    p->name);
	}
	key_free(old);
	key_free(new);
	return e;
}

/* --- signing --- */

enum err key_signers_add(struct cmd_ctx *x, struct sheet_signers *s, const char *path)
{
	struct sheet_signer *one = &PUSH(x->a, s->old, s->nold, s->cap);
	enum err e;

	one->path = path;
	e = fs_read(x->a, path, KEY_FILE_MAX, &one->text, NULL, x->f);
	return e == E_NOTFOUND ? FAIL(x->f, E_CONFIG, "%s does not exist", path) : e;
}

enum err key_signers_new(struct cmd_ctx *x, struct sheet_signers *s, const char *given)
{
	static const char tail[] = "_private";
	size_t cut = strlen(given) - strlen(tail);
	const char *path;

	if (!text_ends_with(given, tail))
		return FAIL(x->f, E_BADREQ,
		    "--new %s: the name of a private key ends in _private; its public key, beside it, in _public",
		    given);
	path = arena_printf(x->a, "%.*s_public", (int)cut, given);
	TRY(fs_read(x->a, given, KEY_FILE_MAX, &s->new_private, NULL, x->f));
	TRY(fs_read(x->a, path, KEY_FILE_MAX, &s->new_public, NULL, x->f));
	if (!key_pair_fits(x->a, s->new_private, s->new_public))
		return FAIL(
		    x->f, E_CONFIG, "%s is not the private key of %s", given, path);
	return OK;
}

static enum err sign_new_key(struct arena *a, const struct key *by, const char *new_key,
    struct sheet_key *k, struct fail *f)
{
	const char *text = as_received(a, new_key);

	TRY(sign_text(a, by, arena_printf(a, "%s\n", text), &k->signature, f));
	return sign_text(a, by, text, &k->stripped, f);
}

static enum err sign_by(struct arena *a, struct key_sheet *s,
    const struct sheet_signer *signer, const char *from, struct fail *f)
{
	struct key *by;
	enum err e = E_NOTFOUND;

	TRY(key_parse_private(signer->text, &by, f));
	for (size_t i = 0; i < s->keys.n && e == E_NOTFOUND; i++)
		if (key_pair_fits(a, signer->text, SHEET_KEYS(s)[i].key))
			e = sign_new_key(a, by, s->new_key, &SHEET_KEYS(s)[i], f);
	key_free(by);
	if (e == E_NOTFOUND)
		return FAIL(f, E_CONFIG, "%s is not the private key of any in %s",
		    signer->path, from);
	return e;
}

/*
 * Signs what the present key has signed, and nothing else: whoever may change the
 * server's files or its requests gets no signature for a program of his own.
 */
static enum err sign_programs(struct arena *a, struct key_sheet *s,
    const struct sheet_signers *by, struct fail *f)
{
	char digits[MD5_HEX], *md5 = digits;
	struct key *present, *new;
	enum err e = OK;

	TRY(key_parse_public(key_sheet_present(s)->key, &present, f));
	TRY(key_parse_private(by->new_private, &new, f));
	for (size_t i = 0; i < s->programs.n && e == OK; i++) {
		struct sheet_program *p = &SHEET_PROGRAMS(s)[i];

		if (signed_md5(present, p->signature, digits, f) != OK)
			e = FAIL(
			    f, E_CONFIG, "the present key has not signed %s", p->name);
		else if (by->allowed == NULL || bsearch(&md5, by->allowed, by->nallowed,
						    sizeof(char *), name_order) != NULL)
			e = sign_md5(a, new, digits, &p->renewed, f);
	}
	key_free(present);
	key_free(new);
	return e;
}

enum err key_sheet_sign(struct arena *a, struct key_sheet *s,
    const struct sheet_signers *by, const char *from, struct fail *f)
{
	const struct sheet_key *present = key_sheet_present(s);

	s->new_key = by->new_public;
	for (size_t i = 0; i < by->nold; i++)
		TRY(sign_by(a, s, &by->old[i], from, f));
	if (by->present != NULL && !text_same_words(by->present, present->key))
		return FAIL(
		    f, E_CONFIG, "--lost: the present key in %s is another one", from);
	if (by->present == NULL && present->stripped == NULL)
		return FAIL(f, E_CONFIG,
		    "none of the keys is that which clients have: give the current private key with --old KEY");
	return sign_programs(a, s, by, f);
}

/* locus sign: signs files; needs neither project nor database, so that the key may stay
 * on another machine. */

struct sign_opts {
	const char *key;
	bool print;
};

static const struct field sign_options[] = {
	{ "key", FIELD_OF(struct sign_opts, key), "KEY",
	    "The private key, such as a project's keys/code_sign_private." },
	{ "print", FIELD_OF(struct sign_opts, print), NULL,
	    "Prints the signatures instead of writing files." },
	{ 0 },
};

static enum err sign_beside(
    struct cmd_ctx *x, struct key *key, const char *path, bool print)
{
	const char *to = arena_printf(x->a, "%s.sig", path);
	char md5[MD5_HEX], *sig;
	int64_t nbytes;

	TRY(owner_enter_place(x->a, to, true, &x->owner, x->f));
	TRY(md5_file(path, md5, &nbytes, x->f));
	TRY(sign_md5(x->a, key, md5, &sig, x->f));
	if (print) {
		printf("%s", sig);
		return OK;
	}
	TRY(fs_write(to, sig, strlen(sig), 0644, x->f));
	ctx_progress(x, "signed", "%s", to);
	return OK;
}

static enum err sign_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct sign_opts *o = opts;
	struct key *key;
	enum err e;

	if (o->key == NULL)
		return ctx_usage(
		    x, "--key KEY is required: the private key to sign with");
	e = key_read_private(o->key, &key, x->f);
	if (e != OK)
		return e;
	for (size_t i = 0; i < n && e == OK; i++) {
		e = sign_beside(x, key, args[i], o->print);
		if (e == OK)
			e = owner_root(&x->owner, x->f);
	}
	key_free(key);
	return e;
}

const struct cmd cmd_sign = { .name = "sign",
	.args = "FILE ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "sign files of an app version",
	.about =
	    "Writes FILE.sig beside each file, or prints the signatures; locus version add\n"
	    "accepts such a file. Needs no project: the private key may stay on a machine without a\n"
	    "network.",
	.opts = sign_options,
	.opts_size = sizeof(struct sign_opts),
	.run = sign_run };

/* locus key sign: answers a request of locus key rotate code-sign --request; needs
 * neither project nor network. */

enum { FILES_MOST = 1000000 };

struct key_sign_opts {
	struct text_list old;
	const char *new, *lost, *programs;
};

static const struct field key_sign_options[] = {
	{ "old", FIELD_OF(struct key_sign_opts, old), "KEY",
	    "A private key of the project that clients may have: the present one and, each with an --old of its own, earlier ones." },
	{ "new", FIELD_OF(struct key_sign_opts, new), "KEY",
	    "The new private key, made by locus key make, with its public key beside it." },
	{ "programs", FIELD_OF(struct key_sign_opts, programs), "DIR",
	    "Signs only programs that are files of DIR, your own copies: for when somebody else may have signed with the present key." },
	{ "lost", FIELD_OF(struct key_sign_opts, lost), "PUBLIC-KEY",
	    "The present public key, if its private key is lost: all clients that have it must attach again." },
	{ 0 },
};

/* The MD5 of each file of a directory. */
static enum err allow_only(struct cmd_ctx *x, struct sheet_signers *s, const char *dir)
{
	char **names, md5[MD5_HEX];
	size_t n;

	TRY(fs_list(x->a, dir, FILES_MOST, &names, &n, x->f));
	s->allowed = NEWN(x->a, char *, n + 1);
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(x->a, "%s/%s", dir, names[i]);
		struct stat st;

		if (stat(path, &st) < 0)
			return FAIL_ERRNO(x->f, "%s", path);
		if (!S_ISREG(st.st_mode))
			continue;
		TRY(md5_file(path, md5, NULL, x->f));
		s->allowed[s->nallowed++] = arena_strdup(x->a, md5);
	}
	qsort(s->allowed, s->nallowed, sizeof(char *), name_order);
	return OK;
}

static void say_signed(struct cmd_ctx *x, const struct key_sheet *s)
{
	for (size_t i = 0; i < s->programs.n; i++) {
		const struct sheet_program *p = &SHEET_PROGRAMS(s)[i];

		if (p->renewed != NULL)
			ctx_progress(x, "signed", "%s", p->name);
		else
			ctx_progress(x, "left out",
			    "%s: not what is in your directory; no client with the new key runs it",
			    p->name);
	}
	for (size_t i = 0; i < s->keys.n; i++)
		if (SHEET_KEYS(s)[i].stripped == NULL)
			ctx_progress(x, "dropped",
			    "key %zu%s: without its private key its clients must attach again",
			    i, i == s->keys.n - 1 ? ", the present one" : "");
}

static enum err key_sign_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct key_sign_opts *o = opts;
	struct sheet_signers by = { 0 };
	struct key_sheet sheet;
	char *text;
	char *present;

	(void)n;
	if (o->new == NULL)
		return ctx_usage(x,
		    "--new KEY is required: a private key that locus key make has made");
	if (o->old.n == 0 && o->lost == NULL)
		return ctx_usage(x,
		    "--old KEY is required: the present private key (or, if it is lost, --lost and the public one)");
	for (size_t i = 0; i < o->old.n; i++)
		TRY(key_signers_add(x, &by, o->old.v[i]));
	TRY(key_signers_new(x, &by, o->new));
	if (o->lost != NULL) {
		TRY(fs_read(x->a, o->lost, KEY_FILE_MAX, &present, NULL, x->f));
		by.present = present;
	}
	TRY(o->programs == NULL ? OK : allow_only(x, &by, o->programs));
	/* Root reads the keys itself, but where another account rules it is that
	 * account. */
	const char *path = args[0];
	TRY(owner_enter_place(x->a, path, true, &x->owner, x->f));
	TRY(key_sheet_read(x->a, path, &sheet, x->f));
	TRY(key_sheet_sign(x->a, &sheet, &by, path, x->f));
	TRY(key_sheet_check(x->a, &sheet, x->f));
	TRY(owner_root(&x->owner, x->f));
	text = key_sheet_text(x->a, &sheet);
	TRY(owner_enter_place(x->a, args[1], false, &x->owner, x->f));
	TRY(fs_write(args[1], text, strlen(text), 0644, x->f));
	say_signed(x, &sheet);
	ctx_progress(x, "answered",
	    "%s, for locus key rotate code-sign --answer on the server", args[1]);
	return OK;
}

const struct cmd cmd_key_sign = { .name = "key sign",
	.args = "REQUEST ANSWER",
	.min_args = 2,
	.max_args = 2,
	.purpose = "sign a new code signing key on a machine without a network",
	.about =
	    "Reads REQUEST, which locus key rotate code-sign --request has printed, and writes\n"
	    "ANSWER for locus key rotate code-sign --answer: the new public key, its signature by\n"
	    "the old private keys, and new signatures of the programs. Signs what the present key\n"
	    "has signed, and nothing else. Needs no project, and no private key leaves this\n"
	    "machine.",
	.opts = key_sign_options,
	.opts_size = sizeof(struct key_sign_opts),
	.run = key_sign_run };
