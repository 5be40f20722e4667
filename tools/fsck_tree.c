/* SPDX-License-Identifier: Apache-2.0 */
/* Walks a directory whose files are spread over subdirectories. */
#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"
#include "tools/fsck.h"
#include "lib/banned.h"

enum { NAMES_MOST = 1000000 };

struct walk {
	enum err (*visit)(struct fsck *, void *, const char *, const char *);
	void *arg;
};

static enum err
walk_dir(struct fsck *k, const struct walk *w, const char *dir, bool deeper)
{
	struct arena here = { 0 };
	struct stat st;
	char **names;
	size_t n = 0;
	enum err e = fs_list(&here, dir, NAMES_MOST, &names, &n, k->x->f);

	if (e == E_NOTFOUND)
		e = OK;
	for (size_t i = 0; i < n && e == OK; i++) {
		const char *path = arena_printf(&here, "%s/%s", dir, names[i]);

		if (names[i][0] == '.' || lstat(path, &st) < 0)
			continue;
		if (!S_ISDIR(st.st_mode))
			e = w->visit(k, w->arg, path, names[i]);
		else if (deeper)
			e = walk_dir(k, w, path, false);
	}
	arena_free(&here);
	return e;
}

enum err
fsck_tree(struct fsck *k, const char *root,
    enum err (*visit)(struct fsck *, void *arg, const char *path, const char *name),
    void *arg)
{
	const struct walk w = { visit, arg };

	return walk_dir(k, &w, root, true);
}
