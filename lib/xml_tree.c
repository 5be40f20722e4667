/* SPDX-License-Identifier: Apache-2.0 */
/* Copies libxml2's tree into the arena and frees it at once. */
#include "lib/xml_tree.h"

#include <limits.h>
#include <string.h>
#include <libxml/parser.h>
#include <libxml/tree.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "lib/xml_repair.h"

/* libxml2 2.12 made the error const. */
#if LIBXML_VERSION >= 21200
#define XML_ERROR const xmlError
#else
#define XML_ERROR xmlError
#endif

struct complaint {
	struct arena *a;
	int line;
	char *text;
};

/* The first error is the cause; later ones are its consequences. */
static void
keep_first_error(void *ctx, XML_ERROR *x)
{
	struct complaint *bad = ctx;

	if (bad->text != NULL || x == NULL || x->message == NULL)
		return;
	bad->line = x->line;
	bad->text = arena_memdup(bad->a, x->message, strcspn(x->message, "\n"));
}

static char *
node_own_text(struct arena *a, const xmlNode *n)
{
	struct buf b = buf_new(a);

	for (const xmlNode *t = n->children; t != NULL; t = t->next)
		if ((t->type == XML_TEXT_NODE || t->type == XML_CDATA_SECTION_NODE) &&
		    t->content != NULL)
			buf_puts(&b, (const char *)t->content);
	return text_trim(b.n == 0 ? arena_strdup(a, "") : b.p);
}

static struct xml_node *
tree_copy(struct arena *a, xmlNode *n)
{
	struct xml_node *out = NEW(a, struct xml_node), **at = &out->child;

	out->name = arena_strdup(a, (const char *)n->name);
	out->text = node_own_text(a, n);
	out->line = (int)xmlGetLineNo(n);
	out->unclosed = xmlHasProp(n, (const xmlChar *)XML_UNCLOSED) != NULL;
	for (xmlNode *c = n->children; c != NULL; c = c->next) {
		if (c->type != XML_ELEMENT_NODE)
			continue;
		*at = tree_copy(a, c);
		at = &(*at)->next;
	}
	return out;
}

/* Does the text hold only UTF-8? */
static bool
is_utf8(const char *text, size_t n)
{
	for (size_t i = 0, m; i < n; i += m) {
		m = text_utf8(text + i);
		if (m == 0 || m > n - i)
			return false;
	}
	return true;
}

static enum err
tree_parse(struct arena *a, const char *path, const char *text, size_t n,
    const char *encoding, struct xml_node **root, struct fail *f)
{
	struct complaint bad = { a, 0, NULL };
	enum err e = OK;
	xmlDoc *doc;

	*root = NULL;
	if (n > INT_MAX)
		return FAIL(f, E_CONFIG, "%s: too large", path);
	xmlSetStructuredErrorFunc(&bad, keep_first_error);
	/* No XML_PARSE_NOERROR: since libxml2 2.13 it silences the handler, too. */
	doc = xmlReadMemory(text, (int)n, path, encoding,
	    XML_PARSE_NONET | XML_PARSE_NOWARNING | XML_PARSE_NOBLANKS);
	xmlSetStructuredErrorFunc(NULL, NULL);
	if (doc == NULL)
		return FAIL(f, E_CONFIG, "%s:%d: not well-formed XML: %s", path,
		    bad.line, bad.text == NULL ? "the document is empty" : bad.text);
	if (doc->intSubset != NULL)
		e = FAIL(f, E_CONFIG, "%s: a DOCTYPE is not allowed here", path);
	else
		*root = tree_copy(a, xmlDocGetRootElement(doc));
	xmlFreeDoc(doc);
	return e;
}

enum err
xml_tree(struct arena *a, const char *path, const char *text, size_t n,
    struct xml_node **root, struct fail *f)
{
	return tree_parse(a, path, text, n, NULL, root, f);
}

enum err
xml_tree_lenient(struct arena *a, const char *path, struct xml_source src,
    struct xml_node **root, struct xml_mistakes *bad, struct fail *f)
{
	struct buf out = buf_new(a);
	struct fail first = { 0 };
	enum err e = tree_parse(a, path, src.text, src.n, NULL, root, &first);

	*bad = (struct xml_mistakes){ 0 };
	if (e == OK)
		return OK;
	bad->cause = arena_strdup(a, first.detail);
	e = xml_repair(a, path, src.text, src.n, src.containers, &out, bad, f);
	if (e == OK)
		e = tree_parse(a, path, out.p, out.n,
		    is_utf8(out.p, out.n) ? "UTF-8" : "ISO-8859-1", root, f);
	if (e != OK)
		*f = first; /* about the text as it is written */
	return e;
}
