/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a command's help. */
#ifndef TOOLS_HELP_H
#define TOOLS_HELP_H

#include <stdbool.h>
#include <stdio.h>
#include "lib/arena.h"

/* Is the word one of the text's, whatever its case, singular or plural? */
bool word_is_in(const char *text, const char *word);
/*
 * Prints the answers of answers.def that most of the words, and as many as possible,
 * have to do with: question, command, section of locus-admin(7), after the intro if
 * there is any. Returns how many.
 */
int answers_print(struct arena *, FILE *, const char *intro, char **words, int n);

#endif
