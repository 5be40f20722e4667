/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus file add: adds large files that stay on hosts. All files are checked before the
 * first one is copied, so that a refusal leaves nothing behind. Each file is then
 * copied and becomes a file row and a file set of the same name in one transaction;
 * with --set and --set-pattern files form sets. A run that was interrupted is completed
 * by the next one, because what is there already is left as it is.
 */
#include <limits.h>
#include <pthread.h>
#include <regex.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/gzip.h"
#include "lib/names.h"
#include "lib/text.h"
#include "model/conf.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/terminal.h"
#include "tools/file_add.h"
#include "lib/human.h"
#include "tools/jobs/jobs.h"
#include "tools/print/print.h"
#include "lib/banned.h"

enum { NAMES_MOST = 10000000 };

static enum err list_dir(struct cmd_ctx *x, const char *dir, bool recursive,
    struct file_paths *out, struct file_paths *dirs)
{
	char **names;
	size_t n;

	TRY(fs_list(x->a, dir, NAMES_MOST, &names, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		const char *path = arena_printf(x->a, "%s/%s", dir, names[i]);
		struct stat st;

		if (names[i][0] == '.' || text_ends_with(names[i], ".md5") ||
		    lstat(path, &st) < 0)
			continue;
		if (S_ISREG(st.st_mode))
			PUSH(x->a, out->v, out->n, out->cap) = path;
		else if (S_ISDIR(st.st_mode) && recursive)
			PUSH(x->a, dirs->v, dirs->n, dirs->cap) = path;
	}
	return OK;
}

/*
 * Adds a path, or the regular files in a directory, with recursive also those below it;
 * names that begin with a dot, ".md5" companions and links in directories are left out.
 * E_BADREQ: the path is neither a file nor a directory.
 */
static enum err file_paths_add(
    struct cmd_ctx *x, const char *path, bool recursive, struct file_paths *out)
{
	struct file_paths level = { 0 }, next;
	struct stat st;

