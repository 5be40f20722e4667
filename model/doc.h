/* SPDX-License-Identifier: Apache-2.0 */
/* Manuals and samples that are printed from tables. */
#ifndef MODEL_DOC_H
#define MODEL_DOC_H

#include <stdbool.h>

/*
 * Text in lines, to standard output.  With sentences set each sentence starts a new
 * one, as mdoc wants it.
 */
void doc_fill(const char *text, const char *indent, bool sentences);

#endif
