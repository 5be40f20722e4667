/* SPDX-License-Identifier: Apache-2.0 */
/* URLs and query strings; no I/O. */
#ifndef LIB_HTTP_H
#define LIB_HTTP_H

#include <stdbool.h>
#include "lib/arena.h"

/* Decodes %XX and + in n bytes; drops control bytes and keeps any other %. */
char *url_decode(struct arena *, const char *, size_t n);
/* Writes every byte but ASCII letters, digits and "-_.~" as %XX, in upper case. */
char *url_encode(struct arena *, const char *);
/*
 * Returns the decoded value of the first parameter of that name in "a=1&b=2"; NULL if
 * absent.
 */
char *query_get(struct arena *, const char *query, const char *name);
/*
 * Canonical form of a master URL (protocol.md 7.5): scheme and host in lower case,
 * slashes collapsed, "/" at the end, white space around it dropped. NULL if the URL is
 * not http(s) or has white space or control bytes inside.
 */
char *url_canonical(struct arena *, const char *);
/*
 * Do two master URLs name one place? They do if they differ only in the scheme, the
 * scheme's own port, letter case, or in what url_canonical() evens out.
 */
bool url_same(struct arena *, const char *, const char *);
/*
 * Turns "http://h:1/p/" into "h_1_p", the directory name that clients use (protocol.md
 * 13.3). Whatever the URL, the name has no slash and no leading dot.
 */
char *url_to_dir(struct arena *, const char *);

#endif
