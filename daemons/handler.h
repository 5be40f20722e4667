/* SPDX-License-Identifier: Apache-2.0 */
/* Hands finished workunits to an assimilator's handler. */
#ifndef DAEMONS_HANDLER_H
#define DAEMONS_HANDLER_H

#include "daemons/handlers.h"
#include "daemons/loop.h"
#include "daemons/outputs.h"
#include "daemons/work.h"
#include "rules/daemon/daemon_rules.h"

struct assimilate_ask {
	const struct workunit *wu;
	const struct output *out; /* canonical outputs that exist */
	size_t n;
	int32_t error_mask; /* 0 = it has a canonical result */
	enum ask_end end;   /* out: ASK_DONE = taken */
	const char *why, *detail;
};

/*
 * Offers at most DB_LIST_MAX workunits.  E_SYS: the handler does not work; ends that
 * are not ASK_UNTRIED are good all the same.
 */
enum err handler_offer_all(struct daemon_ctx *, struct assimilate_ask *, size_t n);

/* Asks a validator's handler which results of a workunit agree. */

/* A workunit whose results are to be judged. */
struct judging {
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
 * Asks about n judgings and fills them in.  E_SYS: the handler does not work; judgings
 * that are not untried are good all the same.
 */
enum err handler_judge_all(struct daemon_ctx *, struct judging *const *, size_t n);

/* Asks a generator's handler which workunits to make of files. */

struct planning {
	const struct fileset *fs; /* NULL: nothing is asked */
	int64_t wanted;           /* workunits */
	/* out */
	enum ask_end end; /* ASK_DONE: the plan is good */
	struct planned *v;
	size_t n;
	bool exhausted; /* no more can be made */
	const char *why;
};

/*
 * Asks about n files at once.  E_SYS: the handler does not work; ends that are not
 * ASK_UNTRIED are good all the same.
 */
enum err plannings_ask(struct daemon_ctx *, struct planning *, size_t n);

/* The project's own choice of files for the working set (locus-handlers(7), choose). */

/*
 * Asks the handler which of the files that may be in the set of an app come first, and
 * sets their places.  A handler that fails or cannot say now leaves the choice to the
 * rule, and a trouble; E_RETRY: the daemon is to stop.
 */
enum err file_chooser_ask(struct daemon_ctx *, const char *app, struct ws_file *,
    size_t n, int64_t hosts, size_t wanted);

#endif
