/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a command's help, and its part of the manual page locus(1). */
#include "tools/cmd.h"

#include <stdio.h>
#include <string.h>
#include "tools/listing.h"
#include "lib/banned.h"

static void
print_columns(const struct cmd *c)
{
	if (c->columns == NULL)
		return;
	printf("\nColumns of -o tsv, keys of -o json:\n");
	for (const struct listing_column *l = c->columns; l->key != NULL; l++)
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
	if (c->alias != NULL)
		printf("\nAlso: locus %s\n", c->alias);
	print_options(c);
	print_columns(c);
}

/* Prints one word as mdoc: a backslash becomes \\e, and a line must not begin with a
 * dot or a quote. */
static void
man_word(const char *w, size_t n, bool first)
{
	if (first && (w[0] == '.' || w[0] == '\''))
		printf("\\&");
	for (size_t i = 0; i < n; i++)
		printf(w[i] == '\\' ? "\\e" : "%c", w[i]);
}

/*
 * Prints text as mdoc: each sentence begins a line, an empty line separates paragraphs.
 */
static void
man_text(const char *s)
{
	enum { WIDTH = 76 };
	size_t column = 0;

	while (*s != '\0') {
		size_t n = strcspn(s, " \n"), blank = strspn(s + n, " \n");
		bool sentence = n > 0 && s[n - 1] == '.';

		if (column > 0 && column + 1 + n > WIDTH) {
			putchar('\n');
			column = 0;
		}
		if (column > 0)
			putchar(' ');
		man_word(s, n, column == 0);
		column += n + 1;
		if (s[n] == '\n' && s[n + 1] == '\n') {
			printf("\n.Pp\n");
			column = 0;
		} else if (sentence) {
			putchar('\n');
			column = 0;
		}
		s += n + blank;
	}
	if (column > 0)
		putchar('\n');
}

static void
man_options(const struct cmd *c)
{
	if (c->opts == NULL)
		return;
	printf(".Bl -tag -width Ds\n");
	for (const struct opt *o = c->opts; o->name != NULL; o++) {
		if (option_letter(c, o) != 0)
			printf(".It Fl %c , Fl Fl %s", o->name[0], o->name);
		else
			printf(".It Fl Fl %s", o->name);
		if (o->type == OPT_MAYBE)
			printf(" Ns Op = Ns Ar %s", o->arg);
		else if (o->arg != NULL)
			printf(" Ar %s", o->arg);
		printf("\n");
		man_text(o->help);
	}
	printf(".El\n");
}

/* What programs may rely on. */
static void
man_formats(const struct cmd *c)
{
	if (c->tree)
		printf("It has\n.Fl o Cm json\nand\n.Fl o Cm tsv ,\na tree.\n");
	if (c->columns == NULL)
		return;
	printf(
	    "Columns of\n.Fl o Cm tsv\nand keys of\n.Fl o Cm json :\n.Bl -tag -width Ds -compact\n");
	for (const struct listing_column *l = c->columns; l->key != NULL; l++) {
		printf(".It Li %s\n", l->key);
		if (l->help != NULL)
			man_text(l->help);
	}
	printf(".El\n");
}

static void
man_command(const struct cmd *c)
{
	printf(".It Xo\n.Ic %s\n", c->name);
	if (c->opts != NULL)
		printf(".Op Ar option ...\n");
	if (c->args[0] != '\0')
		printf(".Ar \"%s\"\n", c->args);
	printf(".Xc\n");
	man_text(c->about);
	if (c->alias != NULL)
		printf("Also called\n.Ic %s .\n", c->alias);
	man_options(c);
	man_formats(c);
}

void
help_man(const struct cmd *const *cmds)
{
	printf(
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from the table of commands by \"locus help --man\".\n"
	    ".Dd November 21, 2026\n.Dt LOCUS 1\n.Os\n"
	    ".Sh NAME\n.Nm locus\n.Nd create, run and maintain a Locus project\n"
	    ".Sh SYNOPSIS\n.Nm\n.Op Fl p Ar dir\n.Op Fl o Cm table | tsv | json\n.Ar command\n"
	    ".Op Ar option ...\n.Op Ar word ...\n.Nm\n.Fl Fl version\n"
	    ".Sh DESCRIPTION\n.Nm\n"
	    "is the command line for the admin of a volunteer computing project.\n"
	    "The project is the directory given by\n.Fl p Pq Fl Fl project ,\n"
	    "by the environment, or the nearest directory that has a\n.Pa config.xml ,\n"
	    "from the current directory upward.\n"
	    "If run by root, a command continues as the account that owns the project.\n.Pp\n"
	    "Data goes to standard output, everything else to standard error.\n"
	    "With\n.Fl o Cm tsv\nor\n.Fl o Cm json\n"
	    "a command prints what programs can rely on:\nlater releases only add columns and keys.\n"
	    "Sizes are in bytes, spans in seconds, times in RFC 3339 and UTC.\n"
	    "In tsv a tab, a newline and a backslash in a text stand as\n"
	    ".Ql \\et ,\n.Ql \\en\nand\n.Ql \\e\\e .\n"
	    "Where the data are a tree, tsv has a line for each value: its path, such as\n"
	    ".Ql files.0.name ,\nand the value.\n"
	    "A command for which neither is mentioned prints text only.\n"
	    "A command that destroys something asks on the terminal;\nwithout a terminal it needs\n.Fl \\-yes .\n"
	    "Colour is used on terminals only, unless\n.Fl \\-color Cm always\nor\n.Cm never\n"
	    "is given, or\n.Ev NO_COLOR\nis set.\n.Pp\nThe commands are:\n.Bl -tag -width Ds\n");
	for (size_t i = 0; cmds[i] != NULL; i++)
		man_command(cmds[i]);
	printf(
	    ".El\n"
	    ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
	    ".It Ev LOCUS_PROJECT\nDirectory of the project.\n.El\n"
	    ".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n"
	    ".It 0\nDone; running.\n.It 1\nFailure, or findings; not confirmed.\n.It 2\nWrong usage.\n"
	    ".It 3\nNot running, or nothing found.\n.It 4\nPartly running.\n"
	    ".It 69\nThe database is not available.\n.It 75\nTry again.\n"
	    ".It 77\nPermission denied.\n.It 78\nError in the configuration or the schema.\n.El\n"
	    ".Sh SEE ALSO\n.Xr config.xml 5 ,\n.Xr locus-template 5 ,\n.Xr plan_class_spec.xml 5 ,\n.Xr locus 7\n");
}
