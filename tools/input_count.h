/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the workunits that need ordinary input files (db/input_use.h). */
#ifndef TOOLS_INPUT_COUNT_H
#define TOOLS_INPUT_COUNT_H

#include "tools/cmd.h"

/*
 * Counts new workunits, or those that are open again, in their transaction: their
 * inputs are the files in the documents that are neither sticky nor no_delete.
 */
enum err inputs_count(
    struct cmd_ctx *, struct arena *, const char *const *xml_docs, size_t n);

#endif
