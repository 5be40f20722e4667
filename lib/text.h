/* SPDX-License-Identifier: Apache-2.0 */
/* Bytes and numbers in text, by C rules whatever the locale; no I/O. */
#ifndef LIB_TEXT_H
#define LIB_TEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/arena.h"

/* Fills the placeholders of a template, such as %FROM% or @PORT@. */

struct word {
	const char *word, *value; /* "%FROM%", "400" */
};
/*
 * Returns text with every occurrence of each word replaced by its value; values are not
 * searched again.
 */
char *words_fill(struct arena *, const char *text, const struct word *, size_t n);

/* Edit distance of two words, for "did you mean". */

/*
 * Insertions, deletions and replacements that turn a into b; 64 if either word is
 * longer than that.
 */
size_t near_distance(const char *a, const char *b);
/*
 * Offers candidates one by one: true if candidate is near word (at most a third of its
 * length plus one) and at least as near as all before. *least starts as (size_t)-1.
 */
bool near_offer(const char *word, const char *candidate, size_t *least);

bool text_white(char); /* blank, tab, LF, VT, FF or CR */
bool text_alnum(char); /* ASCII letter or digit */
/* Is the text one word of a shell as it is, with nothing that the shell acts on? Bytes
 * beyond ASCII count as letters; "" is plain. */
bool text_is_plain(const char *);
/* Returns the text as one word of bash: as it is if it is plain, else quoted. */
char *text_shell_word(struct arena *, const char *);

/* Do both texts differ in white space only? */
bool text_same_words(const char *, const char *);
char *text_trim(char *); /* in place: removes white space at both ends */

void text_default(char **s); /* sets *s to "" if it is NULL */
/* Do the bytes from p to end begin with this text? */
bool text_begins(const char *p, const char *end, const char *with);
bool text_ends_with(const char *s, const char *end);
bool text_among(
    const char *s, char *const *list, size_t n); /* is it one of the list? */
const char *text_base_name(const char *path);    /* what follows the last slash */
/* Returns what follows the directory in path, "" or "/..."; NULL if path is elsewhere.
 */
const char *text_below(const char *dir, const char *path);

/* Length in bytes of the UTF-8 character at s, 1 to 4 (a NUL has 1); 0 if invalid. */
size_t text_utf8(const char *);
/*
 * Text of strangers must not steer a terminal, a log's reader or a page: may the
 * character at s, which is no NUL, be shown as it is? Not a control character (C0,
 * DEL, C1), one that breaks lines, changes the direction or has no width (U+061C,
 * U+200B to U+200F, U+2028 to U+202E, U+2060 to U+206F, U+FEFF), nor a byte that is no
 * UTF-8. *n = its bytes, 1 to 4.
 */
bool text_shown(const char *s, size_t *n);
/* Replaces each character that must not be shown by "?", in place. */
void text_make_printable(char *s);
/*
 * Copies n bytes of a text for people, at most so many characters of it, whole ones. A
 * byte that is no part of a character of UTF-8 is taken for Latin-1.
 */
char *text_fit(struct arena *, const char *s, size_t n, size_t most);
/*
 * Appends n bytes to the string of *used bytes in end, whose size is in bytes too, and
 * drops as many from its beginning as it must.
 */
void text_keep_end(char *end, size_t size, size_t *used, const char *p, size_t n);

/*
 * Reads all of s as a base 10 integer in lo..hi; white space may precede it, but not
 * follow. Otherwise returns false and leaves *out alone.
 */
bool text_i64(const char *s, int64_t lo, int64_t hi, int64_t *out);
/*
 * The same with the number syntax of clients (protocol.md 0.3): hexadecimal after 0x,
 * octal after 0.
 */
bool text_wire_i64(const char *s, int64_t lo, int64_t hi, int64_t *out);
/*
 * The same for a decimal number, with or without exponent. Non-finite numbers, in C's
 * spelling or in that of Windows (1.#INF00, -1.#IND00), give 0 (protocol.md 10.4).
 */
bool text_f64(const char *s, double *out);

#endif