	if (stat(path, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", path);
	if (S_ISREG(st.st_mode)) {
		PUSH(x->a, out->v, out->n, out->cap) = path;
		return OK;
	}
	if (!S_ISDIR(st.st_mode))
		return FAIL(x->f, E_BADREQ, "%s is not a file", path);
	PUSH(x->a, level.v, level.n, level.cap) = path;
	for (; level.n > 0; level = next) { /* links are not followed, so it ends */
		next = (struct file_paths){ 0 };
		for (size_t i = 0; i < level.n; i++)
			TRY(list_dir(x, level.v[i], recursive, out, &next));
	}
	return OK;
}

enum err file_gzip(struct cmd_ctx *x, const char *path)
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

enum { THREADS_MOST = 8, LOOK_MS = 50 };

struct digest_pool {
	struct file_digest *v;
	size_t n;
	atomic_size_t next; /* the first that nobody has taken */
	atomic_int_least64_t bytes;
	atomic_int running; /* threads */
	atomic_bool stop;   /* one has failed */
	pthread_mutex_t lock;
	struct fail fail; /* the first failure; under the lock */
};

static void *take_digests(void *arg)
{
	struct digest_pool *p = arg;
	struct fail f = { 0 };
	size_t i;

	while (!atomic_load(&p->stop) && (i = atomic_fetch_add(&p->next, 1)) < p->n) {
		struct file_digest *d = &p->v[i];

		if (md5_file_counted(d->path, d->md5, &d->nbytes, &p->bytes, &f) == OK)
			continue;
		pthread_mutex_lock(&p->lock);
		if (p->fail.code == OK)
			p->fail = f;
		pthread_mutex_unlock(&p->lock);
		atomic_store(&p->stop, true);
	}
	atomic_fetch_sub(&p->running, 1);
	return NULL;
}

static size_t threads_wanted(size_t n)
{
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	size_t most = cpus < 1 ? 1 : cpus > THREADS_MOST ? THREADS_MOST : (size_t)cpus;

	return n < most ? n : most;
}

/* Takes the digests of all, in a few threads, with a bar. */
static enum err file_digests(struct cmd_ctx *x, struct file_digest *v, size_t n)
{
	static const struct timespec look = { .tv_nsec = LOOK_MS * 1000000L };
	struct digest_pool p = { .v = v, .n = n, .lock = PTHREAD_MUTEX_INITIALIZER };
	size_t wanted = threads_wanted(n), made = 0;
	pthread_t threads[THREADS_MOST] = { 0 };
	struct progress bar;
	int64_t total = 0;

	for (size_t i = 0; i < n; i++)
		total += v[i].size;
	bar = progress_begin_bytes("taking digests", total);
	atomic_store(&p.running, (int)wanted);
	for (; made < wanted; made++)
		if (pthread_create(&threads[made], NULL, take_digests, &p) != 0)
			break;
	atomic_fetch_sub(&p.running, (int)(wanted - made));
	if (made == 0 && n > 0) { /* no threads here: by itself */
		atomic_store(&p.running, 1);
		take_digests(&p);
	}
	while (atomic_load(&p.running) > 0) {
		progress_set(&bar, atomic_load(&p.bytes));
		nanosleep(&look, NULL);
	}
	for (size_t i = 0; i < made; i++)
		pthread_join(threads[i], NULL);
	progress_end(&bar);
	if (p.fail.code != OK)
		return FAIL(x->f, p.fail.code, "%s", p.fail.detail);
	return OK;
}

/*
 * locus file stage: copies files to where clients download them, without registering
 * them; locus file path: where a file of that name is.
 */

struct stage_opts {
	bool gzip, dry_run;
};

static const struct field stage_options[] = {
	{ "gzip", FIELD_OF(struct stage_opts, gzip), NULL,
	    "Makes a compressed copy beside each file; hosts fetch it if the input template has <gzip/>." },
	DRY_RUN_OPTION(struct stage_opts),
	{ 0 },
};

static const struct print_column stage_columns[] = {
	{ "name", "NAME", PRINT_TEXT, NULL },
	{ "url", "URL", PRINT_TEXT, NULL },
	{ "md5", "MD5", PRINT_TEXT, NULL },
	{ "bytes", "SIZE", PRINT_BYTES, NULL },
	{ "path", NULL, PRINT_TEXT, "its place in the download directory" },
	{ "known", NULL, PRINT_FLAG, "it was there already" },
	{ "gzipped_bytes", NULL, PRINT_BYTES, "of its compressed copy; 0 = none" },
	{ 0 },
};

static enum err file_stage_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct stage_opts *o = opts;
	struct job_inputs in = { .x = x };
	struct print *l;
	size_t place;
	bool *known;

	TRY(ctx_conf(x));
	for (size_t i = 0; i < n; i++)
		TRY(job_input_find(&in, args[i], &place));
	known = NEWN(x->a, bool, in.ninputs + 1);
	for (size_t i = 0; i < in.ninputs; i++)
		known[i] = in.inputs[i].there;
	if (!o->dry_run)
		TRY(job_inputs_copy(&in));
	l = print_list(x, stage_columns);
	for (size_t i = 0; i < in.ninputs; i++) {
		const struct job_input *input = &in.inputs[i];

		/* What the tools of BOINC projects expect beside a staged file
		 * (protocol.md 5.4). */
		const char *digest = arena_printf(
		    x->a, "%s %lld\n", input->file.md5, (long long)input->file.nbytes);

		if (!o->dry_run)
			TRY(fs_write(arena_printf(x->a, "%s.md5", input->to), digest,
			    strlen(digest), 0644, x->f));
		if (!o->dry_run && o->gzip)
			TRY(file_gzip(x, input->to));
		print_cells(l, input->file.name, input->file.url, input->file.md5,
		    input->file.nbytes, input->to, known[i], gzipped_bytes(input->to));
	}
	print_end(l);
	return OK;
}

const struct cmd cmd_file_stage = { .name = "file stage",
	.args = "PATH ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "copy files to the download directory",
	.about =
	    "Copies ordinary input files to where clients download them, without making large\n"
	    "files of them, and prints their URLs and digests. \"work add --input\" does the same\n"
	    "for the files of one job. A file that is there with the same content is left as it\n"
	    "is; one with another content is refused, as hosts may hold it.",
	.opts = stage_options,
	.opts_size = sizeof(struct stage_opts),
	.columns = stage_columns,
	.run = file_stage_run };

/* --- path --- */

struct path_opts {
	bool upload;
};

static const struct field path_options[] = {
	{ "upload", FIELD_OF(struct path_opts, upload), NULL,
	    "In the upload directory instead, for the name of an output file." },
	{ 0 },
};

static const struct print_column path_columns[] = {
	{ "path", "path", PRINT_TEXT, NULL },
	{ "url", "URL", PRINT_TEXT, "null for an output file" },
	{ "there", "is there", PRINT_FLAG, NULL },
	{ "bytes", "size", PRINT_BYTES, NULL },
	{ 0 },
};

static enum err file_path_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct path_opts *o = opts;
	const char *path;
	int64_t size;

