/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the elements by their spans, collects the edits and applies them in one go. */
#include "tools/conf_text.h"

#include <assert.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "lib/xml.h"
#include "lib/banned.h"

struct edit { /* bytes at..end are replaced by text; in ascending order */
	size_t at, end;
	const char *text;
};

struct doc { /* the text that is being changed */
	struct arena *a;
	const char *text;
	size_t n;
	struct xml_span *spans;
	size_t nspans;
	const char *eol; /* as the file has them */
	struct edit *edits;
	size_t nedits, cap;
};

static enum err doc_read(
    struct arena *a, const char *text, struct doc *d, struct fail *f)
{
	*d = (struct doc){ .a = a, .text = text, .n = strlen(text) };
	d->eol = strstr(text, "\r\n") != NULL ? "\r\n" : "\n";
	TRY(xml_spans(a, text, d->n, &d->spans, &d->nspans, f));
	if (d->nspans == 0 || d->spans[0].empty)
		return FAIL(f, E_BADREQ, "the document is empty");
	return OK;
}

static void doc_edit(struct doc *d, size_t at, size_t end, const char *text)
{
	assert(d->nedits == 0 || d->edits[d->nedits - 1].end <= at);
	PUSH(d->a, d->edits, d->nedits, d->cap) = (struct edit){ at, end, text };
}

static char *doc_apply(const struct doc *d)
{
	struct buf b = buf_new(d->a);
	size_t at = 0;

	for (size_t i = 0; i < d->nedits; i++) {
		buf_put(&b, d->text + at, d->edits[i].at - at);
		buf_puts(&b, d->edits[i].text);
		at = d->edits[i].end;
	}
	buf_put(&b, d->text + at, d->n - at);
	return b.p;
}

/* --- places --- */

static bool is_indent(char c)
{
	return c == ' ' || c == '\t';
}

/* The blanks before p, back to the beginning of its line; NULL if there is more. */
static char *indent_of(const struct doc *d, size_t p)
{
	size_t at = p;

	while (at > 0 && is_indent(d->text[at - 1]))
		at--;
	if (at > 0 && d->text[at - 1] != '\n')
		return NULL;
	return arena_memdup(d->a, d->text + at, p - at);
}

/* The end of the line if only blanks and a comment follow p, else p. */
static size_t rest_of_line(const struct doc *d, size_t p)
{
	const char *s = d->text + p, *end;

	while (is_indent(*s))
		s++;
	if (strncmp(s, "<!--", 4) == 0 && (end = strstr(s, "-->")) != NULL &&
	    memchr(s, '\n', (size_t)(end - s)) == NULL) {
		s = end + 3;
		while (is_indent(*s))
			s++;
	}
	return *s == '\n' || *s == '\r' || *s == '\0' ? (size_t)(s - d->text) : p;
}

static char *element_line(struct doc *d, const char *name, const char *value)
{
	struct buf b = buf_new(d->a);

	buf_printf(&b, "<%s>", name);
	buf_xml_plain(&b, value);
	buf_printf(&b, "</%s>", name);
	return b.p;
}

/* --- edits --- */

static void remove_element(struct doc *d, const struct xml_span *e)
{
	char *indent = indent_of(d, e->at);
	size_t end = e->end;

	while (is_indent(d->text[end]))
		end++;
	end += d->text[end] == '\r';
	if (indent != NULL && d->text[end] == '\n')
		doc_edit(d, e->at - strlen(indent), end + 1, "");
	else
		doc_edit(d, e->at, e->end, "");
}

static char *span_value(struct doc *d, const struct xml_span *e)
{
	struct xml_node *node;
	struct fail f = { 0 };

	if (xml_tree(d->a, "", d->text + e->at, e->end - e->at, &node, &f) != OK)
		return NULL;
	return node->text;
}

