/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers to print manuals and samples from tables. */
#ifndef MODEL_DOC_H
#define MODEL_DOC_H

#include <stdbool.h>

/*
 * Prints text to standard output, filled into lines. With sentences set, each sentence
 * starts a new line, as mdoc wants it.
 */
void doc_fill(const char *text, const char *indent, bool sentences);

#endif
