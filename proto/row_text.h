/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rows as lines of text that people can read and write:
 *
 *     sent id=21 name=wu_ok_0 runtime_s=3600 plan_class="a b"
 *
 * A line consists of a kind and column=value pairs; columns that are 0 or "" are left
 * out. A value is quoted if it has other than plain characters; \n, \", \\ and \xHH
 * mean the same as in C.
 */
#ifndef PROTO_ROW_TEXT_H
#define PROTO_ROW_TEXT_H

#include "lib/buf.h"
#include "lib/err.h"
#include "model/rows.h"

/* Puts a text value, quoted if necessary. */
void row_put_text(struct buf *, const char *);
/* Puts a row as a line: the kind and the columns that are not 0 or "". */
void row_put(struct buf *, const char *kind, const struct row_shape *, const void *row);

/* Cuts the next word, a name or name=value, off *p; NULL at the end. */
char *row_word(char **p);
/* The value of a word "name=value"; cuts the word to its name. NULL if it has no
 * "=". */
char *row_value(char *word);
/* NULL if the row has no such column. */
const struct field *row_column(const struct row_shape *, const char *name);
/* Sets a column from its text, which must live as long as the row. E_BADREQ: no such
 * column, or not a number. */
enum err row_set(
    const struct row_shape *, void *row, const char *name, char *value, struct fail *);
/* Sets the texts of a zeroed row to "". */
void row_init(void *row, const struct row_shape *);

#endif
