/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every departure from plain nested elements is a violation; the tree holds the rest.
 */
#include "test/reply_tree.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "lib/banned.h"

enum { DEPTH_MAX = 12, TOKEN_MAX = 4095, VIOLATIONS_MAX = 200 };

void violation(struct violations *x, const char *fmt, ...)
{
	char line[400];
	va_list ap;

	if (x->n == VIOLATIONS_MAX)
		return;
	va_start(ap, fmt);
	vsnprintf(line, sizeof(line), fmt, ap);
	va_end(ap);
	PUSH(x->a, x->v, x->n, x->cap) = arena_strdup(x->a, line);
}

/* Elements that clients, too, read as bytes up to the end tag (protocol.md 0.3). */
static const char *const raw_names[] = { "global_preferences", "project_preferences",
	"gui_urls", "code_sign_key", "code_sign_key_signature", "xml_signature",
	"file_signature", "trickle_down" };

struct scan {
	struct violations *x;
	const char *p, *end, *in;
	struct node *stack[DEPTH_MAX];
	size_t depth;
	int line;
};

static bool raw(const char *name)
{
	for (size_t i = 0; i < N(raw_names); i++)
		if (strcmp(name, raw_names[i]) == 0)
			return true;
	return false;
}

static void reply_step(struct scan *s, const char *q)
{
	for (; s->p < q; s->p++)
		s->line += *s->p == '\n';
}

static char *trimmed(struct arena *a, const char *p, size_t n)
{
	while (n > 0 && strchr(" \t\r\n", *p) != NULL)
		p++, n--;
	while (n > 0 && strchr(" \t\r\n", p[n - 1]) != NULL)
		n--;
	return arena_memdup(a, p, n);
}

/* Decodes text as clients do, in place. */
static void decode(char *s)
{
	static const struct {
		const char *text;
		char c;
	} known[] = { { "&lt;", '<' }, { "&gt;", '>' }, { "&amp;", '&' } };
	char *out = s, *end;
	size_t i;

	for (; *s != '\0'; out++) {
		for (i = 0; i < N(known); i++)
			if (strncmp(s, known[i].text, strlen(known[i].text)) == 0)
				break;
		if (i < N(known)) {
			*out = known[i].c;
			s += strlen(known[i].text);
		} else if (s[0] == '&' && s[1] == '#') {
			*out = (char)strtol(s + 2, &end, 10);
			s = *end == ';' ? end + 1 : s + 2;
		} else {
			*out = *s++;
		}
	}
	*out = '\0';
}

static void set_text(struct scan *s, const char *p, size_t n)
{
	struct node *top = s->depth > 0 ? s->stack[s->depth - 1] : NULL;
	char *text = trimmed(s->x->a, p, n);

	if (top == NULL || text[0] == '\0')
		return;
	if (top->text[0] != '\0' || top->child != NULL)
		violation(s->x, "line %d: <%s> has text and elements: \"%.40s\"",
		    s->line, top->name, text);
	decode(text);
	top->text = text;
	top->raw = p;
	top->raw_n = n;
}

static struct node *push(struct scan *s, const char *p, size_t n)
{
	struct node *e = NEW(s->x->a, struct node), *top;
	size_t name_n = strcspn(p, " \t\r\n/>");

	if (name_n > n)
		name_n = n;
	e->name = arena_memdup(s->x->a, p, name_n);
	e->attr = trimmed(s->x->a, p + name_n, n - name_n);
	e->text = arena_strdup(s->x->a, "");
	e->line = s->line;
	e->raw = "";
	e->own_line = s->p == s->in || s->p[-1] == '\n';
	if (s->depth > 0) {
		top = s->stack[s->depth - 1];
		if (top->text[0] != '\0')
			violation(s->x, "line %d: <%s> has text and elements", s->line,
			    top->name);
		if (top->last == NULL)
			top->child = e;
		else
			top->last->next = e;
		top->last = e;
	}
	s->stack[s->depth++] = e;
	return e;
}

static void check_attr(struct scan *s, const struct node *e)
{
	if (e->attr[0] == '\0')
		return;
	if (strcmp(e->name, "message") != 0 || strncmp(e->attr, "priority=\"", 10) != 0)
		violation(s->x, "line %d: <%s> has attributes: %.60s", s->line, e->name,
		    e->attr);
	if (strpbrk(e->attr, "/>") != NULL)
		violation(
		    s->x, "line %d: <%s> has / in an attribute", s->line, e->name);
}

