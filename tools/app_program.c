/* SPDX-License-Identifier: Apache-2.0 */
/* The first version of a new app: one program, for the platform of this machine unless
 * another one is named. */
#include <string.h>
#include <sys/stat.h>
#include <sys/utsname.h>
#include "lib/fs.h"
#include "tools/app_parts.h"
#include "tools/catalog.h"
#include "tools/program.h"
#include "tools/version.h"
#include "lib/banned.h"

const char *
app_program_platform(void)
{
	static const struct {
		const char *machine, *platform;
	} known[] = { { "x86_64", "x86_64-pc-linux-gnu" },
		{ "aarch64", "aarch64-unknown-linux-gnu" },
		{ "i686", "i686-pc-linux-gnu" }, { "i586", "i686-pc-linux-gnu" },
		{ "armv7l", "arm-unknown-linux-gnueabihf" },
		{ "riscv64", "riscv64-unknown-linux-gnu" } };
	struct utsname u;

	if (uname(&u) == 0)
		for (size_t i = 0; i < N(known); i++)
			if (strcmp(u.machine, known[i].machine) == 0)
				return known[i].platform;
	return known[0].platform;
}

static const char wrapper_name[] = "locus-wrapper";

/* Is there a way to sign it? */
static enum err
can_be_signed(struct cmd_ctx *x, const struct app_program *p)
{
	const char *key = arena_printf(x->a, "%s/code_sign_private", x->cf->key_dir);

	if (fs_exists(key) ||
	    (!p->wrap && fs_exists(arena_printf(x->a, "%s.sig", p->file))))
		return OK;
	return FAIL(x->f, E_CONFIG,
	    "the code signing key is not on this machine: sign the program where it is (locus sign --key KEY %s), bring %s.sig here, and give it without --wrap",
	    p->file, p->file);
}

enum err
app_program_check(struct cmd_ctx *x, const char *app, const struct app_program *p)
{
	const struct platform *platform;
	struct catalog *c;
	struct stat st;

	if (stat(p->file, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", p->file);
	if (!S_ISREG(st.st_mode) || (st.st_mode & 0111) == 0)
		return FAIL(x->f, E_BADREQ,
		    "%s is not a program: it must be a file with the right to be executed (chmod +x)",
		    p->file);
	if (p->wrap && program_find(x->a, NULL, wrapper_name) == NULL)
		return FAIL(
		    x->f, E_CONFIG, "%s is not installed beside locus", wrapper_name);
	TRY(tools_catalog(x, &c));
	if (catalog_app_named(c, app) != NULL)
		return FAIL(x->f, E_RACE, "there is an app %s already", app);
	TRY(tools_platform(x, c, p->platform, &platform));
	return can_be_signed(x, p);
}

/* The wrapper is the main program, and runs the file that the slot has as "program". */
static enum err
name_program(struct cmd_ctx *x, const struct app_program *p, struct version *v)
{
	char **paths = NEWN(x->a, char *, 3);

	paths[0] = arena_strdup(x->a, p->file);
	if (!p->wrap)
		return version_name_files(x, v, paths, 1, NULL);
	paths[1] = paths[0];
	paths[0] = program_find(x->a, NULL, wrapper_name);
	TRY(version_name_files(x, v, paths, 2, NULL));
	v->files[1].open_name = "program";
	v->files[1].copy_file = true;
	return OK;
}

enum err
app_program_add(struct cmd_ctx *x, const char *app, const struct app_program *p)
{
	struct version v = { .class = "", .text = "1.00", .num = 100 };
	struct catalog *c;

	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, app, &v.app));
	TRY(tools_platform(x, c, p->platform, &v.platform));
	TRY(name_program(x, p, &v));
	TRY(version_keys_load(x, &v, NULL));
	TRY(version_sign(x, &v));
	TRY(version_insert(x, &v, NULL));
	ctx_progress(x, "created", "version %s of %s for %s", v.text, app, p->platform);
	return OK;
}
