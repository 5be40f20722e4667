/* SPDX-License-Identifier: Apache-2.0 */
/* What clients report about a task's end; the table is stderr_text.def. */
#include "test/unit/unit.h"

#include "proto/stderr_text.h"
#include "lib/banned.h"

static const struct {
	const char *in, *client, *message, *text, *signature;
} cases[] = {
#define STDERR(in, client, message, text, signature)                                   \
	{ in, client, message, text, signature },
#include "test/unit/stderr_text.def"
#undef STDERR
};

START_TEST(reports)
{
	struct arena a = { 0 };
	struct stderr_text t = stderr_text_of(&a, cases[_i].in);

	ck_assert_str_eq(t.client, cases[_i].client);
	ck_assert_str_eq(t.message, cases[_i].message);
	ck_assert_str_eq(t.text, cases[_i].text);
	ck_assert_str_eq(stderr_signature(&a, &t), cases[_i].signature);
	arena_free(&a);
}
END_TEST

UNIT_MAIN("stderr_text", { ADD_LOOP(reports, N(cases)); })
