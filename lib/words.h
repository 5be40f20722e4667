/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the placeholders of a template, such as %FROM% or @PORT@. */
#ifndef LIB_WORDS_H
#define LIB_WORDS_H

#include "lib/arena.h"

struct word {
	const char *word, *value; /* "%FROM%", "400" */
};
/*
 * Returns text with every occurrence of each word replaced by its value; values are not
 * searched again.
 */
char *words_fill(struct arena *, const char *text, const struct word *, size_t n);

#endif