/* Reads a raw element's text up to its end tag. */
static bool read_raw(struct scan *s, struct node *e)
{
	const char *close = arena_printf(s->x->a, "</%s>", e->name);
	const char *q = memmem(s->p, (size_t)(s->end - s->p), close, strlen(close));

	if (q == NULL) {
		violation(s->x, "line %d: <%s> has no end tag", e->line, e->name);
		return false;
	}
	e->text = trimmed(s->x->a, s->p, (size_t)(q - s->p));
	e->raw = s->p;
	e->raw_n = (size_t)(q - s->p);
	reply_step(s, q + strlen(close));
	s->depth--;
	return true;
}

/* Expects s->p at a "<"; returns false to end the reading. */
static bool read_tag(struct scan *s)
{
	const char *gt = memchr(s->p, '>', (size_t)(s->end - s->p)), *name = s->p + 1;
	bool closing = name < s->end && *name == '/', empty;
	struct node *e;

	if (gt == NULL) {
		violation(s->x, "line %d: a tag without >", s->line);
		return false;
	}
	if (closing) {
		name++;
		e = s->depth > 0 ? s->stack[s->depth - 1] : NULL;
		if (e == NULL || strlen(e->name) != (size_t)(gt - name) ||
		    memcmp(e->name, name, strlen(e->name)) != 0) {
			violation(s->x, "line %d: </%.*s> where <%s> is open", s->line,
			    (int)(gt - name < 60 ? gt - name : 60), name,
			    e == NULL ? "nothing" : e->name);
			return false;
		}
		s->depth--;
		reply_step(s, gt + 1);
		return true;
	}
	if (s->depth == DEPTH_MAX) {
		violation(s->x, "line %d: nested too deep", s->line);
		return false;
	}
	empty = gt[-1] == '/';
	e = push(s, name, (size_t)(gt - name) - (empty ? 1 : 0));
	e->empty = empty;
	check_attr(s, e);
	reply_step(s, gt + 1);
	if (empty)
		s->depth--;
	else if (raw(e->name))
		return read_raw(s, e);
	return true;
}

static void check_bytes(struct violations *x, const char *p, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		if (c < ' ' && memchr("\n\t\r", c, 3) == NULL) {
			violation(x, "byte %zu is control character %u", i, c);
			return;
		}
	}
}

struct node *tree_read(struct violations *x, const char *p, size_t n)
{
	static const char open[] = "<scheduler_reply>";
	struct scan s = { .x = x, .p = p, .end = p + n, .in = p, .line = 1 };
	struct node *root;
	const char *q;
	bool more = true;

	check_bytes(x, p, n);
	if (n < sizeof(open) - 1 || memcmp(p, open, sizeof(open) - 1) != 0) {
		violation(x, "it does not begin with %s", open);
		return NULL;
	}
	more = read_tag(&s);
	root = s.stack[0];
	while (more && s.depth > 0 && s.p < s.end) {
		q = memchr(s.p, '<', (size_t)(s.end - s.p));
		if (q == NULL)
			q = s.end;
		if (q - s.p > TOKEN_MAX &&
		    strcmp(s.stack[s.depth - 1]->name, "command_line") != 0)
			violation(x,
			    "line %d: text of %zu bytes in <%s>: clients reject the "
			    "reply",
			    s.line, (size_t)(q - s.p), s.stack[s.depth - 1]->name);
		set_text(&s, s.p, (size_t)(q - s.p));
		reply_step(&s, q);
		if (s.p < s.end)
			more = read_tag(&s);
	}
	if (s.depth > 0 && more)
		violation(x, "no end tag of <%s>", s.stack[s.depth - 1]->name);
	if (s.depth == 0 && trimmed(x->a, s.p, (size_t)(s.end - s.p))[0] != '\0')
		violation(x, "something stands behind </scheduler_reply>");
	return root;
}

const struct node *tree_child(const struct node *n, const char *name)
{
	const struct node *c = n->child;

	while (c != NULL && strcmp(c->name, name) != 0)
		c = c->next;
	return c;
}

const struct node *tree_next(const struct node *n, const char *name)
{
	n = n->next;
	while (n != NULL && strcmp(n->name, name) != 0)
		n = n->next;
	return n;
}

const char *tree_text(const struct node *n, const char *name)
{
	const struct node *c = tree_child(n, name), *later;

	while (c != NULL && (later = tree_next(c, name)) != NULL)
		c = later;
	return c == NULL ? "" : c->text;
}