static void replace_value(struct doc *d, const struct xml_span *e, const char *value)
{
	const char *now = span_value(d, e);
	struct buf b = buf_new(d->a);

	if (now != NULL && strcmp(now, value) == 0)
		return;
	if (e->empty) {
		doc_edit(d, e->at, e->end, element_line(d, e->name, value));
		return;
	}
	buf_xml_plain(&b, value);
	doc_edit(d, e->inner, e->inner_end, b.p);
}

/* Inserts texts, each on a line of its own, behind an element. */
static void insert_behind(
    struct doc *d, const struct xml_span *e, const char *const *texts, size_t n)
{
	const char *indent = indent_of(d, e->at);
	size_t at = rest_of_line(d, e->end);
	struct buf b = buf_new(d->a);

	for (size_t i = 0; i < n; i++)
		if (indent == NULL)
			buf_puts(&b, texts[i]);
		else
			buf_printf(&b, "%s%s%s", d->eol, indent, texts[i]);
	doc_edit(d, at, at, b.n == 0 ? "" : b.p);
}

/* The indentation of the last child that begins its line; else one step more than the
 * parent's. */
static const char *child_indent(const struct doc *d, size_t parent)
{
	const char *indent = NULL, *own = indent_of(d, d->spans[parent].at);

	for (size_t i = parent + 1; i < d->nspans; i++)
		if (d->spans[i].parent == parent) {
			const char *here = indent_of(d, d->spans[i].at);

			indent = here != NULL ? here : indent;
		}
	return indent != NULL ? indent :
	                        arena_printf(d->a, "%s\t", own == NULL ? "" : own);
}

/* Inserts whole lines at the end of an element. */
static void insert_lines(struct doc *d, size_t parent, const char *lines)
{
	const struct xml_span *e = &d->spans[parent];
	const char *own = indent_of(d, e->at), *indent;

	own = own == NULL ? "" : own;
	if (e->empty) {
		doc_edit(d, e->at, e->end,
		    arena_printf(
			d->a, "<%s>%s%s%s</%s>", e->name, d->eol, lines, own, e->name));
		return;
	}
	indent = indent_of(d, e->inner_end);
	if (indent != NULL)
		doc_edit(d, e->inner_end - strlen(indent),
		    e->inner_end - strlen(indent), lines);
	else
		doc_edit(d, e->inner_end, e->inner_end,
		    arena_printf(d->a, "%s%s%s", d->eol, lines, own));
}

static size_t last_section(const struct doc *d, const char *name)
{
	size_t found = XML_SPAN_NONE;

	for (size_t i = 1; i < d->nspans; i++)
		if (d->spans[i].parent == 0 && strcmp(d->spans[i].name, name) == 0)
			found = i;
	return found;
}

/* Inserts whole lines at the end of the last section of that name. */
static void append_lines(struct doc *d, const char *section, const char *lines)
{
	size_t at = last_section(d, section);
	const char *indent;

	if (at != XML_SPAN_NONE) {
		insert_lines(d, at, lines);
		return;
	}
	indent = child_indent(d, 0);
	insert_lines(d, 0,
	    arena_printf(d->a, "%s<%s>%s%s%s</%s>%s", indent, section, d->eol, lines,
		indent, section, d->eol));
}

static bool span_is_option(const struct doc *d, size_t i, const char *name)
{
	const struct xml_span *e = &d->spans[i];

	return e->parent != XML_SPAN_NONE && e->parent != 0 &&
	       d->spans[e->parent].parent == 0 &&
	       strcmp(d->spans[e->parent].name, "config") == 0 &&
	       strcmp(e->name, name) == 0;
}

