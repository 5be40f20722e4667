/* SPDX-License-Identifier: Apache-2.0 */
/* Who may touch what in an installed project: rights.def. */
#ifndef TOOLS_INSTALL_RIGHTS_H
#define TOOLS_INSTALL_RIGHTS_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

enum right_kind { RIGHT_DIR, RIGHT_FILE, RIGHT_SOCKET };
enum right_holder { RIGHT_ROOT, RIGHT_PROJECT, RIGHT_ADM, RIGHT_WEB };

struct right {
	char *path;
	enum right_kind kind;
	enum right_holder owner, group;
	unsigned mode;
	bool maybe; /* may be absent */
};

/* Lists the rows of rights.def for a project. */
struct right *rights_of(struct arena *, const struct installation *, size_t *n);
/* Returns the group of the web server's account. Valid until the next call of
 * getgrgid(3). */
const char *right_web_group(const struct installation *);
/* Is it below the directory that the project's account can write? */
bool right_is_inner(const struct installation *, const struct right *);
/* Returns what is wrong with the file or directory; NULL if it is as it should be. */
char *right_wrong(struct arena *, const struct installation *, const struct right *);
/*
 * Opens the directory or file, which must be no link, and gives it owner, group and
 * mode. For root, only where no other account can write the directory above it.
 */
enum err right_set(
    struct arena *, const struct installation *, const struct right *, struct fail *);

struct rights_listener {
	/* path is right if wrong is NULL; cure is a command or what to do. */
	void (*told)(void *arg, const char *path, const char *wrong, const char *cure);
	void *arg;
};
/*
 * Checks an installed project, as root: owners and modes of rights.def; that nobody but
 * root can write what root's programs read or run; that the web server's account cannot
 * read keys and configuration; and that no access log of the site has query strings.
 * Tells every finding, and every path that is right.
 */
enum err rights_check(
    struct arena *, const struct conf *, const struct rights_listener *, struct fail *);

#endif
