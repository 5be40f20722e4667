/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands "set" show: each setting that changes, as it was and as it is now.
 */
#ifndef TOOLS_SET_REPORT_H
#define TOOLS_SET_REPORT_H

#include "tools/cmd.h"
#include "tools/print/print.h"

struct set_change {
	const char *setting; /* the option's name */
	const char *was, *now;
};
struct set_report {
	struct cmd_ctx *x;
	struct set_change *v;
	size_t n, cap;
};
extern const struct print_column set_columns[];

struct set_report set_report_new(struct cmd_ctx *);
/* Notes a setting; one that stays the same is left out. NULL counts as "". */
void set_report_text(
    struct set_report *, const char *setting, const char *was, const char *now);
void set_report_number(
    struct set_report *, const char *setting, int64_t was, int64_t now);
void set_report_real(struct set_report *, const char *setting, double was, double now);
/* Prints them; dry: as what would be done. what: "app sort". */
void set_report_print(const struct set_report *, bool dry, const char *what);

#endif
