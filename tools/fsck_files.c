/* SPDX-License-Identifier: Apache-2.0 */
/* Checks downloads against what the database says of them, and uploads against their
 * results. */
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

static void
download_differs(struct fsck *k, enum fsck_code code, const char *name,
    const char *path, const char *how)
{
	fsck_report_finding(
	    k, &(const struct fsck_finding){
		   .code = code, .name = name, .more = how, .path = path });
}

enum err
fsck_download(struct fsck *k, const char *path, const struct blob_file *file)
{
	struct arena *a = &k->round;
	int64_t size = fs_size(path);
	char md5[MD5_HEX];

	if (size < 0) {
		download_differs(k, FSCK_FILE_MISSING, file->name, path, path);
		return OK;
	}
	if (file->nbytes > 0 && size != (int64_t)file->nbytes) {
		download_differs(k, FSCK_FILE_SIZE, file->name, path,
		    arena_printf(a, "%lld bytes, in the database %.0f", (long long)size,
			file->nbytes));
		return OK;
	}
	if (!k->deep || file->md5_cksum == NULL)
		return OK;
	TRY(md5_file(path, md5, NULL, k->x->f));
	if (strcmp(md5, file->md5_cksum) != 0)
		download_differs(k, FSCK_FILE_MD5, file->name, path,
		    arena_printf(
			a, "MD5 %s, in the database %s", md5, file->md5_cksum));
	return OK;
}

static enum err
check_large_file(struct fsck *k, const struct file *file)
{
	struct fail f = { 0 };

	if (file_name_check(file->name, &f) != OK)
		fsck_found(k, FSCK_FILE_NAME, file->name, f.detail, false);
	return fsck_download(k, download_path(&k->round, k->x->cf, file->name),
	    &(const struct blob_file){
		.name = file->name, .md5_cksum = file->md5sum, .nbytes = file->size });
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