enum err conf_text_set(struct arena *a, const char *text, const char *name,
    const char *const *values, size_t n, char **out, struct fail *f)
{
	const struct xml_span *last = NULL;
	const char **more;
	struct doc d;
	size_t have = 0;

	TRY(doc_read(a, text, &d, f));
	more = NEWN(a, const char *, n + 1);
	for (size_t i = 0; i < n; i++)
		more[i] = element_line(&d, name, values[i]);
	for (size_t i = 0; i < d.nspans; i++) {
		if (!span_is_option(&d, i, name))
			continue;
		if (have >= n)
			remove_element(&d, &d.spans[i]);
		else
			replace_value(&d, &d.spans[i], values[have]);
		have++;
		last = &d.spans[i];
	}
	if (have < n && last != NULL)
		insert_behind(&d, last, more + have, n - have);
	else if (have < n) {
		size_t section = last_section(&d, "config");
		const char *indent = section == XML_SPAN_NONE ?
		                         arena_printf(
					     d.a, "%s\t", child_indent(&d, 0)) :
		                         child_indent(&d, section);
		struct buf b = buf_new(d.a);

		for (size_t i = 0; i < n; i++)
			buf_printf(&b, "%s%s%s", indent,
			    element_line(&d, name, values[i]), d.eol);
		append_lines(&d, "config", b.p);
	}
	*out = doc_apply(&d);
	return OK;
}

/* Finds the number-th item of all sections; XML_SPAN_NONE if there is none. */
static size_t find_item(const struct doc *d, const char *item, size_t number)
{
	for (size_t i = 1; i < d->nspans; i++) {
		const struct xml_span *e = &d->spans[i];

		if (e->parent == XML_SPAN_NONE || e->parent == 0 ||
		    d->spans[e->parent].parent != 0 || strcmp(e->name, item) != 0 ||
		    strncmp(d->spans[e->parent].name, item, strlen(item)) != 0)
			continue;
		if (number-- == 0)
			return i;
	}
	return XML_SPAN_NONE;
}

enum err conf_text_set_child(struct arena *a, const char *text,
    const struct conf_text_child *c, char **out, struct fail *f)
{
	bool found = false;
	struct doc d;
	size_t item;

	TRY(doc_read(a, text, &d, f));
	item = find_item(&d, c->item, c->number);
	if (item == XML_SPAN_NONE)
		return FAIL(f, E_NOTFOUND, "there is no such <%s>", c->item);
	for (size_t i = item + 1; i < d.nspans; i++) {
		if (d.spans[i].parent != item || strcmp(d.spans[i].name, c->child) != 0)
			continue;
		if (c->value == NULL || found)
			remove_element(&d, &d.spans[i]);
		else
			replace_value(&d, &d.spans[i], c->value);
		found = true;
	}
	if (!found && c->value != NULL)
		insert_lines(&d, item,
		    arena_printf(a, "%s%s%s", child_indent(&d, item),
			element_line(&d, c->child, c->value), d.eol));
	*out = doc_apply(&d);
	return OK;
}

enum err conf_text_remove_item(struct arena *a, const char *text, const char *item,
    size_t number, char **out, struct fail *f)
{
	struct doc d;
	size_t at;

	TRY(doc_read(a, text, &d, f));
	at = find_item(&d, item, number);
	if (at == XML_SPAN_NONE)
		return FAIL(f, E_NOTFOUND, "there is no such <%s>", item);
	remove_element(&d, &d.spans[at]);
	*out = doc_apply(&d);
	return OK;
}

enum err conf_text_append(struct arena *a, const char *text, const char *section,
    const char *lines, char **out, struct fail *f)
{
	struct doc d;

	TRY(doc_read(a, text, &d, f));
	append_lines(&d, section, lines);
	*out = doc_apply(&d);
	return OK;
}

enum err conf_text_values(struct arena *a, const char *text, const char *name,
    struct conf_text_value **values, size_t *n, struct fail *f)
{
	struct doc d;
	size_t cap = 0;

	*values = NULL;
	*n = 0;
	TRY(doc_read(a, text, &d, f));
	for (size_t i = 0; i < d.nspans; i++) {
		char *value;

		if (!span_is_option(&d, i, name))
			continue;
		value = span_value(&d, &d.spans[i]);
		PUSH(a, *values, *n, cap) = (struct conf_text_value){
			value == NULL ? arena_strdup(a, "") : value, d.spans[i].line
		};
	}
	return OK;
}
