/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a validator's handler which results of a workunit agree. */
#ifndef DAEMONS_HEARING_H
#define DAEMONS_HEARING_H

#include "daemons/loop.h"
#include "daemons/outputs.h"
#include "rules/daemon/daemon_rules.h"

/* A workunit whose results are to be judged. */
struct hearing {
	const struct workunit *wu;
	const struct result *results; /* those that count */
	const struct outputs *out;    /* of results[i] */
	size_t n;
	/*
	 * The handler is shown results with MATCH_SAME, and may say MATCH_BAD,
	 * MATCH_HOPELESS or MATCH_LATER about each.
	 */
	enum match *init;
	int64_t *group; /* out: results of the same group agree */
	double *credit; /* out: what the handler says that each claims; -1 = nothing
	                   said */
	/* out */
	const char *why, *detail; /* why nothing can be judged now; NULL = it was */
	bool untried;             /* the handler was not asked: no verdict, no delay */
};

/*
 * Asks about n hearings and fills them in.  E_SYS: the handler does not work; hearings
 * that are not untried are good all the same.
 */
enum err hearings_hold(struct daemon_ctx *, struct hearing *const *, size_t n);

#endif
