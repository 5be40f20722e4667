/* SPDX-License-Identifier: Apache-2.0 */
/* Prints locus-template(5) from the table of elements. */
#include "test/conf_doc.h"

#include <stdio.h>
#include <string.h>
#include "model/conf_doc.h"
#include "proto/template_check.h"
#include "lib/banned.h"

static const char *const type_texts[] = {
	[TMPL_FLAG] = "switch, written as an empty element",
	[TMPL_WHOLE] = "whole number",
	[TMPL_NUMBER] = "number",
	[TMPL_TEXT] = "text",
	[TMPL_NAME] = "a placeholder",
	[TMPL_GROUP] = "elements, see below",
	[TMPL_REFUSED] = "refused",
};

static void man_rule(const struct tmpl_rule *r)
{
	bool required = strcmp(r->def, "!") == 0;

	printf(".It Ic %s\n", r->name);
	doc_fill(r->help, "", true);
	printf("Type: %s%s", type_texts[r->type], required ? "; required" : "");
	if (!required && r->def[0] != '\0')
		printf("; default: %s", r->def);
	printf(".\n");
	if (r->example[0] != '\0' && r->type != TMPL_GROUP)
		printf("Example:\n.Ql %s\n", r->example);
}

static void man_place(enum tmpl_place place, const char *heading, const char *intro)
{
	printf(".Ss %s\n%s.Bl -tag -width Ds\n", heading, intro);
	for (size_t i = 0; i < tmpl_nrules; i++)
		if (tmpl_rules[i].place == place)
			man_rule(&tmpl_rules[i]);
	printf(".El\n");
}

static void man_template_head(void)
{
	printf(
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from proto/template.def by \"make config-doc\".\n"
	    ".Dd November 23, 2026\n.Dt LOCUS-TEMPLATE 5\n.Os\n"
	    ".Sh NAME\n.Nm locus-template\n.Nd templates of workunits and results\n"
	    ".Sh DESCRIPTION\n"
	    "Each app has two templates in the project's directory\n.Pa templates :\n"
	    "the input template\n.Pa APP_in.xml\n"
	    "says what a workunit is: its input files, its command line and its limits;\n"
	    "the output template\n.Pa APP_out.xml\n"
	    "says what each of its results uploads.\n"
	    "They have the form of BOINC's templates, which can be used unchanged.\n"
	    ".Pp\n"
	    ".Ql locus template new\nwrites a commented pair,\n"
	    ".Ql locus template check\nreports every problem with its line,\n"
	    "and\n.Ql locus app add\nputs the templates into place.\n"
	    "Only what nobody can guess is required; all limits have defaults.\n"
	    "Numbers may have an exponent, as in 1e9.\n"
	    "Elements have no attributes.\n"
	    "Comments are skipped, and everything else is copied to the clients as it is.\n");
}

static void man_template_examples(void)
{
	printf(
	    ".Sh PROGRAMS THAT KNOW NOTHING OF BOINC\n"
	    "A client starts a program in a directory of its own, and takes it for finished\n"
	    "only if it has exited with 0 and has left a file\n.Pa boinc_finish_called\n"
	    "there; otherwise it starts the program again.\n"
	    "BOINC's API creates the file.\n"
	    "For any other program, a wrapper is the main program of the version, and runs the\n"
	    "program, its second file, with the command line of the workunit:\n"
	    ".Ql locus app add\nand\n.Ql locus version add\n"
	    "put it around the program if they have the option wrap.\n"
	    "Give\n.Ic copy_file\n"
	    "for all inputs and outputs, so that the program finds plain files under the\n"
	    "names that it opens.\n"
	    ".Sh EXAMPLES\n"
	    "An app whose workunits have one small input file, and which trusts single\n"
	    "results:\n"
	    ".Bd -literal -offset indent\n"
	    "<input_template>\n"
	    "<file_info/>\n"
	    "<workunit>\n"
	    "    <file_ref>\n"
	    "        <open_name>in.txt</open_name>\n"
	    "        <copy_file/>\n"
	    "    </file_ref>\n"
	    "    <min_quorum>1</min_quorum>\n"
	    "</workunit>\n"
	    "</input_template>\n"
	    ".Ed\n.Pp\n"
	    "Its outputs:\n"
	    ".Bd -literal -offset indent\n"
	    "<output_template>\n"
	    "<file_info>\n"
	    "    <name><OUTFILE_0/></name>\n"
	    "    <max_nbytes>1e8</max_nbytes>\n"
	    "    <url><UPLOAD_URL/></url>\n"
	    "</file_info>\n"
	    "<result>\n"
	    "    <file_ref>\n"
	    "        <file_name><OUTFILE_0/></file_name>\n"
	    "        <open_name>out.txt</open_name>\n"
	    "        <copy_file/>\n"
	    "    </file_ref>\n"
	    "</result>\n"
	    "</output_template>\n"
	    ".Ed\n"
	    ".Sh SEE ALSO\n.Xr locus 1 ,\n.Xr config.xml 5 ,\n.Xr work_generator 8\n");
}

void tmpl_print_man(void)
{
	man_template_head();
	printf(
	    ".Sh INPUT TEMPLATE\n"
	    "The root\n.Ic input_template\nmay be left out.\n"
	    "It holds a\n.Ic file_info\nfor each input file, and then one\n.Ic workunit .\n");
	man_place(TMPL_IN_FILE, "file_info",
	    "Files are given to the workunit in this order; a large file comes first.\n");
	man_place(TMPL_WU, "workunit", "");
	man_place(TMPL_IN_REF, "file_ref", "");
	printf(
	    ".Sh OUTPUT TEMPLATE\n"
	    "The root\n.Ic output_template\nmay be left out.\n"
	    "It holds a\n.Ic file_info\nfor each output file, and then one\n.Ic result .\n");
	man_place(TMPL_OUT_FILE, "file_info", "");
	man_place(TMPL_RESULT, "result", "");
	man_place(TMPL_OUT_REF, "file_ref", "");
	man_template_examples();
}
