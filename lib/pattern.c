/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regcomp() of the C library behind a fence: what it compiles is the administrator's
 * text, what it is matched with is a stranger's.  Without back-references its matcher
 * does not backtrack, and with few steps its tables stay small.
 */
#include "lib/pattern.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 255, STEPS_MOST = 2000, ANCHOR_STEPS = 250 };

struct pattern {
	regex_t program;
	char *text;
	bool negated;
};

/* How often what stands before the { is repeated at most: "{a}", "{a,}", "{a,b}". */
static size_t
repetition(const char *brace)
{
	size_t most = 1;

	for (const char *p = brace + 1; *p != '\0' && *p != '}'; p++) {
		unsigned long n;
		char *end;

		if (!isdigit((unsigned char)*p))
			continue;
		n = strtoul(p, &end, 10);
		n = n < STEPS_MOST ? n : STEPS_MOST;
		most = n + 1 > most ? n + 1 : most;
		p = end - 1;
	}
	return most;
}

/* The ] of the list that begins at s, a [; the end of the text if there is none. */
static const char *
list_end(const char *s)
{
	s++;
	s += *s == '^';
	s += *s == ']';
	for (; *s != '\0' && *s != ']'; s++)
		if (*s == '[' && s[1] != '\0' && strchr(":.=", s[1]) != NULL) {
			const char close[] = { s[1], ']', '\0' };
			const char *end = strstr(s + 2, close);

			if (end == NULL)
				return s + strlen(s);
			s = end + 1;
		}
	return s;
}

/* ^ $ \b and their like: the library doubles what stands around one. */
static bool
is_anchor(const char *s)
{
	return *s == '^' || *s == '$' ||
	       (*s == '\\' && s[1] != '\0' && strchr("bB<>`'", s[1]) != NULL);
}

/*
 * The steps that the library makes of an expression: it copies what is repeated, for a
 * + as well, and copies again what holds copies.  STEPS_MOST + 1: too many.
 */
static size_t
steps(const char *s)
{
	size_t sum[TEXT_MOST + 1] = { 0 }; /* of the groups that are open */
	size_t depth = 0, last = 0;        /* last: what a repetition would repeat */

	for (; *s != '\0'; s++) {
		size_t times = *s == '{' ? repetition(s) : *s == '+' ? 2 : 1;

		if (times > 1) {
			sum[depth] += last * (times - 1);
			last *= times;
		} else if (*s == '(') {
			sum[++depth] = last = 0;
		} else if (*s == ')' && depth > 0) {
			last = sum[depth--] + 1;
			sum[depth] += last;
		} else if (*s == '*' || *s == '?') {
			last++, sum[depth]++;
		} else {
			last = is_anchor(s) ? ANCHOR_STEPS : 1;
			sum[depth] += last;
		}
		if (sum[depth] > STEPS_MOST)
			return STEPS_MOST + 1;
		if (*s == '\\' && s[1] != '\0')
			s++;
		else if (*s == '[')
			s = list_end(s);
		if (*s == '\0')
			break;
	}
	return sum[0];
}

/* NULL if it is fine. */
static const char *
refusal(const char *s)
{
	if (strlen(s) > TEXT_MOST)
		return "it is longer than 255 bytes";
	for (const char *p = s; (p = strchr(p, '\\')) != NULL && p[1] != '\0'; p += 2)
		if (isdigit((unsigned char)p[1]))
			return "back-references cost unbounded time";
	return steps(s) > STEPS_MOST ?
	           "it repeats too much, or has more than 8 anchors" :
	           NULL;
}

static void
release(void *program)
{
	regfree(program);
}

const struct pattern *
pattern_compile(struct arena *a, const char *text, const char **why)
{
	struct pattern *p = NEW(a, struct pattern);

	p->text = arena_strdup(a, text);
	p->negated = text[0] == '!';
	if (p->negated)
		text++;
	*why = refusal(text);
	if (*why == NULL && text[0] == '\0')
		*why = "it is empty";
	if (*why == NULL && regcomp(&p->program, text, REG_EXTENDED | REG_NOSUB) != 0)
		*why = "it is not an extended regular expression";
	if (*why != NULL)
		return NULL;
	arena_defer(a, release, &p->program);
	return p;
}

const char *
pattern_text(const struct pattern *p)
{
	return p->text;
}

bool
pattern_match(const struct pattern *p, const char *s)
{
	return (regexec(&p->program, s, 0, NULL, 0) == 0) != p->negated;
}
