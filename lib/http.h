/* SPDX-License-Identifier: Apache-2.0 */
/* URLs and query strings; no I/O. */
#ifndef LIB_HTTP_H
#define LIB_HTTP_H

#include "lib/arena.h"

/* %XX and + in n bytes; control bytes are dropped, what is no %XX stays. */
char *url_decode(struct arena *, const char *, size_t n);
/* Every byte but ASCII letters, digits and "-_.~" as %XX, upper-case. */
char *url_encode(struct arena *, const char *);
/* Value of the first parameter of that name in "a=1&b=2", decoded; NULL if absent. */
char *query_get(struct arena *, const char *query, const char *name);
/*
 * Canonical master URL (protocol.md 7.5): host lower-cased, slashes collapsed, "/" at
 * the end, blanks around it dropped; NULL if not http(s) or with blanks or control
 * bytes inside.
 */
char *url_canonical(struct arena *, const char *);
/*
 * "http://h:1/p/" gives "h_1_p": the directory name that clients use
 * (protocol.md 13.3). It has no slash and no dot in front, whatever the URL.
 */
char *url_to_dir(struct arena *, const char *);

#endif
