/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composes text for rules, without the C library's formatted output. Short, because
 * rules may not need more of the C library.
 */
#include "rules/say.h"

#include <assert.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>
#include "lib/banned.h"

struct say say_new(struct arena *a)
{
	return (struct say){ .a = a, .p = arena_strdup(a, ""), .n = 0, .cap = 1 };
}

static void say_put(struct say *s, const char *p, size_t n)
{
	if (s->n + n + 1 > s->cap) {
		size_t cap = 2 * (s->n + n + 1);
		char *bigger = arena_alloc(s->a, cap);

		memcpy(bigger, s->p, s->n);
		s->p = bigger;
		s->cap = cap;
	}
	memcpy(s->p + s->n, p, n);
	s->n += n;
	s->p[s->n] = '\0';
}

void say_str(struct say *s, const char *text)
{
	if (text != NULL)
		say_put(s, text, strlen(text));
}

/* Appends the digits of u, at least min of them. */
static void say_put_digits(struct say *s, uint64_t u, int min)
{
	char d[20];
	size_t i = sizeof(d);

	do {
		d[--i] = (char)('0' + u % 10);
		u /= 10;
		min--;
	} while (u > 0 || min > 0);
	say_put(s, d + i, sizeof(d) - i);
}

void say_int(struct say *s, int64_t x)
{
	if (x < 0)
		say_put(s, "-", 1);
	say_put_digits(s, x < 0 ? -(uint64_t)x : (uint64_t)x, 1);
}

void say_fixed(struct say *s, double x, int decimals)
{
	uint64_t unit = 1, u;
	double most = 9e18, scaled;

	assert(decimals >= 0 && decimals <= 6);
	for (int i = 0; i < decimals; i++)
		unit *= 10;
	scaled = floor(fabs(x) * (double)unit + 0.5);
	u = scaled < most ? (uint64_t)scaled : (uint64_t)most; /* also catches NaN */
	if (x < 0 && u > 0)
		say_put(s, "-", 1);
	say_put_digits(s, u / unit, 1);
	if (decimals > 0) {
		say_put(s, ".", 1);
		say_put_digits(s, u % unit, decimals);
	}
}

void say_size(struct say *s, double bytes)
{
	static const char *const units[] = { " bytes", " kB", " MB", " GB", " TB" };
	size_t u = 0;

	while (bytes >= 999.95 && u + 1 < N(units)) {
		bytes /= 1000;
		u++;
	}
	say_fixed(s, bytes, u == 0 ? 0 : 1);
	say_str(s, units[u]);
}
