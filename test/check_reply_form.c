/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks that every element stands where clients know it, in a form and size that they
 * take.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include "test/check_reply_own.h"
#include "lib/banned.h"

enum type { TYPE_s, TYPE_h, TYPE_i, TYPE_f, TYPE_b, TYPE_c, TYPE_r };
enum often { OFTEN_1, OFTEN_n };

static const struct elem {
	const char *parent, *name;
	enum type type;
	enum often often;
	size_t max;
	int32_t from, to;
} elems[] = {
#define ELEM(parent, name, type, often, max, from, to)                                 \
	{ #parent, #name, TYPE_##type, OFTEN_##often, max, from, to },
#include "test/check_reply.def"
#undef ELEM
};

static const struct elem *elem(const char *parent, const char *name)
{
	for (size_t i = 0; i < N(elems); i++)
		if (strcmp(elems[i].parent, parent) == 0 &&
		    strcmp(elems[i].name, name) == 0)
			return &elems[i];
	return NULL;
}

/* Clients obey known names inside unknown elements. */
static void known_inside(
    const struct check *c, const struct node *unknown, const struct node *n)
{
	for (; n != NULL; n = n->next) {
		if (elem(c->root->name, n->name) != NULL)
			violation(c->x,
			    "line %d: <%s> inside the unknown <%s> is obeyed by "
			    "clients",
			    n->line, n->name, unknown->name);
		known_inside(c, unknown, n->child);
	}
}

/* --- types --- */

/* Base 0 is read: a leading 0 is octal. */
static bool is_integer(const char *s)
{
	s += *s == '-';
	return s[0] != '\0' && s[strspn(s, "0123456789")] == '\0' &&
	       (s[0] != '0' || s[1] == '\0');
}

static bool is_number(const char *s)
{
	char *end;
	double v = strtod(s, &end);

	return end != s && *end == '\0' && isfinite(v) && strpbrk(s, "xX") == NULL;
}

static bool is_hash(const char *s)
{
	return strlen(s) == 32 && s[strspn(s, "0123456789abcdef")] == '\0';
}

static bool fits(const struct node *n, enum type type)
{
	bool inner = n->child != NULL;

	switch (type) {
	case TYPE_s:
		return !inner;
	case TYPE_h:
		return !inner && is_hash(n->text);
	case TYPE_i:
		return !inner && is_integer(n->text);
	case TYPE_f:
		return !inner && is_number(n->text);
	case TYPE_b:
		return !inner && (n->empty || strcmp(n->text, "0") == 0 ||
				     strcmp(n->text, "1") == 0);
	case TYPE_c:
		return n->text[0] == '\0';
	case TYPE_r:
		break;
	}
	return true;
}

/* --- elements --- */

static void one(const struct check *c, const struct node *n, const struct elem *e)
{
	const struct node *later = tree_next(n, n->name);

	if (!fits(n, e->type))
		violation(
		    c->x, "line %d: <%s> is \"%.40s\"", n->line, n->name, n->text);
	if (e->max > 0 && n->raw_n > e->max)
		violation(c->x, "line %d: <%s> of %zu bytes, at most %zu", n->line,
		    n->name, n->raw_n, e->max);
	if (e->often == OFTEN_1 && later != NULL)
		violation(c->x, "line %d: <%s> twice in <%s>", later->line, n->name,
		    e->parent);
	if (c->version > 0 &&
	    (c->version < e->from || (e->to > 0 && c->version > e->to)))
		violation(c->x, "line %d: <%s> for a client of version %d", n->line,
		    n->name, (int)c->version);
}

static void inside(const struct check *c, const struct node *parent)
{
	for (const struct node *n = parent->child; n != NULL; n = n->next) {
		const struct elem *e = elem(parent->name, n->name);

		if (e == NULL) {
			violation(c->x, "line %d: clients know no <%s> in <%s>",
			    n->line, n->name, parent->name);
			if (parent == c->root)
				known_inside(c, n, n->child);
			continue;
		}
		one(c, n, e);
		inside(c, n);
	}
}

/* Read by lines of 255 bytes, the tags on lines of their own. */
static void trickles_down(const struct check *c)
{
	for (EACH(n, c->root, "trickle_down")) {
		const char *p = n->raw, *end = p + n->raw_n;

		if (!n->own_line || n->raw_n == 0 || *p != '\n' || end[-1] != '\n')
			violation(c->x, "line %d: <trickle_down> not on its own line",
			    n->line);
		if (strstr(n->text, "<result_name>") == NULL ||
		    strstr(n->text, "<time>") == NULL)
			violation(c->x,
			    "line %d: <trickle_down> without result_name or time",
			    n->line);
		while (p < end) {
			const char *nl = memchr(p, '\n', (size_t)(end - p));

			if (nl == NULL)
				nl = end;
			if (nl - p > 254)
				violation(c->x,
				    "line %d: a line of %zu bytes in <trickle_down>",
				    n->line, (size_t)(nl - p));
			p = nl + (nl < end);
		}
	}
}

static void feeds(const struct check *c)
{
	const struct node *list = tree_child(c->root, "rss_feeds");

	if (list == NULL)
		return;
	for (EACH(n, list, "rss_feed"))
		if (tree_text(n, "url")[0] == '\0' ||
		    tree_text(n, "poll_interval")[0] == '\0')
			violation(
			    c->x, "line %d: rss_feed without url or interval", n->line);
}

void check_form(const struct check *c)
{
	inside(c, c->root);
	trickles_down(c);
	feeds(c);
}
