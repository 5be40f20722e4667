/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes one pass over the bytes with a stack of open elements. Whatever looks like a
 * tag is taken for one, except after text in an element that ends on the same line:
 * names of hosts and devices are sent unescaped (protocol.md 10.2). A search that
 * failed once is not repeated, so that every input takes linear time.
 */
#include "proto/normalise.h"

#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include "lib/text.h"
#include "lib/banned.h"

enum {
	DEPTH_MAX = 24,
	NAME_MAX_BYTES = 128,
	LINE_MAX_BYTES = 2112, /* the longest string sent unescaped, with its end tag */
	TEXT_MAX = 1 << 20,    /* limit of one run of text; no field takes more */
	RULES_MAX = 24,
	ESCAPES_MAX =
	    1 << 20, /* bytes that escaping may add; real requests need some hundred */
	/* elements noted of plain rows, in all and of one */
	LEAVES_MAX = 1 << 18,
	ROW_LEAVES_MAX = 64,
	FIRST_MAX = 64 << 10, /* most bytes reserved before the content is known */
};

struct tag {
	const char *name, *attr, *next; /* next: behind the > */
	size_t n, attr_n;
	bool closing, empty;
};
struct open {
	const char *name;
	size_t n;
	size_t span;      /* index into the side table from 1; 0 = none */
	bool text, child; /* has text other than white space; has child elements */
	/* this element's end tag does not occur before this point */
	const char *searched;
};
struct scan {
	struct arena *a;
	const char *p, *end;
	const struct raw_rule *rules;
	bool endless[RULES_MAX]; /* by rule: no end tag from here on */
	size_t most; /* output size beyond which bytes that need escaping are dropped */
	bool no_comment_end, no_cdata_end, no_pi_end;
	struct open stack[DEPTH_MAX];
	size_t depth;
	size_t raws_cap, leaves_cap;
	bool reserved; /* room for leaves */
	struct normal *out;
};

/* --- characters --- */

/* A table costs one load per byte of a request instead of up to seven comparisons. */
enum {
	BLANK = 1,   /* white space */
	START = 2,   /* begins a name */
	NAME = 4,    /* continues a name */
	PLAIN = 8,   /* needs no escaping in XML text */
	INDENT = 16, /* white space in XML */
};
static const unsigned char classes[256] = {
	['\t' ... '\n'] = BLANK | INDENT | PLAIN,
	['\v' ... '\f'] = BLANK,
	['\r'] = BLANK | INDENT,
	[' '] = BLANK | INDENT | PLAIN,
	['!' ... '%'] = PLAIN,
	['\'' ... ','] = PLAIN,
	['-' ... '.'] = PLAIN | NAME,
	['/'] = PLAIN,
	['0' ... '9'] = PLAIN | NAME,
	[':' ... ';'] = PLAIN,
	['='] = PLAIN,
	['?' ... '@'] = PLAIN,
	['A' ... 'Z'] = PLAIN | NAME | START,
	['[' ... '^'] = PLAIN,
	['_'] = PLAIN | NAME | START,
	['`'] = PLAIN,
	['a' ... 'z'] = PLAIN | NAME | START,
	['{' ... 255] = PLAIN,
};

static bool byte_is(char c, int class)
{
	return (classes[(unsigned char)c] & class) != 0;
}

/* Compares a name of n > 0 bytes; nearly always the first byte decides. */
static bool tag_name_is(const char *name, size_t n, const char *s)
{
	return name[0] == s[0] && strlen(s) == n && memcmp(name, s, n) == 0;
}

/* Writes a byte as XML text; drops characters that XML does not allow. */
static void put_escaped_byte(struct buf *b, unsigned char c)
{
	if (c == '<')
		buf_puts(b, "&lt;");
	else if (c == '>')
		buf_puts(b, "&gt;");
	else if (c == '&')
		buf_puts(b, "&amp;");
	else if (c == '\r')
		buf_puts(b, "&#13;"); /* libxml2 would turn it into a line feed */
	else if (c >= ' ' || c == '\t' || c == '\n')
		buf_put(b, &c, 1);
}

static void scan_put_text(struct scan *s, const char *p, size_t n, bool references)
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
		for (from = p; p < end && byte_is(*p, PLAIN);)
			p++;
		buf_put(b, from, (size_t)(p - from));
		if (p == end)
			break;
		len = *p == '&' && references ? text_reference(p, end, &c) : 0;
		if (len == 0) {
			c = (unsigned char)*p;
			len = 1;
			s->out->repairs += c != '>' && c != '\r' && references;
		}
		if (b->n < s->most)
			put_escaped_byte(b, c);
		p += len;
	}
}

