/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the workunits that need ordinary input files (db/input_use.h). */
#ifndef TOOLS_INPUT_COUNT_H
#define TOOLS_INPUT_COUNT_H

#include "tools/cmd.h"

/*
 * Counts new workunits, or those that are open again, by their documents, in their
 * transaction; the caller sets their inputs_counted.
 */
enum err inputs_count(
    struct cmd_ctx *, struct arena *, const char *const *xml_docs, size_t n);

#endif
