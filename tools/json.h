/* SPDX-License-Identifier: Apache-2.0 */
/* Output of commands with -o json. */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <jansson.h>
#include "lib/json_text.h"

/* Prints the value and releases it. */
void json_show(json_t *);

#endif