/* --- tags --- */

/* Does q end a tag's name: is it white space, > or />? */
static bool ends_name(const char *q, const char *end)
{
	return q < end && (byte_is(*q, BLANK) || *q == '>' ||
			      (*q == '/' && q + 1 < end && q[1] == '>'));
}

/*
 * Reads a tag at p (a <); false if it is not one. Complexity: a parser, which checks
 * each bound where it matters.
 */
static bool scan_tag(const char *p, const char *end, struct tag *t)
{
	const char *q = p + 1, *most;

	*t = (struct tag){ 0 };
	if (q < end && *q == '/') {
		t->closing = true;
		q++;
	}
	t->name = q;
	if (q == end || !byte_is(*q, START))
		return false;
	most = end - q > NAME_MAX_BYTES ? q + NAME_MAX_BYTES + 1 : end;
	while (q < most && byte_is(*q, NAME))
		q++;
	t->n = (size_t)(q - t->name);
	if (t->n > NAME_MAX_BYTES || !ends_name(q, end))
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

static struct open *scan_top(struct scan *s)
{
	return s->depth == 0 ? NULL : &s->stack[s->depth - 1];
}

/* Writes the start tag without its attributes. */
static void put_open_tag(struct scan *s, const struct tag *t)
{
	struct buf *b = &s->out->text;

	if (t->attr_n == 0) { /* unchanged, in one piece */
		buf_put(b, t->name - 1, (size_t)(t->next - t->name) + 1);
		return;
	}
	buf_put(b, t->name - 1, t->n + 1);
	buf_puts(b, t->empty ? "/>" : ">");
}

/* Writes the byte at p as text: it is not markup. */
static void scan_stray(struct scan *s)
{
	scan_put_text(s, s->p, 1, true);
	s->p++;
	scan_top(s)->text = true;
}

/* Closes the innermost element; whole: its own end tag was found and ends at behind. */
static void scan_pop(struct scan *s, bool whole, const char *behind)
{
	struct open *o = scan_top(s);
	char tag[NAME_MAX_BYTES + 4];

	if (o->span > 0 && whole) {
		struct raw *r = &s->out->raws[o->span - 1];
		r->n = (size_t)(behind - r->p);
		buf_printf(&s->out->text, "<raw>%zu</raw>", o->span);
	}
	memcpy(tag, "</", 2);
	memcpy(tag + 2, o->name, o->n);
	tag[2 + o->n] = '>';
	buf_put(&s->out->text, tag, o->n + 3);
	s->depth--;
}

static void scan_close_tag(struct scan *s, const struct tag *t)
{
	size_t d = s->depth;

	while (d > 0 && !(s->stack[d - 1].n == t->n &&
			    memcmp(s->stack[d - 1].name, t->name, t->n) == 0))
		d--;
	if (d == 0) {
		scan_stray(s);
		return;
	}
	s->out->repairs += (uint32_t)(s->depth - d);
	while (s->depth > d)
		scan_pop(s, false, NULL);
	scan_pop(s, true, t->next);
	s->p = t->next;
}

/* --- raw regions --- */

static const struct raw_rule *rule_for(const struct scan *s, const struct tag *t)
{
	const struct open *o = &s->stack[s->depth - 1];

	for (const struct raw_rule *r = s->rules; r->tag != NULL; r++)
		if (tag_name_is(t->name, t->n, r->tag) &&
		    tag_name_is(o->name, o->n, r->parent))
			return r;
	return NULL;
}

/* The same for a child of an element with this name. */
static const struct raw_rule *rule_within(
    const struct scan *s, const char *parent, const struct tag *t)
{
	for (const struct raw_rule *r = s->rules; r->tag != NULL; r++)
		if (tag_name_is(t->name, t->n, r->tag) &&
		    strcmp(parent, r->parent) == 0)
			return r;
	return NULL;
}

static struct raw *raw_new(
    struct scan *s, const struct raw_rule *rule, const struct tag *t)
{
	struct raw r = { .rule = rule, .attr = t->attr, .attr_n = t->attr_n };

	PUSH(s->a, s->out->raws, s->out->nraws, s->raws_cap) = r;
	return &s->out->raws[s->out->nraws - 1];
}

/* Writes <tag><raw>i</raw></tag> for the newest region. */
static void put_item(struct scan *s, const char *tag)
{
	buf_printf(&s->out->text, "<%s><raw>%zu</raw></%s>", tag, s->out->nraws, tag);
}

/* Cuts out the region that t opens; false if it never ends. */
static bool cut_raw(struct scan *s, const struct raw_rule *rule, const struct tag *t)
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
		put_item(s, rule->tag);
	s->p = to + n;
	return true;
}

