/* SPDX-License-Identifier: Apache-2.0 */
/* Which sets of a host's files are read for a request. */
#include "test/unit/unit.h"

#include <string.h>
#include "rules/sched/held.h"
#include "lib/banned.h"

static struct arena a;

/*
 * Sets "ID:IS HELD/FILES NAME", IS being u(nknown), r(eady), d(rains) or c(losed); N*
 * before it repeats it with ascending ids. What is read now and later, as ids or as #
 * and their number; whether sets are left out.
 */
static const struct held_case {
	const char *name, *sets;
	bool sorted;
	const char *now, *later;
	bool cut;
} cases[] = {
	{ "nothing", "", false, "", "", false },
	{ "few_with_work", "3:r1/1a 1:r1/1b", true, "3 1", "", false },
	{ "by_name", "1:r1/1d 2:r1/1b 3:r1/1c 4:r1/1a 5:r1/1e 6:r1/1f", true, "4 2 3 1",
	    "5 6", false },
	{ "whole_ones_first", "1:r1/2a 2:r1/3b 3:r2/2c", true, "3 1 2", "", false },
	{ "unknown_ones_are_looked_at", "1:r1/1a 2:u1/1b 3:u2/2c", true, "1 3 2", "",
	    false },
	{ "not_those_that_drain_if_there_is_work",
	    "1:d1/1a 2:r1/1b 3:r1/1c 4:r1/1d 5:r1/1e", true, "2 3 4 5", "", false },
	{ "those_that_drain_if_work_is_scarce", "1:d1/1a 2:r1/1b 3:r1/1c 4:r1/1d", true,
	    "2 3 4 1", "", false },
	{ "closed_ones_only_as_the_reason", "1:c1/1a", true, "1", "", false },
	{ "else_closed_ones_are_left_out", "1:c1/1a 2:d1/1b", true, "2", "", false },
	{ "thousand_with_work", "1000*1:r1/1a", false, "#4", "#252", true },
	{ "as_many_as_are_read", "256*1:r1/1a", false, "#4", "#252", false },
	{ "thousand_unknown", "1000*1:u1/1a", false, "#256", "", true },
	{ "thousand_that_drain", "1000*1:d1/1a", false, "#32", "", false },
	{ "thousand_closed", "1000*1:c1/1a 2000:r1/1a", false, "2000", "", false },
};

static struct held_set *sets_of(const char *spec, size_t *n)
{
	static const char letters[] = "urdc";
	struct held_set *v = NULL;
	char *rest = arena_strdup(&a, spec), *one;
	size_t cap = 0;

	*n = 0;
	while ((one = strtok_r(rest, " ", &rest)) != NULL) {
		const char *star = strchr(one, '*');
		int times = 1, id;
		char is, name[8];
		size_t held, files;

		if (star != NULL)
			ck_assert_int_eq(sscanf(one, "%d", &times), 1);
		ck_assert_int_eq(sscanf(star == NULL ? one : star + 1,
				     "%d:%c%zu/%zu%7s", &id, &is, &held, &files, name),
		    5);
		for (int i = 0; i < times; i++)
			PUSH(&a, v, *n, cap) = (struct held_set){ .id = id + i,
				.name = arena_strdup(&a, name),
				.held = held,
				.files = files,
				.is = (enum held_is)(strchr(letters, is) - letters) };
	}
	return v;
}

/* The ids, or their number if it is wanted. */
static const char *ids_text(const char *want, const int64_t *ids, size_t n)
{
	char *text = arena_strdup(&a, "");

	if (want[0] == '#')
		return arena_printf(&a, "#%zu", n);
	for (size_t i = 0; i < n; i++)
		text = arena_printf(
		    &a, "%s%s%lld", text, i == 0 ? "" : " ", (long long)ids[i]);
	return text;
}

START_TEST(choices)
{
	const struct held_case *t = &cases[_i];
	struct conf cf = { .locality_scheduling_sorted_order = t->sorted };
	struct rng rng = rng_seed(7);
	size_t n;
	struct held_set *sets = sets_of(t->sets, &n);
	struct held_choice c = held_choose(&a, &cf, &rng, sets, n);

	ck_assert_str_eq(ids_text(t->now, c.now, c.n), t->now);
	ck_assert_str_eq(ids_text(t->later, c.later, c.nlater), t->later);
	ck_assert_msg(c.cut == t->cut, "%s: cut", t->name);
	arena_free(&a);
}
END_TEST

/* Sets with work are drawn: two hosts that hold the same do not read the same. */
START_TEST(sets_with_work_are_drawn)
{
	struct conf cf = { 0 };
	size_t n, same = 0;
	struct held_set *sets = sets_of("100*1:r1/1a", &n);

	for (uint64_t seed = 1; seed <= 20; seed++) {
		struct rng one = rng_seed(seed), again = rng_seed(seed),
			   other = rng_seed(seed + 20);
		struct held_choice c = held_choose(&a, &cf, &one, sets, n);

		ck_assert_int_eq(
		    held_choose(&a, &cf, &again, sets, n).now[0], c.now[0]);
		same += held_choose(&a, &cf, &other, sets, n).now[0] == c.now[0];
	}
	ck_assert_uint_le(same, 3);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("rules_held", {
	ADD_LOOP(choices, N(cases));
	ADD(sets_with_work_are_drawn);
})
