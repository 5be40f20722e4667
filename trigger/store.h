/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The operations of a trigger store; trigger.h defines their meaning. The names of
 * changes have been checked, those of since() have not.
 */
#ifndef TRIGGER_STORE_H
#define TRIGGER_STORE_H

#include "trigger/trigger.h"

enum trigger_op {
	TRIGGER_OP_RAISE,
	TRIGGER_OP_CLEAR,
	TRIGGER_OP_CLAIM,
	TRIGGER_OP_DONE,
	TRIGGER_OP_BACK
};

struct trigger_store {
	/* CLAIM, DONE and BACK apply to need_work only. */
	enum err (*change)(const struct triggers *, enum trigger_op, enum trigger,
	    const char *name, struct fail *);
	/* Returns when the triggers were raised, s UTC; -1 = not raised. since[n]. */
	enum err (*since)(const struct triggers *, struct arena *, enum trigger,
	    char *const *names, size_t n, int64_t *since, struct fail *);
	enum err (*list)(const struct triggers *, struct arena *, enum trigger,
	    char ***names, size_t *n, struct fail *);
	enum err (*claims)(const struct triggers *, struct arena *, int64_t now,
	    struct claim **, size_t *n, struct fail *);
	bool (*changed)(const struct triggers *, enum trigger, struct fs_seen *);
};

extern const struct trigger_store trigger_store_dirs;

#endif
