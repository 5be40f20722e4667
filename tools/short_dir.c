/* SPDX-License-Identifier: Apache-2.0 */
/* The short directory for sockets; its name was drawn when the project was made. */
#include "tools/supervise.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "tools/service.h"
#include "lib/banned.h"

/* NULL if the sockets are in the run directory. */
static char *
short_dir(struct arena *a, const struct conf *cf)
{
	char *dir = socket_dir(a, cf);

	return strcmp(dir, cf->run_dir) == 0 ? NULL : dir;
}

enum err
short_dir_make(struct arena *a, const struct conf *cf, struct fail *f)
{
	const char *dir = short_dir(a, cf);
	struct stat st;

	if (dir == NULL || mkdir(dir, 0755) == 0)
		return OK;
	if (errno != EEXIST)
		return FAIL_ERRNO(f, "making %s for sockets", dir);
	/* Others may write to /tmp too: only a directory of our own is good. */
	if (lstat(dir, &st) < 0)
		return FAIL_ERRNO(f, "looking at %s", dir);
	if (!S_ISDIR(st.st_mode) || st.st_uid != geteuid())
		return FAIL(f, E_CONFIG,
		    "%s is there and is not ours; remove it, or give the project "
		    "another "
		    "<db_socket> of at most 107 bytes",
		    dir);
	return OK;
}

void
short_dir_remove(struct arena *a, const struct conf *cf)
{
	const char *dir = short_dir(a, cf);

	if (dir != NULL)
		fs_rmtree(dir, NULL);
}
