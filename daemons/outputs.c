/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Output files of results. xml_doc_in names them; xml_doc_out is what the host reported
 * about them. A report counts only if the bytes on disk confirm it.
 */
#include "daemons/outputs.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include "db/entity.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "proto/blob.h"
#include "lib/banned.h"

enum { CHUNK = 64 << 10 };

static enum err outputs_read(struct arena *a, const struct conf *conf,
    const struct row_docs *docs, struct outputs *o, struct fail *f)
{
	struct blob_file *made, *told;
	size_t ntold = 0;

	TRY(blob_files(a, docs->xml_doc_in, &made, &o->n, f));
	/* An unreadable report counts as none. */
	if (docs->xml_doc_out[0] == '\0' ||
	    blob_files(a, docs->xml_doc_out, &told, &ntold, f) != OK)
		ntold = 0;
	o->v = NEWN(a, struct output, o->n + 1);
	for (size_t i = 0; i < o->n; i++) {
		const struct blob_file *t = blob_file_named(told, ntold, made[i].name);
		o->v[i] = (struct output){
			.name = made[i].name,
			.open_name = made[i].open_name,
			.path = upload_path(a, conf, made[i].name),
			.root = conf->upload_dir,
			.md5 = t == NULL ? arena_strdup(a, "") : t->md5_cksum,
			.nbytes = t == NULL ? 0 : t->nbytes,
			.optional = made[i].optional,
			.no_validate = made[i].no_validate,
		};
	}
	return OK;
}

enum err outputs_of(struct db *db, struct arena *a, const struct conf *conf,
    const int64_t *resultids, size_t n, struct outputs *out, struct fail *f)
{
	struct row_docs *docs;
	size_t ndocs;
	enum err e = results_files(db, a, resultids, n, &docs, &ndocs, f);

	for (size_t i = 0; i < n && e == OK; i++) {
		out[i] = (struct outputs){ .e = E_NOTFOUND,
			.why = "there is no such result" };
		for (size_t k = 0; k < ndocs && out[i].e == E_NOTFOUND; k++) {
			struct fail of = { 0 };
			if (docs[k].id != resultids[i])
				continue;
			out[i].e = outputs_read(a, conf, &docs[k], &out[i], &of);
			out[i].why = arena_strdup(a, of.detail);
		}
	}
	return e;
}

enum err output_there(const struct output *o, bool *there, struct fail *f)
{
	struct stat st;

	TRY(fs_check_exists(o->path, there, f));
	if (*there || (stat(o->root, &st) == 0 && S_ISDIR(st.st_mode)))
		return OK;
	return FAIL(f, E_SYS, "there is no upload directory %s", o->root);
}

enum err output_check(const struct output *o, enum outputs_state *state, struct fail *f)
{
	char md5[MD5_HEX];
	int64_t nbytes;
	bool there;
	enum err e;

	*state = OUTPUT_BAD;
	if ((e = output_there(o, &there, f)) != OK)
		return e;
	if (!there) {
		*state = o->optional ? OUTPUT_ABSENT : OUTPUT_BAD;
		if (*state == OUTPUT_BAD)
			FAIL(f, E_NOTFOUND, "%s was not uploaded", o->name);
		return OK;
	}
	e = md5_file(o->path, md5, &nbytes, f);
	if (e !=
	    OK) /* the file exists but cannot be read: permissions or a failing disk */
		return e;
	if (o->nbytes > 0 && (double)nbytes != o->nbytes)
		FAIL(f, E_BADREQ, "%s has %lld bytes, its host reported %.0f", o->name,
		    (long long)nbytes, o->nbytes);
	else if (o->md5 != NULL && o->md5[0] != '\0' && strcmp(o->md5, md5) != 0)
		FAIL(f, E_BADREQ, "%s has md5 %s, its host reported %.40s", o->name,
		    md5, o->md5);
	else
		*state = OUTPUT_GOOD;
	return OK;
}

static bool same_bytes(FILE *x, FILE *y)
{
	char bx[CHUNK], by[CHUNK];
	size_t nx, ny;

	do {
		nx = fread(bx, 1, sizeof(bx), x);
		ny = fread(by, 1, sizeof(by), y);
		if (nx != ny || memcmp(bx, by, nx) != 0)
			return false;
	} while (nx > 0);
	return true;
}

enum err output_same(const char *path1, const char *path2, bool *same, struct fail *f)
{
	FILE *x = fopen(path1, "rbe"), *y;
	enum err e = OK;

	if (x == NULL)
		return FAIL_ERRNO(f, "%s", path1);
	y = fopen(path2, "rbe");
	if (y == NULL) {
		e = FAIL_ERRNO(f, "%s", path2);
	} else {
		*same = same_bytes(x, y);
		if (ferror(x) || ferror(y))
			e = FAIL(f, E_SYS, "reading %s and %s", path1, path2);
		fclose(y);
	}
	fclose(x);
	return e;
}
