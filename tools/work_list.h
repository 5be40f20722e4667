/* SPDX-License-Identifier: Apache-2.0 */
/* locus work list: workunits chosen by state, app, file, batch, host, age and errors.
 */
#ifndef TOOLS_WORK_LIST_H
#define TOOLS_WORK_LIST_H

#include "db/stmts.h"
#include "lib/arena.h"
#include "model/rows.h"
#include "tools/print/print.h"

/* Names the reasons of workunit.error_mask, such as "too_many_errors"; "" if it is 0.
 */
char *work_reasons(struct arena *, int64_t mask);
/* Returns the bit of a reason by its name; 0 if there is none. */
int64_t work_reason_named(const char *);
/* Shows "5: 1 open, 2 valid (1 assimilated), 0 failed, 2 cancelled"; the member is
 * "workunits". */
void work_counts_show(struct print *, const struct row_wu_counts *);

/* An exit status in words: "1", "-1073741819 (0xc0000005, access violation)". */
char *exit_words(struct arena *, int64_t status);
/*
 * How a task ended that failed, or did not: the exit status, and what else made a
 * failure of a program that succeeded; file_error: stderr_file_error().
 */
char *end_words(struct arena *, const struct result *, int64_t file_error);
/* What to try about a program that ends so, as tools/exit_status.def explains. */
enum exit_cure {
	CURE_NONE,
	CURE_SHOW,
	CURE_BUILD,
	CURE_TEMPLATE,
	CURE_DOCTOR,
	CURE_FILE,
	CURE_RAISE_FIRST /* and the enum raised */
};
/* Sets *note, "" = none. */
enum exit_cure exit_cure(int64_t status, const char **note);

/* The state of a result in one or two words: "unsent", "in progress", "success". */
const char *result_words(const struct result *);
/* What the validator said about the result, and why, seen with its workunit. successes:
 * those of the workunit that are not invalid. "" if it is not over. */
char *verdict_words(
    struct arena *, const struct workunit *, const struct result *, int64_t successes);

#endif
