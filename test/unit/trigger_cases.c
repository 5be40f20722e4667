/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit/trigger_cases.h"

#include <string.h>
#include "test/unit/unit.h"
#include "lib/banned.h"

const char *const trigger_files[] = { "F", "G", "a", "b", "C", "d'%_~", NULL };

static struct fail f;
static struct arena a;

#define ck_ok(call)                                                                    \
	ck_assert_msg((call) == OK, "%s: %s: %s", err_name(f.code), f.where, f.detail)
#define ck_err(call, code) ck_assert_str_eq(err_name(call), err_name(code))

/* Returns the names of the triggers, each followed by a blank. */
static char *trigger_listed(const struct triggers *t, enum trigger of)
{
	char **names, *all = arena_strdup(&a, "");
	size_t n;

	ck_ok(trigger_list(t, &a, of, &names, &n, &f));
	for (size_t i = 0; i < n; i++)
		all = arena_printf(&a, "%s%s ", all, names[i]);
	return all;
}

static char *claimed(const struct triggers *t)
{
	struct claim *c;
	char *all = arena_strdup(&a, "");
	size_t n;

	ck_ok(trigger_claims(t, &a, INT32_MAX, &c, &n, &f));
	for (size_t i = 0; i < n; i++) {
		ck_assert_int_gt(c[i].age_s, 0);
		all = arena_printf(&a, "%s%s ", all, c[i].name);
	}
	return all;
}

static int64_t age(
    const struct triggers *t, enum trigger of, const char *name, int64_t now)
{
	int64_t s;

	ck_ok(trigger_age(t, of, name, now, &s, &f));
	return s;
}

static void raised_and_cleared(const struct triggers *t, const struct triggers *other)
{
	for (enum trigger k = 0; k < TRIGGER__MAX; k++) {
		ck_assert_str_eq(trigger_listed(t, k), "");
		ck_assert_int_eq(age(t, k, "F", INT32_MAX), -1);
		ck_ok(trigger_raise(t, k, "F", &f));
		ck_ok(trigger_raise(other, k, "F", &f));
		ck_assert_int_gt(age(other, k, "F", INT32_MAX), 0);
		ck_assert_int_eq(age(t, k, "F", 0), 0);
		ck_assert_int_eq(age(t, k, "G", INT32_MAX), -1);
		ck_assert_str_eq(trigger_listed(other, k), "F ");
		for (enum trigger m = 0; m < TRIGGER__MAX; m++)
			if (m != k)
				ck_assert_int_eq(age(t, m, "F", INT32_MAX), -1);
		ck_ok(trigger_clear(t, k, "F", &f));
		ck_ok(trigger_clear(other, k, "F", &f));
		ck_assert_str_eq(trigger_listed(t, k), "");
		ck_ok(trigger_raise(t, k, "F", &f)); /* a second time */
		ck_assert_str_eq(trigger_listed(t, k), "F ");
		ck_ok(trigger_clear(t, k, "F", &f));
	}
	ck_ok(trigger_clear(t, TRIGGER_NEED_WORK, "stranger", &f));
}

static void lists_are_sorted_bytewise(
    const struct triggers *t, const struct triggers *other)
{
	char *names[] = { arena_strdup(&a, "b"), arena_strdup(&a, "G"),
		arena_strdup(&a, "d'%_~") };
	char **sorted;
	bool there[N(names)];
	size_t n;

	ck_ok(trigger_raise(t, TRIGGER_WORKING_SET, "b", &f));
	ck_ok(trigger_raise(t, TRIGGER_WORKING_SET, "a", &f));
	ck_ok(trigger_raise(t, TRIGGER_WORKING_SET, "d'%_~", &f));
	ck_ok(trigger_raise(t, TRIGGER_WORKING_SET, "C", &f));
	ck_assert_str_eq(trigger_listed(other, TRIGGER_WORKING_SET), "C a b d'%_~ ");
	ck_ok(trigger_list(t, &a, TRIGGER_WORKING_SET, &sorted, &n, &f));
	ck_assert(trigger_in(sorted, n, "a") && !trigger_in(sorted, n, "G"));
	ck_ok(trigger_there(t, &a, TRIGGER_WORKING_SET, names, N(names), there, &f));
	ck_assert(there[0] && !there[1] && there[2]);
}

