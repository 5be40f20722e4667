/* SPDX-License-Identifier: Apache-2.0 */
/* URLs and query strings; no I/O. */
#ifndef LIB_HTTP_H
#define LIB_HTTP_H

#include "lib/arena.h"

char *url_encode(struct arena *, const char *);         /* all but letters and digits, upper-case hex */
char *url_decode(struct arena *, const char *, size_t); /* %XX and +; control bytes are dropped */
/* Value of one parameter of "a=1&b=2", decoded; NULL if absent. */
char *query_get(struct arena *, const char *query, const char *name);
/* Canonical master URL (wire.md 7.5): host lower-cased, slashes collapsed, "/" at the end; NULL if not http(s). */
char *url_canonical(struct arena *, const char *);
/* "http://h:1/p/" gives "h_1_p": the directory name that clients use (stock-client.md 2). */
char *url_to_dir(struct arena *, const char *);

#endif
