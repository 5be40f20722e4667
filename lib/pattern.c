/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An expression is compiled to a program of a few hundred steps. Matching makes one
 * pass over the text with the set of all steps that may come next, so it takes at most
 * steps x bytes and no memory but its own stack, whatever the expression and the text.
 * The C library's matcher is no substitute: it caches every set of steps it meets, and
 * a stranger's text makes that cache grow without bound.
 */
#include "lib/pattern.h"

#include <assert.h>
#include <string.h>
#include "lib/pattern_step.h"
#include "lib/banned.h"

/*
 * Compiles the text of an expression to steps: a recursive descent that emits steps as
 * it reads and copies the steps of a repetition. Accepts and refuses the same
 * expressions as the C library's regcomp(), except for back-references and size.
 */

enum { TEXT_MOST = 255, REPEAT_MOST = 32767 };

struct compiler {
	const char *s; /* rest of the text */
	struct step step[STEPS_MOST],
	    once[STEPS_MOST]; /* once: steps of the repetition being copied */
	struct set set[TEXT_MOST];
	size_t n, nsets;
	int open; /* open groups */
	const char *why;
};

static bool pattern_refuse(struct compiler *c, const char *why)
{
	if (c->why == NULL)
		c->why = why;
	return false;
}

static bool pattern_has_room(struct compiler *c, size_t n)
{
	return n <= STEPS_MOST - c->n ||
	       pattern_refuse(c,
		   "it repeats too much and takes more than 2000 steps: repeat less, or split it into several expressions");
}

static struct step step_make(enum op op, int arg, int x, int y)
{
	return (struct step){ (uint8_t)op, (uint8_t)arg, (int16_t)x, (int16_t)y };
}

static bool emit(struct compiler *c, struct step st)
{
	if (!pattern_has_room(c, 1))
		return false;
	c->step[c->n++] = st;
	return true;
}

/* Inserts a step before those from `at` on, whose jumps stay among themselves. */
static bool emit_before(struct compiler *c, size_t at, struct step st)
{
	if (!pattern_has_room(c, 1))
		return false;
	memmove(&c->step[at + 1], &c->step[at], (c->n - at) * sizeof(*c->step));
	c->step[at] = st;
	c->n++;
	return true;
}

static void set_add(struct set *s, unsigned char b)
{
	s->has[b / 32] |= (uint32_t)1 << (b % 32);
}

/* Inverts the set over all bytes but NUL. */
static void set_invert(struct set *s)
{
	for (size_t i = 0; i < N(s->has); i++)
		s->has[i] = ~s->has[i];
	s->has[0] &= ~(uint32_t)1;
}

static bool is_upper(unsigned b)
{
	return b >= 'A' && b <= 'Z';
}
static bool is_lower(unsigned b)
{
	return b >= 'a' && b <= 'z';
}
static bool is_alpha(unsigned b)
{
	return is_upper(b) || is_lower(b);
}
static bool is_digit(unsigned b)
{
	return b >= '0' && b <= '9';
}
static bool is_xdigit(unsigned b)
{
	return is_digit(b) || (b >= 'a' && b <= 'f') || (b >= 'A' && b <= 'F');
}
static bool is_alnum(unsigned b)
{
	return is_alpha(b) || is_digit(b);
}
static bool is_space(unsigned b)
{
	return b == ' ' || (b >= '\t' && b <= '\r');
}
static bool is_blank(unsigned b)
{
	return b == ' ' || b == '\t';
}
static bool is_print(unsigned b)
{
	return b >= ' ' && b <= '~';
}
static bool is_graph(unsigned b)
{
	return b > ' ' && b <= '~';
}
static bool is_punct(unsigned b)
{
	return is_graph(b) && !is_alnum(b);
}
static bool is_cntrl(unsigned b)
{
	return b < ' ' || b == 0x7f;
}

static void set_add_all(struct set *s, bool (*of)(unsigned))
{
	for (unsigned b = 1; b < 256; b++)
		if (of(b))
			set_add(s, (unsigned char)b);
}

static bool emit_set(struct compiler *c, const struct set *s)
{
	assert(c->nsets < N(c->set));
	c->set[c->nsets] = *s;
	return emit(c, step_make(OP_BYTE, (int)c->nsets++, 0, 0));
}

/* Parses [:alpha:] and its like; c->s is behind the "[:". */
static bool parse_class(struct compiler *c, struct set *s)
{
	static const struct {
		const char *name;
		bool (*has)(unsigned);
	} classes[] = {
		{ "alpha:]", is_alpha },
		{ "digit:]", is_digit },
		{ "alnum:]", is_alnum },
		{ "upper:]", is_upper },
		{ "lower:]", is_lower },
		{ "space:]", is_space },
		{ "blank:]", is_blank },
		{ "punct:]", is_punct },
		{ "print:]", is_print },
		{ "graph:]", is_graph },
		{ "cntrl:]", is_cntrl },
		{ "xdigit:]", is_xdigit },
	};

	for (size_t i = 0; i < N(classes); i++)
		if (strncmp(c->s, classes[i].name, strlen(classes[i].name)) == 0) {
			set_add_all(s, classes[i].has);
			c->s += strlen(classes[i].name);
			return true;
		}
	return pattern_refuse(c, "[: must name a character class, such as [:digit:]");
}

