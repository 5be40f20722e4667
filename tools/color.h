/* SPDX-License-Identifier: Apache-2.0 */
/* Colour on terminals: --color, NO_COLOR and TERM decide. */
#ifndef TOOLS_COLOR_H
#define TOOLS_COLOR_H

#include <stdbool.h>
#include "lib/arena.h"

enum color_when { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };
enum color { COLOR_NONE, COLOR_GOOD, COLOR_WARN, COLOR_BAD, COLOR_BOLD };

/* Sets what --color says. The default is COLOR_AUTO: colour if standard output is a
 * terminal, NO_COLOR is unset or empty, and TERM is not "dumb". */
void color_choose(enum color_when);
bool color_used(void);
/* Returns the text in that colour, or as it is if no colour is used. */
const char *color_text(struct arena *, enum color, const char *);

#endif
