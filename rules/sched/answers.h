/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons given to users, the most decisive one first (answers.def). */
#ifndef RULES_SCHED_ANSWERS_H
#define RULES_SCHED_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include "model/reasons.h"

struct answer {
	enum reason why;
	bool notice;    /* shown to the user as a notice */
	double delay_s; /* delay of the next request, if this is the decisive reason */
};
extern const struct answer answers[];
extern const size_t nanswers;

/* Rank of a reason in this table, from 0; nanswers if the table does not have it. */
size_t answers_rank(enum reason);
/* Row of a reason that the table has. */
const struct answer *answers_of(enum reason);

#endif
