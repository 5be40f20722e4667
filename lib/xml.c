/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A stack of open elements over libxml2's SAX2. libxml2 wants UTF-8: bytes >= 128 go in
 * as the characters U+0080 to U+00FF and come out as bytes again, and so do references
 * such as &#195;. Plain ASCII, nearly always the case, is parsed in place. At each
 * level one element is open: a container (with rows of its own), a field, or an unknown
 * element, which is skipped with all its content.
 */
#include "lib/xml.h"

#include <assert.h>
#include <libxml/parser.h>
#include <libxml/parserInternals.h>
#include <libxml/tree.h>
#include <libxml/xmlerror.h>
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/text.h"
#include "lib/xml_repair.h"
#include "lib/banned.h"

enum {
	DEPTH_MAX = 32,
	/*
	 * Limit on all distinct names in a document. libxml2 before 2.12 keeps them in
	 * a table that stops growing at 16,384 places: some 100,000 names would cost
	 * minutes. Clients use 300.
	 */
	NAMES_MAX_BYTES = 256 << 10,
};

static const char too_many_names[] = "too many different element names";

/* An open container: the elements it may hold, and the row that they fill. */
struct level {
	const struct field *table;
	const struct field *self; /* NULL for the root */
	void *row;
};

struct xml_reader {
	struct arena *a;
	void *ctx;
	const char *root;
	xmlParserCtxtPtr parser;
	struct level open[DEPTH_MAX];
	size_t nopen; /* open containers */
	size_t depth; /* open elements of any kind */
	size_t skip;  /* open elements within an unknown one, itself included */
	const struct field *leaf; /* the open field */
	bool spoiled;      /* the field has child elements, so it is not a value */
	struct buf text;   /* text of the open field; reused */
	char refusal[200]; /* why we stopped the parser */
	int line;
};

/* --- text -> value --- */

static bool is_ascii(const char *p, size_t n)
{
	size_t i = 0;

	for (; i + 8 <= n; i += 8) {
		uint64_t w;
		memcpy(&w, p + i, 8);
		if ((w & 0x8080808080808080u) != 0)
			return false;
	}
	for (; i < n; i++)
		if ((unsigned char)p[i] >= 128)
			return false;
	return true;
}

/*
 * Converts UTF-8 to one byte per character, in place; characters above U+00FF keep
 * their bytes.
 */
static size_t utf8_to_bytes(char *p, size_t n)
{
	size_t out = 0;

	if (is_ascii(p, n))
		return n;
	for (size_t i = 0; i < n; i++) {
		unsigned char c = (unsigned char)p[i];
		if ((c == 0xc2 || c == 0xc3) && i + 1 < n)
			c = (unsigned char)(c << 6 | ((unsigned char)p[++i] & 0x3f));
		p[out++] = (char)c;
	}
	return out;
}

/* Stores the text of a complete field, n bytes at s, which are changed. */
static void field_store(
    struct arena *a, const struct field *e, char *s, size_t n, void *row)
{
	int64_t whole = 1; /* <x/> */
	double real;

	while (n > 0 && text_white(s[n - 1]))
		n--;
	s[n] = '\0';
	while (text_white(*s))
		s++, n--;
	switch (e->type) {
	case FIELD_TEXT:
		if (e->cut || e->max == 0 || (double)n <= e->max)
			*(char **)(void *)((char *)row +
					   e->off) = e->cut ? text_fit(a, s, n,
								  (size_t)e->max) :
			                                      arena_memdup(a, s, n);
		break;
	case FIELD_F64:
		if (text_f64(s, &real))
			field_put_number(e, row, real);
		break;
	case FIELD_FLAG:
		if (*s == '\0' || text_wire_i64(s, INT64_MIN, INT64_MAX, &whole))
			field_put_whole(e, row, whole != 0);
		break;
	default:
		if (text_wire_i64(s, INT64_MIN, INT64_MAX, &whole))
			field_put_whole(e, row, whole);
	}
}

/* --- elements --- */

__attribute__((format(printf, 2, 3))) static void reader_refuse(
    struct xml_reader *r, const char *fmt, ...)
{
	va_list ap;

