/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output of commands whose data are a tree rather than a list.  Besides json they have
 * tsv, which is the same tree with a line per value: its path, as in "sent.jobs" or
 * "files.0.name", and the value.
 */
#ifndef TOOLS_JSON_H
#define TOOLS_JSON_H

#include <jansson.h>
#include "lib/json_text.h"
#include "tools/cmd.h"

/* Prints the tree in that form, which is not a table, and releases it. */
void json_show(enum format, json_t *);

#endif
