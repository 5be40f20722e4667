/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pass over the bytes with a stack of open elements.  What looks like a tag is one,
 * except after text in an element that ends on the same line: names of hosts and
 * devices are sent unescaped (wire.md 10.2).  Searches that failed once are not
 * repeated, so that no input costs more than linear time.
 */
#include "proto/normalise.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "lib/banned.h"

enum {
	DEPTH_MAX = 24,
	NAME_MAX_BYTES = 128,
	LINE_MAX_BYTES = 2112, /* the longest string sent unescaped, and its end tag */
	TEXT_MAX = 1 << 20,    /* of one run of text; no field takes more */
	RULES_MAX = 24,
};

struct tag {
	const char *name, *attr, *next; /* next: behind the > */
	size_t n, attr_n;
	bool closing, empty;
};
struct open {
	const char *name;
	size_t n;
	size_t span;          /* side table index from 1; 0 = none */
	bool text, child;     /* has text that is not blank; has elements */
	const char *searched; /* no own end tag up to here */
};
struct scan {
	struct arena *a;
	const char *p, *end;
	const struct raw_rule *rules;
	bool endless[RULES_MAX]; /* no end tag of that rule from here on */
	bool no_comment_end, no_cdata_end, no_pi_end;
	struct open stack[DEPTH_MAX];
	size_t depth;
	size_t raws_cap;
	struct normal *out;
};

/* --- characters --- */

