/* SPDX-License-Identifier: Apache-2.0 */
/* Prints config.xml(5) and config.xml.sample from the option table. */
#include "model/conf_doc.h"

#include <stdio.h>
#include <string.h>
#include "model/conf.h"
#include "lib/banned.h"

/* Shared by the printers of manuals. */

enum { LINE = 78 };

void doc_fill(const char *text, const char *indent, bool sentences)
{
	size_t column = 0;

	while (*text != '\0') {
		size_t n = strcspn(text, " ");
		bool ends = sentences && n > 0 && text[n - 1] == '.';

		if (column > 0 && column + 1 + n > LINE) {
			printf("\n");
			column = 0;
		}
		column += (size_t)printf(
		    "%s%.*s", column == 0 ? indent : " ", (int)n, text);
		text += n + strspn(text + n, " ");
		if (ends && *text != '\0') {
			printf("\n");
			column = 0;
		}
	}
	printf("\n");
}

static const char *const type_names[] = {
	[FIELD_FLAG] = "0 or 1",
	[FIELD_I64] = "whole number",
	[FIELD_F64] = "number",
	[FIELD_TEXT] = "text",
	[FIELD_LIST] = "text, repeated",
	[FIELD_PATTERNS] = "regular expression, repeated",
};

/* Is nothing known of the option but its name? */
static bool is_ignored(const struct field *o)
{
	return o->type == FIELD_TEXT && o->max == 0;
}

const char *conf_type_text(const struct field *o)
{
	return is_ignored(o) ? "anything" : type_names[o->type];
}

static const char *const taken_texts[] = {
	[CONF_AT_ONCE] = "A change takes effect at once.\n",
	[CONF_REPLACE] = "A change takes effect at once: processes are replaced.\n",
	[CONF_RESTART] = "A change takes effect after\n.Ql locus restart .\n",
	[CONF_PRIVATE] = ("A change takes effect after\n.Ql locus restart ;\n"
			  "at once if the servers are not private.\n"),
	[CONF_NEVER] = "",
};

static void man_type(const struct field *o)
{
	if (conf_is_repeated(o))
		return;
	printf("Type: %s", type_names[o->type]);
	if (o->type == FIELD_I64 || o->type == FIELD_F64)
		printf(", %.0f to %.0f", o->min, o->max);
	if (o->def[0] != '\0')
		printf("; default: %s", o->def);
	for (size_t i = 0; i < conf_ncreated; i++)
		if (strcmp(conf_created[i].name, o->name) == 0)
			printf("; in new projects, as\n.Ql locus create\nwrites it: %s",
			    conf_created[i].value);
	printf(".\n");
}

static void man_option(const struct field *o)
{
	printf(".It Ic %s\n", o->name);
	doc_fill(o->help, "", true);
	if (!conf_has_effect(o))
		printf("No effect here%s.\n", conf_trait(o)->effect + strlen("none"));
	man_type(o);
	fputs(taken_texts[conf_trait(o)->taken], stdout);
}

/* One entry for each reason, with the names that lie together in the table. */
static void man_ignored(void)
{
	const char *why = "";

	printf(".Ss Options without effect\n"
	       "These options of BOINC's server are known and left alone:\n"
	       ".Bl -tag -width Ds\n");
	for (size_t i = 0; i < conf_nopts; i++) {
		const struct field *o = &conf_opts[i];

		if (!is_ignored(o))
			continue;
		if (strcmp(conf_trait(o)->effect, why) != 0)
			printf(".It %s\n", conf_trait(o)->effect + strlen("none: "));
		why = conf_trait(o)->effect;
		printf(".Ic %s\n", o->name);
	}
	printf(".El\n");
}

