/* SPDX-License-Identifier: Apache-2.0 */
#include "rules/sched/answers.h"

#include <assert.h>
#include "lib/arena.h"
#include "lib/banned.h"

const struct answer answers[] = {
#define ANSWER(why, notice, delay_s) { WHY_##why, notice, delay_s },
#include "rules/sched/answers.def"
#undef ANSWER
};
const size_t nanswers = N(answers);

size_t
answers_rank(enum reason why)
{
	size_t i = 0;

	while (i < nanswers && answers[i].why != why)
		i++;
	return i;
}

const struct answer *
answers_of(enum reason why)
{
	size_t i = answers_rank(why);

	assert(i < nanswers);
	return &answers[i];
}
