/* SPDX-License-Identifier: Apache-2.0 */
/* Prints config.xml(5) and config.xml.sample from the option table. */
#ifndef MODEL_CONF_DOC_H
#define MODEL_CONF_DOC_H

#include <stdbool.h>

/*
 * Prints text to standard output, filled into lines. With sentences set, each sentence
 * starts a new line, as mdoc wants it.
 */
void doc_fill(const char *text, const char *indent, bool sentences);

#endif