	(void)n;
	if (args[0][0] == '\0' || strchr(args[0], '/') != NULL)
		return ctx_usage(
		    x, "the name of a file is needed, not a path: %s", args[0]);
	TRY(ctx_conf(x));
	path = o->upload ? upload_path(x->a, x->cf, args[0]) :
	                   download_path(x->a, x->cf, args[0]);
	size = fs_size(path);
	print_record(x, path_columns, path,
	    o->upload ? NULL : download_url(x->a, x->cf, args[0]), size >= 0,
	    print_unless(size < 0, size));
	if (size < 0)
		x->status = EXIT_NOTHING;
	return OK;
}

const struct cmd cmd_file_path = { .name = "file path",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "show where a file is in the download directory",
	.about =
	    "Files are spread over subdirectories by a digest of their names. Prints where a file\n"
	    "of this name is or would be, and the URL that clients use.\n"
	    "\n"
	    "Exit status 3: there is no such file.",
	.opts = path_options,
	.opts_size = sizeof(struct path_opts),
	.columns = path_columns,
	.run = file_path_run };

enum { RANGES_MOST = 100000000, SET_MOST = 64 };

struct file_opts {
	const char *app, *set, *set_pattern;
	int64_t ranges;
	bool recursive, move, gzip, sticky, dry_run;
};

#define FIELD(name) FIELD_OF(struct file_opts, name)
static const struct field file_options[] = {
	{ "app", FIELD(app), "APP", "The app whose jobs use the files; required." },
	{ "set", FIELD(set), "NAME",
	    "Makes one set of the files: each workunit of the set needs all of them." },
	{ "set-pattern", FIELD(set_pattern), "REGEX",
	    "Makes sets of the files whose names have the same text in the first (...) of the expression; that text names the set." },
	{ "recursive", FIELD(recursive), NULL,
	    "Adds the files of directories below the named ones, too." },
	{ "move", FIELD(move), NULL,
	    "Removes each file from its place once it is added; on one file system, without copying it." },
	{ "gzip", FIELD(gzip), NULL,
	    "Makes a compressed copy beside each file; hosts fetch it if the input template has <gzip/>." },
	{ "sticky", FIELD(sticky), NULL,
	    "Hosts keep the files: what all files of this command are; locus file stage is for others." },
	{ "ranges", FIELD(ranges), "K",
	    "The built-in generator makes K workunits for each file, or for the set.",
	    .max = RANGES_MOST },
	DRY_RUN_OPTION(struct file_opts),
	{ 0 },
};

static const struct print_column file_add_columns[] = {
	{ "files", NULL, PRINT_NUMBER, "that were named" },
	{ "bytes", NULL, PRINT_BYTES, "of all of them" },
	{ "added", NULL, PRINT_NUMBER, "files" },
	{ "known", NULL, PRINT_NUMBER, "files that were there already" },
	{ "sets_added", NULL, PRINT_NUMBER, "sets of --set and --set-pattern" },
	{ "dry_run", NULL, PRINT_FLAG, NULL },
	{ "gzipped_bytes", NULL, PRINT_BYTES, "of compressed copies" },
	{ 0 },
};

struct staged { /* one file being added */
	const char *path, *name, *to;
	const char *set; /* of several files; NULL = its own */
	char md5[MD5_HEX];
	char have[MD5_HEX]; /* of the file at its place; "" = none */
	bool is_there;      /* it is the file at its place, perhaps by another name */
	bool in_place;      /* the path is its place */
	int64_t nbytes;
	bool known;   /* the database has it with this content */
	bool there;   /* the download directory has it with this content */
	bool has_set; /* it has a set of its own, or needs none */
	int64_t id, appid;
	int64_t empty; /* id of its own set if that exists without files; else 0 */
	int32_t ranges;
};

struct staged_set { /* the set given by --set */
	const char *name;
	struct fileset *row; /* NULL = new set */
	bool empty;          /* it exists without files */
	struct staged *files;
	size_t n;
};

/* Says what became of a file or set; programs get counts instead. */
static void __attribute__((format(printf, 3, 4)))
say(struct cmd_ctx *x, const char *verb, const char *fmt, ...)
{
	char text[400];
	va_list ap;

	if (x->format != FORMAT_TABLE)
		return;
	va_start(ap, fmt);
	vsnprintf(text, sizeof(text), fmt, ap);
	va_end(ap);
	ctx_progress(x, verb, "%s", text);
}

/* Do both lead to the same entry of a directory, not only to the same file? */
static bool is_same_path(const char *a, const char *b)
{
	char x[PATH_MAX], y[PATH_MAX];

	return realpath(a, x) != NULL && realpath(b, y) != NULL && strcmp(x, y) == 0;
}

static enum err check_source(struct cmd_ctx *x, struct staged *s)
{
	struct stat st, at;

