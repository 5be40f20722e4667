/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The validator's credit: its options, what a project's code states, and the sums that
 * a transaction adds to hosts, accounts and teams (scheduling.md 4.7).
 */
#ifndef DAEMONS_GRANTS_H
#define DAEMONS_GRANTS_H

#include <stdbool.h>
#include "daemons/loop.h"
#include "db/wu_updates.h"
#include "rules/daemon/credit.h"

struct credit_options {
	char *method;        /* NULL: none was named */
	bool none, from_wu;  /* from_wu: BOINC's name for the method fixed */
	double from_runtime; /* BOINC's name for the method elapsed, with its limit */
	bool jobs;           /* write credited_job */
	struct credit_policy policy; /* set by credit_start(), but for `most` */
};

/* Rows of a daemon's table of options; at: offset of the struct in its own options. */
/* E_CONFIG: an unknown method, or two of them. */
enum err credit_check(const struct credit_options *, struct fail *);
void credit_start(struct credit_options *); /* after credit_check() */

/*
 * Returns what a command's output states in its last line of the form "credit N"; -1 =
 * there is none.
 */
double credit_stated(const char *out);
/*
 * Returns what a workunit without a canonical result states: its row, as BOINC's
 * create_work --credit sets it, else <credit> in its xml_doc; -1 = nothing. doc may be
 * NULL.
 */
double credit_of_workunit(struct arena *, const struct workunit *, const char *doc);

/* What hosts, accounts and teams earn in one transaction. */
struct grants {
	struct arena *a;
	struct grant {
		int64_t hostid, userid, teamid, workunitid;
		double credit;
	} * v;
	size_t n, cap;
};
/* Adds the granted_credit of a valid result; nothing if that is 0. */
void grants_add(struct grants *, const struct result *);
/*
 * Adds the updates of rows: one for each host, account and team, whatever the number of
 * results, ids ascending.
 */
void grants_put(
    struct grants *, const struct credit_options *, struct wu_updates *, int64_t now);

#endif
