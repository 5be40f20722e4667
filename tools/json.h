/* SPDX-License-Identifier: Apache-2.0 */
/* Output of commands with -o json. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <jansson.h>

/* Makes a JSON string of any bytes: control characters, and all non-ASCII bytes if the
 * text is not UTF-8, become "?". */
json_t *json_text(const char *);
/* Prints the value and releases it. */
void json_show(json_t *);

#endif
