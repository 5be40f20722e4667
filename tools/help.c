/* SPDX-License-Identifier: Apache-2.0 */
/* Prints a command's help, and its part of the manual page locus(1). */
#include "tools/cmd.h"

#include <stdio.h>
#include <string.h>
#include "lib/banned.h"

void
help_command(const struct cmd *c)
{
	printf("usage: locus %s%s%s%s\n\n%s\n", c->name,
	    c->opts == NULL ? "" : " [OPTION ...]", c->args[0] == '\0' ? "" : " ",
	    c->args, c->about);
	if (c->opts == NULL)
		return;
	printf("\nOptions:\n");
	for (const struct opt *o = c->opts; o->name != NULL; o++) {
		int n = o->type == OPT_MAYBE ?
		            printf("  --%s[=%s]", o->name, o->arg) :
		            printf("  --%s%s%s", o->name, o->arg == NULL ? "" : " ",
				o->arg == NULL ? "" : o->arg);

		printf("%*s%s\n", n < 26 ? 26 - n : 1, "", o->help);
	}
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
man_command(const struct cmd *c)
{
	printf(".It Xo\n.Ic %s\n", c->name);
	if (c->opts != NULL)
		printf(".Op Ar option ...\n");
	if (c->args[0] != '\0')
		printf(".Ar \"%s\"\n", c->args);
	printf(".Xc\n");
	man_text(c->about);
	if (c->opts == NULL)
		return;
	printf(".Bl -tag -width Ds\n");
	for (const struct opt *o = c->opts; o->name != NULL; o++) {
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

void
help_man(const struct cmd *const *cmds)
{
	printf(
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from the table of commands by \"locus help --man\".\n"
	    ".Dd November 21, 2026\n.Dt LOCUS 1\n.Os\n"
	    ".Sh NAME\n.Nm locus\n.Nd create, run and maintain a Locus project\n"
	    ".Sh SYNOPSIS\n.Nm\n.Op Fl p Ar dir\n.Op Fl o Cm text | json\n.Ar command\n"
	    ".Op Ar option ...\n.Op Ar word ...\n.Nm\n.Fl Fl version\n"
	    ".Sh DESCRIPTION\n.Nm\n"
	    "is the command line for the admin of a volunteer computing project.\n"
	    "The project is the directory given by\n.Fl p Pq Fl Fl project ,\n"
	    "by the environment, or the nearest directory that has a\n.Pa config.xml ,\n"
	    "from the current directory upward.\n"
	    "If run by root, a command continues as the account that owns the project.\n.Pp\nThe commands are:\n.Bl -tag -width Ds\n");
	for (size_t i = 0; cmds[i] != NULL; i++)
		man_command(cmds[i]);
	printf(
	    ".El\n"
	    ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
	    ".It Ev LOCUS_PROJECT\nDirectory of the project.\n.El\n"
	    ".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n"
	    ".It 0\nDone; running.\n.It 1\nFailure, or findings.\n.It 2\nWrong usage.\n"
	    ".It 3\nNot running, or nothing found.\n.It 4\nPartly running.\n"
	    ".It 69\nThe database is not available.\n.It 75\nTry again.\n"
	    ".It 77\nPermission denied.\n.It 78\nError in the configuration or the schema.\n.El\n"
	    ".Sh SEE ALSO\n.Xr config.xml 5 ,\n.Xr plan_class_spec.xml 5 ,\n.Xr locus 7\n");
}
