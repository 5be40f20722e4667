/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the large files against their rows, and the uploads against their results. */
#include <string.h>
#include "db/entity.h"
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "proto/blob.h"
#include "proto/upload_name.h"
#include "tools/fsck.h"
#include "lib/banned.h"

enum { FILES_AT_ONCE = 1000, DAY_S = 86400 };

static enum err
check_large_file(struct fsck *k, const struct file *file)
{
	struct arena *a = &k->round;
	const char *path = download_path(a, k->x->cf, file->name);
	int64_t size = fs_size(path);
	struct fail f = { 0 };
	char md5[MD5_HEX];
	enum err e;

	if (file_name_check(file->name, &f) != OK)
		fsck_found(k, FSCK_FILE_NAME, file->name, f.detail, false);
	if (size < 0) {
		fsck_found(k, FSCK_FILE_MISSING, file->name, path, false);
		return OK;
	}
	if (size != (int64_t)file->size) {
		fsck_found(k, FSCK_FILE_SIZE, file->name,
		    arena_printf(a, "%lld bytes, in the database %.0f", (long long)size,
			file->size),
		    false);
		return OK;
	}
	if (!k->deep)
		return OK;
	e = md5_file(path, md5, NULL, k->x->f);
	if (e == OK && strcmp(md5, file->md5sum) != 0)
		fsck_found(k, FSCK_FILE_MD5, file->name,
		    arena_printf(a, "MD5 %s, in the database %s", md5, file->md5sum),
		    false);
	return e;
}

enum err
fsck_files(struct fsck *k)
{
	int64_t last = 0;
	size_t n = 1;
	enum err e = OK;

	while (n > 0 && e == OK) {
		struct file *files = NULL;

		arena_reset(&k->round);
		e = db_query(k->x->db, &k->round, k->x->f, &files, &n, FILES_AFTER,
		    .after = last, .max = FILES_AT_ONCE);
		for (size_t i = 0; e == OK && i < n; i++) {
			last = files[i].id;
			e = check_large_file(k, &files[i]);
		}
	}
	return e;
}

/*
 * Looks the result up by key. A file that has vanished meanwhile is not a finding:
 * results are purged after their files.
 */
static enum err
check_upload(struct fsck *k, void *arg, const char *path, const char *name)
{
	struct arena *a = &k->round;
	struct upload_name u;
	struct result *r;
	bool named;
	enum err e;

	(void)arg;
	arena_reset(a);
	named = upload_name_parse(a, name, &u);
	if (u.part) {
		if (fs_mtime(path) < k->now - DAY_S && fs_exists(path))
			fsck_found(k, FSCK_UPLOAD_PART, name, path, false);
		return OK;
	}
	e = E_NOTFOUND;
	if (named && strcmp(path, upload_path(a, k->x->cf, name)) == 0)
		e = result_by_name(k->x->db, a, u.result, &r, k->x->f);
	if (e == E_NOTFOUND && fs_exists(path))
		fsck_found(k, FSCK_UPLOAD_STRANGER, name, path, false);
	return e == E_NOTFOUND ? OK : e;
}

enum err
fsck_uploads(struct fsck *k)
{
	return fsck_tree(k, k->x->cf->upload_dir, check_upload, NULL);
}
