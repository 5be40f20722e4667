/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions (POSIX extended, in the C locale, with GNU's \w \W \s \S \b \B \<
 * \> \` \'), compiled once, matched often. A compiled pattern is plain data: matching
 * reads only it and the text, so rules may match.
 */
#ifndef LIB_PATTERN_H
#define LIB_PATTERN_H

#include <stdbool.h>
#include "lib/arena.h"

struct pattern;
struct pattern_list {
	const struct pattern **v;
	size_t n;
};

/*
 * Compiles an expression of at most 255 bytes; a leading ! inverts the match. The
 * result lives as long as the arena. Returns NULL and *why (static text) if text is not
 * an expression, or cannot be matched in linear time and a few kilobytes:
 * back-references, more than 2000 steps.
 */
const struct pattern *pattern_compile(
    struct arena *, const char *text, const char **why);
const char *pattern_text(const struct pattern *); /* as it was given */
/*
 * Does some part of s match? Same arguments, same answer. Looks at the first 4096 bytes
 * at most, each once per step: 2000 x 4096 at worst, and allocates nothing.
 */
bool pattern_match(const struct pattern *, const char *s);

#endif