	if (r->refusal[0] != '\0')
		return;
	va_start(ap, fmt);
	vsnprintf(r->refusal, sizeof(r->refusal), fmt, ap);
	va_end(ap);
	r->line = xmlSAX2GetLineNumber(r->parser);
	xmlStopParser(r->parser);
}

static void level_push(
    struct xml_reader *r, const struct field *e, const struct field *table, void *row)
{
	assert(r->nopen < DEPTH_MAX);
	r->open[r->nopen++] = (struct level){ .table = table, .self = e, .row = row };
}

void *xml_row_new(struct arena *a, const struct field *e, struct xml_list *l)
{
	if (e->max > 0 && (double)l->n >= e->max) {
		l->cut = true;
		return NULL;
	}
	l->rows = arena_grow(a, l->rows, l->n, &l->cap, e->size);
	return (char *)l->rows + e->size * l->n++;
}

static void note_seen(const struct field *e, char *row)
{
	if (e->seen_off != 0)
		*(bool *)(void *)(row + e->seen_off) = true;
}

static void elem_enter(struct xml_reader *r, const struct field *e)
{
	char *row = r->open[r->nopen - 1].row;

	note_seen(e, row);
	if (e->type == FIELD_ROW) {
		level_push(r, e, e->child, row + e->off);
		return;
	}
	if (e->type == FIELD_ROWS) {
		void *item = xml_row_new(
		    r->a, e, (struct xml_list *)(void *)(row + e->off));
		if (item == NULL)
			r->skip = 1;
		else
			level_push(r, e, e->child, item);
		return;
	}
	r->leaf = e;
	r->spoiled = false;
	r->text.n = 0;
	r->text.p[0] = '\0';
}

/* Parameters: as libxml2 calls it. */
static void on_start(void *user, const xmlChar *local, const xmlChar *prefix,
    const xmlChar *uri, int nns, const xmlChar **ns, int natts, int ndef,
    const xmlChar **atts)
{
	struct xml_reader *r = user;
	const char *name = (const char *)local;
	const struct field *e;

	(void)uri, (void)nns, (void)ns, (void)natts, (void)ndef, (void)atts;
	if (r->refusal[0] != '\0')
		return;
	/* Since libxml2 2.13, xmlDictSetLimit() has no effect before the parse. */
	if (xmlDictGetUsage(r->parser->dict) > NAMES_MAX_BYTES) {
		reader_refuse(r, "%s", too_many_names);
		return;
	}
	if (++r->depth > DEPTH_MAX) {
		reader_refuse(r, "elements nested deeper than %d", DEPTH_MAX);
		return;
	}
	if (r->depth == 1) {
		if (prefix != NULL || strcmp(name, r->root) != 0)
			reader_refuse(
			    r, "the root element is <%.60s>, not <%s>", name, r->root);
		return;
	}
	if (r->skip > 0) {
		r->skip++;
		return;
	}
	e = r->leaf == NULL && prefix == NULL ?
	        field_find(r->open[r->nopen - 1].table, name, false, NULL) :
	        NULL;
	if (e != NULL) {
		elem_enter(r, e);
		return;
	}
	r->spoiled = true;
	r->skip = 1;
}

static void on_end(
    void *user, const xmlChar *local, const xmlChar *prefix, const xmlChar *uri)
{
	struct xml_reader *r = user;
	struct level *top;

	(void)local, (void)prefix, (void)uri;
	if (r->refusal[0] != '\0')
		return;
	r->depth--;
	if (r->skip > 0) {
		r->skip--;
		return;
	}
	top = &r->open[r->nopen - 1];
	if (r->leaf != NULL) {
		if (!r->spoiled)
			field_store(r->a, r->leaf, r->text.p,
			    utf8_to_bytes(r->text.p, r->text.n), top->row);
		r->leaf = NULL;
		return;
	}
	r->nopen--;
	if (top->self != NULL && top->self->done != NULL)
		top->self->done(top->row, r->ctx);
}

