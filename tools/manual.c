/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the manual page locus(1): a section for each subject of cmds.def. */
#include "tools/cmd.h"

#include <stdio.h>
#include <string.h>
#include "lib/banned.h"

/* Prints one word as mdoc: a backslash becomes \\e, and a line must not begin with a
 * dot or a quote. */
static void man_word(const char *w, size_t n, bool first)
{
	if (first && (w[0] == '.' || w[0] == '\''))
		printf("\\&");
	for (size_t i = 0; i < n; i++)
		printf(w[i] == '\\' ? "\\e" : "%c", w[i]);
}

/*
 * Prints text as mdoc: each sentence begins a line, an empty line separates paragraphs.
 */
static void man_text(const char *s)
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

/* What many commands have; the page explains them once. */
static bool is_common(const struct field *o)
{
	return strcmp(o->name, "yes") == 0 || strcmp(o->name, "dry-run") == 0;
}

/* Has the command options that only the page's part of it explains? */
static bool has_own_options(const struct cmd *c)
{
	for (const struct field *o = c->opts; o != NULL && o->name != NULL; o++)
		if (!is_common(o))
			return true;
	return false;
}

struct page {
	const struct manual_row *first, *at;
};

static void man_option_name(const struct field *o)
{
	if (o->letter != 0)
		printf("Fl %c , Fl Fl %s", o->letter, o->name);
	else
		printf("Fl Fl %s", o->name);
	if (o->maybe)
		printf(" Ns Op = Ns Ar %s", o->value);
	else if (o->value != NULL)
		printf(" Ar %s", o->value);
}

/* Returns the first command of the page, before this row, that has an option of the
 * same name and help; NULL if none has. */
static const struct cmd *explained_by(const struct page *page, const struct field *o)
{
	for (const struct manual_row *r = page->first; r < page->at; r++)
		for (const struct field *p = r->cmd == NULL ? NULL : r->cmd->opts;
		     p != NULL && p->name != NULL; p++)
			if (strcmp(p->name, o->name) == 0 &&
			    strcmp(p->help, o->help) == 0)
				return r->cmd;
	return NULL;
}

/* The options that an earlier command explains, in one paragraph. */
static void man_options_again(const struct page *page)
{
	const struct cmd *as = NULL, *next;

	for (const struct field *o = page->at->cmd->opts; o->name != NULL; o++) {
		next = is_common(o) ? NULL : explained_by(page, o);
		if (next == NULL)
			continue;
		if (as != NULL && as != next)
			printf("as in\n.Ic %s ;\n", as->name);
		as = next;
		printf(".");
		man_option_name(o);
		printf(" ,\n");
	}
	if (as != NULL)
		printf("as in\n.Ic %s .\n", as->name);
}

static void man_options(const struct page *page)
{
	const struct cmd *c = page->at->cmd;
	bool any = false;

	if (!has_own_options(c))
		return;
	man_options_again(page);
	for (const struct field *o = c->opts; o->name != NULL; o++) {
		if (is_common(o) || explained_by(page, o) != NULL)
			continue;
		printf("%s.It ", any ? "" : ".Bl -hang -width 2n -compact\n");
		any = true;
		man_option_name(o);
		printf("\n");
		man_text(o->help);
	}
	if (any)
		printf(".El\n");
}

static void man_command(const struct page *page)
{
	const struct cmd *c = page->at->cmd;

	printf(".It Xo\n.Ic %s\n", c->name);
	if (c->columns != NULL || c->tree)
		printf(".Op Fl o\n");
	for (const struct field *o = c->opts; o != NULL && o->name != NULL; o++)
		if (is_common(o))
			printf(".Op Fl Fl %s\n", o->name);
	if (has_own_options(c))
		printf(".Op Ar option ...\n");
	if (c->args[0] != '\0')
		printf(".Ar \"%s\"\n", c->args);
	printf(".Xc\n");
	man_text(c->about);
	man_options(page);
}

