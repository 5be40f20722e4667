/* SPDX-License-Identifier: Apache-2.0 */
/* Steps from tag to tag and keeps the open elements as a chain of parents. */
#include "lib/xml_span.h"

#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

struct scan {
	struct arena *a;
	const char *text, *p, *end;
	const char *counted; /* lines are counted up to here */
	int line;
	struct xml_span *v;
	size_t n, cap;
	size_t open; /* innermost open element */
	struct fail *f;
};

static int
line_at(struct scan *s, const char *p)
{
	for (; s->counted < p; s->counted++)
		s->line += *s->counted == '\n';
	return s->line;
}

static enum err
refuse_tag(struct scan *s, const char *at, const char *why)
{
	return FAIL(s->f, E_BADREQ, "line %d: %s", line_at(s, at), why);
}

/* Skips what is not a tag; false if p is at one. */
static enum err
skip_markup(struct scan *s, bool *skipped)
{
	static const struct {
		const char *begin, *end;
	} kinds[] = { { "<!--", "-->" }, { "<![CDATA[", "]]>" }, { "<?", "?>" } };

	*skipped = false;
	for (size_t i = 0; i < N(kinds); i++) {
		size_t n = strlen(kinds[i].begin);
		const char *e;

		if (!text_begins(s->p, s->end, kinds[i].begin))
			continue;
		e = memmem(s->p + n, (size_t)(s->end - s->p) - n, kinds[i].end,
		    strlen(kinds[i].end));
		if (e == NULL)
			return refuse_tag(s, s->p, "a comment or section has no end");
		s->p = e + strlen(kinds[i].end);
		*skipped = true;
		return OK;
	}
	if (text_begins(s->p, s->end, "<!"))
		return refuse_tag(s, s->p, "a DOCTYPE is not allowed here");
	return OK;
}

static bool
begins_tag(const struct scan *s)
{
	const char *name = s->p + 1 + (s->p + 1 < s->end && s->p[1] == '/');

	return name < s->end && (text_alnum(*name) || strchr("_:", *name) != NULL ||
				    (unsigned char)*name >= 128);
}

/* Returns the ">" of the tag at p, which an attribute's value may contain, too. */
static const char *
tag_end(const struct scan *s)
{
	char quote = '\0';

	for (const char *p = s->p; p < s->end; p++) {
		if (quote != '\0')
			quote = *p == quote ? '\0' : quote;
		else if (*p == '"' || *p == '\'')
			quote = *p;
		else if (*p == '>')
			return p;
	}
	return NULL;
}

static enum err
close_tag(struct scan *s, const char *gt)
{
	const char *name = s->p + 2;
	struct xml_span *e;
	size_t n;

	if (s->open == XML_SPAN_NONE)
		return refuse_tag(s, s->p, "an end tag without a start tag");
	e = &s->v[s->open];
	n = strlen(e->name);
	if ((size_t)(gt - name) < n || memcmp(name, e->name, n) != 0 ||
	    (name[n] != '>' && !text_white(name[n])))
		return refuse_tag(
		    s, s->p, arena_printf(s->a, "</%s> is missing before it", e->name));
	e->inner_end = (size_t)(s->p - s->text);
	e->end = (size_t)(gt + 1 - s->text);
	s->open = e->parent;
	return OK;
}

static void
open_tag(struct scan *s, const char *gt)
{
	const char *name = s->p + 1;
	size_t n = 0, after = (size_t)(gt + 1 - s->text);

	while (name + n < gt && !text_white(name[n]) && name[n] != '/')
		n++;
	PUSH(s->a, s->v, s->n,
	    s->cap) = (struct xml_span){ .name = arena_memdup(s->a, name, n),
		.at = (size_t)(s->p - s->text),
		.end = after,
		.inner = after,
		.inner_end = after,
		.parent = s->open,
		.line = line_at(s, s->p),
		.empty = gt[-1] == '/' };
	if (gt[-1] != '/')
		s->open = s->n - 1;
}

enum err
xml_spans(struct arena *a, const char *text, size_t n, struct xml_span **spans,
    size_t *count, struct fail *f)
{
	struct scan s = { .a = a,
		.text = text,
		.p = text,
		.end = text + n,
		.counted = text,
		.line = 1,
		.open = XML_SPAN_NONE,
		.f = f };

	while ((s.p = memchr(s.p, '<', (size_t)(s.end - s.p))) != NULL) {
		const char *gt;
		bool skipped;

		TRY(skip_markup(&s, &skipped));
		if (skipped)
			continue;
		if (!begins_tag(&s))
			return refuse_tag(&s, s.p,
			    "a \"<\" that begins no tag must be written as &lt;");
		gt = tag_end(&s);
		if (gt == NULL)
			return refuse_tag(&s, s.p, "a tag has no \">\"");
		if (s.p[1] == '/')
			TRY(close_tag(&s, gt));
		else
			open_tag(&s, gt);
		s.p = gt + 1;
	}
	if (s.open != XML_SPAN_NONE)
		return refuse_tag(&s, s.end,
		    arena_printf(a, "<%s> has no end tag", s.v[s.open].name));
	*spans = s.v;
	*count = s.n;
	return OK;
}
