/* SPDX-License-Identifier: Apache-2.0 */
/* What the first of two passes makes of bytes that are not quite XML. */
#include "proto/normalise.h"
#include "test/unit/unit.h"
#include "lib/arena.h"
#include "lib/banned.h"

#define NAME_64 "n234567890123456789012345678901234567890123456789012345678901234"

#define NAME_128                                                                       \
	NAME_64 "5678901234567890123456789012345678901234567890123456789012345678"

static const struct raw_rule no_raw = { 0 };

static const struct {
	const char *in, *out; /* NULL: refused */
	int repairs;
} texts[] = {
#define NORMAL(in, out, repairs) { in, out, repairs },
#include "test/unit/normalise.def"
#undef NORMAL
};

START_TEST(text)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct normal n = { 0 };
	enum err e = normalise(
	    &a, texts[_i].in, strlen(texts[_i].in), "r", &no_raw, &n, &f);

	if (texts[_i].out == NULL)
		ck_assert_int_eq(e, E_BADREQ);
	else {
		ck_assert_int_eq(e, OK);
		ck_assert_str_eq(n.text.p, texts[_i].out);
		ck_assert_int_eq((int)n.repairs, texts[_i].repairs);
	}
	arena_free(&a);
}
END_TEST

UNIT_MAIN("normalise", { ADD_LOOP(text, N(texts)); })