/*
 * Does the end tag of this element stand at p (a <)? Most markup after text is an end
 * tag.
 */
static bool ends_at(const struct scan *s, const char *p, const char *name, size_t n)
{
	return (size_t)(s->end - p) >= n + 3 && p[1] == '/' &&
	       memcmp(p + 2, name, n) == 0 && p[n + 2] == '>';
}

/*
 * Returns the end of the element that t opens if it contains only text without special
 * characters, as most do; NULL if it is not such an element, or needs a closer look.
 */
static const char *leaf_end(const struct scan *s, const struct tag *t)
{
	const char *p = t->next, *q = p;

	if (t->attr_n > 0 || (p < s->end && byte_is(*p, INDENT)))
		return NULL;
	while (q < s->end && byte_is(*q, PLAIN))
		q++;
	if (q == s->end || *q != '<' || q - p > TEXT_MAX ||
	    !ends_at(s, q, t->name, t->n))
		return NULL;
	return q + t->n + 3;
}

/* Copies such an element in one piece. */
static bool scan_leaf(struct scan *s, const struct tag *t)
{
	const char *end = leaf_end(s, t);

	if (end == NULL)
		return false;
	s->p = end;
	buf_put(&s->out->text, t->name - 1, (size_t)(end - t->name) + 1);
	return true;
}

static const char *skip_indent(const struct scan *s, const char *p)
{
	while (p < s->end && byte_is(*p, INDENT))
		p++;
	return p;
}

static void add_leaf(struct scan *s, struct xml_leaf leaf)
{
	PUSH(s->a, s->out->leaves, s->out->nleaves, s->leaves_cap) = leaf;
}

/*
 * Reads the element at p, whose tag t is; returns its end, or NULL if it is not plain.
 */
static const char *plain_row(
    struct scan *s, const char *name, const struct tag *t, const char *p)
{
	size_t n = strlen(name), row = s->out->nleaves;
	struct tag leaf;
	const char *end;

	if (t->attr_n > 0)
		return NULL;
	add_leaf(s, (struct xml_leaf){ .value = p });
	for (p = skip_indent(s, t->next); p < s->end && *p == '<';
	     p = skip_indent(s, p)) {
		if (ends_at(s, p, name, n)) {
			end = p + n + 3;
			s->out->leaves[row].n = (size_t)(end - t->name) + 1;
			return end;
		}
		if (!scan_tag(p, s->end, &leaf) || leaf.closing || leaf.empty ||
		    rule_within(s, name, &leaf) != NULL ||
		    s->out->nleaves - row > ROW_LEAVES_MAX)
			return NULL;
		end = leaf_end(s, &leaf);
		if (end == NULL)
			return NULL;
		add_leaf(s, (struct xml_leaf){
				.name = leaf.name,
				.name_n = leaf.n,
				.value = leaf.next,
				.n = (size_t)(end - leaf.next) - leaf.n - 3,
			    });
		p = end;
	}
	return NULL;
}

/*
 * Reads the element at p, which is plain if the same text stands between its values as
 * in the row before: this saves looking at each tag again. Returns NULL if it does not.
 */
static const char *same_plain_row(struct scan *s, size_t before, const char *p)
{
	const struct xml_leaf first = s->out->leaves[before];
	size_t row = s->out->nleaves, n;
	const char *from = first.value;

	add_leaf(s, (struct xml_leaf){ .value = p });
	for (size_t i = before + 1; i < row; i++) {
		struct xml_leaf leaf = s->out->leaves[i];
		const char *behind = leaf.value + leaf.n;

		n = (size_t)(leaf.value - from);
		if ((size_t)(s->end - p) <= n || memcmp(p, from, n) != 0)
			return NULL;
		leaf.value = p += n;
		if (byte_is(*p, INDENT))
			return NULL;
		while (p < s->end && byte_is(*p, PLAIN))
			p++;
		leaf.n = (size_t)(p - leaf.value);
		if (leaf.n > TEXT_MAX)
			return NULL;
		add_leaf(s, leaf);
		from = behind;
	}
	n = (size_t)(first.value + first.n - from);
	if ((size_t)(s->end - p) < n || memcmp(p, from, n) != 0)
		return NULL;
	p += n;
	s->out->leaves[row].n = (size_t)(p - s->out->leaves[row].value);
	return p;
}

/* Returns the end of the plain element at p; NULL if there is none. `before` is the
 * row before it. */
static const char *next_plain_row(
    struct scan *s, const char *name, size_t before, const char *p)
{
	size_t row = s->out->nleaves;
	const char *end = same_plain_row(s, before, p);
	struct tag t;