/* Parses one byte of a list, possibly as [.x.] or [=x=]. */
static bool parse_list_byte(struct compiler *c, unsigned char *b)
{
	if (c->s[0] == '[' && (c->s[1] == '.' || c->s[1] == '=')) {
		if (c->s[2] == '\0' || c->s[3] != c->s[1] || c->s[4] != ']')
			return pattern_refuse(
			    c, "[. and [= must hold one character, as in [.-.]");
		*b = (unsigned char)c->s[2];
		c->s += 5;
		return true;
	}
	if (*c->s == '\0')
		return pattern_refuse(c, "a [ has no ]");
	*b = (unsigned char)*c->s++;
	return true;
}

/* Parses a byte or a range of a list. */
static bool parse_list_range(struct compiler *c, struct set *s)
{
	unsigned char from, to;

	if (!parse_list_byte(c, &from))
		return false;
	to = from;
	if (c->s[0] == '-' && c->s[1] != ']' && c->s[1] != '\0') {
		c->s++;
		if (c->s[0] == '[' && c->s[1] == ':')
			return pattern_refuse(c, "a range cannot end with a class");
		if (!parse_list_byte(c, &to))
			return false;
		if (to < from)
			return pattern_refuse(
			    c, "a range in [ ] ends before it begins");
	}
	for (unsigned b = from; b <= to; b++)
		set_add(s, (unsigned char)b);
	return true;
}

/* Parses a bracket expression; c->s is behind the "[". */
static bool parse_list(struct compiler *c)
{
	struct set s = { 0 };
	bool invert = *c->s == '^';
	const char *first;

	c->s += invert;
	for (first = c->s; *c->s != ']' || c->s == first;) {
		if (*c->s == '\0')
			return pattern_refuse(c, "a [ has no ]");
		if (c->s[0] == '[' && c->s[1] == ':') {
			c->s += 2;
			if (!parse_class(c, &s))
				return false;
		} else if (!parse_list_range(c, &s)) {
			return false;
		}
	}
	c->s++;
	if (invert)
		set_invert(&s);
	return emit_set(c, &s);
}

static bool emit_class(struct compiler *c, bool (*of)(unsigned), bool invert)
{
	struct set s = { 0 };

	set_add_all(&s, of);
	if (invert)
		set_invert(&s);
	return emit_set(c, &s);
}

static bool emit_byte(struct compiler *c, char b)
{
	struct set s = { 0 };

	set_add(&s, (unsigned char)b);
	return emit_set(c, &s);
}

/* Sets *anchor if nothing may repeat the result. */
static bool parse_escape(struct compiler *c, bool *anchor)
{
	static const char anchors[] = "`'<>bB";
	static const enum assertion as[] = { AT_START, AT_END, AT_WORD_START,
		AT_WORD_END, AT_EDGE, AT_NO_EDGE };
	char b = *c->s;
	const char *a = b == '\0' ? NULL : strchr(anchors, b);

	if (b == '\0')
		return pattern_refuse(
		    c, "it ends with a \\; write \\\\ for a backslash");
	if (is_digit((unsigned char)b))
		return pattern_refuse(c, "back-references take unbounded time");
	c->s++;
	*anchor = a != NULL;
	if (a != NULL)
		return emit(c, step_make(OP_ASSERT, (int)as[a - anchors], 0, 0));
	if (b == 'w' || b == 'W')
		return emit_class(c, is_word, b == 'W');
	if (b == 's' || b == 'S')
		return emit_class(c, is_space, b == 'S');
	return emit_byte(c, b);
}

static bool parse_alternatives(struct compiler *);

/* Parses what a repetition operator applies to. */
static bool parse_atom(struct compiler *c, bool *anchor)
{
	char b = *c->s++;

	*anchor = b == '^' || b == '$';
	switch (b) {
	case '^':
		return emit(c, step_make(OP_ASSERT, AT_START, 0, 0));
	case '$':
		return emit(c, step_make(OP_ASSERT, AT_END, 0, 0));
	case '.': {
		struct set none = { 0 };
		set_invert(&none);
		return emit_set(c, &none);
	}
	case '[':
		return parse_list(c);
	case '(':
		c->open++;
		if (!parse_alternatives(c))
			return false;
		if (*c->s != ')')
			return pattern_refuse(c, "a ( has no )");
		c->s++;
		c->open--;
		return true;
	case '\\':
		return parse_escape(c, anchor);
	case '*':
	case '+':
	case '?':
	case '{':
		return pattern_refuse(c,
		    "a * + ? or { has nothing to repeat; put a \\ before it to match the character itself");
	default:
		return emit_byte(c, b);
	}
}

