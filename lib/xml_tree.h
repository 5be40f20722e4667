/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small document as a tree of elements with their line numbers, for files that people
 * write, where a message must name the place of each mistake. Clients' documents go
 * through the field tables of lib/xml.h instead.
 */
#ifndef LIB_XML_TREE_H
#define LIB_XML_TREE_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/xml_repair.h"

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
