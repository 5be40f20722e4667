/* SPDX-License-Identifier: Apache-2.0 */
/* Preloaded into a program (LD_PRELOAD): at its exit() writes the number of its threads
 * to THREADS_LOG. */
#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>
#include "lib/banned.h"

static int threads_now(void)
{
	DIR *d = opendir("/proc/self/task");
	int n = -2; /* for "." and ".." */

	while (d != NULL && readdir(d) != NULL)
		n++;
	if (d != NULL)
		closedir(d);
	return n;
}

__attribute__((destructor)) static void log_threads(void)
{
	const char *path = getenv("THREADS_LOG");
	int n = threads_now(), fd;

	if (path == NULL)
		return;
	/* A thread that has been joined is listed for a moment. */
	for (int i = 0; i < 100 && n > 1; i++) {
		usleep(1000);
		n = threads_now();
	}
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return;
	dprintf(fd, "%d\n", n);
	close(fd);
}