static bool
blank(char c)
{
	return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool
name_start(char c)
{
	return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool
name_char(char c)
{
	return name_start(c) || (c >= '0' && c <= '9') || c == '.' || c == '-';
}

static bool
starts(const char *p, const char *end, const char *with)
{
	size_t n = strlen(with);

	return (size_t)(end - p) >= n && memcmp(p, with, n) == 0;
}

static bool
is(const char *name, size_t n, const char *s)
{
	return strlen(s) == n && memcmp(name, s, n) == 0;
}

/*
 * A reference that clients know (wire.md 0.3), p at its &: its length, and the byte
 * that it stands for.  0 if it is none.
 */
static size_t
reference(const char *p, const char *end, unsigned char *byte)
{
	static const struct {
		const char *text;
		unsigned char byte;
	} known[] = {
		{ "&lt;", '<' },
		{ "&gt;", '>' },
		{ "&amp;", '&' },
		{ "&quot;", '"' },
		{ "&apos;", '\'' },
		{ "&#xD;", '\r' },
		{ "&#xd;", '\r' },
		{ "&#xA;", '\n' },
		{ "&#xa;", '\n' },
	};
	unsigned v = 0;
	size_t i = 2;

	for (size_t k = 0; k < N(known); k++) {
		if (starts(p, end, known[k].text)) {
			*byte = known[k].byte;
			return strlen(known[k].text);
		}
	}
	if (!starts(p, end, "&#"))
		return 0;
	for (; p + i < end && p[i] >= '0' && p[i] <= '9' && i < 8; i++)
		v = v * 10 + (unsigned)(p[i] - '0');
	if (i == 2 || p + i == end || p[i] != ';' || v > 255)
		return 0;
	*byte = (unsigned char)v;
	return i + 1;
}

/* Text as XML; what is no legal character is dropped. */
static void
put_byte(struct buf *b, unsigned char c)
{
	if (c == '<')
		buf_puts(b, "&lt;");
	else if (c == '>')
		buf_puts(b, "&gt;");
	else if (c == '&')
		buf_puts(b, "&amp;");
	else if (c == '\r')
		buf_puts(b, "&#13;"); /* libxml2 would make it a line feed */
	else if (c >= ' ' || c == '\t' || c == '\n')
		buf_put(b, &c, 1);
}

static bool
plain(char ch)
{
	unsigned char c = (unsigned char)ch;

	return (c >= ' ' || c == '\t' || c == '\n') && c != '<' && c != '>' && c != '&';
}

static void
put_text(struct scan *s, const char *p, size_t n, bool references)
{
	struct buf *b = &s->out->text;
	const char *end = p + n, *from;
	unsigned char c;
	size_t len;

	if (n > TEXT_MAX) {
		end = p + TEXT_MAX;
		s->out->repairs++;
	}
	while (p < end) {
		for (from = p; p < end && plain(*p);)
			p++;
		buf_put(b, from, (size_t)(p - from));
		if (p == end)
			break;
		len = *p == '&' && references ? reference(p, end, &c) : 0;
		if (len == 0) {
			c = (unsigned char)*p;
			len = 1;
			s->out->repairs += c != '>' && c != '\r' && references;
		}
		put_byte(b, c);
		p += len;
	}
}

/* --- tags --- */

/* Reads what may be a tag at p (a <); false if it is none. */
static bool
tag_read(const char *p, const char *end, struct tag *t)
{
	const char *q = p + 1;

	*t = (struct tag){ 0 };
	if (q < end && *q == '/') {
		t->closing = true;
		q++;
	}
	t->name = q;
	if (q == end || !name_start(*q))
		return false;
	while (q < end && name_char(*q) && q - t->name <= NAME_MAX_BYTES)
		q++;
	t->n = (size_t)(q - t->name);
	if (q == end || t->n > NAME_MAX_BYTES ||
	    !(blank(*q) || *q == '>' || (*q == '/' && q + 1 < end && q[1] == '>')))
		return false;
	t->attr = q;
	while (q < end && *q != '>' && *q != '<' && q - p < LINE_MAX_BYTES)
		q++;
	if (q == end || *q != '>')
		return false;
	t->empty = q[-1] == '/' && !t->closing;
	t->attr_n = (size_t)(q - t->attr) - (t->empty ? 1 : 0);
	t->next = q + 1;
	return true;
}

static struct open *
top(struct scan *s)
{
	return s->depth == 0 ? NULL : &s->stack[s->depth - 1];
}

static void
put_open(struct scan *s, const char *name, size_t n, bool empty)
{
	buf_put(&s->out->text, "<", 1);
	buf_put(&s->out->text, name, n);
	buf_puts(&s->out->text, empty ? "/>" : ">");
}

static void
put_close(struct scan *s, const char *name, size_t n)
{
	buf_puts(&s->out->text, "</");
	buf_put(&s->out->text, name, n);
	buf_put(&s->out->text, ">", 1);
}

/* p is no markup: it stands for itself. */
static void
stray(struct scan *s)
{
	put_text(s, s->p, 1, true);
	s->p++;
	top(s)->text = true;
}

/* Closes the innermost element; whole: its own end tag, ending at behind, was found. */
static void
pop(struct scan *s, bool whole, const char *behind)
{
	struct open *o = top(s);

	if (o->span > 0 && whole) {
		struct raw *r = &s->out->raws[o->span - 1];
		r->n = (size_t)(behind - r->p);
		buf_printf(&s->out->text, "<raw>%zu</raw>", o->span);
	}
	put_close(s, o->name, o->n);
	s->depth--;
}

static void
close_tag(struct scan *s, const struct tag *t)
{
	size_t d = s->depth;

	while (d > 0 && !(s->stack[d - 1].n == t->n &&
			    memcmp(s->stack[d - 1].name, t->name, t->n) == 0))
		d--;
	if (d == 0) {
		stray(s);
		return;
	}
	s->out->repairs += (uint32_t)(s->depth - d);
	while (s->depth > d)
		pop(s, false, NULL);
	pop(s, true, t->next);
	s->p = t->next;
}

/* --- raw regions --- */

static const struct raw_rule *
rule_for(const struct scan *s, const struct tag *t)
{
	const struct open *o = &s->stack[s->depth - 1];

	for (const struct raw_rule *r = s->rules; r->tag != NULL; r++)
		if (is(t->name, t->n, r->tag) && is(o->name, o->n, r->parent))
			return r;
	return NULL;
}

static struct raw *
raw_new(struct scan *s, const struct raw_rule *rule, const struct tag *t)
{
	struct raw r = { .rule = rule, .attr = t->attr, .attr_n = t->attr_n };

	PUSH(s->a, s->out->raws, s->out->nraws, s->raws_cap) = r;
	return &s->out->raws[s->out->nraws - 1];
}

/* Cuts the region that t opens; false if it never ends. */
static bool
cut(struct scan *s, const struct raw_rule *rule, const struct tag *t)
{
	char close[NAME_MAX_BYTES + 4] = "</";
	bool *endless = &s->endless[rule - s->rules];
	size_t n = strlen(rule->tag);
	struct buf *b = &s->out->text;
	const char *to = NULL;
	struct raw *r;

	if (*endless)
		return false;
	memcpy(close + 2, rule->tag, n);
	close[2 + n] = '>';
	n += 3;
	to = memmem(t->next, (size_t)(s->end - t->next), close, n);
	if (to == NULL) {
		*endless = true;
		return false;
	}
	r = raw_new(s, rule, t);
	r->p = t->next;
	r->n = (size_t)(to - t->next);
	if (rule->use == RAW_INDEX)
		buf_printf(b, "<%s>%zu</%s>", rule->tag, s->out->nraws, rule->tag);
	else if (rule->use == RAW_ITEM)
		buf_printf(
		    b, "<%s><raw>%zu</raw></%s>", rule->tag, s->out->nraws, rule->tag);
	s->p = to + n;
	return true;
}

static void
open_tag(struct scan *s, const struct tag *t)
{
	const struct raw_rule *rule = rule_for(s, t);

	top(s)->child = true;
	if (t->empty) {
		put_open(s, t->name, t->n, true);
		s->p = t->next;
		return;
	}
	if (rule != NULL && rule->use != RAW_SPAN) {
		if (!cut(s, rule, t))
			stray(s);
		return;
	}
	if (s->depth == DEPTH_MAX) {
		stray(s);
		return;
	}
	put_open(s, t->name, t->n, false);
	s->stack[s->depth++] = (struct open){ .name = t->name, .n = t->n };
	if (rule != NULL) {
		raw_new(s, rule, t)->p = s->p;
		top(s)->span = s->out->nraws;
	}
	s->p = t->next;
}

/* --- the rest of XML --- */

/* Something from s->p to the first `to`, dropped or, if CDATA, text; false if endless.
 */
static bool
section(struct scan *s, const char *from, const char *to, bool *endless, bool cdata)
{
	const char *p = s->p + strlen(from), *q;

	if (*endless || !starts(s->p, s->end, from))
		return false;
	q = memmem(p, (size_t)(s->end - p), to, strlen(to));
	if (q == NULL) {
		*endless = true;
		return false;
	}
	if (cdata)
		put_text(s, p, (size_t)(q - p), false);
	s->p = q + strlen(to);
	return true;
}

/* The end of the line that s->p is in, not looking further than a string can be. */
static const char *
line_end(const struct scan *s)
{
	size_t room = (size_t)(s->end - s->p);
	const char *nl;

	if (room > LINE_MAX_BYTES)
		room = LINE_MAX_BYTES;
	nl = memchr(s->p, '\n', room);
	return nl == NULL ? s->p + room : nl;
}

/* After text, an element that ends on this line holds text only. */
static bool
rest_is_text(struct scan *s)
{
	char close[NAME_MAX_BYTES + 4];
	struct open *o = top(s);
	size_t n = o->n + 3;
	const char *from = s->p, *end, *q;

	if (!o->text || o->child || s->depth == 1)
		return false;
	if (o->searched != NULL && o->searched - from > (ptrdiff_t)n)
		from = o->searched - n;
	end = line_end(s);
	if (from >= end)
		return false;
	memcpy(close, "</", 2);
	memcpy(close + 2, o->name, o->n);
	close[n - 1] = '>';
	q = memmem(from, (size_t)(end - from), close, n);
	if (q == NULL)
		o->searched = end;
	if (q == NULL || q == s->p)
		return false;
	put_text(s, s->p, (size_t)(q - s->p), true);
	s->p = q;
	return true;
}

/* s->p is at a <. */
static void
markup(struct scan *s)
{
	char next = s->p + 1 < s->end ? s->p[1] : ' ';
	struct tag t;

	if (next != '/' && next != '!' && next != '?' && !name_start(next)) {
		stray(s); /* the cheap way: someone may send megabytes of < */
		return;
	}
	if (rest_is_text(s) || section(s, "<!--", "-->", &s->no_comment_end, false) ||
	    section(s, "<![CDATA[", "]]>", &s->no_cdata_end, true) ||
	    section(s, "<?", "?>", &s->no_pi_end, false))
		return;
	if (!tag_read(s->p, s->end, &t))
		stray(s);
	else if (t.closing)
		close_tag(s, &t);
	else
		open_tag(s, &t);
}

static void
run_of_text(struct scan *s)
{
	const char *q = memchr(s->p, '<', (size_t)(s->end - s->p));

	if (q == NULL)
		q = s->end;
	for (const char *p = s->p; p < q && !top(s)->text; p++)
		top(s)->text = (unsigned char)*p > ' ';
	put_text(s, s->p, (size_t)(q - s->p), true);
	s->p = q;
}

/* The first start tag of root; NULL if there is none. */
static const char *
find_root(const char *in, size_t n, const char *root, struct tag *t)
{
	const char *end = in + n;

	for (const char *p = in; (p = memchr(p, '<', (size_t)(end - p))) != NULL; p++)
		if (tag_read(p, end, t) && !t->closing && is(t->name, t->n, root))
			return p;
	return NULL;
}

enum err
normalise(struct arena *a, const char *in, size_t n, const char *root,
    const struct raw_rule *rules, struct normal *out, struct fail *f)
{
	struct scan s = { .a = a, .end = in + n, .rules = rules, .out = out };
	static const char doctype[] = "<!DOCTYPE";
	const char *at;
	struct tag t;

	*out = (struct normal){ .text = buf_new(a) };
	at = n == 0 ? NULL : find_root(in, n, root, &t);
	if (at == NULL)
		return FAIL(f, E_BADREQ, "no <%s> start tag in %zu bytes", root, n);
	if (memmem(in, (size_t)(at - in), doctype, sizeof(doctype) - 1) != NULL)
		return FAIL(f, E_BADREQ, "a DOCTYPE is not allowed");
	s.p = t.next;
	put_open(&s, t.name, t.n, t.empty);
	if (t.empty)
		return OK;
	s.stack[s.depth++] = (struct open){ .name = t.name, .n = t.n };
	while (s.depth > 0 && s.p < s.end) {
		if (*s.p == '<')
			markup(&s);
		else
			run_of_text(&s);
	}
	if (s.depth > 0)
		return FAIL(f, E_BADREQ, "no </%s> end tag in %zu bytes", root, n);
	return OK;
}

enum err
normalise_fragment(struct arena *a, const char *in, size_t n, const char *root,
    const struct raw_rule *rules, struct normal *out, struct fail *f)
{
	struct buf b = buf_new(a);

	buf_printf(&b, "<%s>", root);
	buf_put(&b, in, n);
	buf_printf(&b, "</%s>", root);
	return normalise(a, b.p, b.n, root, rules, out, f);
}

/* --- the side table --- */

const struct raw *
raw_at(const struct normal *nm, int32_t i)
{
	return i < 1 || (size_t)i > nm->nraws ? NULL : &nm->raws[i - 1];
}

char *
raw_copy(struct arena *a, const struct raw *r, size_t max)
{
	char *copy = arena_memdup(a, r->p, r->n < max ? r->n : max);

	for (char *p = copy, *end = copy + (r->n < max ? r->n : max); p < end; p++)
		if (*p == '\0')
			*p = ' '; /* what follows it must not be lost */
	return copy;
}

char *
raw_trimmed(struct arena *a, const struct raw *r)
{
	const char *p = r->p, *end = r->p + r->n;

	while (p < end && blank(*p))
		p++;
	while (end > p && blank(end[-1]))
		end--;
	return raw_copy(a, &(struct raw){ .p = p, .n = (size_t)(end - p) }, r->n);
}

char *
raw_text(struct arena *a, const struct raw *r)
{
	return text_decode(a, r->p, r->n);
}

char *
text_decode(struct arena *a, const char *p, size_t n)
{
	const char *end = p + n;
	struct buf b = buf_new(a);
	unsigned char c;
	size_t len;

	while (p < end && blank(*p))
		p++;
	while (end > p && blank(end[-1]))
		end--;
	if (end - p >= 12 && starts(p, end, "<![CDATA[") &&
	    memcmp(end - 3, "]]>", 3) == 0)
		return raw_copy(
		    a, &(struct raw){ .p = p + 9, .n = (size_t)(end - p) - 12 }, n);
	for (; p < end; p += len) {
		len = *p == '&' ? reference(p, end, &c) : 0;
		if (len == 0) {
			c = (unsigned char)*p;
			len = 1;
		}
		if (c >= ' ' || c == '\t' || c == '\n' || c == '\r')
			buf_put(&b, &c, 1);
	}
	return b.p;
}
