/* SPDX-License-Identifier: Apache-2.0 */
/* locus key make: makes code signing keys; needs neither project nor network. */
#include <string.h>
#include <sys/stat.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/create.h"
#include "tools/dir_cure.h"
#include "tools/key.h"
#include "lib/banned.h"

bool
key_pair_fits(struct arena *a, const char *private, const char *public)
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

char *
key_absent_cure(struct arena *a, const struct cmd_ctx *x, const char *path)
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

static enum err
key_make_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
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
