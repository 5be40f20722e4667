/* SPDX-License-Identifier: Apache-2.0 */
/* Regular expressions: what is refused and why; agreement with the C library on random
 * expressions and texts; matching without allocation. */
#include "test/unit/unit.h"

#include <malloc.h>
#include <regex.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/pattern.h"
#include "lib/rng.h"
#include "lib/banned.h"

static const struct {
	const char *text, *why;
} refused[] = {
#define REFUSED(text, why) { text, why },
#include "test/unit/pattern.def"
#undef REFUSED
};

START_TEST(refused_with_the_reason)
{
	struct arena a = { 0 };
	const char *why = NULL;
	const struct pattern *p = pattern_compile(&a, refused[_i].text, &why);

	ck_assert_msg(p == NULL, "\"%s\" was taken", refused[_i].text);
	ck_assert_msg(why != NULL && strstr(why, refused[_i].why) != NULL, "\"%s\": %s",
	    refused[_i].text, why);
	arena_free(&a);
}
END_TEST

static const char *const growing[] = {
#define STEPS(text) text,
#include "test/unit/pattern.def"
#undef STEPS
};

/* No text from a stranger makes a process grow, however often it is a new one. */
START_TEST(matching_takes_no_memory)
{
	struct arena a = { 0 };
	const char *why = NULL;
	const struct pattern *p = pattern_compile(&a, growing[_i], &why);
	struct rng rng = rng_seed(1);
	char text[201];
	size_t before = mallinfo2().uordblks;

	ck_assert_msg(p != NULL, "%s: %s", growing[_i], why);
	for (int round = 0; round < 50; round++) {
		for (size_t i = 0; i < sizeof(text) - 1; i++)
			text[i] = rng_next(&rng) >> 17 & 1 ? 'a' : 'b';
		text[sizeof(text) - 1] = '\0';
		ck_assert(!pattern_match(p, text));
	}
	ck_assert_msg(mallinfo2().uordblks == before, "%s: %zu bytes more", growing[_i],
	    mallinfo2().uordblks - before);
	arena_free(&a);
}
END_TEST

/* Builds a random expression from fragments of expressions. */
static void random_expression(struct rng *rng, char *to, size_t size)
{
	static const char *const parts[] = { "a", "b", "c", "ab", "_", " ", "1", ".",
		"*", "+", "?", "|", "(", ")", "(", ")", "[ab]", "[^a]", "[]a]", "[^]-]",
		"[a-c]", "[[:alpha:]]", "[[:digit:][:space:]]", "[a\\]", "[[.-.]a]",
		"[b-]", "{2}", "{1,2}", "{,2}", "{1,}", "{0}", "{0,}", "^", "$", "\\w",
		"\\W", "\\s", "\\S", "\\b", "\\B", "\\<", "\\>", "\\`", "\\'", "\\.",
		"\\\\", "\\n", "\\-" };
	size_t n = rng_next(rng) % 9 + 1, len = 0;

	for (size_t i = 0; i < n; i++)
		len += (size_t)snprintf(
		    to + len, size - len, "%s", parts[rng_next(rng) % N(parts)]);
}

/* Builds a random text without a line feed: the C library sometimes lets ^ match after
 * a line feed. */
static void random_text(struct rng *rng, char *to, size_t size)
{
	static const char bytes[] = "aabbc_ 1-]\\.n\t\v{A";
	size_t n = rng_next(rng) % (size - 1);

	for (size_t i = 0; i < n; i++)
		to[i] = bytes[rng_next(rng) % (sizeof(bytes) - 1)];
	to[n] = '\0';
}

/* Locus accepts exactly the random expressions that the C library accepts, and matches
 * as the library does. */
START_TEST(agrees_with_the_c_library)
{
	struct rng rng = rng_seed(20000 + (uint64_t)_i);
	size_t taken = 0;

	for (int round = 0; round < 2000; round++) {
		struct arena a = { 0 };
		const char *why = NULL;
		char re[200], text[24];
		const struct pattern *p;
		regex_t theirs;
		int e;

		random_expression(&rng, re, sizeof(re));
		p = pattern_compile(&a, re, &why);
		e = regcomp(&theirs, re, REG_EXTENDED | REG_NOSUB);
		ck_assert_msg(
		    (p != NULL) == (e == 0), "\"%s\": %s, regcomp says %d", re, why, e);
		for (int i = 0; p != NULL && i < 20; i++) {
			random_text(&rng, text, sizeof(text));
			ck_assert_msg(pattern_match(p, text) ==
					  (regexec(&theirs, text, 0, NULL, 0) == 0),
			    "\"%s\" and \"%s\": %d", re, text, pattern_match(p, text));
		}
		taken += p != NULL;
		if (e == 0)
			regfree(&theirs);
		arena_free(&a);
	}
	ck_assert_uint_gt(taken, 200);
}
END_TEST

START_TEST(long_texts_are_cut)
{
	struct arena a = { 0 };
	const char *why;
	const struct pattern *p = pattern_compile(&a, "b", &why);
	char text[5001];

	memset(text, 'a', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	text[4095] = 'b';
	ck_assert(pattern_match(p, text));
	text[4095] = 'a';
	text[4096] = 'b';
	ck_assert(!pattern_match(p, text));
	arena_free(&a);
}
END_TEST

UNIT_MAIN("pattern", {
	ADD_LOOP(refused_with_the_reason, N(refused));
	ADD_LOOP(matching_takes_no_memory, N(growing));
	ADD_LOOP(agrees_with_the_c_library, 10);
	ADD(long_texts_are_cut);
})
