/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes and numbers in text, by C rules whatever the locale; no I/O. */
#ifndef LIB_TEXT_H
#define LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

bool text_white(char); /* blank, tab, LF, VT, FF or CR */
bool text_alnum(char); /* ASCII letter or digit */

/* Are both the same text but for white space, of which there may be more, less or
 * other? */
bool text_same_words(const char *, const char *);
char *text_trim(char *); /* in place: without white space around it */

void text_default(char **s); /* sets *s to "" if it is NULL */
/* Do the bytes from p to end begin with these? */
bool text_begins(const char *p, const char *end, const char *with);

/* Bytes of the UTF-8 character at s, 1 to 4, a NUL being one; 0 if it is none. */
size_t text_utf8(const char *);

/*
 * The whole of s as a base 10 integer in lo..hi; white space before it is skipped, none
 * may follow.  False, and *out as it was, if it is not one.
 */
bool text_i64(const char *s, int64_t lo, int64_t hi, int64_t *out);
/* The same as clients read it (protocol.md 0.3): after 0x hexadecimal, after 0 octal.
 */
bool text_wire_i64(const char *s, int64_t lo, int64_t hi, int64_t *out);
/*
 * The same for a decimal number, with or without exponent.  What is not finite, in C's
 * words or in Windows' (1.#INF00, -1.#IND00), gives 0 (protocol.md 10.4).
 */
bool text_f64(const char *s, double *out);

#endif
