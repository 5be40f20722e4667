/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/files/files.h"
#include "lib/banned.h"

enum { NAMES_MOST = 10000000 };

static bool
left_out(const char *name)
{
	return name[0] == '.' || text_ends_with(name, ".md5");
}

static enum err
list_dir(struct cmd_ctx *x, const char *dir, bool recursive, struct file_paths *out,
    struct file_paths *dirs)
{
	char **names;
	size_t n;

	TRY(fs_list(x->a, dir, NAMES_MOST, &names, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(x->a, "%s/%s", dir, names[i]);
		struct stat st;

		if (left_out(names[i]) || lstat(path, &st) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			PUSH(x->a, out->v, out->n, out->cap) = path;
		else if (S_ISDIR(st.st_mode) && recursive)
			PUSH(x->a, dirs->v, dirs->n, dirs->cap) = path;
	}
	return OK;
}

enum err
file_paths_add(
    struct cmd_ctx *x, const char *path, bool recursive, struct file_paths *out)
{
	struct file_paths level = { 0 }, next;
	struct stat st;

	if (stat(path, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", path);
	if (S_ISREG(st.st_mode)) {
		PUSH(x->a, out->v, out->n, out->cap) = path;
		return OK;
	}
	if (!S_ISDIR(st.st_mode))
		return FAIL(x->f, E_BADREQ, "%s is not a file", path);
	PUSH(x->a, level.v, level.n, level.cap) = path;
	for (; level.n > 0; level = next) { /* links are not followed, so it ends */
		next = (struct file_paths){ 0 };
		for (size_t i = 0; i < level.n; i++)
			TRY(list_dir(x, level.v[i], recursive, out, &next));
	}
	return OK;
}
