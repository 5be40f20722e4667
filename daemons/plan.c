/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the plan of a generator command; pure text work. */
#include "daemons/plan.h"

#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "lib/banned.h"

enum { SUFFIX_MAX = 100, PLANNED_MAX = 10000 };

static bool
suffix_ok(const char *s)
{
	size_t n = strlen(s);

	for (const char *p = s; *p != '\0'; p++)
		if (!text_alnum(*p) && strchr("._+-", *p) == NULL)
			return false;
	return n >= 1 && n <= SUFFIX_MAX;
}

static bool
arguments_ok(const char *s)
{
	for (; *s != '\0'; s++)
		if (*s == '<' || (unsigned char)*s < ' ' || *s == 0x7f)
			return false;
	return true;
}

enum err
planned_check(const struct planned *p, struct fail *f)
{
	if (!suffix_ok(p->suffix))
		return FAIL(f, E_BADREQ,
		    "\"%.100s\" cannot end a workunit name; a suffix is 1 to %d letters, digits, . _ + -",
		    p->suffix, (int)SUFFIX_MAX);
	if (!arguments_ok(p->arguments))
		return FAIL(f, E_BADREQ,
		    "the arguments of %.100s contain control bytes or <", p->suffix);
	return OK;
}

static enum err
parse_line(char *line, int number, struct planned *p, struct fail *f)
{
	char *tab = strchr(line, '\t');

	if (tab != NULL)
		*tab = '\0';
	p->suffix = line;
	p->arguments = tab == NULL ? strchr(line, '\0') : tab + 1;
	if (!suffix_ok(p->suffix))
		return FAIL(f, E_BADREQ,
		    "line %d: \"%.100s\" cannot end a workunit name; a line is 1 to %d letters, digits, . _ + -, then a tab and the arguments",
		    number, p->suffix, (int)SUFFIX_MAX);
	if (!arguments_ok(p->arguments))
		return FAIL(f, E_BADREQ,
		    "line %d: arguments may not contain control bytes or <", number);
	return OK;
}

enum err
plan_parse(struct arena *a, const char *text, struct planned **out, size_t *n,
    bool *exhausted, struct fail *f)
{
	char *line = arena_strdup(a, text), *next;
	size_t cap = 0;

	*out = NULL;
	*n = 0;
	*exhausted = false;
	for (int number = 1; *line != '\0'; line = next, number++) {
		struct planned p;
		size_t len = strcspn(line, "\n");
		next = line + len + (line[len] == '\n');
		line[len] = '\0';
		if (len > 0 && line[len - 1] == '\r')
			line[len - 1] = '\0';
		if (strcmp(line, "exhausted") == 0) {
			*exhausted = true;
			continue;
		}
		if (line[0] == '\0')
			continue;
		if (*n >= PLANNED_MAX)
			return FAIL(f, E_BADREQ,
			    "line %d: more than %d workunits at once", number,
			    (int)PLANNED_MAX);
		TRY(parse_line(line, number, &p, f));
		PUSH(a, *out, *n, cap) = p;
	}
	return OK;
}
