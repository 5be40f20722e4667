/* SPDX-License-Identifier: Apache-2.0 */
/* Paths and URLs within a project: directories, fan-out (protocol.md 5.7). */
#ifndef MODEL_PATH_H
#define MODEL_PATH_H

#include <stdbool.h>
#include "lib/bells.h"
#include "lib/err.h"
#include "model/conf.h"

/* Processes of two versions share the file, so a number keeps its meaning. */
enum doorbell {
	DOORBELL_NONE, /* of daemons that nobody rings */
	DOORBELL_TRANSITIONER,
	DOORBELL_VALIDATOR, /* of all apps, as the next one */
	DOORBELL_ASSIMILATOR,
	DOORBELL_FILE_DELETER,
	DOORBELL_WORK_GENERATOR,
	DOORBELL_TRICKLE_HANDLER,
	DOORBELLS
};

struct doorbells { /* of one process or thread; all 0 initially */
	struct shared bells;
	bool failed; /* logged */
};

/*
 * Rings a bell, after the commit of the work. Opens the file at the first ring, and
 * again if it was replaced, but never makes it. A failure is logged once and harms
 * nobody: the daemon finds the work at its next look.
 */
void doorbell_ring(struct doorbells *, const struct conf *, enum doorbell);
/* Opens the file to listen, and makes it if it is absent. */
enum err doorbells_listen(struct doorbells *, const struct conf *, struct fail *);
void doorbells_close(struct doorbells *);

#endif
