/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where the elements of a document are in its text, for tools that change one of them
 * and must leave every other byte as it is. lib/xml_tree.h judges whether the document
 * is well-formed; this only finds places.
 */
#ifndef LIB_XML_SPAN_H
#define LIB_XML_SPAN_H

#include <stdbool.h>
#include <stddef.h>
#include "lib/arena.h"
#include "lib/err.h"

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

#endif
