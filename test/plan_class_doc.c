/* SPDX-License-Identifier: Apache-2.0 */
/* Prints plan_class_spec.xml(5) from the table of elements. */
#include "test/conf_doc.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include "model/conf_doc.h"
#include "model/plan_class.h"
#include "lib/banned.h"

static const struct {
	const char *type, *name;
} class_type_names[] = {
	{ "STR", "text" },
	{ "WORDS", "text, repeated" },
	{ "REGEX", "regular expression" },
	{ "FLAG", "switch" },
	{ "INT", "whole number" },
	{ "NUM", "number" },
	{ "VERSION", "version" },
	{ "VERSIONS", "version, repeated" },
};

static void man_section(bool *open, const char *heading)
{
	if (*open)
		printf(".El\n");
	printf(".Ss %s\n.Bl -tag -width Ds\n", heading);
	*open = true;
}

static void man_element(const struct field *el)
{
	bool number = el->type == FIELD_I64 || el->type == FIELD_F64;
	size_t i = 0;

	while (strcmp(class_type_names[i].type, el->value) != 0)
		i++;
	printf(".It Ic %s\n", el->name);
	doc_fill(el->help, "", true);
	printf("Type: %s", class_type_names[i].name);
	if (number && strcmp(el->value, "VERSION") != 0)
		printf(", %g to %.15g", el->min, el->max);
	if (el->type == FIELD_TEXT || el->type == FIELD_LIST)
		printf(", at most %g bytes", el->max);
	if (number && strcmp(el->def, "0") != 0)
		printf("; default: %s", el->def);
	printf(".\n");
}

static void man_examples(void)
{
	printf(
	    ".Sh EXAMPLES\n"
	    "Several threads, on computers with two CPUs or more:\n"
	    ".Bd -literal -offset indent\n"
	    "<plan_classes>\n"
	    "    <plan_class>\n"
	    "        <name>mt</name>\n"
	    "        <min_ncpus>2</min_ncpus>\n"
	    "        <max_threads>64</max_threads>\n"
	    "        <nthreads_cmdline/>\n"
	    "    </plan_class>\n"
	    "</plan_classes>\n"
	    ".Ed\n"
	    ".Pp\n"
	    "A coprocessor that is not a GPU, declared by volunteers in\n"
	    ".Pa cc_config.xml :\n"
	    ".Bd -literal -offset indent\n"
	    "<plan_class>\n"
	    "    <name>asic</name>\n"
	    "    <gpu_type>miner_asic</gpu_type>\n"
	    "    <avg_ncpus>0.1</avg_ncpus>\n"
	    "    <cpu_frac>0</cpu_frac>\n"
	    "</plan_class>\n"
	    ".Ed\n"
	    ".Pp\n"
	    "Show which classes fit the client that sent a request, and why the others\n"
	    "do not:\n"
	    ".Pp\n"
	    ".Dl $ locus plan-class test request.xml\n");
}

static void man_description(void)
{
	printf(
	    ".\\\" SPDX-License-Identifier: Apache-2.0\n"
	    ".\\\" Made from model/plan_class.def by \"make config-doc\".\n"
	    ".Dd November 21, 2026\n.Dt PLAN_CLASS_SPEC.XML 5\n.Os\n"
	    ".Sh NAME\n.Nm plan_class_spec.xml\n"
	    ".Nd plan classes of a Locus project\n"
	    ".Sh DESCRIPTION\n"
	    "A plan class says what some versions of an application demand of a computer\n"
	    "in addition to its platform, and what their jobs use there.\n"
	    "A version gets its class when it is added:\n"
	    ".Pp\n"
	    ".Dl $ locus version add app 1.00 x86_64-pc-linux-gnu:mt program\n"
	    ".Pp\n"
	    "A version without a class uses one CPU.\n"
	    "The only classes are those of this file, which is in the project directory;\n"
	    ".Ql locus create\n"
	    "writes one with the usual classes.\n"
	    "A project without the file has these, and each of them with a number or a\n"
	    "variant in its name, too: a version of class\n.Ql cuda_fermi\nneeds what\n"
	    ".Ql cuda\nneeds, and one of\n.Ql opencl_ati_101\nwhat\n.Ql opencl_ati\nneeds.\n"
	    "Schedulers read it again when it changes.\n"
	    "A version whose class is not defined is sent to nobody:\n"
	    ".Ql locus version add\n"
	    "refuses it, and\n"
	    ".Ql locus fsck\n"
	    "reports it.\n");
}

