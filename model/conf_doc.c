/* SPDX-License-Identifier: Apache-2.0 */
/* config.xml(5) and config.xml.sample, printed from the option table. */
#include "model/conf.h"

#include <stdio.h>
#include <string.h>
#include "model/doc.h"
#include "lib/banned.h"

static const char *const type_names[] = {
	[CONF_BOOL] = "0 or 1",
	[CONF_INT] = "whole number",
	[CONF_DOUBLE] = "number",
	[CONF_STRING] = "text",
	[CONF_LIST] = "text, repeated",
	[CONF_PATTERNS] = "regular expression, repeated",
	[CONF_IGNORED] = "anything",
};

static bool
has_effect(const struct conf_opt *o)
{
	return strncmp(o->effect, "none", 4) != 0;
}

static const char *const taken_texts[] = {
	[CONF_AT_ONCE] = "A change is in force at once.\n",
	[CONF_REPLACE] = "A change is in force at once: processes are replaced.\n",
	[CONF_RESTART] = "A change is in force after\n.Ql locus restart .\n",
	[CONF_PRIVATE] = "A change is in force after\n.Ql locus restart ;\n"
			 "at once where the servers are not the project's own.\n",
	[CONF_NEVER] = "",
};

static void
man_type(const struct conf_opt *o)
{
	if (o->type == CONF_IGNORED || conf_is_repeated(o))
		return;
	printf("Type: %s", type_names[o->type]);
	if (o->type == CONF_INT || o->type == CONF_DOUBLE)
		printf(", %.0f to %.0f", o->min, o->max);
	if (o->def[0] != '\0')
		printf("; default: %s", o->def);
	printf(".\n");
}

static void
man_option(const struct conf_opt *o)
{
	printf(".It Ic %s\n", o->name);
	doc_fill(o->help, "", true);
	if (!has_effect(o))
		printf("No effect here%s.\n", o->effect + strlen("none"));
	man_type(o);
	fputs(taken_texts[o->taken], stdout);
}

static void
man_changes(void)
{
	printf(
	    ".Ss Changes\n"
	    "A project that runs takes up what changes in this file by itself.\n"
	    "\\(dqAt once\\(dq is the next request or upload, the next step of a\n"
	    "daemon, the next command; what is in hand ends as it began.\n"
	    "Where processes have to be replaced for an option, the supervisor does so\n"
	    "within a second, and requests wait meanwhile.\n"
	    "It also starts, ends and replaces daemons as they stand here, and tries\n"
	    "again what had ended for good.\n"
	    ".Pp\n"
	    "Few options wait for\n.Ql locus restart ,\nwhich\n"
	    ".Ql locus status ,\n.Ql locus config check\n"
	    "and the supervisor's log say for as long as it is true.\n"
	    ".Pp\n"
	    "A file that cannot be read or is not valid changes nothing for daemons\n"
	    "and the supervisor: what they read before stays in force, their logs say so\nonce, and status tells of it.\n"
	    "Meanwhile clients that ask for work or have accounts are told to come\n"
	    "back later, and no upload is taken.\n"
	    ".Pp\n"
	    "What keeps others out never waits:");
	for (size_t i = 0; conf_guards[i] != NULL; i++)
		printf("\n.Ic %s%s", conf_guards[i],
		    conf_guards[i + 1] == NULL ? " .\n" : " ,");
}

void
conf_print_man(void)
{
	printf(
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from model/conf.def by \"locus config man\".\n"
	    ".Dd November 21, 2026\n.Dt CONFIG.XML 5\n.Os\n"
	    ".Sh NAME\n.Nm config.xml\n.Nd configuration of a Locus project\n"
	    ".Sh DESCRIPTION\n"
	    "The file stands in the project directory.\n"
	    "Its root is\n.Ic boinc ,\nwith the sections\n.Ic config ,\n"
	    ".Ic daemons\nand\n.Ic tasks .\n"
	    "A file of a BOINC project is read unchanged: every option of it is known\n"
	    "by name, and\n.Ql locus config check\n"
	    "says which have no effect here, and names the nearest option for a\n"
	    "name that nobody knows.\n"
	    ".Pp\nA switch is written as\n.Ic <name/>\nor\n.Ic <name>1</name> .\n"
	    ".Ss Daemons\nEach\n.Ic daemon\nhas a\n.Ic cmd\n"
	    "(program and arguments, no shell), and may have a unique\n.Ic name ,\n"
	    "an\n.Ic output\nfile below the log directory and the flag\n.Ic disabled .\n"
	    ".Ss Tasks\nEach\n.Ic task\nhas a\n.Ic cmd\nand a\n.Ic period\n"
	    "such as 5 min, 2 h, 1 d or 1 w.\n");
	man_changes();
	printf(".Ss Options\n.Bl -tag -width Ds\n");
	for (size_t i = 0; i < conf_nopts; i++)
		man_option(&conf_opts[i]);
	printf(".El\n.Sh SEE ALSO\n.Xr locus 1 ,\n.Xr plan_class_spec.xml 5\n");
}

void
conf_print_sample(void)
{
	printf(
	    "<!-- SPDX-License-Identifier: Apache-2.0 -->\n"
	    "<!-- Every option that has an effect, at its default.  Made from\n"
	    "     model/conf.def by \"locus config sample\"; see config.xml(5). -->\n"
	    "<boinc>\n<config>\n");
	for (size_t i = 0; i < conf_nopts; i++) {
		const struct conf_opt *o = &conf_opts[i];

		if (!has_effect(o))
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
