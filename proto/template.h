/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Elements of job templates as text: templates are copied byte for byte into blobs, so
 * they are walked, not parsed into trees.  Templates are the project's own: whatever is
 * wrong in one is refused with line and element.
 */
#ifndef PROTO_TEMPLATE_H
#define PROTO_TEMPLATE_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/err.h"

enum { TMPL_BYTES_MAX = 256 << 10, TMPL_PATH_MAX = 63 /* of the column */ };

/* Where a template that an admin names stands in the project: NAME, or PATH. */
char *tmpl_path(struct arena *, const char *given);
/* E_BADREQ: a path inside the project of at most TMPL_PATH_MAX bytes is needed. */
enum err tmpl_path_check(const char *path, struct fail *);

struct tmpl_elem {
	char *name;
	const char *outer, *inner; /* <x>..</x>, and what is between */
	size_t outer_n, inner_n;
	int line;
};
struct tmpl { /* what is being walked, and for messages where it stands in its file */
	const char *p, *end;
	int line;
	const char *what; /* "input template", ... */
};

struct tmpl tmpl_text(const char *text, const char *what);
struct tmpl tmpl_inside(const struct tmpl_elem *, const char *what);
/*
 * The next child element; comments and the XML declaration are passed over.  E_NOTFOUND
 * at the end, E_BADREQ: text outside of elements, a missing end tag.
 */
enum err tmpl_next(struct arena *, struct tmpl *, struct tmpl_elem *, struct fail *);
/* Steps into the enclosing element if that is what the text begins with. */
enum err tmpl_enter(struct arena *, struct tmpl *, const char *root, struct fail *);
/* The text of the element, trimmed and decoded. */
char *tmpl_value(struct arena *, const struct tmpl_elem *);
bool tmpl_is(const struct tmpl_elem *, const char *name);
/* A copy of the element's text on lines of its own. */
void tmpl_copy(struct buf *, const struct tmpl_elem *);

#endif
