/* SPDX-License-Identifier: Apache-2.0 */
/* What commands print with -o json. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <jansson.h>

/* Text of any bytes: control characters, and all others if it is not UTF-8, become "?".
 */
json_t *json_text(const char *);
/* Prints and gives back what it holds. */
void json_show(json_t *);

#endif
