/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Raises the limits that clients abort tasks for, or that keep hosts from getting them,
 * in workunits that exist and in the templates of those to come. Nothing is lowered.
 */
#ifndef TOOLS_LIMIT_RAISE_H
#define TOOLS_LIMIT_RAISE_H

#include "model/rows.h"
#include "tools/cmd.h"

/* The elements of templates that can be raised; those of workunits come first. */
enum raised {
	RAISED_FPOPS,
	RAISED_MEMORY,
	RAISED_DISK,
	RAISED_DELAY,
	RAISED_OF_WORKUNIT,
	RAISED_NBYTES = RAISED_OF_WORKUNIT,
	RAISED__MAX
};
struct limit_raise {
	double to[RAISED__MAX]; /* 0 = stays */
	bool any;
};

/* "rsc_disk_bound", as in templates. */
const char *raised_name(enum raised);
double raised_value(const struct workunit *, enum raised);
/* Reads words such as "rsc_disk_bound=2e9"; a usage error if one is wrong. */
enum err limit_raise_read(
    struct cmd_ctx *, const struct text_list *words, struct limit_raise *);
/* Does the workunit have a lower limit, and can it still make progress? */
bool limit_raise_lacks(const struct limit_raise *, const struct workunit *);
/* Saves it in these workunits, in the caller's transaction. */
enum err limit_raise_save(
    struct cmd_ctx *, const struct limit_raise *, const int64_t *ids, size_t n);
/*
 * Raises it in the templates of the app, templates/APP_in.xml and APP_out.xml, as far
 * as they exist, and says so on stderr; dry: only says so. E_BADREQ: a template is not
 * XML.
 */
enum err limit_raise_templates(
    struct cmd_ctx *, const struct limit_raise *, const char *app, bool dry);

#endif
