/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Turns broken XML into well-formed XML, between the bytes of a client, or an old blob,
 * and lib/xml (protocol.md 10.1). Raw regions are cut out by byte search, stray & and <
 * become text, control bytes are dropped, and open elements are closed.
 */
#ifndef PROTO_NORMALISE_H
#define PROTO_NORMALISE_H

#include <stdint.h>
#include "lib/buf.h"
#include "lib/err.h"
#include "lib/xml.h"

enum raw_use {
	RAW_TAKE, /* kept only in the side table */
	/* replaced by <tag>i</tag>, i being its index in the side table from 1 */
	RAW_INDEX,
	RAW_ITEM, /* replaced by <tag><raw>i</raw></tag>, for repeated elements */
	RAW_SPAN, /* parsed as well; <raw>i</raw> is put before its end tag */
	/*
	 * Replaced as RAW_ITEM is, but only plain elements, and a run of them as one
	 * region with their tags: for lists of thousands, which xml_rows() reads. A
	 * plain element holds only elements of plain text (see scan_leaf()).
	 */
	RAW_ROWS,
};
struct raw_rule {                 /* a list ends with tag NULL */
	const char *tag, *parent; /* cut only as a child of parent */
	enum raw_use use;
};
struct raw { /* bytes of the input, untouched */
	const struct raw_rule *rule;
	const char *attr; /* what is between the tag's name and > */
	size_t attr_n;
	/* up to the first literal end tag; a span and rows include their tags */
	const char *p;
	size_t n;
	size_t leaf, nleaves; /* RAW_ROWS: its part of normal.leaves */
};
struct normal {
	struct buf text;
	struct raw *raws; /* in document order */
	size_t nraws;
	struct xml_leaf *leaves;
	size_t nleaves;
	uint32_t repairs; /* number of places repaired */
};

/*
 * E_BADREQ: no start or end tag of root, or a DOCTYPE before it. Bytes before and after
 * the root are dropped. Time and memory are linear in n.
 */
enum err normalise(struct arena *, const char *in, size_t n, const char *root,
    const struct raw_rule *, struct normal *, struct fail *);
/* The same for a fragment with several roots, which is put inside <root>. */
enum err normalise_fragment(struct arena *, const char *in, size_t n, const char *root,
    const struct raw_rule *, struct normal *, struct fail *);

/*
 * Decodes a reference that clients know (protocol.md 0.3), p being at its &; returns
 * its length and the byte. 0 if it is none of these.
 */
size_t text_reference(const char *p, const char *end, unsigned char *byte);

/*
 * Raw region i (from 1) or NULL; copies of a region verbatim, trimmed, and decoded
 * (protocol.md 0.3).
 */
const struct raw *raw_at(const struct normal *, int32_t i);
char *raw_copy(struct arena *, const struct raw *, size_t max);
char *raw_trimmed(struct arena *, const struct raw *);
char *raw_text(struct arena *, const struct raw *);
/*
 * Trims the text, then removes a CDATA wrapper, or else decodes entities and
 * references.
 */
char *text_decode(struct arena *, const char *, size_t);

#endif
