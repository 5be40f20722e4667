/* SPDX-License-Identifier: Apache-2.0 */
/* The command lines of BOINC's tools; cases in dropin.def. */
#include "test/unit/unit.h"

#include <string.h>
#include "lib/proc.h"
#include "tools/dropin/dropin.h"
#include "lib/banned.h"

static const struct {
	const char *line, *option, *value;
	size_t n;
	const char *why;
} cases[] = {
#define GOOD(line, option, value, n) { line, option, value, n, NULL },
#define BAD(line, why)               { line, NULL, NULL, 0, why },
#include "test/unit/dropin.def"
#undef GOOD
#undef BAD
};

START_TEST(lines)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct dropin_words w;
	const struct dropin_tool *t;
	char **words;
	enum err e;

	ck_assert(proc_split(&a, cases[_i].line, &words, &f) == OK);
	t = dropin_named(words[0]);
	ck_assert_ptr_nonnull(t);
	e = dropin_parse(&a, t, words + 1, &w, &f);
	if (cases[_i].why != NULL) {
		ck_assert(e == E_BADREQ);
		ck_assert_msg(strstr(f.detail, cases[_i].why) != NULL, "%s", f.detail);
	} else {
		ck_assert_msg(e == OK, "%s", f.detail);
		ck_assert_pstr_eq(dropin_value(&w, cases[_i].option), cases[_i].value);
		ck_assert_uint_eq(w.n, cases[_i].n);
	}
	arena_free(&a);
}
END_TEST

START_TEST(names)
{
	ck_assert_ptr_nonnull(dropin_named("start"));
	ck_assert_ptr_nonnull(dropin_named("/srv/project/bin/create_work"));
	ck_assert_ptr_null(dropin_named("locus"));
	ck_assert_ptr_null(dropin_named("transitioner"));
}
END_TEST

static const struct {
	const char *name, *of;
} tools[] = {
#define TOOL(name, of, args, min, max, ours, purpose) { #name, of },
#define OPTION(of, name, arg, how, text)
#include "tools/dropin/dropin.def"
#undef TOOL
#undef OPTION
};

/* Each option belongs to a tool, and its name is spelled with "_". */
START_TEST(table)
{
	size_t n;
	const struct dropin_option *o = dropin_options(&n);

	for (size_t i = 0; i < n; i++) {
		bool found = false;

		for (size_t k = 0; k < N(tools); k++)
			found = found || strcmp(o[i].of, tools[k].of) == 0;
		ck_assert_msg(found, "%s of %s", o[i].name, o[i].of);
		ck_assert_ptr_null(strchr(o[i].name, '-'));
	}
	for (size_t k = 0; k < N(tools); k++)
		ck_assert_ptr_nonnull(dropin_named(tools[k].name));
}
END_TEST

UNIT_MAIN("dropin", {
	ADD_LOOP(lines, N(cases));
	ADD(names);
	ADD(table);
})
