/* SPDX-License-Identifier: Apache-2.0 */
/* Searches lists of directories; the first hit wins. */
#include "tools/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/banned.h"

/* Relative to this program's directory: installed first, then in the build tree. */
static const char *const program_places[] = { "../libexec/locus", "..", "../sched",
	"../daemons", "../samples", PKGLIBEXECDIR, NULL };
static const char *const data_places[] = { "../share/locus", PKGDATADIR, NULL };
static const char *const system_places[] = { "/usr/local/sbin", "/usr/sbin", "/sbin",
	NULL };

/* Our programs' plain names mean ours, or nothing: never what a project happens to
 * have. */
static const char *const own_names[] = { "assimilator", "db_purge", "file_deleter",
	"file_upload_handler", "locus-wrapper", "scheduler", "transitioner",
	"validator", "web", "work_generator", "working_set_manager" };

bool
program_is_own_name(const char *name)
{
	for (size_t i = 0; i < N(own_names); i++)
		if (strcmp(own_names[i], name) == 0)
			return true;
	return false;
}

/* The effective rights count: access() goes by the real account. */
static bool
may(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

char *
program_self(struct arena *a)
{
	static const char gone[] =
	    " (deleted)"; /* the kernel's word: it was replaced */
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);
	size_t end = sizeof(gone) - 1;

	if (n <= 0)
		return arena_strdup(a, "./locus");
	path[n] = '\0';
	if ((size_t)n > end && strcmp(path + n - end, gone) == 0 && !may(path, F_OK))
		path[(size_t)n - end] = '\0';
	return arena_strdup(a, path);
}

static char *
own_dir(struct arena *a)
{
	char *dir = program_self(a), *slash = strrchr(dir, '/');

	if (slash != NULL)
		*slash = '\0';
	return dir;
}

static char *
find_in_dir(struct arena *a, const char *dir, const char *name, int mode)
{
	char *path = arena_printf(a, "%s/%s", dir, name), real[PATH_MAX];

	/* Resolve "..": the path goes into logs and into Apache's configuration. */
	if (!may(path, mode) || realpath(path, real) == NULL)
		return NULL;
	return arena_strdup(a, real);
}

static char *
find_beside(struct arena *a, const char *const *places, const char *name, int mode)
{
	char *own = own_dir(a), *hit = NULL;

	for (; *places != NULL && hit == NULL; places++)
		hit = find_in_dir(a,
		    (*places)[0] == '/' ? *places :
					  arena_printf(a, "%s/%s", own, *places),
		    name, mode);
	return hit;
}

/* The file name of the program that runs. */
static const char *
self_name(struct arena *a)
{
	const char *self = program_self(a), *slash = strrchr(self, '/');

	return slash == NULL ? self : slash + 1;
}

/* A path from the project's directory, or a program in its bin/ whose name is not ours.
 */
static char *
program_of_project(struct arena *a, const struct conf *cf, const char *name)
{
	const char *slash = strrchr(name, '/');
	char *hit = NULL;

	if (slash == NULL && program_is_own_name(name))
		return NULL;
	if (slash != NULL)
		hit = find_in_dir(a, cf->project_dir, name, X_OK);
	if (hit != NULL)
		return hit;
	return find_in_dir(
	    a, project_path(a, cf, "bin"), slash == NULL ? name : slash + 1, X_OK);
}

char *
program_find(struct arena *a, const struct conf *cf, const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash == NULL ? name : slash + 1;
	char *hit = NULL;

	if (name[0] == '/')
		return may(name, X_OK) ? arena_strdup(a, name) : NULL;
	/* As a task: wherever it is installed, it is the one that runs. */
	if (strcmp(name, "locus") == 0 && strcmp(self_name(a), name) == 0)
		return program_self(a);
	/* The plain name of one of our programs means ours, even if the project has a
	 * file of that name. */
	if (slash == NULL)
		hit = find_beside(a, program_places, name, X_OK);
	if (hit == NULL && cf != NULL)
		hit = program_of_project(a, cf, name);
	if (hit == NULL && slash != NULL)
		hit = find_beside(a, program_places, base, X_OK);
	/* what every command line finds: "python3 bin/my_assimilator.py" */
	if (hit == NULL && slash == NULL && cf != NULL)
		hit = program_system(a, (const char *const[]){ name, NULL });
	return hit;
}

char *
program_system(struct arena *a, const char *const *names)
{
	const char *path = getenv("PATH");
	char *hit = NULL;

	for (; *names != NULL && hit == NULL; names++) {
		for (const char *p = path; p != NULL && *p != '\0' && hit == NULL;) {
			size_t n = strcspn(p, ":");

			hit = find_in_dir(a, arena_memdup(a, p, n), *names, X_OK);
			p += n + (p[n] == ':');
		}
		for (size_t i = 0; system_places[i] != NULL && hit == NULL; i++)
			hit = find_in_dir(a, system_places[i], *names, X_OK);
	}
	return hit;
}

char *
program_data(struct arena *a, const char *name)
{
	return find_beside(a, data_places, name, R_OK);
}

const char *
program_platform(void)
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
