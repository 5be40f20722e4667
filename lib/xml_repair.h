/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes well-formed XML of a text that is not, so that a mistake in a file that people
 * write costs the element that it is in and no more.
 */
#ifndef LIB_XML_REPAIR_H
#define LIB_XML_REPAIR_H

#include "lib/buf.h"
#include "lib/err.h"

struct xml_mistake {
	int line; /* from 1 */
	char *text;
};
struct xml_mistakes {
	struct xml_mistake *v;
	size_t n, cap;
	const char *cause; /* why the text is not well-formed; NULL = it is */
};

/* The attribute of an element whose end tag was missing or is another start tag. */
#define XML_UNCLOSED "locus-unclosed"

/*
 * Appends the text to *out with the same lines: an element without an end tag ends
 * before the next tag, or, if it is one of containers (ends with NULL) or is closed
 * before its parent ends, where its parent or the next element of its name begins.
 * "<x>1<x>" is one element. Such elements get XML_UNCLOSED; what else was mended is
 * added to the mistakes. Comments, instructions and attributes are dropped. E_CONFIG
 * with path and line: a DOCTYPE, no element, or elements nested deeper than 64.
 */
enum err xml_repair(struct arena *, const char *path, const char *text, size_t n,
    const char *const *containers, struct buf *out, struct xml_mistakes *,
    struct fail *);

#endif
