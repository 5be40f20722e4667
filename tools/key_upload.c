/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus key rotate upload.  Tasks that exist have certificates by the old key, and
 * hosts may upload their output for as long as a task may take; so its public part is
 * kept, and the upload handler accepts both.  The public keys are in place before the
 * daemons sign with the new private one, and an interrupted rotation can simply be
 * repeated.
 */
#include <string.h>
#include <sys/stat.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/key.h"
#include "lib/banned.h"

char *
key_file_path(struct cmd_ctx *x, const char *name)
{
	return arena_printf(x->a, "%s/%s", x->cf->key_dir, name);
}

enum err
key_dir_check(struct cmd_ctx *x)
{
	return fs_check_change(key_file_path(x, "upload_public"), x->f);
}

static enum err
next_old_key(struct cmd_ctx *x, char **path)
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

enum err
key_file_put(struct cmd_ctx *x, const char *name, const char *like, const char *text,
    unsigned mode)
{
	struct stat st;

	if (stat(key_file_path(x, like), &st) == 0)
		mode = st.st_mode & 0777;
	return fs_write(key_file_path(x, name), text, strlen(text), mode, x->f);
}

enum err
key_rotate_upload(struct cmd_ctx *x, bool dry)
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
