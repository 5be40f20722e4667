/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scanner for small files of plain elements without attributes. Clients accept
 * everything that passes: known names occur only where they are meant (protocol.md
 * 0.3).
 */
#include "proto/project_text.h"

#include <inttypes.h>
#include <string.h>
#include "lib/text.h"
#include "proto/web_docs.h"
#include "lib/banned.h"

enum { DEPTH_MAX = 8, NAME_MAX = 40 };

static const char *const files[] = {
#define TEXT(kind, file) file,
#include "proto/project_text.def"
};
static const struct {
	enum project_text kind;
	const char *parent, *name;
} elems[] = {
#define ELEM(kind, parent, name) { TEXT_##kind, parent, name },
#include "proto/project_text.def"
};
enum fill {
#define FILL(name) FILL_##name,
#include "proto/project_text.def"
	FILLS
};
static const char *const fills[] = {
#define FILL(name) #name,
#include "proto/project_text.def"
};

const char *project_text_file(enum project_text kind)
{
	return files[kind];
}

/* --- tags --- */

struct tag {
	char name[NAME_MAX];
	bool closing, empty;
	const char *next; /* behind the > */
};

/* Reads the tag at p (a <); false if it is not an element without attributes. */
static bool text_tag_read(const char *p, const char *end, struct tag *t)
{
	size_t n = 0;

	*t = (struct tag){ .closing = p + 1 < end && p[1] == '/' };
	p += t->closing ? 2 : 1;
	while (p < end && (text_alnum(*p) || *p == '_') && n < NAME_MAX - 1)
		t->name[n++] = *p++;
	while (p < end && text_white(*p))
		p++;
	if (p < end && *p == '/' && !t->closing) {
		t->empty = true;
		p++;
	}
	t->next = p + 1;
	return n > 0 && p < end && *p == '>';
}

static enum fill fill_named(const char *name)
{
	enum fill i = 0;

	while (i < FILLS && strcmp(fills[i], name) != 0)
		i++;
	return i;
}

/* --- the check --- */

struct text_scan {
	enum project_text kind;
	const char *in, *p, *end;
	char stack[DEPTH_MAX][NAME_MAX];
	size_t depth;
	struct buf out;
	struct fail *f;
};

static int text_line_number(const struct text_scan *s)
{
	int line = 1;

	for (const char *p = s->in; p < s->p; p++)
		line += *p == '\n';
	return line;
}

/* May an element of that name occur here? Within a raw text any element may. */
static bool element_allowed(const struct text_scan *s, const struct tag *t)
{
	const char *parent = s->depth == 0 ? "" : s->stack[s->depth - 1];
	bool fill = t->empty && fill_named(t->name) != FILLS && s->depth > 1;

	for (size_t i = 0; i < N(elems); i++) {
		if (elems[i].kind != s->kind)
			continue;
		if (strcmp(elems[i].name, "*") == 0 && s->depth > 0 &&
		    strcmp(elems[i].parent, s->stack[0]) == 0)
			return strcmp(t->name, s->stack[0]) != 0;
		if (strcmp(elems[i].parent, parent) == 0 &&
		    strcmp(elems[i].name, t->name) == 0)
			return true;
	}
	return fill || strcmp(t->name, "ifteam") == 0;
}

static enum err check_element(struct text_scan *s, const struct tag *t)
{
	const char *top = s->depth == 0 ? "" : s->stack[s->depth - 1];

	if (t->closing && strcmp(top, t->name) != 0)
		return FAIL(s->f, E_BADREQ, "line %d: </%s> where <%s> is open",
		    text_line_number(s), t->name, top);
	if (!t->closing && !element_allowed(s, t))
		return FAIL(s->f, E_BADREQ, "line %d: <%s> is not known in %s%s",
		    text_line_number(s), t->name, s->depth == 0 ? "this file" : "<",
		    s->depth == 0 ? "" : arena_printf(s->out.a, "%s>", top));
	if (s->depth == DEPTH_MAX)
		return FAIL(s->f, E_BADREQ, "line %d: nested deeper than %d",
		    text_line_number(s), DEPTH_MAX);
	if (t->closing)
		s->depth--;
	else if (!t->empty)
		memcpy(s->stack[s->depth++], t->name, NAME_MAX);
	buf_printf(
	    &s->out, "<%s%s%s>", t->closing ? "/" : "", t->name, t->empty ? "/" : "");
	s->p = t->next;
	return OK;
}

/* Skips a comment or declaration at s->p. */
static bool skip_comment(struct text_scan *s)
{
	static const struct {
		const char *from, *to;
	} kinds[] = { { "<!--", "-->" }, { "<?", "?>" } };

	for (size_t i = 0; i < N(kinds); i++) {
		size_t n = strlen(kinds[i].from), left = (size_t)(s->end - s->p);
		const char *q;

		if (left < n || memcmp(s->p, kinds[i].from, n) != 0)
			continue;
		q = memmem(s->p + n, left - n, kinds[i].to, strlen(kinds[i].to));
		if (q == NULL)
			return false;
		s->p = q + strlen(kinds[i].to);
		return true;
	}
	return false;
}

