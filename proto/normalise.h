/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Broken XML in, well-formed XML out: what stands between the bytes of a client, or an
 * old blob, and lib/xml (protocol.md 10.1).  Raw regions are cut out by byte search,
 * stray & and < become text, control bytes go, elements left open are closed.
 */
#ifndef PROTO_NORMALISE_H
#define PROTO_NORMALISE_H

#include <stdint.h>
#include "lib/buf.h"
#include "lib/err.h"

enum raw_use {
	RAW_TAKE,  /* kept in the side table only */
	RAW_INDEX, /* replaced by <tag>i</tag>, i its place in the side table from 1 */
	RAW_ITEM,  /* replaced by <tag><raw>i</raw></tag>, for what is repeated */
	RAW_SPAN,  /* parsed too; <raw>i</raw> stands before its end tag */
};
struct raw_rule {                 /* ends with tag NULL */
	const char *tag, *parent; /* cut only as a child of parent */
	enum raw_use use;
};
struct raw { /* bytes of the input, untouched */
	const struct raw_rule *rule;
	const char *attr; /* what stood between the tag's name and > */
	size_t attr_n;
	const char *p; /* up to the first literal end tag; of a span with its tags */
	size_t n;
};
struct normal {
	struct buf text;
	struct raw *raws; /* in document order */
	size_t nraws;
	uint32_t repairs; /* places mended */
};

/*
 * E_BADREQ: no start or no end tag of root, or a DOCTYPE before it.  What stands before
 * or after the root is dropped.  Time and memory are linear in n.
 */
enum err normalise(struct arena *, const char *in, size_t n, const char *root,
    const struct raw_rule *, struct normal *, struct fail *);
/* The same for a fragment with several roots, which gets <root> around it. */
enum err normalise_fragment(struct arena *, const char *in, size_t n, const char *root,
    const struct raw_rule *, struct normal *, struct fail *);

/*
 * A reference that clients know (protocol.md 0.3), p at its &: its length, and the byte
 * that it stands for.  0 if it is none.
 */
size_t text_reference(const char *p, const char *end, unsigned char *byte);

/* Raw i (from 1) or NULL; copies with bytes as sent, trimmed, and decoded (protocol.md
 * 0.3). */
const struct raw *raw_at(const struct normal *, int32_t i);
char *raw_copy(struct arena *, const struct raw *, size_t max);
char *raw_trimmed(struct arena *, const struct raw *);
char *raw_text(struct arena *, const struct raw *);
/* Trims, takes off a CDATA wrapper or else decodes entities and references. */
char *text_decode(struct arena *, const char *, size_t);

#endif
