/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the unit files of a project: unit_files CONFIG.XML DIR PROGRAM.  The project's
 * name is that of the directory of config.xml. */
#include <stdio.h>
#include "tools/units.h"
#include "lib/banned.h"

int
main(int argc, char **argv)
{
	struct arena a = { 0 };
	struct fail f = { 0 };
	struct units_change c;
	struct unit_file *files;
	struct conf *cf;
	size_t n;
	enum err e;

	if (argc != 4)
		return 2;
	e = conf_load(&a, argv[1], &cf, NULL, NULL, &f);
	if (e == OK)
		e = units_texts(&a, cf, argv[3], &files, &n, &f);
	if (e == OK)
		e = units_write(
		    &a, argv[2], conf_installation(&a, cf).name, files, n, &c, &f);
	if (e != OK)
		fprintf(stderr, "unit_files: %s\n", f.detail);
	arena_free(&a);
	return e == OK ? 0 : 1;
}
