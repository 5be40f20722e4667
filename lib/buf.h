/* SPDX-License-Identifier: Apache-2.0 */
/* Growable bytes in an arena: what replies, requests and files are built in. */
#ifndef LIB_BUF_H
#define LIB_BUF_H

#include "lib/arena.h"

struct buf {
	struct arena *a;
	char *p; /* always NUL-terminated once something was put; "" before */
	size_t n, cap;
};

struct buf buf_new(struct arena *);
struct buf buf_sized(struct arena *, size_t n); /* with room for n bytes at first */
void buf_put(struct buf *, const void *, size_t);
void buf_puts(struct buf *, const char *);
void buf_printf(struct buf *, const char *, ...) __attribute__((format(printf, 2, 3)));
/*
 * Text escaped as BOINC clients do (wire.md 0.5): < and & as entities, bytes 9, 10, 13
 * and >= 128 as one &#N; each, other bytes < 32 dropped.
 */
void buf_xml(struct buf *, const char *);
/* One "<tag>text</tag>\n" line, text escaped by buf_xml. */
void buf_tag(struct buf *, const char *tag, const char *text);

#endif