/* Parses {m}, {m,}, {,n} and {m,n}; c->s is behind the "{". *most = -1: unbounded. */
static bool parse_bounds(struct compiler *c, int *least, int *most)
{
	int *to = least, digits = 0;

	*least = *most = 0;
	for (;; c->s++) {
		if (is_digit((unsigned char)*c->s)) {
			*to = *to * 10 + (*c->s - '0');
			digits++;
			if (*to > REPEAT_MOST)
				return pattern_refuse(
				    c, "a { repeats more than 32767 times");
		} else if (*c->s == ',' && to == least) {
			to = most;
			digits = 0;
			if (c->s[1] == '}')
				*most = -1;
		} else {
			break;
		}
	}
	if (*c->s != '}' || (to == least && digits == 0))
		return pattern_refuse(c,
		    "a { does not begin a repetition such as {2} or {2,5}; write \\{ for the character itself");
	c->s++;
	if (to == least)
		*most = *least;
	return *most == -1 || *least <= *most ||
	       pattern_refuse(c, "a repetition {m,n} has m above n");
}

/* Appends a copy of the n steps at `from`. */
static bool emit_copy(struct compiler *c, const struct step *from, int n)
{
	if (!pattern_has_room(c, (size_t)n))
		return false;
	memcpy(&c->step[c->n], from, (size_t)n * sizeof(*from));
	c->n += (size_t)n;
	return true;
}

/*
 * Repeats the steps from `at` on, at least `least` times and at most `most` times; -1 =
 * unbounded.
 */
static bool emit_repeat(struct compiler *c, size_t at, int least, int most)
{
	const struct step *once = c->once;
	int n = (int)(c->n - at);

	memcpy(c->once, &c->step[at], (size_t)n * sizeof(*once));
	c->n = at;
	for (int i = 0; i < least && n > 0; i++)
		if (!emit_copy(c, once, n))
			return false;
	if (most == -1 && least > 0) /* loops over the last copy */
		return emit(c, step_make(OP_FORK, 0, -n, 1));
	if (most == -1)
		return emit_copy(c, once, n) &&
		       emit_before(c, at, step_make(OP_FORK, 0, 1, n + 2)) &&
		       emit(c, step_make(OP_JUMP, 0, -n - 1, 0));
	for (int i = least; i < most && n > 0; i++) {
		int rest = (most - i) * (n + 1); /* REPEAT_MOST x STEPS_MOST fits */

		if (!pattern_has_room(c, (size_t)rest) ||
		    !emit(c, step_make(OP_FORK, 0, 1, rest)) || !emit_copy(c, once, n))
			return false;
	}
	return true;
}

static bool parse_piece(struct compiler *c)
{
	size_t at = c->n;
	bool anchor;

	if (!parse_atom(c, &anchor))
		return false;
	while (!anchor && *c->s != '\0' && strchr("*+?{", *c->s) != NULL) {
		int least = 0, most = -1;
		char b = *c->s++;

		if (b == '+')
			least = 1;
		else if (b == '?')
			most = 1;
		else if (b == '{' && !parse_bounds(c, &least, &most))
			return false;
		if (!emit_repeat(c, at, least, most))
			return false;
	}
	return true;
}

static bool parse_alternatives(struct compiler *c)
{
	size_t at = c->n, n, jump;

	/* A ) that closes no group stands for itself. */
	while (*c->s != '\0' && *c->s != '|' && (*c->s != ')' || c->open == 0))
		if (!parse_piece(c))
			return false;
	if (*c->s != '|')
		return true;
	c->s++;
	n = c->n - at;
	if (!emit_before(c, at, step_make(OP_FORK, 0, 1, (int)n + 2)) ||
	    !emit(c, step_make(OP_JUMP, 0, 0, 0)))
		return false;
	jump = c->n - 1;
	if (!parse_alternatives(c))
		return false;
	c->step[jump].x = (int16_t)(c->n - jump);
	return true;
}

const struct pattern *pattern_compile(
    struct arena *a, const char *text, const char **why)
{
	struct pattern *p = NEW(a, struct pattern);
	struct compiler c = { .s = text };

	p->text = arena_strdup(a, text);
	p->negated = text[0] == '!';
	c.s += p->negated;
	if (*c.s == '\0')
		pattern_refuse(&c, "it is empty");
	else if (strlen(c.s) > TEXT_MOST)
		pattern_refuse(&c, "it is longer than 255 bytes");
	else if (parse_alternatives(&c))
		emit(&c, step_make(OP_MATCH, 0, 0, 0));
	*why = c.why;
	if (c.why != NULL)
		return NULL;
	p->n = c.n;
	p->steps = arena_memdup(a, c.step, c.n * sizeof(*c.step));
	p->sets = arena_memdup(a, c.set, c.nsets * sizeof(*c.set));
	return p;
}

enum { SUBJECT_MOST = 4096 };

const char *pattern_text(const struct pattern *p)
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

static bool assertion_holds(const struct matcher *m, enum assertion as)
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

static void matcher_push(struct matcher *m, uint16_t *stack, size_t *n, size_t at)
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
static bool matcher_follow(struct matcher *m, struct next *next, size_t at)
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

static bool matcher_search(const struct pattern *p, const char *s)
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

bool pattern_match(const struct pattern *p, const char *s)
{
	return matcher_search(p, s) != p->negated;
}
