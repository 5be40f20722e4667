/* SPDX-License-Identifier: Apache-2.0 */
/* Any text, and members of structs, as JSON. */
#ifndef LIB_JSON_TEXT_H
#define LIB_JSON_TEXT_H

#include <jansson.h>
#include "lib/field.h"

/*
 * Makes a JSON string of any bytes: control characters, and all non-ASCII bytes if the
 * text is not UTF-8, become "?".
 */
json_t *json_text(const char *);
/* The same for a text of several lines, whose control characters stay. */
json_t *json_lines(const char *);
/* A member that is a flag or a number. */
json_t *json_number_of(const struct field *, const void *row);

#endif
