/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Work that no host can get: the reasons for refusal that hold for every possible host,
 * or for every active one (scheduling.md 2.6, 2.10, 2.11).
 */
#ifndef RULES_SCHED_UNSENDABLE_H
#define RULES_SCHED_UNSENDABLE_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/conf.h"
#include "model/fleet.h"
#include "model/decision.h"

enum unsendable {
#define UNSENDABLE(code, ...) UNSENDABLE_##code,
#include "rules/sched/unsendable.def"
#undef UNSENDABLE
	UNSENDABLE__MAX
};

struct unsendable_words {
	const char *code, *text, *cure;
	bool error;
};
extern const struct unsendable_words unsendable_words[UNSENDABLE__MAX];

struct lack {
	bool is;
	double needs, has; /* in the unit of the code */
};

/* Number of active accounts, or hosts, of which each may get one result of a workunit;
 * 0 = there is no such rule, or none is active. */
int64_t unsendable_takers(const struct conf *, const struct fleet *);
/*
 * Sets lacks[code] for each reason why no host gets this work. The kinds of the fleet
 * are used only if the work is bound to one. An unknown app lacks nothing: that is
 * another finding.
 */
void unsendable(const struct conf *, const struct catalog *, const struct fleet *,
    const struct demand *, struct lack lacks[UNSENDABLE__MAX]);

/* The demands of a workunit, whose delay_bound must be above 0. */
struct demand demand_of(const struct workunit *);
/* "asks for more memory than any active host has (8.0 GB, the most is 4.0 GB); cure" */
char *unsendable_says(
    struct arena *, enum unsendable, const struct lack *, const char *app);
/* "locus work set --app sums --max-memory 4000000000  # if that is enough" */
char *unsendable_cure(
    struct arena *, enum unsendable, const struct lack *, const char *app);
/* "8.0 GB, the most is 4.0 GB"; "" if the code has no unit. */
char *unsendable_figures(struct arena *, enum unsendable, const struct lack *);

#endif
