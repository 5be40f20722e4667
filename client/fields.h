/* SPDX-License-Identifier: Apache-2.0 */
/* Rows <-> JSON by tables of (name, type, offset); the client keeps its state this
 * way. */
#ifndef CLIENT_FIELDS_H
#define CLIENT_FIELDS_H

#include <stddef.h>
#include <jansson.h>
#include "lib/arena.h"

enum field_type { F_STR, F_I32, F_I64, F_F64, F_BOOL, F_STRINGS, F_ROWS, F_ROW };

struct field {
	const char *name; /* NULL ends a table */
	enum field_type type;
	size_t off;   /* of the value, of a list's pointer, or of an embedded row */
	size_t n_off; /* F_STRINGS, F_ROWS: offset of the size_t count */
	size_t size;  /* F_ROWS: size of one row */
	const struct field *row;
};

/* Returns a new object with all fields that differ from their defaults.  Strings may
 * hold any bytes.  The arena is scratch space. */
json_t *fields_save(struct arena *, const struct field *, const void *row);
/* Loads a row.  Members that are absent or of the wrong type leave a field as it was,
 * except that strings become "", never NULL.  All text is copied into the arena. */
void fields_load(struct arena *, const struct field *, const json_t *, void *row);
/* Copies a row exactly as fields_save() and fields_load() would; *to must be all
 * zero. */
void fields_copy(struct arena *, const struct field *, const void *from, void *to);

#endif
