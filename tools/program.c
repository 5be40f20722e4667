/* SPDX-License-Identifier: Apache-2.0 */
/* Searches lists of directories; the first hit wins. */
#include "tools/program.h"

#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { LOOKED = 4096, SCRIPT_LOOKED = 512 };

struct head { /* of a file */
	unsigned char b[LOOKED];
	size_t n;
};

/* The formats of programs, and their numbers of processors. */
enum system { SYSTEM_UNIX, SYSTEM_WINDOWS, SYSTEM_MAC };
static const char *const system_names[] = { [SYSTEM_UNIX] = "Linux or Unix",
	[SYSTEM_WINDOWS] = "Windows",
	[SYSTEM_MAC] = "macOS" };
static const struct machine {
	enum system system;
	uint32_t number;
	const char *name;
	const char *platforms[5]; /* beginnings of their names */
} machines[] = {
	{ SYSTEM_UNIX, 62, "x86_64", { "x86_64-" } },
	{ SYSTEM_UNIX, 3, "x86 with 32 bits",
	    { "i686-", "i586-", "i386-", "x86_64-" } },
	{ SYSTEM_UNIX, 183, "arm64", { "aarch64-", "arm64-" } },
	{ SYSTEM_UNIX, 40, "arm with 32 bits", { "arm-", "armv", "aarch64-" } },
	{ SYSTEM_UNIX, 243, "riscv", { "riscv" } },
	{ SYSTEM_UNIX, 21, "ppc64", { "powerpc64", "ppc64" } },
	{ SYSTEM_UNIX, 20, "ppc", { "powerpc-", "ppc-", "powerpc64", "ppc64" } },
	{ SYSTEM_WINDOWS, 0x8664, "x86_64", { "windows_x86_64" } },
	{ SYSTEM_WINDOWS, 0x14c, "x86 with 32 bits",
	    { "windows_intelx86", "windows_x86_64" } },
	{ SYSTEM_WINDOWS, 0xaa64, "arm64", { "windows_arm64" } },
	{ SYSTEM_MAC, 0x1000007, "x86_64", { "x86_64-" } },
	{ SYSTEM_MAC, 7, "x86 with 32 bits", { "i686-", "x86_64-" } },
	{ SYSTEM_MAC, 0x100000c, "arm64", { "arm64-", "aarch64-" } },
};

static enum system system_of(const char *platform)
{
	return strncmp(platform, "windows", strlen("windows")) == 0 ? SYSTEM_WINDOWS :
	       strstr(platform, "-apple-") != NULL                  ? SYSTEM_MAC :
	                                                              SYSTEM_UNIX;
}

static uint32_t number_at(const struct head *h, size_t at, size_t bytes, bool big)
{
	uint32_t x = 0;

	for (size_t i = 0; i < bytes && at + i < h->n; i++)
		x |= (uint32_t)h->b[at + i] << 8 * (big ? bytes - 1 - i : i);
	return x;
}

static bool head_is(const struct head *h, const char *with, size_t n)
{
	return h->n >= n && memcmp(h->b, with, n) == 0;
}

/* Is it a program of a known format? *number: of its processor, 0 = several. */
static bool is_binary(const struct head *h, enum system *system, uint32_t *number)
{
	if (head_is(h,
		"\x7f"
		"ELF",
		4)) {
		*system = SYSTEM_UNIX;
		*number = number_at(h, 18, 2, h->b[5] == 2);
	} else if (head_is(h, "MZ", 2)) {
		*system = SYSTEM_WINDOWS;
		*number = number_at(h, number_at(h, 60, 4, false) + 4, 2, false);
	} else if (head_is(h, "\xcf\xfa\xed\xfe", 4) ||
		   head_is(h, "\xce\xfa\xed\xfe", 4)) {
		*system = SYSTEM_MAC;
		*number = number_at(h, 4, 4, false);
	} else if (head_is(h, "\xca\xfe\xba\xbe", 4)) {
		*system = SYSTEM_MAC;
		*number = 0;
	} else {
		return false;
	}
	return true;
}

static bool begins_one(const char *const *names, const char *platform)
{
	for (; *names != NULL; names++)
		if (strncmp(platform, *names, strlen(*names)) == 0)
			return true;
	return false;
}

/* Do we know the platform's processor? */
static bool is_known(enum system system, const char *platform)
{
	for (size_t i = 0; i < N(machines); i++)
		if (machines[i].system == system &&
		    begins_one(machines[i].platforms, platform))
			return true;
	return false;
}

static char *binary_misfit(struct arena *a, const char *path, const char *platform,
    enum system system, uint32_t number)
{
	enum system want = system_of(platform);

