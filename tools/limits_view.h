/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How much of its limits an account, an address or a host has used: used, at most, and
 * when the next one is free again.
 */
#ifndef TOOLS_LIMITS_VIEW_H
#define TOOLS_LIMITS_VIEW_H

#include "db/ledger.h"
#include "model/rows.h"
#include "model/web_limits.h"
#include "rules/daemon/daemon_rules.h"
#include "tools/cmd.h"
#include "tools/print/print.h"

struct limit_view {
	const char *name;   /* "wrong passwords an hour" */
	int64_t used, most; /* most 0 = no limit */
	int64_t free_at;    /* s UTC; 0 = now */
};

/*
 * Reads what this machine has counted; several web servers count separately. who: an
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

/* Formats the ledger of large files for people and programs, and the estimate of how
 * long the work will last. */

/*
 * "3.0 GB of 4.0 GB needed were held already (hit rate 75 %): ...". What hosts held is
 * not what locality saves: without it, too, a host gets several jobs on a file that it
 * has fetched once.
 */
char *saved_text(struct arena *, const struct row_ledger *);
/* Shows it, with the members jobs_sent, hits, hit_rate (0 to 1), bytes_needed and
 * bytes_saved. */
void saved_show(struct cmd_ctx *, struct print *, const struct row_ledger *);

/*
 * Estimates the bytes that hosts would have fetched for all jobs without locality: what
 * was sent, and for each job the mean difference in the requests for which both were
 * computed; -1 = there are none yet.
 */
double bytes_without_locality(const struct row_ledger *, const struct row_without *);

/* What locality saves, from that estimate; NULL = there is none yet. */
char *locality_saves_text(
    struct arena *, const struct row_ledger *, const struct row_without *);

/* Adds a file to the sums; no_work: no more work can be made for it. */
void drain_add(struct drain *, const struct row_file_left *, bool no_work);
/* Lists what each file set has left, by id, with the number of results that its
 * generator makes per new workunit. */
enum err drain_files(struct cmd_ctx *, struct row_file_left **, size_t *n);
/* "5 results left: 1 unsent, 4 to be made; 3 sent in the last 2h10m: enough for
 * 3h36m"; no time if no host can get some of them */
char *drain_text(struct arena *, const struct drain *, int64_t now);
void drain_put(struct print *, const char *key, const struct drain *, int64_t now);
/* "3 requests for work that had to be made, ...": for one file or for all; the member
 * is "demand". */
void demand_show(struct cmd_ctx *, struct print *, const struct row_demand *);

#endif