static void on_text(void *user, const xmlChar *p, int n)
{
	struct xml_reader *r = user;

	if (r->leaf != NULL && r->skip == 0)
		buf_put(&r->text, p, (size_t)n);
}

static void on_doctype(
    void *user, const xmlChar *name, const xmlChar *id, const xmlChar *system_id)
{
	struct xml_reader *r = user;

	(void)name, (void)id, (void)system_id;
	reader_refuse(r, "a DOCTYPE is not allowed");
}

/* libxml2 2.12 made the error const. */
#if LIBXML_VERSION >= 21200
#define XML_ERROR const xmlError
#else
#define XML_ERROR xmlError
#endif

/* Keeps the first fatal error; later ones are its consequences. */
static void on_error(void *user, XML_ERROR *e)
{
	struct xml_reader *r = user;
	const char *why = e->message;
	size_t n;

	if (e->level != XML_ERR_FATAL || r->refusal[0] != '\0')
		return;
	if (e->code == XML_ERR_NO_MEMORY)
		why = too_many_names;
	snprintf(r->refusal, sizeof(r->refusal), "%s",
	    why == NULL ? "not well-formed" : why);
	n = strlen(r->refusal);
	if (n > 0 && r->refusal[n - 1] == '\n')
		r->refusal[n - 1] = '\0';
	r->line = e->line;
}

/* --- documents --- */

static void put_utf8(struct buf *b, const char *p, size_t n)
{
	for (size_t i = 0, from = 0; i <= n; i++) {
		unsigned char c = i < n ? (unsigned char)p[i] : 0;
		if (i < n && c < 128)
			continue;
		buf_put(b, p + from, i - from);
		from = i + 1;
		if (i < n)
			buf_put(b,
			    (char[]){
				(char)(0xc0 | c >> 6), (char)(0x80 | (c & 0x3f)) },
			    2);
	}
}

enum err xml_parse(struct arena *a, const char *text, size_t n, const char *root,
    const struct field *table, void *row, void *ctx, struct fail *f)
{
	struct xml_reader r = { .a = a, .ctx = ctx, .root = root };

	level_push(&r, NULL, table, row);
	if (!is_ascii(text, n)) {
		struct buf b = buf_new(a);
		put_utf8(&b, text, n);
		text = b.p;
		n = b.n;
	}
	/* No XML_PARSE_NOERROR: since libxml2 2.13 it silences on_error, too. */
	const int options = XML_PARSE_NONET | XML_PARSE_NOWARNING |
	                    XML_PARSE_IGNORE_ENC;

	if (n > INT_MAX)
		return FAIL(f, E_BADREQ, "XML of %zu bytes is too long", n);
	r.text = buf_new(r.a);
	r.parser = xmlNewParserCtxt();
	assert(r.parser != NULL);
	xmlDictSetLimit(r.parser->dict, NAMES_MAX_BYTES);
	*r.parser->sax = (xmlSAXHandler){
		.initialized = XML_SAX2_MAGIC,
		.startElementNs = on_start,
		.endElementNs = on_end,
		.characters = on_text,
		.ignorableWhitespace = on_text,
		.cdataBlock = on_text,
		.internalSubset = on_doctype,
		.serror = on_error,
	};
	r.parser->userData = &r;
	xmlCtxtReadMemory(r.parser, text, (int)n, NULL, "UTF-8", options);
	if (!r.parser->wellFormed && r.refusal[0] == '\0')
		reader_refuse(&r, "not well-formed");
	xmlFreeParserCtxt(r.parser);
	if (r.refusal[0] == '\0')
		return OK;
	return FAIL(f, E_BADREQ, "line %d: %s", r.line, r.refusal);
}

/* As field_find(), for a name that is not terminated. */
static const struct field *elem_named(
    const struct field *table, const char *name, size_t n)
{
	for (; table->name != NULL; table++)
		if (table->name[0] == name[0] && strncmp(table->name, name, n) == 0 &&
		    table->name[n] == '\0')
			return table;
	return NULL;
}

