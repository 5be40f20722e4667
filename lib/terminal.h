/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last writer before a terminal: whatever text of a stranger a program prints, it
 * steers nothing. Most texts are made printable where they are put into a line; this is
 * for those that were forgotten, and for lines that others have written, as in logs.
 */
#ifndef LIB_TERMINAL_H
#define LIB_TERMINAL_H

#include <stddef.h>

/*
 * Replaces what must not be shown (text_shown()) by "?", in place, but keeps newlines,
 * tabs and the colours of color_text(). Returns the length. Unless rest is NULL, an
 * incomplete character or colour at the end stays as it is: *rest = its bytes, at most
 * TERMINAL_REST, for the caller to put before the next text.
 */
enum { TERMINAL_REST = 4 };
size_t terminal_clean(char *s, size_t n, size_t *rest);

/* Standard output and standard error pass nothing else, each if it is a terminal. */
void terminal_guard(void);

#endif
