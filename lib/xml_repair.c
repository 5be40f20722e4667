/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the tags with a stack of open elements. What follows an unclosed
 * element decides where it ends, so start tags look ahead.
 */
#include "lib/xml_repair.h"

#include <stdlib.h>
#include <string.h>
#include "lib/text.h"

enum { DEPTH_MOST = 64, MISTAKES_MOST = 1000 };

struct name {
	const char *p;
	size_t n;
};

struct tag {
	const char *at, *end; /* from "<" to behind ">" */
	struct name name;
	bool closing, empty; /* </x>, <x/> */
};

struct repair {
	struct arena *a;
	const char *path, *p, *end;
	int line;
	const char *const *containers;
	struct buf *out;
	struct xml_mistakes *bad;
	struct name open[DEPTH_MOST];
	size_t marks[DEPTH_MOST]; /* offset in out of the place of an attribute */
	size_t depth;
	bool root; /* the root element has begun */
	struct fail *f;
};

static void mistake(struct repair *r, char *text)
{
	if (r->bad->n < MISTAKES_MOST)
		PUSH(r->a, r->bad->v, r->bad->n,
		    r->bad->cap) = (struct xml_mistake){ r->line, text };
}

static bool same_name(struct name x, struct name y)
{
	return x.n == y.n && memcmp(x.p, y.p, x.n) == 0;
}

static bool name_char(char c)
{
	return text_alnum(c) || c == '_' || c == '-' || c == '.' || c == ':';
}

static bool name_begins(char c)
{
	return (text_alnum(c) && !(c >= '0' && c <= '9')) || c == '_';
}

/* Reads the tag at p, which ends at the latest where the next one begins. */
static bool tag_at(const struct repair *r, const char *p, struct tag *t)
{
	const char *q = p + 1;

	*t = (struct tag){ .at = p };
	if (p == r->end || *p != '<')
		return false;
	if (q < r->end && *q == '/') {
		t->closing = true;
		q++;
	}
	if (q == r->end || !name_begins(*q))
		return false;
	t->name.p = q;
	while (q < r->end && name_char(*q))
		q++;
	t->name.n = (size_t)(q - t->name.p);
	while (q < r->end && *q != '>' && *q != '<')
		q++;
	t->empty = q[-1] == '/' && !t->closing;
	t->end = q < r->end && *q == '>' ? q + 1 : q;
	return true;
}

/* Finds the next tag from p on; comments count as text. */
static bool next_tag(const struct repair *r, const char *p, struct tag *t)
{
	for (; p < r->end; p++)
		if (*p == '<' && tag_at(r, p, t))
			return true;
	return false;
}

/* Is the text blank but for comments? */
static bool blank_until(const char *p, const char *end)
{
	for (; p < end; p++) {
		if (text_begins(p, end, "<!--"))
			while (p < end && !text_begins(p, end, "-->"))
				p++;
		else if (!text_white(*p) && *p != '>' && *p != '-')
			return false;
	}
	return true;
}

/* Does the element that t begins end before the one that holds it? */
static bool is_closed(const struct repair *r, const struct tag *t)
{
	struct tag u;

	for (const char *p = t->end; next_tag(r, p, &u); p = u.end) {
		if (u.closing && same_name(u.name, t->name))
			return true;
		if (u.closing && r->depth > 0 &&
		    same_name(u.name, r->open[r->depth - 1]))
			return false;
	}
	return false;
}

static bool is_container(const struct repair *r, struct name name)
{
	for (const char *const *c = r->containers; *c != NULL; c++)
		if (same_name(name, (struct name){ *c, strlen(*c) }))
			return true;
	return false;
}

static void keep_lines(struct repair *r, const char *to)
{
	for (; r->p < to; r->p++)
		if (*r->p == '\n') {
			buf_put(r->out, "\n", 1);
			r->line++;
		}
}

static void put_tag(
    struct repair *r, struct name name, const char *before, const char *after)
{
	buf_puts(r->out, before);
	buf_put(r->out, name.p, name.n);
	buf_puts(r->out, after);
}

/* Closes the innermost element; marks it if its end tag is missing. */
static void close_top(struct repair *r, bool unclosed)
{
	static const char mark[] = " " XML_UNCLOSED "=\"1\"";

	r->depth--;
	put_tag(r, r->open[r->depth], "</", ">");
	if (unclosed) /* the place was left blank for it */
		memcpy(r->out->p + r->marks[r->depth], mark, sizeof(mark) - 1);
}

static void put_start(struct repair *r, struct name name)
{
	put_tag(r, name, "<", "");
	r->marks[r->depth] = r->out->n;
	r->open[r->depth++] = name;
	for (size_t i = 0; i < sizeof(" " XML_UNCLOSED "=\"1\"") - 1; i++)
		buf_put(r->out, " ", 1);
	buf_put(r->out, ">", 1);
}

/* Is it one of the five entities, or a number? */
static size_t entity_length(const struct repair *r, const char *p)
{
	static const char *const known[] = { "&amp;", "&lt;", "&gt;", "&quot;",
		"&apos;" };
	size_t n = 2;

	for (size_t i = 0; i < sizeof(known) / sizeof(known[0]); i++)
		if (text_begins(p, r->end, known[i]))
			return strlen(known[i]);
	if (!text_begins(p, r->end, "&#"))
		return 0;
	while (n < 9 && p + n < r->end && p[n] >= '0' && p[n] <= '9')
		n++;
	return n > 2 && p + n < r->end && p[n] == ';' && strtol(p + 2, NULL, 10) > 31 ?
	           n + 1 :
	           0;
}

