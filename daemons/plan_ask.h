/* SPDX-License-Identifier: Apache-2.0 */
/* Asks a generator's handler which workunits to make of files. */
#ifndef DAEMONS_PLAN_ASK_H
#define DAEMONS_PLAN_ASK_H

#include "daemons/handlers.h"
#include "daemons/loop.h"
#include "daemons/plan.h"

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

#endif
