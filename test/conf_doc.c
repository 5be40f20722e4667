/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Prints the documents that are made from tables: "man" config.xml(5), "sample"
 * config.xml.sample, "classes" plan_class_spec.xml(5), "templates" locus-template(5).
 */
#include "test/conf_doc.h"

#include <string.h>
#include "model/conf.h"
#include "lib/banned.h"

int main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "man") == 0)
		conf_print_man();
	else if (argc == 2 && strcmp(argv[1], "sample") == 0)
		conf_print_sample();
	else if (argc == 2 && strcmp(argv[1], "classes") == 0)
		plan_class_print_man();
	else if (argc == 2 && strcmp(argv[1], "templates") == 0)
		tmpl_print_man();
	else
		return 2;
	return 0;
}
