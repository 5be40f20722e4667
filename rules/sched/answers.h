/* SPDX-License-Identifier: Apache-2.0 */
/* The reasons that people are told, the most decisive one first (answers.def). */
#ifndef RULES_SCHED_ANSWERS_H
#define RULES_SCHED_ANSWERS_H

#include <stdbool.h>
#include <stddef.h>
#include "model/reasons.h"

struct answer {
	enum reason why;
	bool notice;    /* shown to the user */
	double delay_s; /* before the next request, where it is the decisive one */
};
extern const struct answer answers[];
extern const size_t nanswers;

/* Place of a reason among them, the first one 0; nanswers if it is not told. */
size_t answers_rank(enum reason);
/* The row of a reason that is among them. */
const struct answer *answers_of(enum reason);

#endif
