/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The unit by which systemd runs the supervisor of an installed project,
 * locus-NAME.service. Its text follows from config.xml.
 */
#ifndef TOOLS_UNIT_H
#define TOOLS_UNIT_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

#define UNIT_DIR  "/etc/systemd/system"
#define UNIT_MARK "# Made by locus" /* begins the file: it is ours */

/* True if systemd is this machine's service manager and runs; it does not in a chroot,
 * or while a container is built. */
bool systemd_runs(void);
/* Runs systemctl with a verb and, unless it is NULL, a unit. E_SYS if it fails, or says
 * no. */
enum err systemctl(struct arena *, const char *verb, const char *unit, struct fail *);

/* Returns "locus-stars.service". */
char *unit_name(struct arena *, const struct installation *);
/* Returns the text of the unit; program is the path of locus. */
char *unit_text(struct arena *, const struct conf *, const char *program);
/* Does dir lack the project's unit, or hold another text of it that is ours? */
bool unit_differs(struct arena *, const struct conf *, const char *dir);
/*
 * Makes the unit in dir that of config.xml, unless it is not ours. *first: there was
 * none.
 */
enum err unit_write(
    struct arena *, const struct conf *, const char *dir, bool *first, struct fail *);
/* Removes it from dir, if it is ours. */
enum err unit_unlink(
    struct arena *, const struct installation *, const char *dir, struct fail *);

/*
 * Makes the unit of this machine that of config.xml, and lets systemd reread it if it
 * runs. Enables the unit when it is new, so that an admin may disable it. Only for
 * root.
 */
enum err unit_sync(struct arena *, const struct conf *, struct fail *);
/* Stops the unit of the project, or removes it; none is OK. Only for root. */
enum err unit_end(struct arena *, const struct installation *, struct fail *);
enum err unit_remove(struct arena *, const struct installation *, struct fail *);

#endif
