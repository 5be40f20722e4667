/* SPDX-License-Identifier: Apache-2.0 */
/* Growable byte buffers in an arena: replies, requests and files are built in them. */
#ifndef LIB_BUF_H
#define LIB_BUF_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"

struct buf {
	struct arena *a;
	char *p; /* always NUL-terminated; "" at first */
	size_t n, cap;
};

struct buf buf_new(struct arena *);
struct buf buf_sized(struct arena *, size_t n); /* with room for n bytes at first */
void buf_put(struct buf *, const void *, size_t);
void buf_puts(struct buf *, const char *);
void buf_printf(struct buf *, const char *, ...) __attribute__((format(printf, 2, 3)));
void buf_i64(struct buf *, int64_t); /* in decimal */
/*
 * Appends v if it is a whole number that "%.15g" prints with all its digits; otherwise
 * appends nothing and returns false.
 */
bool buf_whole(struct buf *, double);
void buf_fixed(struct buf *, double); /* as "%f" */
/*
 * Appends text escaped as BOINC clients do it (protocol.md 0.5): < and & as entities,
 * bytes 9, 10, 13 and >= 128 as one &#N; each; other bytes < 32 are dropped.
 */
void buf_xml(struct buf *, const char *);
/*
 * Appends text escaped for a file that people edit: <, > and & as entities, all other
 * bytes as they are, so that UTF-8 stays readable.
 */
void buf_xml_plain(struct buf *, const char *);
/* Appends a line "<tag>text</tag>\n", the text escaped as by buf_xml(). */
void buf_tag(struct buf *, const char *tag, const char *text);
void buf_tag_i64(struct buf *, const char *tag, int64_t);
void buf_tag_fixed(struct buf *, const char *tag, double); /* as "%f" */

#endif