void xml_rows(struct arena *a, const struct xml_leaf *v, size_t n,
    const struct field *e, struct xml_list *list)
{
	struct buf copy = buf_new(a);
	char *row = NULL;
	size_t nrows = 0;

	for (size_t i = 0; i < n; i++)
		nrows += v[i].name == NULL;
	if (list->n == 0) {
		list->cap = e->max > 0 && nrows > e->max ? (size_t)e->max : nrows;
		list->rows = arena_alloc(a, mul_or_die(list->cap, e->size));
	}
	for (const struct xml_leaf *leaf = v; leaf < v + n; leaf++) {
		const struct field *field;

		if (leaf->name == NULL) {
			row = xml_row_new(a, e, list);
			continue;
		}
		field = row == NULL ? NULL :
		                      elem_named(e->child, leaf->name, leaf->name_n);
		if (field == NULL)
			continue;
		copy.n = 0;
		buf_put(&copy, leaf->value, leaf->n);
		note_seen(field, row);
		field_store(a, field, copy.p, copy.n, row);
	}
}

char *xml_between(struct arena *a, const char *text, const char *tag)
{
	const char *start = arena_printf(a, "<%s>", tag), *end;
	const char *from = strstr(text, start), *to;

	if (from == NULL)
		return NULL;
	from += strlen(start);
	end = arena_printf(a, "</%s>", tag);
	to = strstr(from, end);
	return to == NULL ? NULL : arena_memdup(a, from, (size_t)(to - from));
}

/* Steps from tag to tag and keeps the open elements as a chain of parents. */

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

static int line_at(struct scan *s, const char *p)
{
	for (; s->counted < p; s->counted++)
		s->line += *s->counted == '\n';
	return s->line;
}

static enum err refuse_tag(struct scan *s, const char *at, const char *why)
{
	return FAIL(s->f, E_BADREQ, "line %d: %s", line_at(s, at), why);
}

/* Skips what is not a tag; false if p is at one. */
static enum err skip_markup(struct scan *s, bool *skipped)
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

static bool begins_tag(const struct scan *s)
{
	const char *name = s->p + 1 + (s->p + 1 < s->end && s->p[1] == '/');

	return name < s->end && (text_alnum(*name) || strchr("_:", *name) != NULL ||
				    (unsigned char)*name >= 128);
}

/* Returns the ">" of the tag at p, which an attribute's value may contain, too. */
static const char *tag_end(const struct scan *s)
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

static enum err close_tag(struct scan *s, const char *gt)
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

static void open_tag(struct scan *s, const char *gt)
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

enum err xml_spans(struct arena *a, const char *text, size_t n, struct xml_span **spans,
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

/* Copies libxml2's tree into the arena and frees it at once. */

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
static void keep_first_error(void *ctx, XML_ERROR *x)
{
	struct complaint *bad = ctx;

	if (bad->text != NULL || x == NULL || x->message == NULL)
		return;
	bad->line = x->line;
	bad->text = arena_memdup(bad->a, x->message, strcspn(x->message, "\n"));
}

static char *node_own_text(struct arena *a, const xmlNode *n)
{
	struct buf b = buf_new(a);

	for (const xmlNode *t = n->children; t != NULL; t = t->next)
		if ((t->type == XML_TEXT_NODE || t->type == XML_CDATA_SECTION_NODE) &&
		    t->content != NULL)
			buf_puts(&b, (const char *)t->content);
	return text_trim(b.n == 0 ? arena_strdup(a, "") : b.p);
}

static struct xml_node *tree_copy(struct arena *a, xmlNode *n)
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
static bool is_utf8(const char *text, size_t n)
{
	for (size_t i = 0, m; i < n; i += m) {
		m = text_utf8(text + i);
		if (m == 0 || m > n - i)
			return false;
	}
	return true;
}

static enum err tree_parse(struct arena *a, const char *path, const char *text,
    size_t n, const char *encoding, struct xml_node **root, struct fail *f)
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

enum err xml_tree(struct arena *a, const char *path, const char *text, size_t n,
    struct xml_node **root, struct fail *f)
{
	return tree_parse(a, path, text, n, NULL, root, f);
}

enum err xml_tree_lenient(struct arena *a, const char *path, struct xml_source src,
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
