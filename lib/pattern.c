/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An expression is compiled to a program of a few hundred steps. Matching makes one
 * pass over the text with the set of all steps that may come next, so it takes at most
 * steps x bytes and no memory but its own stack, whatever the expression and the text.
 * The C library's matcher is no substitute: it caches every set of steps it meets, and
 * a stranger's text makes that cache grow without bound.
 */
#include "lib/pattern.h"

#include <string.h>
#include "lib/pattern_step.h"
#include "lib/banned.h"

enum { SUBJECT_MOST = 4096 };

const char *
pattern_text(const struct pattern *p)
{
	return p->text;
}

/* The steps that may come next, each once, in any order. */
struct next {
	uint16_t at[STEPS_MOST];
	size_t n;
};
struct matcher {
	const struct pattern *p;
	const char *s; /* the text */
	size_t i, end; /* current position, end of the text */
	/* bitmap of the steps already reached at this position */
	uint32_t met[STEPS_MOST / 32 + 1];
};

static bool
assertion_holds(const struct matcher *m, enum assertion as)
{
	bool before = m->i > 0 && is_word((unsigned char)m->s[m->i - 1]);
	bool after = m->i < m->end && is_word((unsigned char)m->s[m->i]);

	switch (as) {
	case AT_START:
		return m->i == 0;
	case AT_END:
		return m->i == m->end;
	case AT_WORD_START:
		return !before && after;
	case AT_WORD_END:
		return before && !after;
	case AT_EDGE:
		return before != after;
	case AT_NO_EDGE:
		return before == after;
	}
	return false;
}

static void
matcher_push(struct matcher *m, uint16_t *stack, size_t *n, size_t at)
{
	uint32_t bit = (uint32_t)1 << (at % 32);

	if ((m->met[at / 32] & bit) != 0)
		return;
	m->met[at / 32] |= bit;
	stack[(*n)++] = (uint16_t)at;
}

/*
 * Adds step `at` and every step reachable from it without reading a byte; true if the
 * expression's end is among them.
 */
static bool
matcher_follow(struct matcher *m, struct next *next, size_t at)
{
	uint16_t stack[STEPS_MOST];
	size_t n = 0;

	for (matcher_push(m, stack, &n, at); n > 0;) {
		const struct step *st = &m->p->steps[at = stack[--n]];

		switch ((enum op)st->op) {
		case OP_MATCH:
			return true;
		case OP_BYTE:
			next->at[next->n++] = (uint16_t)at;
			break;
		case OP_FORK:
			matcher_push(m, stack, &n, (size_t)((int)at + st->y));
			matcher_push(m, stack, &n, (size_t)((int)at + st->x));
			break;
		case OP_JUMP:
			matcher_push(m, stack, &n, (size_t)((int)at + st->x));
			break;
		case OP_ASSERT:
			if (assertion_holds(m, (enum assertion)st->arg))
				matcher_push(m, stack, &n, at + 1);
			break;
		}
	}
	return false;
}

static bool
matcher_search(const struct pattern *p, const char *s)
{
	struct matcher m = { .p = p, .s = s, .end = strnlen(s, SUBJECT_MOST) };
	struct next sets[2], *now = &sets[0], *next = &sets[1], *swap;

	now->n = 0;
	for (;;) {
		unsigned char b;

		if (matcher_follow(&m, now, 0)) /* a match may begin anywhere */
			return true;
		if (m.i == m.end)
			return false;
		b = (unsigned char)s[m.i++];
		memset(m.met, 0, sizeof(m.met));
		next->n = 0;
		for (size_t k = 0; k < now->n; k++)
			if (set_has(&p->sets[p->steps[now->at[k]].arg], b) &&
			    matcher_follow(&m, next, now->at[k] + 1U))
				return true;
		swap = now, now = next, next = swap;
	}
}

bool
pattern_match(const struct pattern *p, const char *s)
{
	return matcher_search(p, s) != p->negated;
}
