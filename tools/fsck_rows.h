/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the checks of rows: each statement of the table of checks, slice by slice. */
#ifndef TOOLS_FSCK_ROWS_H
#define TOOLS_FSCK_ROWS_H

#include "tools/cmd.h"
#include "tools/print/print.h"

enum fault_level { FAULT_NOTE, FAULT_WARNING, FAULT_ERROR };

struct fault_list {
	struct cmd_ctx *x;
	struct print *l;
	size_t errors, n;
};

extern const struct print_column fault_columns[]; /* of such a command */

struct fault_list fault_list_begin(struct cmd_ctx *);
/* place: a file or a database, "" if people know; line 0 = none in particular. */
void fault_put(struct fault_list *, const char *place, int line, enum fault_level,
    const char *fmt, ...) __attribute__((format(printf, 5, 6)));
/* Ends the list. E_CONFIG if there was an error, with their number and where. */
enum err fault_list_end(struct fault_list *, const char *where);

#endif
