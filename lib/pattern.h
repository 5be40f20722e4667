/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Regular expressions (POSIX extended, in the C locale, with GNU's \w \W \s \S \b \B \<
 * \> \` \'), compiled once, matched often.  A compiled one is plain data to whoever
 * holds it: matching reads it and a text and nothing else, so rules may do it.
 */
#ifndef LIB_PATTERN_H
#define LIB_PATTERN_H

#include <stdbool.h>
#include "lib/arena.h"

struct pattern;

/*
 * text: at most 255 bytes; a leading ! turns the answer round.  Lives as long as the
 * arena.  NULL and *why (static text) if it is not an expression, or is one that cannot
 * be matched in linear time and a few kilobytes: back-references, more than 2000 steps.
 */
const struct pattern *pattern_compile(
    struct arena *, const char *text, const char **why);
const char *pattern_text(const struct pattern *); /* as it was given */
/*
 * Does some part of s match?  Same arguments, same answer.  At most the first 4096
 * bytes are looked at, each once for each step: 2000 x 4096 at worst, and no memory.
 */
bool pattern_match(const struct pattern *, const char *s);

#endif
