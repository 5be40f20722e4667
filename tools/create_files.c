/* SPDX-License-Identifier: Apache-2.0 */
/* Keys and sample files of a new project. */
#include <string.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "proto/plan_class.h"
#include "tools/create.h"
#include "tools/dropin/links.h"
#include "tools/program.h"
#include "lib/banned.h"

enum err
create_key_pair(struct cmd_ctx *x, const char *dir, const char *kind,
    unsigned private_mode, unsigned public_mode)
{
	char *private, *public;

	TRY(key_make(x->a, &private, &public, x->f));
	TRY(fs_write(arena_printf(x->a, "%s/%s_private", dir, kind), private,
	    strlen(private), private_mode, x->f));
	return fs_write(arena_printf(x->a, "%s/%s_public", dir, kind), public,
	    strlen(public), public_mode, x->f);
}

enum err
create_plan_classes(struct cmd_ctx *x)
{
	const char *from = program_data(x->a, PLAN_CLASS_FILE);
	const char *to = project_path(x->a, x->cf, PLAN_CLASS_FILE);

	if (from == NULL)
		return FAIL(x->f, E_CONFIG, "%s is not installed with this program",
		    PLAN_CLASS_FILE);
	TRY(fs_copy(from, to, 0644, x->f));
	ctx_progress(x, "created", "%s (sample plan classes; edit it as needed)", to);
	return OK;
}

enum err
create_links(struct cmd_ctx *x)
{
	const char *bin = project_path(x->a, x->cf, "bin");
	size_t n;
	char *kept;

	TRY(dropin_links_make(x->a, bin, &n, &kept, x->f));
	if (n > 0)
		ctx_progress(x, "created",
		    "%zu links in %s with the names of BOINC's tools", n, bin);
	if (kept != NULL)
		ctx_progress(x, "kept", "other programs in %s: %s", bin, kept);
	return OK;
}
