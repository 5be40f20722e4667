/* SPDX-License-Identifier: Apache-2.0 */
/* A reply as a tree of elements, read as strictly as the strictest stock client. */
#ifndef TEST_REPLY_TREE_H
#define TEST_REPLY_TREE_H

#include <stdbool.h>
#include "test/check_reply.h"

struct node {
	char *name, *attr, *text; /* text: as sent, trimmed; children not included */
	size_t raw_n;             /* bytes of text as sent */
	const char *raw;          /* and they themselves */
	bool empty;               /* <x/> */
	bool own_line;            /* it begins its line */
	struct node *child, *last, *next;
	int line;
};
__attribute__((format(printf, 2, 3))) void violation(
    struct violations *, const char *, ...);

/* Returns the root element; NULL if there is none, which is a violation, too. */
struct node *tree_read(struct violations *, const char *, size_t);
const struct node *tree_child(const struct node *, const char *name); /* NULL if none */
const char *tree_text(
    const struct node *, const char *name); /* of that child; "" if none */
/* Returns the next sibling of n with this name; NULL if there is none. */
const struct node *tree_next(const struct node *n, const char *name);
/* for (EACH(n, parent, "name")) */
#define EACH(n, parent, name)                                                          \
	const struct node *n = tree_child((parent), (name));                           \
	n != NULL;                                                                     \
	n = tree_next(n, (name))

#endif
