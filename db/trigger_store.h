/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a store of triggers must be able to do; trigger.h says what it means.  Names
 * were checked.  A store may answer E_RETRY: then it is asked again.
 */
#ifndef DB_TRIGGER_STORE_H
#define DB_TRIGGER_STORE_H

#include "db/trigger.h"

enum trigger_op {
	TRIGGER_OP_RAISE,
	TRIGGER_OP_CLEAR,
	TRIGGER_OP_CLAIM,
	TRIGGER_OP_DONE,
	TRIGGER_OP_BACK
};

struct trigger_store {
	/* CLAIM, DONE and BACK are of need_work. */
	enum err (*change)(const struct triggers *, enum trigger_op, enum trigger,
	    const char *name, struct fail *);
	/* When they were raised, s UTC; -1 = absent.  since[n] */
	enum err (*since)(const struct triggers *, struct arena *, enum trigger,
	    char *const *names, size_t n, int64_t *since, struct fail *);
	enum err (*list)(const struct triggers *, struct arena *, enum trigger,
	    char ***names, size_t *n, struct fail *);
	enum err (*claims)(const struct triggers *, struct arena *, int64_t now,
	    struct claim **, size_t *n, struct fail *);
};

extern const struct trigger_store trigger_store_dirs, trigger_store_rows;

#endif
