/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a command's help. */
#include "tools/cmd.h"

#include <stdio.h>
#include <string.h>
#include "tools/print/print.h"
#include "lib/banned.h"

void
help_columns(const struct cmd *c)
{
	printf("locus %s", c->name);
	if (text_only_reason(c) != NULL)
		printf(" prints text only: %s\n", text_only_reason(c));
	else if (c->columns == NULL)
		printf(
		    " has a tree: -o tsv prints a line for each value, its path and itself\n");
	else
		printf("\n");
	for (const struct print_column *l = c->columns; l != NULL && l->key != NULL;
	     l++)
		printf("  %-24s%s%s\n", l->key, l->help == NULL ? "" : " ",
		    l->help == NULL ? "" : l->help);
}

char
option_letter(const struct cmd *c, const struct opt *o)
{
	const struct opt *first = c->opts;

	if (c->letters == NULL || strchr(c->letters, o->name[0]) == NULL)
		return 0;
	while (first->name[0] != o->name[0])
		first++;
	return first == o ? o->name[0] : 0;
}

static void
print_options(const struct cmd *c)
{
	if (c->opts == NULL)
		return;
	printf("\nOptions:\n");
	for (const struct opt *o = c->opts; o->name != NULL; o++) {
		char letter = option_letter(c, o);
		int n = letter == 0 ? printf("  ") : printf("  -%c, ", letter);

		n += o->type == OPT_MAYBE ?
		         printf("--%s[=%s]", o->name, o->arg) :
		         printf("--%s%s%s", o->name, o->arg == NULL ? "" : " ",
			     o->arg == NULL ? "" : o->arg);

		printf("%*s%s\n", n < 26 ? 26 - n : 1, "", o->help);
	}
}

void
help_command(const struct cmd *c)
{
	printf("usage: locus %s%s%s%s\n\n%s\n", c->name,
	    c->opts == NULL ? "" : " [OPTION ...]", c->args[0] == '\0' ? "" : " ",
	    c->args, c->about);
	if (c->details != NULL)
		printf("\n%s\n", c->details);
	if (c->alias != NULL)
		printf("\nAlso: locus %s\n", c->alias);
	print_options(c);
	if (c->columns != NULL)
		printf(
		    "\nColumns of -o tsv, keys of -o json: locus help %s --columns\n",
		    c->name);
}
