/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A small document as a tree of elements with their lines: for files that people write,
 * where each mistake is to be told with its place.  What clients send goes through the
 * field tables of lib/xml.h instead.
 */
#ifndef LIB_XML_TREE_H
#define LIB_XML_TREE_H

#include "lib/arena.h"
#include "lib/err.h"

struct xml_node {
	char *name;
	char *text; /* its own, trimmed; not that of the elements in it */
	int line;   /* from 1 */
	struct xml_node *child, *next; /* first element in it; next one beside it */
};

/*
 * path is only for messages.  E_CONFIG with file, line and cause if the text is not
 * well-formed XML or has a DOCTYPE; nothing is loaded.
 */
enum err xml_tree(struct arena *, const char *path, const char *text, size_t n,
    struct xml_node **root, struct fail *);

#endif
