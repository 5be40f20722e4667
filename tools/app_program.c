/* SPDX-License-Identifier: Apache-2.0 */
/* The first version of a new app: one program, for the platform of this machine unless
 * another one is named. */
#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"
#include "tools/app_parts.h"
#include "tools/catalog.h"
#include "tools/program.h"
#include "tools/version.h"
#include "lib/banned.h"

enum err
app_program_check(struct cmd_ctx *x, const char *app, const struct app_program *p)
{
	const struct platform *platform;
	struct catalog *c;
	struct stat st;

	if (stat(p->file, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", p->file);
	if (!S_ISREG(st.st_mode))
		return FAIL(
		    x->f, E_BADREQ, "%s is not a program: it is no file", p->file);
	if ((st.st_mode & 0111) == 0)
		return FAIL(x->f, E_BADREQ,
		    "%s is not a program: nobody may execute it; run: chmod +x %s",
		    p->file, p->file);
	TRY(tools_catalog(x, &c));
	if (catalog_app_named(c, app) != NULL)
		return FAIL(x->f, E_RACE, "there is an app %s already", app);
	TRY(tools_platform(x, c, p->platform, &platform));
	TRY(version_check_program(x, platform, p->file));
	if (p->wrap)
		TRY(version_name_wrapped(x,
		    &(struct version){
			.app = &(struct app){ .name = arena_strdup(x->a, app) },
			.platform = platform,
			.class = "",
			.text = "1.00" },
		    p->file));
	/* Is there a way to sign it? */
	const char *key = arena_printf(x->a, "%s/code_sign_private", x->cf->key_dir);

	if (fs_exists(key) ||
	    (!p->wrap && fs_exists(arena_printf(x->a, "%s.sig", p->file))))
		return OK;
	return FAIL(x->f, E_CONFIG,
	    "the code signing key is not on this machine: sign the program where it is (locus sign --key KEY %s), bring %s.sig here, and give it without --wrap",
	    p->file, p->file);
}

enum err
app_program_add(struct cmd_ctx *x, const char *app, const struct app_program *p)
{
	struct version v = { .class = "", .text = "1.00", .num = 100 };
	struct catalog *c;

	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, app, &v.app));
	TRY(tools_platform(x, c, p->platform, &v.platform));
	char **path = NEWN(x->a, char *, 1);

	path[0] = arena_strdup(x->a, p->file);
	TRY(p->wrap ? version_name_wrapped(x, &v, p->file) :
		      version_name_files(x, &v, path, 1, NULL));
	TRY(version_keys_load(x, &v, NULL));
	TRY(version_sign(x, &v));
	TRY(version_insert(x, &v, NULL));
	ctx_progress(x, "created", "version %s of %s for %s", v.text, app, p->platform);
	return OK;
}
