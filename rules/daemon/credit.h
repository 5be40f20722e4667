/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a valid result earns, and how averages of credit fade (scheduling.md 4.7).
 * Credit is in Cobblestones: 200 for a day at 1e9 operations per second.
 */
#ifndef RULES_DAEMON_CREDIT_H
#define RULES_DAEMON_CREDIT_H

#include <stdbool.h>
#include "model/rows.h"

enum credit_method {
	CREDIT_ESTIMATE, /* operations as the workunit estimates them */
	CREDIT_ELAPSED,  /* what the host could have computed in the elapsed time */
	CREDIT_FIXED,    /* stated by the workunit */
	CREDIT_APP,      /* stated by the app's validator for each result */
	CREDIT_METHODS
};
/* Half-life of recent average credit. */
enum { CREDIT_HALF_LIFE_S = 7 * 86400 };

struct credit_policy {
	enum credit_method method;
	double most;      /* that a result is granted; 0 = no limit */
	double elapsed_s; /* that CREDIT_ELAPSED counts at most; 0 = no limit */
};

/* Returns false if there is no method of that name. */
bool credit_method_named(const char *name, enum credit_method *);
/*
 * What one result claims. stated: by the workunit or the validator, < 0 = nothing.
 * Returns -1 if the result has no figure to go by.
 */
double credit_claim(const struct credit_policy *, const struct workunit *,
    const struct result *, double stated);
/*
 * What each result of a quorum is granted: the lower median of the claims that are not
 * negative, or the workunit's estimate if there is none, at most policy's `most`.
 * Sorts the claims.
 */
double credit_granted(
    const struct credit_policy *, const struct workunit *, double *claims, size_t n);
/* What a grant adds to a recent average, in credit per day. */
double credit_average(double granted);
/* The average after s seconds without a grant; s < 0 counts as 0. */
double credit_decayed(double average, double s);

#endif