/* Copies text up to the next tag, or up to to. */
static void mend_text(struct repair *r, const char *to)
{
	while (r->p < to) {
		unsigned char c = (unsigned char)*r->p;
		size_t n = c == '&' ? entity_length(r, r->p) : 1;

		if (c == '\n')
			r->line++;
		if (c == '<' || n == 0) {
			mistake(r, arena_printf(r->a, "\"%c\" must be written as %s", c,
				       c == '<' ? "&lt;" : "&amp;"));
			buf_puts(r->out, c == '<' ? "&lt;" : "&amp;");
			r->p++;
			continue;
		}
		if ((c < 32 && c != '\n' && c != '\t') || r->depth == 0)
			buf_put(r->out, c == '\n' ? "\n" : " ", 1);
		else
			buf_put(r->out, r->p, n);
		r->p += n;
	}
}

static const char *behind(const struct repair *r, const char *mark)
{
	for (const char *p = r->p; p < r->end; p++)
		if (text_begins(p, r->end, mark))
			return p + strlen(mark);
	return r->end;
}

/* Comments, instructions and CDATA sections; false if p is at none. */
static bool mend_special(struct repair *r)
{
	const char *to;

	if (text_begins(r->p, r->end, "<![CDATA[") && r->depth > 0) {
		to = behind(r, "]]>");
		for (const char *p = r->p; p < to; p++)
			r->line += *p == '\n';
		buf_put(r->out, r->p, (size_t)(to - r->p));
		if (!text_begins(to - 3, to, "]]>"))
			buf_puts(r->out, "]]>");
		r->p = to;
		return true;
	}
	if (text_begins(r->p, r->end, "<!--"))
		to = behind(r, "-->");
	else if (text_begins(r->p, r->end, "<?"))
		to = behind(r, "?>");
	else
		return false;
	if (to == r->end && to[-1] != '>')
		mistake(r, arena_printf(r->a, "a comment or instruction has no end"));
	keep_lines(r, to);
	return true;
}

static void mend_end(struct repair *r, const struct tag *t)
{
	size_t i = r->depth;

	keep_lines(r, t->end);
	while (i > 0 && !same_name(r->open[i - 1], t->name))
		i--;
	if (i == 0) {
		mistake(r, arena_printf(r->a, "</%.*s> ends nothing", (int)t->name.n,
			       t->name.p));
		return;
	}
	while (r->depth > i)
		close_top(r, true);
	close_top(r, false);
}

/* An element without an end tag: it has its text; a second <x> is its end. */
static void mend_unclosed(struct repair *r, const struct tag *t)
{
	struct tag next, then;
	bool more = next_tag(r, t->end, &next);

	put_start(r, t->name);
	keep_lines(r, t->end);
	mend_text(r, more ? next.at : r->end);
	if (more && !next.closing && same_name(next.name, t->name) &&
	    !(next_tag(r, next.end, &then) && then.closing &&
		same_name(then.name, t->name)))
		keep_lines(r, next.end);
	close_top(r, true);
}

static void mend_start(struct repair *r, const struct tag *t)
{
	struct tag next = { 0 };
	bool more = next_tag(r, t->end, &next), container = is_container(r, t->name);
	bool ended = more && next.closing && same_name(next.name, t->name);

	if (r->depth > 0 && same_name(r->open[r->depth - 1], t->name))
		close_top(r, true); /* no element holds one of its own name */
	r->root = true;
	if (t->empty) {
		put_start(r, t->name);
		keep_lines(r, t->end);
		close_top(r, false);
		return;
	}
	if (!ended && !container &&
	    (!is_closed(r, t) ||
		(more && !next.closing && !blank_until(t->end, next.at)))) {
		mend_unclosed(r, t);
		return;
	}
	put_start(r, t->name);
	keep_lines(r, t->end);
}

static enum err mend_tag(struct repair *r)
{
	struct tag t;

	if (text_begins(r->p, r->end, "<!DOCTYPE"))
		return FAIL(r->f, E_CONFIG, "%s:%d: a DOCTYPE is not allowed here",
		    r->path, r->line);
	if (mend_special(r))
		return OK;
	if (!tag_at(r, r->p, &t)) {
		mend_text(r, r->p + 1);
		return OK;
	}
	if (t.end[-1] != '>')
		mistake(r, arena_printf(r->a, "the tag <%.*s has no >", (int)t.name.n,
			       t.name.p));
	if (t.closing) {
		mend_end(r, &t);
		return OK;
	}
	if (r->depth == DEPTH_MOST)
		return FAIL(r->f, E_CONFIG, "%s:%d: elements are nested too deeply",
		    r->path, r->line);
	if (r->root && r->depth == 0) {
		mistake(r, arena_printf(r->a,
			       "<%.*s> follows the end of the document: it is not read",
			       (int)t.name.n, t.name.p));
		keep_lines(r, r->end);
		return OK;
	}
	mend_start(r, &t);
	return OK;
}

enum err xml_repair(struct arena *a, const char *path, const char *text, size_t n,
    const char *const *containers, struct buf *out, struct xml_mistakes *bad,
    struct fail *f)
{
	struct repair r = { .a = a,
		.path = path,
		.p = text,
		.end = text + n,
		.line = 1,
		.containers = containers,
		.out = out,
		.bad = bad,
		.f = f };

	while (r.p < r.end) {
		const char *lt = memchr(r.p, '<', (size_t)(r.end - r.p));

		mend_text(&r, lt == NULL ? r.end : lt);
		if (r.p < r.end)
			TRY(mend_tag(&r));
	}
	while (r.depth > 0)
		close_top(&r, true);
	return r.root ? OK : FAIL(f, E_CONFIG, "%s: there is no element", path);
}