	if (end != NULL)
		return end;
	s->out->nleaves = row;
	if (p < s->end && *p == '<' && scan_tag(p, s->end, &t) && !t.closing &&
	    !t.empty && tag_name_is(t.name, t.n, name))
		end = plain_row(s, name, &t, p);
	if (end == NULL)
		s->out->nleaves = row;
	return end;
}

/* Makes room, once, for as many elements of `bytes` bytes as may follow. */
static void leaves_reserve(struct scan *s, size_t bytes)
{
	struct normal *out = s->out;
	struct xml_leaf *old = out->leaves;

	s->reserved = true;
	s->leaves_cap = out->nleaves * ((size_t)(s->end - s->p) / bytes + 1);
	if (s->leaves_cap > LEAVES_MAX)
		s->leaves_cap = out->nleaves;
	out->leaves = NEWN(s->a, struct xml_leaf, s->leaves_cap);
	memcpy(out->leaves, old, out->nleaves * sizeof(*old));
}

/* Cuts out a run of plain elements; false if the first one is not plain. */
static bool cut_rows(struct scan *s, const struct raw_rule *rule, const struct tag *t)
{
	struct normal *out = s->out;
	size_t first = out->nleaves;
	const char *from = t->name - 1, *p = plain_row(s, rule->tag, t, from);
	const char *end = p;
	size_t row, before;

	if (p == NULL || first >= LEAVES_MAX) {
		out->nleaves = first;
		return false;
	}
	if (!s->reserved)
		leaves_reserve(s, (size_t)(p - from));
	for (before = first; p != NULL; before = row) {
		end = p;
		row = out->nleaves;
		p = row < LEAVES_MAX ?
		        next_plain_row(s, rule->tag, before, skip_indent(s, p)) :
		        NULL;
	}
	*raw_new(s, rule, t) = (struct raw){ .rule = rule,
		.p = from,
		.n = (size_t)(end - from),
		.leaf = first,
		.nleaves = out->nleaves - first };
	put_item(s, rule->tag);
	s->p = end;
	return true;
}

static void scan_open_tag(struct scan *s, const struct tag *t)
{
	const struct raw_rule *rule = rule_for(s, t);

	scan_top(s)->child = true;
	if (t->empty) {
		put_open_tag(s, t);
		s->p = t->next;
		return;
	}
	if (rule != NULL && rule->use == RAW_ROWS) {
		if (cut_rows(s, rule, t))
			return;
		rule = NULL;
	}
	if (rule != NULL && rule->use != RAW_SPAN) {
		if (!cut_raw(s, rule, t))
			scan_stray(s);
		return;
	}
	if (s->depth == DEPTH_MAX) {
		scan_stray(s);
		return;
	}
	if (rule == NULL && scan_leaf(s, t))
		return;
	put_open_tag(s, t);
	s->stack[s->depth++] = (struct open){ .name = t->name, .n = t->n };
	if (rule != NULL) {
		raw_new(s, rule, t)->p = s->p;
		scan_top(s)->span = s->out->nraws;
	}
	s->p = t->next;
}

/* --- the rest of XML --- */

/*
 * Skips a section from s->p to the first `to`, or copies its text if it is CDATA; false
 * if it never ends.
 */
static bool scan_section(
    struct scan *s, const char *from, const char *to, bool *endless, bool cdata)
{
	const char *p = s->p + strlen(from), *q;

	if (*endless || !text_begins(s->p, s->end, from))
		return false;
	q = memmem(p, (size_t)(s->end - p), to, strlen(to));
	if (q == NULL) {
		*endless = true;
		return false;
	}
	if (cdata)
		scan_put_text(s, p, (size_t)(q - p), false);
	s->p = q + strlen(to);
	return true;
}

/* Returns the end of the current line, searching no further than the longest string. */
static const char *scan_line_end(const struct scan *s)
{
	size_t room = (size_t)(s->end - s->p);
	const char *nl;

	if (room > LINE_MAX_BYTES)
		room = LINE_MAX_BYTES;
	nl = memchr(s->p, '\n', room);
	return nl == NULL ? s->p + room : nl;
}

/*
 * If the element has text and ends on this line, treats the rest of its content as
 * text.
 */
