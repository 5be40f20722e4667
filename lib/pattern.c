/* SPDX-License-Identifier: Apache-2.0 */
/*
 * regcomp() of the C library behind a fence: what it compiles is the administrator's
 * text, what it is matched with is a stranger's.  Without back-references its matcher
 * does not backtrack, and with few repetitions its tables stay small.
 */
#include "lib/pattern.h"

#include <ctype.h>
#include <regex.h>
#include <stdlib.h>
#include <string.h>

enum { TEXT_MOST = 255, REPEAT_MOST = 255 };

struct pattern {
	regex_t program;
	char *text;
	bool negated;
};

/* The larger number of "{a,b}" or "{a}" or "{a,}"; a wild one counts as too many. */
static unsigned long
repetition(const char *brace)
{
	unsigned long most = 1;

	for (const char *p = brace + 1; *p != '\0' && *p != '}'; p++) {
		unsigned long n;
		char *end;

		if (!isdigit((unsigned char)*p))
			continue;
		n = strtoul(p, &end, 10);
		most = n > most ? n : most;
		p = end - 1;
	}
	return most > REPEAT_MOST ? REPEAT_MOST + 1 : most;
}

/*
 * Nested repetitions multiply what the library must unroll; the product over the whole
 * text bounds that, however they are nested.  NULL if it is fine.
 */
static const char *
refusal(const char *s)
{
	unsigned long product = 1;

	if (strlen(s) > TEXT_MOST)
		return "it is longer than 255 bytes";
	for (; *s != '\0'; s++) {
		if (*s == '\\' && isdigit((unsigned char)s[1]))
			return "back-references cost unbounded time";
		if (*s == '\\' && s[1] != '\0')
			s++;
		else if (*s == '{' && (product *= repetition(s)) > REPEAT_MOST)
			return "it repeats more than 255 times in all";
	}
	return NULL;
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