	if (stat(s->path, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", s->path);
	if (!S_ISREG(st.st_mode))
		return FAIL(x->f, E_BADREQ, "%s is not a file", s->path);
	s->nbytes = st.st_size;
	s->to = download_path(x->a, x->cf, s->name);
	s->is_there = stat(s->to, &at) == 0 && at.st_dev == st.st_dev &&
	              at.st_ino == st.st_ino;
	s->in_place = s->is_there && is_same_path(s->path, s->to);
	return s->has_set ? file_name_check(s->name, x->f) :
	                    fileset_name_check(s->name, x->f);
}

/* Takes the digests of all files, and of those that are at their places already. */
static enum err take_all_digests(struct cmd_ctx *x, struct staged *s, size_t n)
{
	struct file_digest *d = NEWN(x->a, struct file_digest, 2 * n + 1);
	size_t nd = 0, at = 0;

	for (size_t i = 0; i < n; i++) {
		d[nd++] = (struct file_digest){ .path = s[i].path,
			.size = s[i].nbytes };
		if (!s[i].is_there && fs_exists(s[i].to))
			d[nd++] = (struct file_digest){ .path = s[i].to,
				.size = fs_size(s[i].to) };
	}
	TRY(file_digests(x, d, nd));
	for (size_t i = 0; i < n; i++) {
		memcpy(s[i].md5, d[at].md5, MD5_HEX);
		s[i].nbytes = d[at++].nbytes;
		if (s[i].is_there)
			memcpy(s[i].have, s[i].md5, MD5_HEX);
		else if (at < nd && d[at].path == s[i].to)
			memcpy(s[i].have, d[at++].md5, MD5_HEX);
	}
	return OK;
}

/* Checks the set of the file's own name: no other kind of set may have that name. */
static enum err check_own_set(struct cmd_ctx *x, struct staged *s)
{
	struct row_member *members;
	struct fileset *set;
	size_t n;
	enum err e = fileset_by_name(x->db, x->a, s->name, &set, x->f);

	if (e == E_NOTFOUND)
		return OK;
	if (e == OK && !s->known)
		return FAIL(x->f, E_BADREQ,
		    "%s: a set of files has the name %s; give the file another name",
		    s->path, s->name);
	if (e != OK || s->has_set)
		return e;
	if (s->ranges > 0 && s->ranges != set->gen_parts)
		return FAIL(x->f, E_BADREQ,
		    "%s exists with %d ranges, which cannot become %d: its workunits are named after its parts; omit --ranges, or add the file under another name",
		    s->name, set->gen_parts, s->ranges);
	e = fileset_files(x->db, x->a, set->id, &members, &n, x->f);
	s->empty = e == OK && n == 0 ? set->id : 0;
	s->has_set = s->empty == 0;
	return e;
}

/* Checks whether the name is taken, in the database or on disk; the same content is
 * fine. */
static enum err check_file_taken(struct cmd_ctx *x, struct staged *s)
{
	struct file *row;
	enum err e = file_by_name(x->db, x->a, s->name, &row, x->f);

	if (e != OK && e != E_NOTFOUND)
		return e;
	s->known = e == OK;
	s->id = s->known ? row->id : 0;
	if (s->known &&
	    (strcmp(row->md5sum, s->md5) != 0 || (int64_t)row->size != s->nbytes))
		return FAIL(x->f, E_BADREQ,
		    "%s: the project has a file %s with different content (md5 %s), and hosts may hold it; give this file another name",
		    s->path, s->name, row->md5sum);
	if (s->have[0] == '\0')
		return OK;
	s->there = strcmp(s->have, s->md5) == 0;
	if (!s->there && !s->known)
		return FAIL(x->f, E_BADREQ,
		    "%s exists with different content and is not in the database; remove it if it is not needed",
		    s->to);
	return OK;
}

/* Names are unique in a project, so the files of several directories may not share one.
 */
static enum err check_names(struct cmd_ctx *x, const struct staged *s, size_t n)
{
	struct names names = { 0 };
	size_t at;

	for (size_t i = 0; i < n; i++) {
		if (names_find(&names, s[i].name, &at))
			return FAIL(x->f, E_BADREQ, "%s and %s have the same name",
			    s[at].path, s[i].path);
		names_put(x->a, &names, s[i].name, i);
	}
	return OK;
}

static enum err check_files(
    struct cmd_ctx *x, const struct file_opts *o, struct staged *s, size_t n)
{
	int64_t need = 0, room;

	TRY(check_names(x, s, n));
	for (size_t i = 0; i < n; i++)
		TRY(check_source(x, &s[i]));
	TRY(take_all_digests(x, s, n));
	for (size_t i = 0; i < n; i++) {
		TRY(check_file_taken(x, &s[i]));
		TRY(check_own_set(x, &s[i]));
		if (!s[i].there)
			TRY(fs_check_change(s[i].to, x->f));
		need += s[i].there ? 0 : s[i].nbytes;
		if (o->gzip && gzipped_bytes(s[i].to) == 0)
			need += s[i].nbytes;
	}
	room = fs_free_bytes(x->cf->download_dir);
	if (room >= 0 && need > room)
		return FAIL(x->f, E_SYS, "%s has %s free, but the files need %s",
		    x->cf->download_dir, human_bytes(x->a, (double)room),
		    human_bytes(x->a, (double)need));
	return OK;
}

/*
 * Gives a file that is to be moved a second name, at its place, if it is ours and on
 * the same file system; the first name goes when the file is registered.
 */
static bool link_file(const struct staged *s)
{
	struct stat st;

	return lstat(s->path, &st) == 0 && S_ISREG(st.st_mode) &&
	       st.st_uid == geteuid() && st.st_size == s->nbytes &&
	       link(s->path, s->to) == 0 && chmod(s->to, 0644) == 0;
}

/* Copies the file and writes NAME.md5 beside it, as the tools of BOINC projects expect
 * (protocol.md 5.4). */
static enum err copy_file(struct cmd_ctx *x, const struct staged *s, bool move)
{
	const char *text = arena_printf(
	    x->a, "%s %lld\n", s->md5, (long long)s->nbytes);
	char *dir = arena_strdup(x->a, s->to), md5[MD5_HEX];
	int64_t n;
	enum err e;

	*strrchr(dir, '/') = '\0';
	TRY(fs_mkdirs(dir, 0755, x->f));
	if (!s->there && !(move && link_file(s))) {
		e = s->known ? fs_copy(s->path, s->to, 0644, x->f) :
		               fs_copy_new(s->path, s->to, 0644, x->f);
		if (e == E_RACE)
			return FAIL(x->f, E_RACE,
			    "somebody else is adding %s at this moment", s->name);
		if (e != OK)
			return e;
		TRY(md5_file(s->to, md5, &n, x->f));
		if (strcmp(md5, s->md5) != 0) {
			fs_unlink(s->to, NULL);
			return FAIL(x->f, E_BADREQ,
			    "%s changed while it was being copied", s->path);
		}
	}
	return fs_write(
	    arena_printf(x->a, "%s.md5", s->to), text, strlen(text), 0644, x->f);
}

static enum err insert_file(struct cmd_ctx *x, void *arg)
{
	struct staged *s = arg;
	struct file file = { .name = arena_strdup(x->a, s->name),
		.md5sum = arena_strdup(x->a, s->md5),
		.size = (double)s->nbytes,
		.create_time = clock_now() };
	struct fileset set = { .name = file.name,
		.appid = s->appid,
		.gen_parts = s->ranges,
		.create_time = clock_now() };
	enum err e = s->known ? OK : file_insert(x->db, &file, x->f);

	if (!s->known)
		s->id = file.id;
	if (e != OK || s->has_set)
		return e;
	return s->empty != 0 ? fileset_fill(x->db, s->empty, &s->id, 1, x->f) :
	                       fileset_insert(x->db, &set, &s->id, 1, x->f);
}

static enum err add_large_file(struct cmd_ctx *x, struct staged *s, bool move)
{
	const char *size = human_bytes(x->a, (double)s->nbytes);
	enum err e = OK;

	if (!s->known || !s->there)
		e = copy_file(x, s, move);
	if (e != OK)
		return e;
	if (s->known && s->has_set) {
		say(x, s->there ? "known" : "restored", "%s (%s, md5 %s)", s->name,
		    size, s->md5);
		return OK;
	}
	e = tools_transaction(x, insert_file, s);
	if (e == E_RACE)
		return FAIL(x->f, E_RACE, "somebody else has just added %s", s->name);
	if (e == OK)
		say(x, s->empty != 0 ? "filled" : "added", "%s (%s, md5 %s)", s->name,
		    size, s->md5);
	return e;
}

/* --- a set of several --- */

static bool has_file(const struct staged_set *t, const char *name)
{
	bool any = false;

	for (size_t i = 0; i < t->n; i++)
		any = any || strcmp(t->files[i].name, name) == 0;
	return any;
}

/* An existing set never changes, as its workunits need exactly these files: accepts
 * only the same files. */
static enum err check_same(struct cmd_ctx *x, struct staged_set *t, int64_t appid)
{
	struct row_member *members;
	size_t n;
	bool same = t->row->appid == appid;

	TRY(fileset_files(x->db, x->a, t->row->id, &members, &n, x->f));
	t->empty = n == 0;
	for (size_t i = 0; i < n; i++)
		same = same && has_file(t, members[i].name);
	if (same && (n == t->n || n == 0) && t->files[0].ranges > 0 &&
	    t->files[0].ranges != t->row->gen_parts)
		return FAIL(x->f, E_BADREQ,
		    "set %s exists with %d ranges, which cannot become %d: omit --ranges, or give this set another name",
		    t->name, t->row->gen_parts, t->files[0].ranges);
	if (same && (n == t->n || n == 0))
		return OK;
	return FAIL(x->f, E_BADREQ,
	    "there is a set %s of other files or of another app; give this set another name",
	    t->name);
}

static enum err check_set(struct cmd_ctx *x, struct staged_set *t, int64_t appid)
{
	struct file *file;
	enum err e = fileset_name_check(t->name, x->f);

	if (e != OK)
		return e;
	e = file_by_name(x->db, x->a, t->name, &file, x->f);
	if (e == OK || has_file(t, t->name))
		return FAIL(x->f, E_BADREQ,
		    "%s is the name of a file; give the set another one", t->name);
	if (e == E_NOTFOUND)
		e = fileset_by_name(x->db, x->a, t->name, &t->row, x->f);
	if (e == OK)
		return check_same(x, t, appid);
	return e == E_NOTFOUND ? OK : e;
}

static enum err insert_set(struct cmd_ctx *x, void *arg)
{
	const struct staged_set *t = arg;
	struct fileset set = { .name = arena_strdup(x->a, t->name),
		.appid = t->files[0].appid,
		.gen_parts = t->files[0].ranges,
		.create_time = clock_now() };
	int64_t *ids = NEWN(x->a, int64_t, t->n);

	for (size_t i = 0; i < t->n; i++)
		ids[i] = t->files[i].id;
	return t->empty ? fileset_fill(x->db, t->row->id, ids, t->n, x->f) :
	                  fileset_insert(x->db, &set, ids, t->n, x->f);
}

static enum err add_set(struct cmd_ctx *x, struct staged_set *t)
{
	enum err e;

	if (t->row != NULL && !t->empty) {
		say(x, "known", "set %s", t->name);
		return OK;
	}
	e = tools_transaction(x, insert_set, t);
	if (e == E_RACE)
		return FAIL(
		    x->f, E_RACE, "somebody else has just added set %s", t->name);
	if (e == OK)
		say(x, t->empty ? "filled" : "added", "set %s (%zu files)", t->name,
		    t->n);
	return e;
}

static enum err check_file_app(
    struct cmd_ctx *x, const struct file_opts *o, const struct app **app)
{
	struct catalog *c;

	if (o->app == NULL)
		return ctx_usage(
		    x, "--app APP is required: the app whose jobs use the files");
	TRY(tools_catalog(x, &c));
	TRY(tools_app(x, c, o->app, app));
	if ((*app)->locality_scheduling == 0)
		return FAIL(x->f, E_BADREQ,
		    "app %s was created with --no-locality: it has no large files",
		    o->app);
	return OK;
}

static void report_dry_run(
    struct cmd_ctx *x, const struct staged *s, size_t n, const struct staged_set *t)
{
	for (size_t i = 0; i < n; i++)
		say(x,
		    s[i].empty != 0 ? "would fill" :
		    s[i].known      ? "known" :
				      "would add",
		    "%s", s[i].name);
	for (; t->name != NULL; t++)
		say(x,
		    t->empty       ? "would fill" :
		    t->row != NULL ? "known" :
				     "would add",
		    "set %s", t->name);
}

/* --- which files, and which sets --- */

/* The text that the first group of the expression matches in the name; NULL = none. */
static char *set_of_name(struct arena *a, const regex_t *re, const char *name)
{
	regmatch_t m[2];

	if (regexec(re, name, N(m), m, 0) != 0 || m[1].rm_so < 0 ||
	    m[1].rm_eo == m[1].rm_so)
		return NULL;
	return arena_memdup(a, name + m[1].rm_so, (size_t)(m[1].rm_eo - m[1].rm_so));
}

static enum err name_sets(
    struct cmd_ctx *x, const char *pattern, struct staged *s, size_t n)
{
	char why[200];
	enum err e = OK;
	regex_t re;
	int rc = regcomp(&re, pattern, REG_EXTENDED);

	if (rc != 0) {
		regerror(rc, &re, why, sizeof(why));
		return ctx_usage(x, "--set-pattern: %.100s: %s", pattern, why);
	}
	if (re.re_nsub == 0)
		e = ctx_usage(x,
		    "--set-pattern: %.100s has no (...), whose text would name the set",
		    pattern);
	for (size_t i = 0; e == OK && i < n; i++) {
		s[i].set = set_of_name(x->a, &re, s[i].name);
		s[i].has_set = true;
		if (s[i].set == NULL)
			e = FAIL(x->f, E_BADREQ,
			    "%s: the expression %.100s does not match the name, so it would be in no set",
			    s[i].path, pattern);
	}
	regfree(&re);
	return e;
}

static int staged_order(const void *a, const void *b)
{
	const struct staged *p = a, *q = b;
	int by_set = p->set == NULL || q->set == NULL ? 0 : strcmp(p->set, q->set);

	return by_set != 0 ? by_set : strcmp(p->name, q->name);
}

/* Returns the sets of the files, which are sorted by set; ends with name NULL. */
static enum err gather_sets(
    struct cmd_ctx *x, struct staged *s, size_t n, struct staged_set **sets)
{
	struct staged_set *t = NEWN(x->a, struct staged_set, n + 1);
	size_t nt = 0;

	for (size_t i = 0; i < n && s[i].set != NULL; i++) {
		if (nt == 0 || strcmp(t[nt - 1].name, s[i].set) != 0)
			t[nt++] = (struct staged_set){ .name = s[i].set,
				.files = &s[i] };
		if (++t[nt - 1].n > SET_MOST)
			return ctx_usage(
			    x, "set %s: at most %d files", s[i].set, SET_MOST);
	}
	*sets = t;
	return OK;
}

/* Lists the files that the arguments name, with their sets. */
static enum err gather_staged(struct cmd_ctx *x, const struct file_opts *o, char **args,
    size_t nargs, struct staged **out, size_t *n)
{
	struct file_paths paths = { 0 };
	struct staged *s;

	for (size_t i = 0; i < nargs; i++)
		TRY(file_paths_add(x, args[i], o->recursive, &paths));
	if (paths.n == 0)
		return ctx_not_found(x, "there are no files in %s", args[0]);
	s = NEWN(x->a, struct staged, paths.n);
	for (size_t i = 0; i < paths.n; i++)
		s[i] = (struct staged){ .path = paths.v[i],
			.name = text_base_name(paths.v[i]),
			.set = o->set,
			.has_set = o->set != NULL,
			.ranges = (int32_t)o->ranges };
	if (o->set_pattern != NULL)
		TRY(name_sets(x, o->set_pattern, s, paths.n));
	if (o->set_pattern != NULL)
		qsort(s, paths.n, sizeof(*s), staged_order);
	*out = s;
	*n = paths.n;
	return OK;
}

struct file_counts {
	int64_t files, bytes, added, known, sets, gzipped;
};

static enum err add_gzipped(
    struct cmd_ctx *x, const struct staged *s, struct file_counts *c)
{
	bool known = gzipped_bytes(s->to) > 0;
	int64_t n;

	TRY(file_gzip(x, s->to));
	n = gzipped_bytes(s->to);
	c->gzipped += n;
	if (!known)
		say(x, "compressed", "%s.gz (%s of %s)", s->name,
		    human_bytes(x->a, (double)n), human_bytes(x->a, (double)s->nbytes));
	return OK;
}

static enum err add_staged(struct cmd_ctx *x, const struct file_opts *o,
    struct staged *s, size_t n, struct file_counts *c)
{
	struct progress bar = progress_begin_bytes("adding files", c->bytes);
	int64_t done = 0;
	enum err e = OK;

	for (size_t i = 0; e == OK && i < n; i++) {
		bool known = s[i].known;

		progress_set(&bar, done);
		if (x->format == FORMAT_TABLE) /* its line goes before the next one */
			progress_end(&bar);
		e = add_large_file(x, &s[i], o->move);
		done += s[i].nbytes;
		c->added += e == OK && !known;
		c->known += e == OK && known;
		if (e == OK && o->gzip)
			e = add_gzipped(x, &s[i], c);
		if (e == OK && o->move && !s[i].in_place && unlink(s[i].path) < 0)
			e = FAIL_ERRNO(
			    x->f, "%s was added, but removing it", s[i].path);
	}
	progress_end(&bar);
	return e;
}

static void print_file_counts(struct cmd_ctx *x, const struct file_counts *c, bool dry)
{
	if (x->format != FORMAT_TABLE)
		print_record(x, file_add_columns, c->files, c->bytes, c->added,
		    c->known, c->sets, dry, c->gzipped);
}

static enum err file_add_run(
    struct cmd_ctx *x, const void *opts, char **args, size_t nargs)
{
	const struct file_opts *o = opts;
	struct file_counts c = { 0 };
	struct staged_set *t;
	const struct app *app;
	struct staged *s;
	size_t n;

	if (o->set != NULL && o->set_pattern != NULL)
		return ctx_usage(x, "give either --set or --set-pattern");
	TRY(check_file_app(x, o, &app));
	TRY(gather_staged(x, o, args, nargs, &s, &n));
	TRY(gather_sets(x, s, n, &t));
	for (size_t i = 0; i < n; i++)
		s[i].appid = app->id;
	TRY(check_files(x, o, s, n));
	for (size_t i = 0; t[i].name != NULL; i++)
		TRY(check_set(x, &t[i], app->id));
	c.files = (int64_t)n;
	for (size_t i = 0; i < n; i++)
		c.bytes += s[i].nbytes;
	if (o->dry_run) {
		report_dry_run(x, s, n, t);
		print_file_counts(x, &c, true);
		return OK;
	}
	TRY(add_staged(x, o, s, n, &c));
	for (; t->name != NULL; t++) {
		c.sets += t->row == NULL;
		TRY(add_set(x, t));
	}
	print_file_counts(x, &c, false);
	return ctx_reread(x);
}

const struct cmd cmd_file_add = { .name = "file add",
	.args = "PATH ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "add large files that stay on hosts",
	.about =
	    "Copies the files to the download directory and registers them. A file's name stands\n"
	    "for its content for ever: different content under the same name is refused, the same\n"
	    "content again is fine. No name may contain \"__\", which ends the file's name in the\n"
	    "name of a workunit. If one file is refused, none is written. With --set the files form\n"
	    "one set: each of its workunits needs them all and is named SET__*. A path may be a\n"
	    "directory; hidden files and .md5 files in it are left out. What is there already is\n"
	    "left as it is, so a command that was interrupted is run again.",
	.details =
	    "A file may be in any number of sets, so a registered file may be named again. A set\n"
	    "never changes, and its name must not be that of a file or of another set. Only a set\n"
	    "that has lost all its files, as reported by fsck, is filled again with the named files\n"
	    "and keeps its ranges: name the files that its workunits need. With --set-pattern\n"
	    "'^(chr[0-9]+)_' the files chr1_a.dat and chr1_b.dat form set chr1.",
	.opts = file_options,
	.opts_size = sizeof(struct file_opts),
	.columns = file_add_columns,
	.run = file_add_run };
