/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus upload expire: removes uploads that nobody will look at any more. The file
 * deleter removes the outputs of results once; what a host sends afterwards, or for a
 * result that was purged, stays for ever otherwise.
 */
#include "tools/upload_expire.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "db/entity.h"
#include "db/file.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/log.h"
#include "model/rows.h"
#include "proto/blob.h"
#include "proto/upload.h"
#include "tools/cmd.h"
#include "tools/fsck.h"
#include "lib/human.h"
#include "tools/print/print.h"
#include "tools/terminal.h"
#include "lib/banned.h"

enum { DAY_S = 86400, DEFAULT_DAYS = 30 };

struct expire_opts {
	const char *older_than;
	bool dry_run;
};

static const struct field expire_options[] = {
	{ "older-than", FIELD_OF(struct expire_opts, older_than), "SPAN",
	    "Only files that nothing was written to for this time; 30d by default, at least 1d." },
	DRY_RUN_OPTION(struct expire_opts),
	{ 0 },
};

static const struct print_column expire_columns[] = {
	{ "late", "LATE", PRINT_NUMBER,
	    "uploads that came after their result's were deleted" },
	{ "orphans", "ORPHANS", PRINT_NUMBER, "uploads of results that are not there" },
	{ "kept", "KEPT", PRINT_NUMBER, "old uploads that are still needed" },
	{ "others", "OTHERS", PRINT_NUMBER,
	    "old files that are no uploads: left alone" },
	{ "bytes", "BYTES", PRINT_BYTES, "removed" },
	{ 0 },
};

struct expiry {
	struct cmd_ctx *x;
	int64_t before; /* s UTC */
	bool dry_run;
	int64_t late, orphans, kept, others, bytes;
};

static enum err expire_file(
    struct expiry *k, const char *path, const char *name, const char *why)
{
	int64_t size = fs_size(path);

	TRY(fs_check_change(path, k->x->f));
	if (!k->dry_run)
		TRY(fs_unlink(path, k->x->f));
	k->bytes += size > 0 ? size : 0;
	log_info("%s upload %s, %" PRId64 " bytes: %s",
	    k->dry_run ? "would remove" : "removed", name, size, why);
	return OK;
}

/* A file that has vanished meanwhile is not there to be removed. */
static enum err visit_upload(
    struct fsck *walk, void *arg, const char *path, const char *name)
{
	struct expiry *k = arg;
	struct arena *a = &walk->round;
	int64_t mtime = fs_mtime(path);
	struct upload_name u;
	struct result *r;
	enum err e;

	arena_reset(a);
	if (mtime < 0 || mtime >= k->before)
		return OK;
	/* Only where an upload of its name is stored. */
	if (!upload_name_parse(a, name, &u) ||
	    strcmp(path, arena_printf(a, "%s%s", upload_path(a, k->x->cf, u.file),
			     u.part ? ".part" : "")) != 0) {
		k->others++;
		return OK;
	}
	e = result_by_name(k->x->db, a, u.result, &r, k->x->f);
	if (e == E_NOTFOUND) {
		k->orphans++;
		return expire_file(k, path, name, "there is no such result");
	}
	if (e != OK)
		return e;
	if (r->file_delete_state != FILE_DELETE_DONE) {
		k->kept++;
		return OK;
	}
	k->late++;
	return expire_file(k, path, name, "it came after its result was dealt with");
}

static enum err expire_settings(struct expiry *k, const struct expire_opts *o)
{
	int64_t span = (int64_t)DEFAULT_DAYS * DAY_S;

	if (o->older_than != NULL && !human_span_parse(o->older_than, &span))
		return ctx_usage(k->x, "--older-than %.60s: must be a time such as 30d",
		    o->older_than);
	if (span < DAY_S)
		return ctx_usage(k->x,
		    "--older-than %.60s: at least 1d, as uploads may be interrupted for hours",
		    o->older_than);
	k->before = clock_now() - span;
	k->dry_run = o->dry_run;
	return OK;
}

/* Removes nothing while a backup runs: what its snapshot of the database names has to
 * be there until it is copied. */
static enum err lock_out_backup(struct cmd_ctx *x, int *lock)
{
	enum err e = fs_lock_shared(backup_lock_path(x->a, x->cf), lock, x->f);

	if (e != E_RACE)
		return e;
	x->status = err_exit(E_RETRY);
	return FAIL(x->f, E_RACE, "a backup is running: try again when it has ended");
}

static enum err upload_expire_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct expiry k = { .x = x };
	struct fsck walk = { .x = x };
	enum err e;
	int lock;

	(void)args, (void)n;
	TRY(expire_settings(&k, opts));
	TRY(ctx_db(x));
	TRY(lock_out_backup(x, &lock));
	log_set_level(LOG_INFO); /* a line for each file, with its time */
	e = fsck_tree(&walk, x->cf->upload_dir, visit_upload, &k);
	close(lock);
	arena_free(&walk.round);
	TRY(e);
	print_record(x, expire_columns, k.late, k.orphans, k.kept, k.others, k.bytes);
	return OK;
}

const struct cmd cmd_upload_expire = { .name = "upload expire",
	.args = "",
	.purpose = "remove uploads that nobody needs any more",
	.about =
	    "Removes files of the upload directory that nothing was written to for a month, or\n"
	    "another time: those of results that do not exist, because they were purged, and those\n"
	    "that hosts sent after the file deleter had removed the files of their result. Exit\n"
	    "status 75: a backup is running.",
	.details =
	    "Each is logged on standard error. Uploads of all other results are kept however old\n"
	    "they are, and files that are not named like uploads are left alone. A new project runs\n"
	    "it as a daily task; BOINC's antique_file_deleter in config.xml runs it, too.",
	.opts = expire_options,
	.opts_size = sizeof(struct expire_opts),
	.columns = expire_columns,
	.run = upload_expire_run };

static enum err count_own(struct cmd_ctx *x, struct arena *a,
    const char *const *xml_docs, size_t n, struct own_inputs *own)
{
	for (size_t i = 0; i < n; i++)
		TRY(blob_own_inputs(a, xml_docs[i], own, x->f));
	return inputs_use(x->db, a, own->names, own->n, x->f);
}

enum err inputs_count(
    struct cmd_ctx *x, struct arena *a, const char *const *xml_docs, size_t n)
{
	return count_own(x, a, xml_docs, n, &(struct own_inputs){ 0 });
}

/* file_deleter keeps the row locked until the file is gone; from here on it is ours. */
enum err inputs_count_there(
    struct cmd_ctx *x, struct arena *a, const char *const *xml_docs, size_t n)
{
	struct own_inputs own = { 0 };

	TRY(count_own(x, a, xml_docs, n, &own));
	for (size_t i = 0; i < own.n; i++)
		if (!fs_exists(download_path(a, x->cf, own.names[i])))
			return FAIL(x->f, E_NOTFOUND,
			    "input file %s has just been deleted, as no workunit needed it: stage it again",
			    own.names[i]);
	return OK;
}

enum err inputs_uncount(
    struct cmd_ctx *x, struct arena *a, struct workunit *const *wus, size_t n)
{
	struct own_inputs freed = { 0 };
	struct counted_docs c;

	TRY(inputs_counted_docs(x->db, a, wus, n, &c, x->f));
	for (size_t i = 0; i < c.n; i++)
		if (c.docs[i] != NULL)
			blob_own_inputs(a, c.docs[i], &freed, NULL);
	return inputs_take_off(x->db, a, &c, freed.names, freed.n, x->f);
}
