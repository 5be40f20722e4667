/* SPDX-License-Identifier: Apache-2.0 */
/* Where the project is that a program works for. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "model/conf.h"
#include "lib/banned.h"

static enum err
fail_denied(struct fail *f, const char *dir)
{
	return FAIL(f, E_DENIED,
	    "this account may not read %s/config.xml; run the program as the account that owns the project, or as root",
	    dir);
}

/* Tells a project that this account may not read from one that does not exist. */
static enum err
check_readable(struct arena *a, const char *dir, struct fail *f)
{
	const char *path = arena_printf(a, "%s/config.xml", dir);

	if (faccessat(AT_FDCWD, path, R_OK, AT_EACCESS) < 0 && errno == EACCES)
		return fail_denied(f, dir);
	return OK;
}

static bool
has_config(struct arena *a, const char *dir)
{
	return fs_exists(arena_printf(a, "%s/config.xml", dir));
}

/* Finds the installed project if this machine has exactly one. */
static enum err
find_installed(struct arena *a, char **dir, struct fail *f)
{
	const char *list = "";
	char **names;
	size_t n;

	TRY(installation_list(a, &names, &n, f));
	if (n == 1) {
		*dir = installation_find(a, names[0]);
		return check_readable(a, *dir, f);
	}
	for (size_t i = 0; i < n; i++)
		list = arena_printf(a, "%s%s%s", list, i == 0 ? "" : ", ", names[i]);
	return FAIL(f, E_CONFIG,
	    "no config.xml in this directory or those above it: it is not a project; name one with --project NAME, --project DIR or LOCUS_PROJECT%s%s",
	    n == 0 ? "" : "; this machine has ", list);
}

bool
conf_is_installed(const struct conf *cf)
{
	return strcmp(cf->service_manager, "systemd") == 0;
}

char *
conf_dir(struct arena *a, const struct conf *cf)
{
	const char *slash = strrchr(cf->path, '/');

	return slash == NULL ? arena_strdup(a, ".") :
	                       arena_memdup(a, cf->path, (size_t)(slash - cf->path));
}

struct installation
conf_installation(struct arena *a, const struct conf *cf)
{
	const char *dir = conf_dir(a, cf);
	const char *name = strrchr(dir, '/');
	struct installation p = installation_of(a, name == NULL ? dir : name + 1);

	if (cf->web_server_account[0] != '\0')
		p.web = cf->web_server_account;
	return p;
}

/*
 * Cuts dir down to the nearest directory with a config.xml; false if there is none.
 * Directories that this account may not enter are passed over.
 */
static bool
find_above(struct arena *a, char *dir)
{
	while (!has_config(a, dir)) {
		char *slash = strrchr(dir, '/');

		if (slash == NULL || slash == dir)
			return false;
		*slash = '\0';
	}
	return true;
}

enum err
conf_find_project(struct arena *a, const char *explicit_dir, char **dir, struct fail *f)
{
	const char *from = explicit_dir;
	char at[PATH_MAX];

	if (from == NULL)
		from = getenv("LOCUS_PROJECT");
	if (from == NULL)
		from = getenv("BOINC_PROJECT_DIR");
	if (from != NULL && (*dir = installation_find(a, from)) != NULL) {
		enum err e = check_readable(a, *dir, f);

		/* Somebody else's installed project hides no directory of its name. */
		if (e != E_DENIED || !has_config(a, from))
			return e;
	}
	if (realpath(from == NULL ? "." : from, at) == NULL)
		return errno == EACCES ?
		           fail_denied(f, from == NULL ? "." : from) :
		           FAIL(f, E_CONFIG, "project directory %s does not exist",
			       from);
	*dir = arena_strdup(a, at);
	if (from == NULL)
		return find_above(a, *dir) ? check_readable(a, *dir, f) :
		                             find_installed(a, dir, f);
	TRY(check_readable(a, *dir, f));
	if (has_config(a, *dir))
		return OK;
	return FAIL(f, E_CONFIG,
	    "no config.xml in %s: it is not a project; name one with --project NAME, --project DIR or LOCUS_PROJECT",
	    from);
}