static void man_syntax(void)
{
	printf(
	    ".Pp\n"
	    "The root is\n.Ic plan_classes ,\nwith any number of\n.Ic plan_class\n"
	    "elements.\n"
	    "An element with an invalid value or without an end tag is left out; a class\n"
	    "is left out if it has no name, the name of an earlier class, or an invalid\n"
	    "regular expression.\n"
	    "Only if the file has no\n.Ic plan_classes\nelement, there are no classes.\n"
	    "The scheduler logs what is left out,\n"
	    ".Ql locus status\nand\n.Ql locus doctor\nsay it, and\n"
	    ".Ql locus plan-class check\n"
	    "lists it with its lines.\n"
	    "Unknown elements are reported and ignored.\n"
	    ".Pp\n"
	    "A switch is written as\n.Ic <name/>\nor\n.Ic <name>1</name> .\n"
	    "A version is a number or\n.Ar M.m.R ,\nwhich means M*10000 + m*100 + R.\n"
	    "A regular expression is an extended one, as in\n.Xr regex 7 ,\n"
	    "and matches anywhere in the text unless\n.Ql ^\nand\n.Ql $\nanchor it.\n"
	    "A\n.Ql \\&!\nin front of it inverts the match.\n"
	    "It is limited to 255 bytes and 2000 steps, without back-references: a\n"
	    "character is one step, and a counted repetition multiplies the steps.\n"
	    "MB are 2^20 bytes.\n"
	    "A number that has no default demands nothing if it is absent.\n"
	    ".Pp\n"
	    "A computer must meet all demands.\n"
	    "The first one that it does not meet is the reason given to the volunteer.\n"
	    "If several versions fit, the fastest one is sent.\n"
	    ".Pp\n"
	    "Clients look for\n"
	    ".Ql opencl ,\n.Ql cuda ,\n.Ql ati ,\n.Ql vbox ,\n.Ql docker\nand\n"
	    ".Ql wsl\n"
	    "in the name of a class, and require these on the computer.\n"
	    "The scheduler infers nothing from the name.\n"
	    ".Sh ELEMENTS\n"
	    "All elements but\n.Ic name\nare optional.\n");
}

static void man_elements(void)
{
	const struct field *el = pc_elements;
	bool open = false;

#define PC_SECTION(heading)                    man_section(&open, heading);
#define PC(name, type, def, least, most, help) man_element(el++);
#include "model/plan_class.def"
#undef PC
#undef PC_SECTION
	printf(".El\n");
}

static void man_explanations(void)
{
	printf(
	    ".Sh OPERATING SYSTEM VERSIONS\n"
	    ".Ic min_os_version\nand\n.Ic max_os_version\n"
	    "are compared with one number:\n"
	    ".Bl -tag -width Ds\n"
	    ".It Windows\n"
	    "(06.01.7601.00) is 601760100: M*100000000 + m*1000000 + build*100 + the\n"
	    "last part.\n"
	    ".It Mac OS\n"
	    "Darwin 11.00.00 is 110000: M*10000 + m*100 + R.\n"
	    ".It Linux, Android\n"
	    "The kernel: 5.10.0 is 51000.\n"
	    "A part above 99 counts as 99.\n"
	    ".El\n"
	    ".Sh WHAT A JOB USES\n"
	    "Without a coprocessor, a job uses up to\n"
	    ".Ic max_threads\n"
	    "CPUs, and runs at that many times the benchmark's speed.\n"
	    "With a coprocessor, the CPU does the part\n.Ic cpu_frac\nof the work, and then the\n"
	    "coprocessor does the rest; the two speeds give the total time, the\n"
	    "projected speed, and\n.Ic avg_ncpus ,\n"
	    "the fraction of the time in which the CPU is busy.\n"
	    "Once there are statistics of a version, measured speeds replace the\n"
	    "projected ones.\n");
}

void plan_class_print_man(void)
{
	man_description();
	man_syntax();
	man_elements();
	man_explanations();
	man_examples();
	printf(".Sh SEE ALSO\n.Xr locus 1 ,\n.Xr config.xml 5 ,\n.Xr locus 7 ,\n"
	       ".Xr scheduler 8\n");
}
