/* SPDX-License-Identifier: Apache-2.0 */
/* locus key make: makes code signing keys; needs neither project nor network. */
#include "tools/cmd.h"

#include <sys/stat.h>
#include "lib/fs.h"
#include "tools/create.h"
#include "lib/banned.h"

static enum err
key_make_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const char *dir = args[0];

	(void)opts, (void)n;
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
