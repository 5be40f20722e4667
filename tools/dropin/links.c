/* SPDX-License-Identifier: Apache-2.0 */
#include "tools/dropin/links.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/program.h"
#include "lib/banned.h"

static const char *const names[] = {
#define TOOL(name, of, args, min, max, ours, purpose) #name,
#define OPTION(of, name, arg, how, text)
#include "tools/dropin/dropin.def"
#undef TOOL
#undef OPTION
};

/* Returns where the link leads to; NULL if it is none. */
static char *
link_target(struct arena *a, const char *path)
{
	char to[PATH_MAX];
	ssize_t n = readlink(path, to, sizeof(to) - 1);

	return n < 0 ? NULL : arena_memdup(a, to, (size_t)n);
}

bool
dropin_is_link(struct arena *a, const char *path)
{
	const char *to = link_target(a, path);

	return to != NULL && strcmp(text_base_name(to), "locus") == 0;
}

/* Puts a new link over an old one at once: a tool is never missing meanwhile. */
static enum err
put_link(struct arena *a, const char *to, const char *path, struct fail *f)
{
	const char *at = arena_printf(a, "%s.tmp-%d", path, (int)getpid());

	if (symlink(to, at) < 0)
		return FAIL_ERRNO(f, "making the link %s", at);
	if (rename(at, path) < 0) {
		FAIL_ERRNO(f, "making the link %s", path);
		unlink(at);
		return f->code;
	}
	return OK;
}

enum err
dropin_links_make(
    struct arena *a, const char *bin, size_t *n, char **kept, struct fail *f)
{
	const char *self = program_self(a), *to;
	size_t made = 0;

	if (kept != NULL)
		*kept = NULL;
	TRY(fs_mkdirs(bin, 0755, f));
	for (size_t i = 0; i < N(names); i++) {
		const char *path = arena_printf(a, "%s/%s", bin, names[i]);

		to = link_target(a, path);
		if (to != NULL && strcmp(to, self) == 0)
			continue;
		if (fs_exists(path) && !dropin_is_link(a, path)) {
			if (kept != NULL)
				*kept = *kept == NULL ?
				            arena_strdup(a, names[i]) :
				            arena_printf(a, "%s %s", *kept, names[i]);
			continue;
		}
		TRY(put_link(a, self, path, f));
		made++;
	}
	if (n != NULL)
		*n = made;
	return OK;
}

bool
dropin_links_hold(struct arena *a, const char *bin)
{
	const char *self = program_self(a);
	for (size_t i = 0; i < N(names); i++) {
		const char *path = arena_printf(a, "%s/%s", bin, names[i]);
		const char *to = link_target(a, path);

		if (!fs_exists(path) ||
		    (dropin_is_link(a, path) && strcmp(to, self) != 0))
			return false;
	}
	return true;
}

enum err
dropin_links_remove(struct arena *a, const char *bin, struct fail *f)
{
	for (size_t i = 0; i < N(names); i++) {
		const char *path = arena_printf(a, "%s/%s", bin, names[i]);

		if (dropin_is_link(a, path))
			TRY(fs_unlink(path, f));
	}
	return OK;
}