static void a_claim_is_for_one(const struct triggers *t, const struct triggers *other)
{
	ck_err(trigger_claim(t, "F", &f), E_NOTFOUND);
	ck_ok(trigger_raise(t, TRIGGER_NEED_WORK, "F", &f));
	ck_ok(trigger_raise(t, TRIGGER_NEED_WORK, "G", &f));
	ck_ok(trigger_claim(t, "F", &f));
	ck_err(trigger_claim(other, "F", &f), E_NOTFOUND);
	ck_assert_str_eq(trigger_listed(other, TRIGGER_NEED_WORK), "G ");
	ck_assert_str_eq(claimed(other), "F ");
	ck_ok(trigger_claim_done(t, "F", &f));
	ck_ok(trigger_claim_done(t, "F", &f));
	ck_assert_str_eq(claimed(t), "");
	ck_assert_str_eq(trigger_listed(t, TRIGGER_NEED_WORK), "G ");
}

/*
 * A trigger raised between claim and done is kept, because it asks for work not made
 * then (race 1).
 */
static void race_01_raised_during_a_claim(
    const struct triggers *t, const struct triggers *other)
{
	ck_ok(trigger_raise(t, TRIGGER_NEED_WORK, "F", &f));
	ck_ok(trigger_claim(t, "F", &f));
	ck_ok(trigger_raise(other, TRIGGER_NEED_WORK, "F", &f));
	ck_err(trigger_claim(other, "F", &f), E_NOTFOUND);
	ck_assert_str_eq(trigger_listed(other, TRIGGER_NEED_WORK), "F ");
	ck_ok(trigger_claim_done(t, "F", &f));
	ck_assert_str_eq(trigger_listed(other, TRIGGER_NEED_WORK), "F ");
	ck_ok(trigger_claim(other, "F", &f));
	ck_assert_str_eq(trigger_listed(t, TRIGGER_NEED_WORK), "");
	ck_ok(trigger_claim_done(other, "F", &f));
	ck_assert_str_eq(claimed(t), "");
}

static void a_claim_goes_back(const struct triggers *t, const struct triggers *other)
{
	ck_err(trigger_claim_back(t, "F", &f), E_NOTFOUND);
	ck_ok(trigger_raise(t, TRIGGER_NEED_WORK, "F", &f));
	ck_ok(trigger_claim(t, "F", &f));
	ck_ok(trigger_claim_back(t, "F", &f));
	ck_err(trigger_claim_back(t, "F", &f), E_NOTFOUND);
	ck_assert_str_eq(claimed(t), "");
	ck_assert_str_eq(trigger_listed(other, TRIGGER_NEED_WORK), "F ");
	ck_ok(trigger_claim(other, "F", &f));
	ck_ok(trigger_raise(t, TRIGGER_NEED_WORK, "F", &f));
	ck_ok(trigger_claim_back(
	    other, "F", &f)); /* the claim and the new trigger become one */
	ck_assert_str_eq(claimed(t), "");
	ck_assert_str_eq(trigger_listed(t, TRIGGER_NEED_WORK), "F ");
	ck_ok(trigger_clear(t, TRIGGER_NEED_WORK, "F", &f));
	ck_assert_str_eq(trigger_listed(t, TRIGGER_NEED_WORK), "");
}

static void names_are_checked(const struct triggers *t, const struct triggers *other)
{
	static const char *const refused[] = { "", ".", "..", "a/b", "/etc/passwd",
		".claim-F",
		"0123456789012345678901234567890123456789012345678901234567890123456789"
		"0123456789012345678901234567890123456789012345678901234567890123456789"
		"012345678901234567890123456789012345678901234567890" };

	(void)other;
	for (size_t i = 0; i < N(refused); i++) {
		char *name = arena_strdup(&a, refused[i]);
		bool there = true;

		ck_err(trigger_raise(t, TRIGGER_NEED_WORK, name, &f), E_BADREQ);
		ck_err(trigger_clear(t, TRIGGER_NEED_WORK, name, &f), E_BADREQ);
		ck_err(trigger_claim(t, name, &f), E_BADREQ);
		ck_err(trigger_claim_back(t, name, &f), E_BADREQ);
		ck_assert_int_eq(age(t, TRIGGER_NEED_WORK, name, INT32_MAX), -1);
		ck_ok(trigger_there(t, &a, TRIGGER_NEED_WORK, &name, 1, &there, &f));
		ck_assert(!there);
	}
}

const struct trigger_case trigger_cases[] = {
#define CASE(name)                                                                     \
	{                                                                              \
#name, name                                                            \
	}
	CASE(raised_and_cleared),
	CASE(lists_are_sorted_bytewise),
	CASE(a_claim_is_for_one),
	CASE(race_01_raised_during_a_claim),
	CASE(a_claim_goes_back),
	CASE(names_are_checked),
#undef CASE
};
const size_t trigger_ncases = N(trigger_cases);
