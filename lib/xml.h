/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Typed fields from XML: tables of (element, type, offset, range) over libxml2's SAX
 * parser.  Bytes in are taken as ISO-8859-1 and come out as the same bytes
 * (protocol.md 10.1).
 *
 * A document is described by nested struct xml_elem tables.  A table entry is a field
 * of the enclosing row, or a child element with rows of its own.  Unknown elements are
 * skipped with all they contain.  Values out of range or not a number leave the field
 * as it was; the last occurrence of a scalar wins; non-finite numbers become 0
 * (protocol.md 10.4).  A field with child elements is not a value and leaves the field
 * alone too.
 */
#ifndef LIB_XML_H
#define LIB_XML_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"

enum xml_type {
	XML_I32,   /* int32_t; C integer syntax with 0x and octal */
	XML_I64,   /* int64_t */
	XML_F64,   /* double */
	XML_BOOL,  /* bool; <x/> and a nonzero number are true */
	XML_STR,   /* char *, trimmed, at most max bytes, longer = left alone */
	XML_GROUP, /* a child with fields of this row (off 0) or of a struct in it */
	XML_LIST,  /* a repeated child: one new row each, in a struct xml_list */
};

struct xml_list { /* first member order fixed: rows of type T in an arena array */
	void *rows;
	size_t n, cap;
};

struct xml_elem {
	const char *name;
	enum xml_type type;
	size_t off; /* of the field, embedded struct or struct xml_list in the row */
	/* Range of numbers, both 0 = any; max = bytes of strings, rows of lists, 0 =
	 * any */
	double min, max;
	size_t size;                  /* XML_LIST: size of a row */
	const struct xml_elem *child; /* XML_GROUP, XML_LIST: ends with name NULL */
	/* Called when a list row or group is complete; NULL = nothing to do. */
	void (*done)(void *row, void *ctx);
	/* Of a bool set when the element occurs; 0 or XML_UNSEEN = none. */
	size_t seen_off;
};
#define XML_UNSEEN ((size_t)-1)

/*
 * Parses text (well-formed after the caller's normaliser) whose root element is root
 * into row.  E_BADREQ with the line of the first error; what was read before stays in
 * row.  Depth is capped at 32, the different names of elements at some 10,000, DOCTYPE
 * and entities other than the five are refused, nothing is loaded.
 */
enum err xml_parse(struct arena *, const char *text, size_t n, const char *root,
    const struct xml_elem *table, void *row, void *ctx, struct fail *);

/* Text between the first <tag> and </tag>, untrimmed; NULL if there is none. */
char *xml_between(struct arena *, const char *text, const char *tag);

#endif
