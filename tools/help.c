/* SPDX-License-Identifier: Apache-2.0 */
/* Help and the manual page locus(1), both from the table of commands. */
#include "tools/cmd.h"

#include <stdio.h>
#include <string.h>
#include "lib/near.h"
#include "lib/banned.h"

void
help_overview(void)
{
	printf("usage: locus [-p DIR] COMMAND [OPTION ...] [WORD ...]\n\n");
	for (size_t i = 0; cmds[i] != NULL; i++)
		printf("  %-17s %s\n", cmds[i]->name, cmds[i]->purpose);
	printf("\nA project is found by -p DIR, $LOCUS_PROJECT, or from the current "
	       "directory "
	       "upward.\n\"locus COMMAND --help\" tells more; locus(7) is a tour.\n");
}

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

/* One word as mdoc: a backslash is \\e, a line may not begin with a dot or a quote. */
static void
man_word(const char *w, size_t n, bool first)
{
	if (first && (w[0] == '.' || w[0] == '\''))
		printf("\\&");
	for (size_t i = 0; i < n; i++)
		printf(w[i] == '\\' ? "\\e" : "%c", w[i]);
}

/* Text as mdoc: each sentence begins a line, an empty line parts paragraphs. */
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

static void
man_page(void)
{
	printf(
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from the table of commands by \"locus help --man\".\n"
	    ".Dd November 21, 2026\n.Dt LOCUS 1\n.Os\n"
	    ".Sh NAME\n.Nm locus\n.Nd make, run and look after a Locus project\n"
	    ".Sh SYNOPSIS\n.Nm\n.Op Fl p Ar dir\n.Op Fl o Cm text | json\n.Ar command\n"
	    ".Op Ar option ...\n.Op Ar word ...\n.Nm\n.Fl Fl version\n"
	    ".Sh DESCRIPTION\n.Nm\n"
	    "is all that the admin of a volunteer computing project needs.\n"
	    "The project is the directory given by\n.Fl p Pq Fl Fl project ,\n"
	    "by the environment, or the first directory with a\n.Pa config.xml\n"
	    "from the current one upward.\n"
	    "Run by root, a command goes on as the account that the project belongs "
	    "to.\n.Pp\nThe commands are:\n.Bl -tag -width Ds\n");
	for (size_t i = 0; cmds[i] != NULL; i++)
		man_command(cmds[i]);
	printf(
	    ".El\n"
	    ".Sh ENVIRONMENT\n.Bl -tag -width Ds\n"
	    ".It Ev LOCUS_PROJECT\nDirectory of the project.\n.El\n"
	    ".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n"
	    ".It 0\nDone; running.\n.It 1\nFailed, or findings.\n.It 2\nWrong usage.\n"
	    ".It 3\nNot running, or nothing found.\n.It 4\nPartly running.\n"
	    ".It 69\nThe database is not there.\n.It 75\nTry again.\n"
	    ".It 77\nPermission denied.\n.It 78\nConfiguration or schema.\n.El\n"
	    ".Sh SEE ALSO\n.Xr config.xml 5 ,\n.Xr plan_class_spec.xml 5 ,\n.Xr locus "
	    "7\n");
}

struct help_opts {
	bool man;
};

static const struct opt help_options[] = {
	{ "man", OPT_FLAG, offsetof(struct help_opts, man), NULL,
	    "Prints the manual page locus(1)." },
	{ 0 },
};

/* Explains all commands of that name, or of that noun; what comes near if there is
 * none. */
static enum err
explain(struct ctx *x, const char *name)
{
	size_t least = (size_t)-1, shown = 0, len = strlen(name);
	const char *best = NULL;

	for (size_t i = 0; cmds[i] != NULL; i++) {
		const char *c = cmds[i]->name;

		if (strncmp(c, name, len) == 0 && (c[len] == '\0' || c[len] == ' ')) {
			if (shown++ > 0)
				printf("\n");
			help_command(cmds[i]);
		} else if (near_offer(name, c, &least)) {
			best = c;
		}
	}
	if (shown > 0)
		return OK;
	if (best == NULL)
		return ctx_usage(x, "there is no command \"%s\"", name);
	return ctx_usage(
	    x, "there is no command \"%s\"; did you mean \"%s\"?", name, best);
}

static enum err
help_run(struct ctx *x, const void *opts, char **args, size_t n)
{
	const struct help_opts *o = opts;

	if (o->man)
		man_page();
	else if (n == 0)
		help_overview();
	else
		return explain(x,
		    n == 1 ? args[0] : arena_printf(x->a, "%s %s", args[0], args[1]));
	return OK;
}

const struct cmd cmd_help = { .name = "help",
	.args = "[COMMAND]",
	.max_args = 2,
	.purpose = "explain a command",
	.about = "Explains a command, or lists them all.",
	.opts = help_options,
	.opts_size = sizeof(struct help_opts),
	.run = help_run };
