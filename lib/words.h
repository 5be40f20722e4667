/* SPDX-License-Identifier: Apache-2.0 */
/* Words in a template's text, such as %FROM% or @PORT@, and what they stand for. */
#ifndef LIB_WORDS_H
#define LIB_WORDS_H

#include "lib/arena.h"

struct word {
	const char *word, *value; /* "%FROM%", "400" */
};
/*
 * text with every occurrence of each word replaced by its value; values are not looked
 * at again.
 */
char *words_fill(struct arena *, const char *text, const struct word *, size_t n);

#endif
