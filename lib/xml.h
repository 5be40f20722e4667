/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fields from XML, over libxml2's SAX parser. Input bytes are taken as ISO-8859-1 and
 * come out as the same bytes (protocol.md 10.1).
 *
 * Nested tables of fields describe a document: FIELD_ROW is a child element whose
 * fields belong to this row (offset 0) or to a struct in it, FIELD_ROWS a repeated one,
 * each of which adds a row, at most max of them, to a struct xml_list. Unknown elements
 * are skipped with all their content. A flag is true if it is empty or a number other
 * than 0; whole numbers may be hexadecimal or octal; a text is trimmed. Values that are
 * not numbers or that the member cannot hold leave it alone; the last occurrence of a
 * scalar wins; non-finite numbers become 0 (protocol.md 10.4). A field with child
 * elements is not a value and leaves the member alone, too.
 */
#ifndef LIB_XML_H
#define LIB_XML_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/field.h"
#include "lib/xml_repair.h"

/* rows of type T in an arena array; the order of the members matters */
struct xml_list {
	void *rows;
	size_t n, cap;
	bool cut; /* there were more rows than the list may have */
};

/*
 * Parses text (well-formed, after the caller's normaliser) with root element root into
 * row. E_BADREQ with the line of the first error; fields read before it stay in row.
 * Depth is limited to 32 and distinct element names to some 10,000; a DOCTYPE, and
 * entities other than the five, are refused; nothing external is loaded.
 */
enum err xml_parse(struct arena *, const char *text, size_t n, const char *root,
    const struct field *table, void *row, void *ctx, struct fail *);

/* Adds a row of zeros to the list of e; NULL if the list is full. */
void *xml_row_new(struct arena *, const struct field *e, struct xml_list *);
struct xml_leaf {         /* an element of plain text, or the beginning of a row */
	const char *name; /* NULL = a row begins */
	size_t name_n;
	const char *value; /* of a row: its whole text */
	size_t n;
};
/*
 * Adds rows to a list, as xml_parse() does for the element e of type FIELD_ROWS, whose
 * fields are no containers. A normaliser has found the leaves (RAW_ROWS of
 * proto/normalise.h).
 */
void xml_rows(struct arena *, const struct xml_leaf *, size_t n, const struct field *e,
    struct xml_list *);

/* Returns the text between the first <tag> and </tag>, untrimmed; NULL if absent. */
char *xml_between(struct arena *, const char *text, const char *tag);

/*
 * Where the elements of a document are in its text, for tools that change one of them
 * and must leave every other byte as it is. lib/xml.h judges whether the document
 * is well-formed; this only finds places.
 */

#define XML_SPAN_NONE ((size_t)-1)

struct xml_span { /* an element; offsets are bytes of the text */
	char *name;
	size_t at, end;          /* from its "<" to behind its last ">" */
	size_t inner, inner_end; /* between its tags; both are end if it is <x/> */
	size_t parent;           /* index in the array; XML_SPAN_NONE = the root */
	int line;                /* of its start tag, from 1 */
	bool empty;              /* written as <x/> */
};
/*
 * Lists the elements in the order of their start tags. Comments, CDATA sections and
 * processing instructions are skipped. E_BADREQ with the line: a tag or comment without
 * end, tags that do not match, or a DOCTYPE.
 */
enum err xml_spans(struct arena *, const char *text, size_t n, struct xml_span **,
    size_t *count, struct fail *);

/*
 * A small document as a tree of elements with their line numbers, for files that people
 * write, where a message must name the place of each mistake. Clients' documents go
 * through the field tables of lib/xml.h instead.
 */

struct xml_node {
	char *name;
	char *text;    /* its own text, trimmed, without that of its child elements */
	int line;      /* from 1 */
	bool unclosed; /* xml_tree_lenient(): without its end tag */
	struct xml_node *child, *next; /* first child element; next sibling */
};

/*
 * Parses a document. path appears in messages only. E_CONFIG with file, line and cause
 * if the text is not well-formed XML or has a DOCTYPE; nothing external is loaded.
 */
enum err xml_tree(struct arena *, const char *path, const char *text, size_t n,
    struct xml_node **root, struct fail *);

struct xml_source {
	const char *text;
	size_t n;
	const char *const *containers; /* elements that hold others; ends with NULL */
};
/*
 * The same, but a text that is not well-formed is mended first (lib/xml_repair.h):
 * elements without an end tag are unclosed, the other mistakes are listed. A text that
 * is neither is E_CONFIG with the first cause.
 */
enum err xml_tree_lenient(struct arena *, const char *path, struct xml_source,
    struct xml_node **root, struct xml_mistakes *, struct fail *);

#endif
