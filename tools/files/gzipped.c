/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/fs.h"
#include "lib/gzip.h"
#include "model/conf.h"
#include "tools/files/files.h"
#include "lib/banned.h"

enum err
file_gzip(struct cmd_ctx *x, const char *path)
{
	const char *copy = arena_printf(x->a, "%s.gz", path);

	if (fs_exists(arena_printf(x->a, "%s.md5", copy)))
		return FAIL(x->f, E_BADREQ,
		    "%s is a staged file of its own, so no compressed copy can have this name; give one of the two another name",
		    copy);
	if (gzipped_bytes(path) > 0)
		return OK;
	if (fs_exists(copy)) /* that of an older file */
		TRY(fs_unlink(copy, x->f));
	return gzip_file(path, copy, 0644, x->f);
}