	if (system != want)
		return arena_printf(a, "%s is a program for %s, and %s is %s", path,
		    system_names[system], platform, system_names[want]);
	for (size_t i = 0; i < N(machines) && is_known(system, platform); i++)
		if (machines[i].system == system && machines[i].number == number &&
		    !begins_one(machines[i].platforms, platform))
			return arena_printf(a,
			    "%s is a program for %s, which hosts of %s cannot run",
			    path, machines[i].name, platform);
	return NULL;
}

static bool is_text(const struct head *h)
{
	size_t n = h->n < SCRIPT_LOOKED ? h->n : SCRIPT_LOOKED;

	for (size_t i = 0; i < n; i++)
		if (h->b[i] < 9 || (h->b[i] > 13 && h->b[i] < 32 && h->b[i] != 27))
			return false;
	return true;
}

static char *script_misfit(
    struct arena *a, const char *path, const char *platform, const struct head *h)
{
	const char *p = (const char *)h->b;
	size_t line = 0;

	if (system_of(platform) == SYSTEM_WINDOWS)
		return head_is(h, "#!", 2) ?
		           arena_printf(a,
			       "%s is a script with #!, which Windows cannot start",
			       path) :
		           NULL;
	if (!is_text(h))
		return NULL;
	if (!head_is(h, "#!", 2))
		return arena_printf(a,
		    "%s is a text without #! in its first line, which no system starts as a program; begin it with the line \"#!/usr/bin/env python3\" or that of its language",
		    path);
	while (line < h->n && p[line] != '\n')
		line++;
	if (line > 0 && p[line - 1] == '\r')
		return arena_printf(a,
		    "the first line of %s ends as on Windows (CR LF), so that hosts look for \"%.*s\\r\"; run: sed -i 's/\\r$//' %s",
		    path, (int)(line - 3 < 60 ? line - 3 : 60), p + 2, path);
	return NULL;
}

char *program_misfit(struct arena *a, const char *path, const char *platform)
{
	struct head *h = NEW(a, struct head);
	enum system system;
	uint32_t number;
	ssize_t n;
	int fd = open(path, O_RDONLY | O_CLOEXEC);

	if (fd < 0)
		return NULL; /* who reads it says why */
	n = read(fd, h->b, sizeof(h->b));
	close(fd);
	if (n < 0)
		return NULL;
	h->n = (size_t)n;
	return is_binary(h, &system, &number) ?
	           binary_misfit(a, path, platform, system, number) :
	           script_misfit(a, path, platform, h);
}

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

bool program_is_own_name(const char *name)
{
	for (size_t i = 0; i < N(own_names); i++)
		if (strcmp(own_names[i], name) == 0)
			return true;
	return false;
}

/* The effective rights count: access() goes by the real account. */
static bool may(const char *path, int mode)
{
	return faccessat(AT_FDCWD, path, mode, AT_EACCESS) == 0;
}

char *program_self(struct arena *a)
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

static char *find_in_dir(struct arena *a, const char *dir, const char *name, int mode)
{
	char *path = arena_printf(a, "%s/%s", dir, name), real[PATH_MAX];

	/* Resolve "..": the path goes into logs and into Apache's configuration. */
	if (!may(path, mode) || realpath(path, real) == NULL)
		return NULL;
	return arena_strdup(a, real);
}

static char *find_beside(
    struct arena *a, const char *const *places, const char *name, int mode)
{
	char *own = program_self(a), *slash = strrchr(own, '/'), *hit = NULL;

	if (slash != NULL)
		*slash = '\0';
	for (; *places != NULL && hit == NULL; places++)
		hit = find_in_dir(a,
		    (*places)[0] == '/' ? *places :
					  arena_printf(a, "%s/%s", own, *places),
		    name, mode);
	return hit;
}

/* A path from the project's directory, or a program in its bin/ whose name is not ours.
 */
static char *program_of_project(
    struct arena *a, const struct conf *cf, const char *name)
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

char *program_find(struct arena *a, const struct conf *cf, const char *name)
{
	const char *slash = strrchr(name, '/');
	const char *base = slash == NULL ? name : slash + 1;
	char *hit = NULL;

	if (name[0] == '/')
		return may(name, X_OK) ? arena_strdup(a, name) : NULL;
	/* As a task: wherever it is installed, it is the one that runs. */
	if (strcmp(name, "locus") == 0 &&
	    strcmp(text_base_name(program_self(a)), name) == 0)
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

char *program_system(struct arena *a, const char *const *names)
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

char *program_data(struct arena *a, const char *name)
{
	return find_beside(a, data_places, name, R_OK);
}

const char *program_platform(void)
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
