/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in a project's bin that have the name of one of Locus, as a BOINC project
 * has them. They would work on the same rows by other rules, so none is run in place of
 * ours.
 */
#ifndef TOOLS_FOREIGN_H
#define TOOLS_FOREIGN_H

#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

/*
 * Returns a remark for each of them that a daemon of config.xml has the name of, one
 * line each: that it is not run and why, or that it is meant to be.
 */
enum err foreign_says(
    struct arena *, const struct conf *, char ***lines, size_t *n, struct fail *);

#endif
