/* SPDX-License-Identifier: Apache-2.0 */
/* The tools that are a few lines each. */
#ifndef TOOLS_DROPIN_SMALL_H
#define TOOLS_DROPIN_SMALL_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"

/*
 * Makes the links that are missing, and turns links to another locus to this one.
 * Whatever else has such a name stays; *kept (may be NULL) lists these names, NULL if
 * there are none. *n (may be NULL) counts the links made or turned.
 */
enum err dropin_links_make(
    struct arena *, const char *bin, size_t *n, char **kept, struct fail *);
/* Are all names taken, by links to this locus or by other files? */
bool dropin_links_hold(struct arena *, const char *bin);
/* Is it a link to a program named locus? */
bool dropin_is_link(struct arena *, const char *path);

#endif
