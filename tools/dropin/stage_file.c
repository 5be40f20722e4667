/* SPDX-License-Identifier: Apache-2.0 */
/*
 * stage_file: moves or copies input files into the download directory. A file that is
 * staged already is never removed, whatever path leads to it.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/dropin/dropin.h"
#include "tools/files/files.h"
#include "tools/progress.h"
#include "lib/banned.h"

enum { FILES_MOST = 10000000 };

struct staging {
	struct dropin *d;
	bool move, gzip, verbose;
	struct progress bar;
	int64_t bytes;
};

static bool
is_same_file(const char *a, const char *b)
{
	struct stat x, y;

	return stat(a, &x) == 0 && stat(b, &y) == 0 && x.st_dev == y.st_dev &&
	       x.st_ino == y.st_ino;
}

/* What create_work needs of the file is kept beside it, as BOINC does. */
static enum err
note_md5(struct cmd_ctx *x, const char *to, const char *md5, int64_t nbytes)
{
	const char *text = arena_printf(x->a, "%s %lld\n", md5, (long long)nbytes);

	return fs_write(
	    arena_printf(x->a, "%s.md5", to), text, strlen(text), 0644, x->f);
}

/* Puts the file there if it is not; E_BADREQ if other contents have the name. */
static enum err
stage_contents(struct cmd_ctx *x, const char *from, const char *to, const char *md5)
{
	char *dir = arena_strdup(x->a, to), have[MD5_HEX];
	enum err e = E_RACE;

	*strrchr(dir, '/') = '\0';
	TRY(fs_mkdirs(dir, 0755, x->f));
	if (!fs_exists(to))
		e = fs_copy_new(from, to, 0644, x->f);
	if (e != E_RACE)
		return e;
	TRY(md5_file(to, have, NULL, x->f));
	return strcmp(md5, have) == 0 ?
	           OK :
	           FAIL(x->f, E_BADREQ,
		       "%s is staged already with other contents, which hosts may have; give this file another name",
		       text_base_name(to));
}

static enum err
stage_one(struct staging *s, const char *from)
{
	struct cmd_ctx *x = s->d->x;
	const char *name = text_base_name(from);
	char *to = download_path(x->a, x->cf, name), md5[MD5_HEX];
	int64_t nbytes;
	bool same = is_same_file(from, to);

	TRY(file_name_check(name, x->f));
	TRY(md5_file(from, md5, &nbytes, x->f));
	TRY(stage_contents(x, from, to, md5));
	TRY(note_md5(x, to, md5, nbytes));
	if (s->gzip)
		TRY(file_gzip(x, to));
	if (s->move && !same && unlink(from) < 0)
		return FAIL_ERRNO(x->f, "%s is staged, but removing it here", from);
	s->bytes += nbytes;
	progress_set(&s->bar, s->bytes);
	if (s->verbose)
		printf("%s\n", to);
	return OK;
}

/* All files of the directory, but not of those in it. */
static enum err
stage_dir(struct staging *s, const char *dir)
{
	struct cmd_ctx *x = s->d->x;
	char **names;
	size_t n;

	TRY(fs_list(x->a, dir, FILES_MOST, &names, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(x->a, "%s/%s", dir, names[i]);
		struct stat st;

		if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
			TRY(stage_one(s, path));
	}
	return OK;
}

enum err
dropin_stage_file(struct dropin *d)
{
	const char *path = d->line.words[0];
	struct staging s = { .d = d,
		.move = dropin_value(&d->line, "copy") == NULL,
		.gzip = dropin_value(&d->line, "gzip") != NULL,
		.verbose = dropin_value(&d->line, "verbose") != NULL,
		.bar = progress_begin_bytes("staging files", 0) };
	struct stat st;
	enum err e;

	TRY(ctx_conf(d->x));
	if (stat(path, &st) < 0)
		return FAIL_ERRNO(d->x->f, "looking at %s", path);
	if (!S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode))
		return FAIL(
		    d->x->f, E_BADREQ, "%s is neither a file nor a directory", path);
	e = S_ISDIR(st.st_mode) ? stage_dir(&s, path) : stage_one(&s, path);
	progress_end(&s.bar);
	return e;
}
