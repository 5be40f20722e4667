/* SPDX-License-Identifier: Apache-2.0 */
/* locus sign: signs files; needs neither project nor database, so that the key may stay
 * on another machine. */
#include "tools/cmd.h"

#include <stdio.h>
#include <string.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/banned.h"

struct sign_opts {
	const char *key;
	bool print;
};

static const struct opt sign_options[] = {
	{ "key", OPT_TEXT, offsetof(struct sign_opts, key), "KEY",
	    "The private key, such as a project's keys/code_sign_private." },
	{ "print", OPT_FLAG, offsetof(struct sign_opts, print), NULL,
	    "Prints the signatures instead of writing files." },
	{ 0 },
};

static enum err
sign_beside(struct cmd_ctx *x, struct key *key, const char *path, bool print)
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

static enum err
sign_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
	    "Writes FILE.sig beside each file, or prints the signatures; locus app version add\n"
	    "accepts such a file. Needs no project: the private key may stay on a machine without a\n"
	    "network.",
	.opts = sign_options,
	.opts_size = sizeof(struct sign_opts),
	.run = sign_run };
