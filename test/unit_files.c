/* SPDX-License-Identifier: Apache-2.0 */
/* Prints the unit of a project: unit_files CONFIG.XML PROGRAM. The project's name is
 * that of the directory of config.xml. */
#include <stdio.h>
#include "tools/unit.h"
#include "lib/banned.h"

int main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct conf *cf;
	enum err e;

	if (argc != 3)
		return 2;
	e = conf_load(&a, argv[1], &cf, NULL, NULL, &f);
	if (e == OK)
		fputs(unit_text(&a, cf, argv[2]), stdout);
	else
		fprintf(stderr, "unit_files: %s\n", f.detail);
	arena_free(&a);
	return e == OK ? 0 : 1;
}