/* The examples of a section, then its commands; leaves the page at the next one. */
static void manual_section(struct page *page)
{
	printf(".Ss %s\n.Bd -literal -offset 2n\n", page->at->section);
	for (page->at++; page->at->example != NULL; page->at++) {
		/* A line of an example, in which mdoc must not see a request or an
		 * escape. */
		enum { COMMENT = 44 };
		int n = printf("$ ") + (int)strlen(page->at->example);

		man_word(page->at->example, strlen(page->at->example), false);
		if (page->at->says[0] != '\0')
			printf("%*s# %s", n < COMMENT ? COMMENT - n : 2, "",
			    page->at->says);
		printf("\n");
	}
	printf(".Ed\n.Bl -tag -width 2n -compact\n");
	for (; page->at->cmd != NULL; page->at++)
		man_command(page);
	printf(".El\n");
}

static void manual_description(void)
{
	printf(
	    ".Nm\n"
	    "is the command line for the admin of a volunteer computing project.\n"
	    "The project is the directory given by\n.Fl p Pq Fl Fl project ,\n"
	    "by the environment, or the nearest directory that has a\n.Pa config.xml ,\n"
	    "from the current directory upward.\n"
	    "If run by root, a command continues as the account that owns the project.\n"
	    "The option\n.Fl Fl help\nof a command has more about it than this page, and\n"
	    ".Ql locus help WORD ...\nanswers questions that are no command's name.\n.Pp\n"
	    "Data goes to standard output, everything else to standard error.\n"
	    "A command marked\n.Op Fl o\n"
	    "below also prints its data as programs can rely on: with\n"
	    ".Fl o Cm json ,\nor with\n.Fl o Cm tsv\n"
	    "as lines of columns, of which the first has their names.\n"
	    "Later releases only add columns and keys;\n"
	    ".Ql locus help NOUN --columns\nlists them.\n"
	    "Sizes are in bytes, spans in seconds, times in RFC 3339 and UTC.\n"
	    "In tsv a tab, a newline and a backslash in a text stand as\n"
	    ".Ql \\et ,\n.Ql \\en\nand\n.Ql \\e\\e .\n"
	    "Where the data are a tree, tsv has a line for each value: its path, such as\n"
	    ".Ql files.0.name ,\nand the value.\n.Pp\n"
	    "A command that destroys something asks on the terminal;\n"
	    "without a terminal it needs\n.Fl Fl yes .\n"
	    "With\n.Fl Fl dry-run\na command changes nothing and prints what it would do.\n"
	    "Colour is used on terminals only, unless\n.Fl Fl color Cm always\nor\n.Cm never\n"
	    "is given, or\n.Ev NO_COLOR\nis set.\n");
}

void help_man(const struct manual_row *rows)
{
	struct page page = { rows, rows };

	printf(
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from the table of commands by \"locus help --man\".\n"
	    ".Dd November 28, 2026\n.Dt LOCUS 1\n.Os\n"
	    ".Sh NAME\n.Nm locus\n.Nd create, run and maintain a Locus project\n"
	    ".Sh SYNOPSIS\n.Nm\n.Op Fl p Ar dir\n.Op Fl o Cm table | tsv | json\n.Ar command\n"
	    ".Op Ar option ...\n.Op Ar word ...\n.Nm\n.Fl Fl version\n"
	    ".Sh DESCRIPTION\n");
	manual_description();
	printf(".Sh COMMANDS\n");
	while (page.at->section != NULL)
		manual_section(&page);
	printf(
	    ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
	    ".It Ev LOCUS_PROJECT\nDirectory of the project.\n.El\n"
	    ".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n"
	    ".It 0\nDone; running.\n.It 1\nFailure, or findings; not confirmed.\n.It 2\nWrong usage.\n"
	    ".It 3\nNot running, or nothing found.\n.It 4\nPartly running.\n"
	    ".It 69\nThe database is not available.\n.It 75\nTry again.\n"
	    ".It 77\nPermission denied.\n.It 78\nError in the configuration or the schema.\n.El\n"
	    ".Sh SEE ALSO\n.Xr config.xml 5 ,\n.Xr locus-template 5 ,\n.Xr plan_class_spec.xml 5 ,\n.Xr locus 7\n");
}
