/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of its limits an account, an address or a host has used: used, at most, and
 * when the next one is free again.
 */
#ifndef TOOLS_LIMITS_VIEW_H
#define TOOLS_LIMITS_VIEW_H

#include "model/rows.h"
#include "model/web_limits.h"
#include "tools/cmd.h"
#include "tools/print/print.h"

struct limit_view {
	const char *name;   /* "wrong passwords an hour" */
	int64_t used, most; /* most 0 = no limit */
	int64_t free_at;    /* s UTC; 0 = now */
};

/*
 * Reads what this machine has counted; several web servers count separately.  who: an
 * address as the web server saw it, or an e-mail address in any case.
 */
struct limit_view limit_of_web(
    struct cmd_ctx *, enum web_limit, const char *who, const char *name);
/* The limit of the jobs of each version on a host today. */
enum err limits_of_versions(
    struct cmd_ctx *, const struct host *, struct limit_view **, size_t *n);

/* The three cells of a limit in a listing; for columns, LIMIT_COLUMNS(). */
void limit_put(struct print *, const struct limit_view *);
#define LIMIT_COLUMNS(key, head, most_key, help)                                       \
	{ key, head, PRINT_NUMBER, NULL },                                             \
	    { most_key, "  at most", PRINT_NUMBER, help "; 0: no limit" },             \
	{                                                                              \
		key "_free_again", "  free again", PRINT_TIME,                         \
		    "when the next one is allowed; null: now"                          \
	}
/* "3 of 30, free again in 12m" */
char *limit_text(struct arena *, const struct limit_view *, int64_t now);

#endif
