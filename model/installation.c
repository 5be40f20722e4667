/* SPDX-License-Identifier: Apache-2.0 */
#include "model/installation.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"
#include "lib/banned.h"

enum { PROJECTS_MAX = 10000 };

struct installation
installation_of(struct arena *a, const char *name)
{
	return (struct installation){ .name = arena_strdup(a, name),
		.account = arena_printf(a, "locus-%s", name),
		.database = arena_printf(a, "locus_%s", name),
		.config_dir = arena_printf(a, INSTALLED_CONFIG_ROOT "/%s", name),
		.data_dir = arena_printf(a, "/var/lib/locus/%s", name),
		.log_dir = arena_printf(a, "/var/log/locus/%s", name),
		.run_dir = arena_printf(a, "/run/locus/%s", name),
		.web = "www-data",
		.unit = arena_printf(a, "locus-%s", name) };
}

/* May the directory hold a config.xml that this account cannot see? */
static bool
is_hidden(const char *path)
{
	struct stat st;

	return lstat(path, &st) < 0 && errno == EACCES;
}

char *
installation_find(struct arena *a, const char *name)
{
	char *dir = arena_printf(a, INSTALLED_CONFIG_ROOT "/%s", name);
	char *path = arena_printf(a, "%s/config.xml", dir);

	if (name[0] == '\0' || name[0] == '.' || strchr(name, '/') != NULL ||
	    (!fs_exists(path) && !is_hidden(path)))
		return NULL;
	return dir;
}

enum err
installation_list(struct arena *a, char ***names, size_t *n, struct fail *f)
{
	char **all;
	size_t nall;
	enum err e = fs_list(a, INSTALLED_CONFIG_ROOT, PROJECTS_MAX, &all, &nall, f);

	*names = NULL;
	*n = 0;
	if (e == E_NOTFOUND)
		return OK;
	if (e != OK)
		return e;
	*names = NEWN(a, char *, nall + 1);
	for (size_t i = 0; i < nall; i++)
		if (installation_find(a, all[i]) != NULL)
			(*names)[(*n)++] = all[i];
	return OK;
}
