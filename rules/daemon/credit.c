/* SPDX-License-Identifier: Apache-2.0 */
/* What a valid result earns, and how averages of credit fade. */
#include "rules/daemon/credit.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "lib/arena.h"
#include "lib/banned.h"

static const double DAY_S = 86400;
/* Credit per operation: 200 for a day at 1e9 operations per second. */
static const double PER_FLOP = 200 / (86400 * 1e9);

static const char *const methods[CREDIT_METHODS] = {
	[CREDIT_ESTIMATE] = "estimate",
	[CREDIT_ELAPSED] = "elapsed",
	[CREDIT_FIXED] = "fixed",
	[CREDIT_APP] = "app",
};

bool credit_method_named(const char *name, enum credit_method *method)
{
	for (size_t i = 0; i < CREDIT_METHODS; i++) {
		if (strcmp(name, methods[i]) == 0) {
			*method = (enum credit_method)i;
			return true;
		}
	}
	return false;
}

static double elapsed_claim(const struct credit_policy *p, const struct result *r)
{
	double s = r->elapsed_time, credit;

	if (p->elapsed_s > 0)
		s = fmin(s, p->elapsed_s);
	credit = s * r->flops_estimate * PER_FLOP;
	/* A client that reports no time, or no speed, proposes nothing. */
	return s > 0 && credit > 0 && isfinite(credit) ? credit : -1;
}

static double estimate_claim(const struct workunit *wu)
{
	double credit = wu->rsc_fpops_est * PER_FLOP;

	return credit > 0 && isfinite(credit) ? credit : 0;
}

double credit_claim(const struct credit_policy *p, const struct workunit *wu,
    const struct result *r, double stated)
{
	switch (p->method) {
	case CREDIT_ELAPSED:
		return elapsed_claim(p, r);
	case CREDIT_FIXED:
	case CREDIT_APP:
		return stated >= 0 && isfinite(stated) ? stated : -1;
	default:
		return estimate_claim(wu);
	}
}

static int claim_by_size(const void *a, const void *b)
{
	double x = *(const double *)a, y = *(const double *)b;

	return (x > y) - (x < y);
}

double credit_granted(
    const struct credit_policy *p, const struct workunit *wu, double *claims, size_t n)
{
	double granted = estimate_claim(wu);
	size_t none = 0;

	if (n > 0)
		qsort(claims, n, sizeof(*claims), claim_by_size);
	while (none < n && claims[none] < 0)
		none++;
	if (none < n)
		granted = claims[none + (n - none - 1) / 2];
	return p->most > 0 ? fmin(granted, p->most) : granted;
}

/*
 * A grant enters the average at once and then fades like the rest, so that a host that
 * earns N a day has an average of N, however its grants are spread. Averages add up:
 * those of an account's hosts make the account's.
 */
double credit_average(double granted)
{
	return granted * M_LN2 * DAY_S / CREDIT_HALF_LIFE_S;
}

double credit_decayed(double average, double s)
{
	return s > 0 ? average * exp2(-s / CREDIT_HALF_LIFE_S) : average;
}