static bool scan_rest_as_text(struct scan *s)
{
	char close[NAME_MAX_BYTES + 4];
	struct open *o = scan_top(s);
	size_t n = o->n + 3;
	const char *from = s->p, *end, *q;

	if (!o->text || o->child || s->depth == 1)
		return false;
	if (o->searched != NULL && o->searched - from > (ptrdiff_t)n)
		from = o->searched - n;
	end = scan_line_end(s);
	if (from >= end)
		return false;
	memcpy(close, "</", 2);
	memcpy(close + 2, o->name, o->n);
	close[n - 1] = '>';
	q = memmem(from, (size_t)(end - from), close, n);
	if (q == NULL)
		o->searched = end;
	if (q == NULL)
		return false;
	scan_put_text(s, s->p, (size_t)(q - s->p), true);
	s->p = q;
	return true;
}

/*
 * Skips a comment or processing instruction, or copies a CDATA section; false if it is
 * neither.
 */
static bool scan_special(struct scan *s)
{
	return scan_section(s, "<!--", "-->", &s->no_comment_end, false) ||
	       scan_section(s, "<![CDATA[", "]]>", &s->no_cdata_end, true) ||
	       scan_section(s, "<?", "?>", &s->no_pi_end, false);
}

/* Handles markup; s->p is at a <. */
static void scan_markup(struct scan *s)
{
	char next = s->p + 1 < s->end ? s->p[1] : ' ';
	struct tag t;

	if (next == '/' && ends_at(s, s->p, scan_top(s)->name, scan_top(s)->n)) {
		s->p += scan_top(s)->n + 3;
		scan_pop(s, true, s->p);
		return;
	}
	if (next != '/' && next != '!' && next != '?' && !byte_is(next, START)) {
		scan_stray(
		    s); /* the cheap way out: a request may contain megabytes of < */
		return;
	}
	if (scan_rest_as_text(s) || ((next == '!' || next == '?') && scan_special(s)))
		return;
	if (!scan_tag(s->p, s->end, &t))
		scan_stray(s);
	else if (t.closing)
		scan_close_tag(s, &t);
	else
		scan_open_tag(s, &t);
}

/*
 * Copies text up to the next <. Leading white space is dropped: it indents elements, or
 * precedes a value, which is trimmed anyway.
 */
static void scan_text(struct scan *s)
{
	const char *q = memchr(s->p, '<', (size_t)(s->end - s->p));
	struct open *o = scan_top(s);

	if (q == NULL)
		q = s->end;
	while (!o->text && s->p < q && byte_is(*s->p, INDENT))
		s->p++;
	for (const char *p = s->p; p < q && !o->text; p++)
		o->text = (unsigned char)*p > ' ';
	scan_put_text(s, s->p, (size_t)(q - s->p), true);
	s->p = q;
}

/* Returns the first start tag of root; NULL if there is none. */
static const char *find_root(const char *in, size_t n, const char *root, struct tag *t)
{
	const char *end = in + n;

	for (const char *p = in; (p = memchr(p, '<', (size_t)(end - p))) != NULL; p++)
		if (scan_tag(p, end, t) && !t->closing &&
		    tag_name_is(t->name, t->n, root))
			return p;
	return NULL;
}

enum err normalise(struct arena *a, const char *in, size_t n, const char *root,
    const struct raw_rule *rules, struct normal *out, struct fail *f)
{
	struct scan s = { .a = a, .end = in + n, .rules = rules, .out = out };
	static const char doctype[] = "<!DOCTYPE";
	const char *at;
	struct tag t;

	s.most = n + ESCAPES_MAX;
	*out = (struct normal){ .text = buf_sized(a, n < FIRST_MAX ? n : FIRST_MAX) };
	at = n == 0 ? NULL : find_root(in, n, root, &t);
	if (at == NULL)
		return FAIL(f, E_BADREQ, "no <%s> start tag in %zu bytes", root, n);
	if (memmem(in, (size_t)(at - in), doctype, sizeof(doctype) - 1) != NULL)
		return FAIL(f, E_BADREQ, "a DOCTYPE is not allowed");
	s.p = t.next;
	put_open_tag(&s, &t);
	if (t.empty)
		return OK;
	s.stack[s.depth++] = (struct open){ .name = t.name, .n = t.n };
	while (s.depth > 0 && s.p < s.end) {
		if (*s.p == '<')
			scan_markup(&s);
		else
			scan_text(&s);
	}
	if (s.depth > 0)
		return FAIL(f, E_BADREQ, "no </%s> end tag in %zu bytes", root, n);
	return OK;
}

enum err normalise_fragment(struct arena *a, const char *in, size_t n, const char *root,
    const struct raw_rule *rules, struct normal *out, struct fail *f)
{
	struct buf b = buf_new(a);

	buf_printf(&b, "<%s>", root);
	buf_put(&b, in, n);
	buf_printf(&b, "</%s>", root);
	return normalise(a, b.p, b.n, root, rules, out, f);
}
