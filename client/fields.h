/* SPDX-License-Identifier: Apache-2.0 */
/* Rows <-> JSON by tables of (name, type, offset): how the client keeps its state. */
#ifndef CLIENT_FIELDS_H
#define CLIENT_FIELDS_H

#include <stddef.h>
#include <jansson.h>
#include "lib/arena.h"

enum field_type { F_STR, F_I32, F_I64, F_F64, F_BOOL, F_STRINGS, F_ROWS, F_ROW };

struct field {
	const char *name; /* NULL ends a table */
	enum field_type type;
	size_t off; /* of the value, of the pointer of a list, or of an embedded row */
	size_t n_off; /* F_STRINGS, F_ROWS: of the size_t count */
	size_t size;  /* F_ROWS: of one row */
	const struct field *row;
};

/*
 * A new object with all fields; strings that are NULL are left out.  Strings may hold
 * any bytes.  The arena is for scratch.
 */
json_t *fields_save(struct arena *, const struct field *, const void *row);
/*
 * Absent or mistyped members leave the field as it was, but a string is "" then and
 * never NULL; all text is copied into the arena.
 */
void fields_load(struct arena *, const struct field *, const json_t *, void *row);
/* What fields_load() would make of what fields_save() made; *to is all zero. */
void fields_copy(struct arena *, const struct field *, const void *from, void *to);

#endif