/* Does a reference that clients decode begin here (protocol.md 0.3)? */
static bool is_reference(const char *p, const char *end)
{
	static const char *const known[] = { "&lt;", "&gt;", "&amp;", "&quot;",
		"&apos;" };
	const char *q = p + 2;

	for (size_t i = 0; i < N(known); i++)
		if ((size_t)(end - p) >= strlen(known[i]) &&
		    memcmp(p, known[i], strlen(known[i])) == 0)
			return true;
	if (end - p < 4 || p[1] != '#')
		return false;
	while (q < end && q - p < 5 && *q >= '0' && *q <= '9')
		q++;
	return q - p > 2 && q < end && *q == ';';
}

static enum err check_text(struct text_scan *s)
{
	for (; s->p < s->end && *s->p != '<'; s->p++) {
		unsigned char c = (unsigned char)*s->p;

		if (c < ' ' && !text_white(*s->p))
			return FAIL(s->f, E_BADREQ, "line %d: control character %u",
			    text_line_number(s), c);
		if (s->depth == 0 && !text_white(*s->p))
			return FAIL(s->f, E_BADREQ,
			    "line %d: text outside of all elements",
			    text_line_number(s));
		if (c == '\r')
			continue;
		if (c == '&' && !is_reference(s->p, s->end))
			buf_puts(&s->out, "&amp;");
		else
			buf_put(&s->out, s->p, 1);
	}
	return OK;
}

enum err project_text_check(struct arena *a, enum project_text kind, const char *in,
    size_t n, char **out, struct fail *f)
{
	struct text_scan s = { .kind = kind,
		.in = in,
		.p = in,
		.end = in + n,
		.out = buf_new(a),
		.f = f };
	struct tag t;
	enum err e = OK;

	if (n >= 3 && memcmp(in, "\xef\xbb\xbf", 3) == 0)
		s.p += 3;
	while (e == OK && s.p < s.end) {
		if (*s.p != '<')
			e = check_text(&s);
		else if (skip_comment(&s))
			continue;
		else if (text_tag_read(s.p, s.end, &t))
			e = check_element(&s, &t);
		else
			e = FAIL(f, E_BADREQ,
			    "line %d: a < that begins no plain element",
			    text_line_number(&s));
	}
	if (e == OK && s.depth > 0)
		e = FAIL(f, E_BADREQ, "line %d: <%s> has no end", text_line_number(&s),
		    s.stack[s.depth - 1]);
	if (s.out.n > 0 && s.out.p[s.out.n - 1] != '\n')
		buf_puts(&s.out, "\n");
	*out = s.out.p;
	return e;
}

/* --- filling in --- */

static char *user_weak_key(struct arena *a, const struct user *u)
{
	return account_weak_key(a, u->id, u->authenticator, u->passwd_hash);
}

static const char *fill_value(struct arena *a, enum fill i, const struct text_fill *x)
{
	const struct user *u = x->user;

	switch (i) {
	case FILL_authenticator:
		return x->weak_auth ? user_weak_key(a, u) : u->authenticator;
	case FILL_weak_auth:
		return user_weak_key(a, u);
	case FILL_rss_auth:
		return account_rss_key(a, u->id, u->authenticator, u->passwd_hash);
	case FILL_hostid:
		return arena_printf(a, "%" PRId64, x->hostid);
	case FILL_master_url:
		return x->conf->master_url;
	case FILL_project_name:
		return x->conf->long_name;
	case FILL_teamid:
		return arena_printf(a, "%" PRId64, u->teamid);
	case FILL_team_name:
		return x->team_name == NULL ? "" : x->team_name;
	case FILL_userid:
		return arena_printf(a, "%" PRId64, u->id);
	case FILL_user_name:
		return u->name;
	case FILLS:
		break;
	}
	return "";
}

void project_text_fill(struct buf *b, const char *text, const struct text_fill *x)
{
	const char *end = text + strlen(text), *p = text, *q;
	bool out = false; /* within a block for other accounts */
	struct tag t;

	while ((q = memchr(p, '<', (size_t)(end - p))) != NULL &&
	       text_tag_read(q, end, &t)) {
		bool team = strcmp(t.name, "ifteam") == 0;
		enum fill i = t.empty ? fill_named(t.name) : FILLS;

		if (!out)
			buf_put(b, p, (size_t)(q - p));
		if (team)
			out = !t.closing && !t.empty && x->user->teamid == 0;
		else if (!out && i != FILLS)
			buf_xml(b, fill_value(b->a, i, x));
		else if (!out)
			buf_put(b, q, (size_t)(t.next - q));
		p = t.next;
	}
	buf_put(b, p, (size_t)(end - p));
}