static void man_changes(void)
{
	printf(
	    ".Ss Changes\n"
	    "A running project adopts changes of this file by itself.\n"
	    "\\(dqAt once\\(dq means with the next request or upload, the next step of a\n"
	    "daemon, or the next command; work that is under way is finished with the\n"
	    "old values.\n"
	    "If an option requires that processes are replaced, the supervisor does so\n"
	    "within a second, and requests wait meanwhile.\n"
	    "It also starts, stops and replaces daemons according to this file, and\n"
	    "tries daemons again that had stopped for good.\n"
	    ".Pp\n"
	    "A few options take effect only after\n.Ql locus restart ;\nuntil then\n"
	    ".Ql locus status ,\n.Ql locus config check\n"
	    "and the supervisor's log say so.\n"
	    ".Pp\n"
	    "If the file cannot be read or is invalid, daemons and the supervisor keep\n"
	    "the values that they read before, log the problem once, and\n"
	    ".Ql locus status\nshows it.\n"
	    "Meanwhile clients that ask for work or look up accounts are asked to come\n"
	    "back later, and no upload is accepted.\n"
	    ".Pp\n"
	    "Options that restrict access never wait for a restart:");
	for (size_t i = 0; conf_guards[i] != NULL; i++)
		printf("\n.Ic %s%s", conf_guards[i],
		    conf_guards[i + 1] == NULL ? " .\n" : " ,");
}

void conf_print_man(void)
{
	printf(
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from model/conf.def by \"make config-doc\".\n"
	    ".Dd November 21, 2026\n.Dt CONFIG.XML 5\n.Os\n"
	    ".Sh NAME\n.Nm config.xml\n.Nd configuration of a Locus project\n"
	    ".Sh DESCRIPTION\n"
	    "The file is in the project directory.\n"
	    "Its root is\n.Ic boinc ,\nwith the sections\n.Ic config ,\n"
	    ".Ic daemons\nand\n.Ic tasks .\n"
	    "The file of a BOINC project can be used unchanged: all its options are known\n"
	    "by name, and\n.Ql locus config check\n"
	    "says which of them have no effect here, and suggests the nearest option for\n"
	    "an unknown name.\n"
	    ".Pp\nA switch is written as\n.Ic <name/>\nor\n.Ic <name>1</name> .\n"
	    ".Ss Daemons\nEach\n.Ic daemon\nhas a\n.Ic cmd\n"
	    "(program and arguments, no shell), and may have a unique\n.Ic name ,\n"
	    "an\n.Ic output\nfile below the log directory and the flag\n.Ic disabled .\n"
	    ".Ss Tasks\nEach\n.Ic task\nhas a\n.Ic cmd\nand a\n.Ic period\n"
	    "such as 5 min, 2 h, 1 d or 1 w, and may have a unique\n.Ic name ,\n"
	    "an\n.Ic output\nfile below the log directory and the flag\n.Ic disabled .\n"
	    "The supervisor runs\n.Ql locus run-task\nfor each, a period after it was\n"
	    "started last.\n"
	    "A run that was missed while the machine was off is made up for once.\n");
	man_changes();
	printf(".Ss Options\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < conf_nopts; i++)
		if (!is_ignored(&conf_opts[i]))
			man_option(&conf_opts[i]);
	printf(".El\n");
	man_ignored();
	printf(".Sh SEE ALSO\n.Xr locus 1 ,\n.Xr plan_class_spec.xml 5\n");
}

void conf_print_sample(void)
{
	printf("<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
	       "<!-- Every option that has an effect, with its default.  Made from\n"
	       "     model/conf.def by \"make config-doc\"; see config.xml(5). -->\n"
	       "<boinc>\n<config>\n");
	for (size_t i = 0; i < conf_nopts; i++) {
		const struct field *o = &conf_opts[i];

		if (!conf_has_effect(o))
			continue;
		printf("    <!--\n");
		doc_fill(o->help, "    ", false);
		printf("    -->\n");
		if (conf_is_repeated(o))
			printf("    <!-- <%s></%s> -->\n", o->name, o->name);
		else
			printf("    <%s>%s</%s>\n", o->name, o->def, o->name);
	}
	printf("</config>\n<daemons>\n"
	       "    <daemon><cmd>transitioner</cmd></daemon>\n"
	       "    <daemon><cmd>working_set_manager</cmd></daemon>\n"
	       "    <daemon><cmd>file_deleter</cmd></daemon>\n"
	       "</daemons>\n</boinc>\n");
}
