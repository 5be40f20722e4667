/* SPDX-License-Identifier: Apache-2.0 */
/* swap A B [once]: exchanges two names again and again, as fast as somebody would who
 * waits for the moment between another process's look and its use. */
#include <fcntl.h>
#include <stdio.h>
#include <time.h>
#include "lib/banned.h"

int main(int argc, char **argv)
{
	const struct timespec pause = { 0, 150000 };

	if (argc < 3)
		return 2;
	do {
		if (renameat2(AT_FDCWD, argv[1], AT_FDCWD, argv[2], RENAME_EXCHANGE) <
		    0) {
			perror(argv[1]);
			return 1;
		}
		nanosleep(&pause, NULL);
	} while (argc == 3);
	return 0;
}
