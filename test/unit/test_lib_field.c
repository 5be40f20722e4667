/* SPDX-License-Identifier: Apache-2.0 */
/* Members of structs by tables of fields: texts, numbers, copies. */
#include "test/unit/unit.h"

#include <math.h>
#include "lib/field.h"
#include "lib/banned.h"

static struct arena a;

enum color { RED, GREEN };
struct all {
	bool flag;
	int32_t i32;
	int64_t i64;
	uint64_t count;
	enum color color;
	double f64, hours_s;
	const char *text;
	struct text_list list;
	struct pattern_list patterns;
};
#define ALL(member) #member, FIELD_OF(struct all, member)
static const struct field fields[] = {
	{ ALL(flag) },
	{ ALL(i32), .min = -5e9, .max = 5e9 },
	{ ALL(i64), .max = 100 },
	{ ALL(count) },
	{ ALL(color) },
	{ ALL(f64), .above = true },
	{ ALL(hours_s), .scale = 3600, .max = 24 },
	{ ALL(text) },
	{ ALL(list) },
	{ ALL(patterns) },
	{ 0 },
};

static const struct {
	const char *name, *text, *takes, *get;
} values[] = {
	{ "i32", "7", NULL, "7" },
	{ "i32", "-2147483648", NULL, "-2147483648" },
	{ "i32", "2147483648", "a whole number from -5000000000 to 5000000000", "0" },
	{ "i64", "1e2", NULL, "100" },
	{ "i64", "101", "a whole number from 0 to 100", "0" },
	{ "count", "9007199254740993", NULL, "9007199254740993" },
	{ "color", "1", NULL, "1" },
	{ "f64", "0.1", NULL, "0.1" },
	{ "f64", "0", "a number above 0", "0" },
	{ "hours_s", "1.5", NULL, "5400" },
	{ "hours_s", "25", "a number from 0 to 24", "0" },
	{ "flag", "", NULL, "1" },
	{ "text", "a b", NULL, "a b" },
	{ "list", "x", NULL, "x" },
	{ "patterns", "^x", NULL, "^x" },
	{ "patterns", "(", "a regular expression: a ( has no )", "" },
};

START_TEST(texts_become_values)
{
	const struct field *o = field_find(fields, values[_i].name, false, NULL);
	struct all row = { 0 };

	ck_assert_pstr_eq(field_set(&a, o, &row, arena_strdup(&a, values[_i].text)),
	    values[_i].takes);
	ck_assert_str_eq(field_get(&a, o, &row), values[_i].get);
}
END_TEST

/* name, number: does the member hold it? */
static const struct {
	const char *name;
	double number;
	bool holds;
} numbers[] = {
	{ "flag", 1, true },
	{ "flag", 2, false },
	{ "i32", 2147483647, true },
	{ "i32", 2147483648, false },
	{ "i32", 1.5, false },
	{ "i64", -0x1p63, true },
	{ "i64", 0x1p63, false },
	{ "i64", NAN, false },
	{ "f64", 0x1p63, true },
	{ "f64", 1.5, true },
};

START_TEST(members_hold_numbers)
{
	const struct field *o = field_find(fields, numbers[_i].name, false, NULL);
	struct all row = { 0 }, copy = { 0 };
	double x = numbers[_i].number;

	ck_assert_int_eq(field_put_number(o, &row, x), numbers[_i].holds);
	ck_assert_int_eq(field_is_zero(o, &row), !numbers[_i].holds);
	ck_assert_double_eq(field_number(o, &row), numbers[_i].holds ? x : 0);
	field_copy(o, &copy, &row);
	ck_assert_mem_eq(&copy, &row, sizeof(copy));
}
END_TEST

/* A list keeps its items in their order when it grows. */
START_TEST(lists_grow)
{
	const struct field *o = field_find(fields, "list", false, NULL);
	const struct field *p = field_find(fields, "patterns", false, NULL);
	struct all row = { 0 };

	for (int i = 0; i < 100; i++) {
		char *text = arena_printf(&a, "%d", i);

		ck_assert_ptr_null(field_set(&a, o, &row, text));
		ck_assert_ptr_null(field_set(&a, p, &row, text));
	}
	ck_assert_uint_eq(row.list.n, 100);
	ck_assert_str_eq(row.list.v[0], "0");
	ck_assert_str_eq(row.list.v[99], "99");
	ck_assert_str_eq(pattern_text(row.patterns.v[50]), "50");
	ck_assert_uint_eq(strlen(field_get(&a, o, &row)), 10 * 2 + 90 * 3 - 1);
}
END_TEST

START_TEST(names_are_found)
{
	const char *near;

	ck_assert_ptr_eq(field_find(fields, "i64", false, &near), &fields[2]);
	ck_assert_str_eq(near, "i64");
	ck_assert_ptr_null(field_find(fields, "hours-s", false, &near));
	ck_assert_str_eq(near, "hours_s");
	ck_assert_ptr_eq(field_find(fields, "hours-s", true, NULL), &fields[6]);
	ck_assert_ptr_null(field_find(fields, "nothing_like_it", false, &near));
	ck_assert_ptr_null(near);
}
END_TEST

UNIT_MAIN("lib_field", {
	ADD_LOOP(texts_become_values, N(values));
	ADD_LOOP(members_hold_numbers, N(numbers));
	ADD(lists_grow);
	ADD(names_are_found);
})
