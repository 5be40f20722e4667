/* SPDX-License-Identifier: Apache-2.0 */
/* Prints what the option table says: "man" config.xml(5), "sample" config.xml.sample.
 */
#include <string.h>
#include "model/conf.h"
#include "lib/banned.h"

int
main(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "man") == 0)
		conf_print_man();
	else if (argc == 2 && strcmp(argv[1], "sample") == 0)
		conf_print_sample();
	else
		return 2;
	return 0;
}
