/* SPDX-License-Identifier: Apache-2.0 */
/* locus key sign: answers a request of locus key rotate code-sign --request; needs
 * neither project nor network. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/names.h"
#include "lib/text.h"
#include "tools/key_sheet.h"
#include "lib/banned.h"

enum { FILES_MOST = 1000000 };

struct key_sign_opts {
	struct conf_list old;
	const char *new, *lost, *programs;
};

static const struct opt key_sign_options[] = {
	{ "old", OPT_TEXTS, offsetof(struct key_sign_opts, old), "KEY",
	    "A private key of the project that clients may have: the present one and, each with an --old of its own, earlier ones." },
	{ "new", OPT_TEXT, offsetof(struct key_sign_opts, new), "KEY",
	    "The new private key, made by locus key make, with its public key beside it." },
	{ "programs", OPT_TEXT, offsetof(struct key_sign_opts, programs), "DIR",
	    "Signs only programs that are files of DIR, your own copies: for when somebody else may have signed with the present key." },
	{ "lost", OPT_TEXT, offsetof(struct key_sign_opts, lost), "PUBLIC-KEY",
	    "The present public key, if its private key is lost: all clients that have it must attach again." },
	{ 0 },
};

/* The MD5 of each file of a directory. */
static enum err
allow_only(struct cmd_ctx *x, struct sheet_signers *s, const char *dir)
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

static enum err
read_signers(struct cmd_ctx *x, const struct key_sign_opts *o, struct sheet_signers *s)
{
	char *present;

	for (size_t i = 0; i < o->old.n; i++)
		TRY(key_signers_add(x, s, o->old.v[i]));
	TRY(key_signers_new(x, s, o->new));
	if (o->lost != NULL) {
		TRY(fs_read(x->a, o->lost, KEY_FILE_MAX, &present, NULL, x->f));
		s->present = present;
	}
	return o->programs == NULL ? OK : allow_only(x, s, o->programs);
}

static void
say_signed(struct cmd_ctx *x, const struct key_sheet *s)
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

/* Root reads the keys itself, but where another account rules it is that account. */
static enum err
read_request(
    struct cmd_ctx *x, const char *path, struct sheet_signers *by, struct key_sheet *s)
{
	TRY(owner_enter_place(x->a, path, true, &x->owner, x->f));
	TRY(key_sheet_read(x->a, path, s, x->f));
	TRY(key_sheet_sign(x->a, s, by, path, x->f));
	TRY(key_sheet_check(x->a, s, x->f));
	return owner_root(&x->owner, x->f);
}

static enum err
key_sign_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct key_sign_opts *o = opts;
	struct sheet_signers by = { 0 };
	struct key_sheet sheet;
	char *text;

	(void)n;
	if (o->new == NULL)
		return ctx_usage(x,
		    "--new KEY is required: a private key that locus key make has made");
	if (o->old.n == 0 && o->lost == NULL)
		return ctx_usage(x,
		    "--old KEY is required: the present private key (or, if it is lost, --lost and the public one)");
	TRY(read_signers(x, o, &by));
	TRY(read_request(x, args[0], &by, &sheet));
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
