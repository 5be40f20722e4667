/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus file add: adds large files that stay on hosts. All files are checked before the
 * first one is copied, so that a refusal leaves nothing behind. Each file is then
 * copied and becomes a file row and a file set of the same name in one transaction;
 * with --set all files form one file set.
 */
#include <string.h>
#include <sys/stat.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "proto/blob.h"
#include "tools/catalog.h"
#include "tools/human.h"
#include "lib/banned.h"

enum { RANGES_MOST = 100000000, SET_MOST = 64 };

struct file_opts {
	const char *app, *set;
	int64_t ranges;
	bool dry_run;
};

#define FIELD(name) offsetof(struct file_opts, name)
static const struct opt file_options[] = {
	{ "app", OPT_TEXT, FIELD(app), "APP",
	    "The app whose jobs use the files; required." },
	{ "set", OPT_TEXT, FIELD(set), "NAME",
	    "Makes one set of the files: each workunit of the set needs all of them." },
	{ "ranges", OPT_NUMBER, FIELD(ranges), "K",
	    "The built-in generator makes K workunits for each file, or for the set." },
	{ "dry-run", OPT_FLAG, FIELD(dry_run), NULL,
	    "Checks everything, but writes nothing." },
	{ 0 },
};

struct staged { /* one file being added */
	const char *path, *name, *to;
	char md5[MD5_HEX];
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

static enum err
check_source(struct cmd_ctx *x, struct staged *s)
{
	struct stat st;
	enum err e;

	if (stat(s->path, &st) < 0)
		return FAIL_ERRNO(x->f, "looking at %s", s->path);
	if (!S_ISREG(st.st_mode))
		return FAIL(x->f, E_BADREQ, "%s is not a file", s->path);
	e = s->has_set ? file_name_check(s->name, x->f) :
	                 fileset_name_check(s->name, x->f);
	return e == OK ? md5_file(s->path, s->md5, &s->nbytes, x->f) : e;
}

/* Checks the set of the file's own name: no other kind of set may have that name. */
static enum err
check_own_set(struct cmd_ctx *x, struct staged *s)
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
static enum err
check_file_taken(struct cmd_ctx *x, struct staged *s)
{
	char md5[MD5_HEX];
	struct file *row;
	int64_t n;
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
	if (!fs_exists(s->to))
		return OK;
	e = md5_file(s->to, md5, &n, x->f);
	if (e != OK)
		return e;
	s->there = strcmp(md5, s->md5) == 0;
	if (!s->there && !s->known)
		return FAIL(x->f, E_BADREQ,
		    "%s exists with different content and is not in the database; remove it if it is not needed",
		    s->to);
	return OK;
}

static enum err
check_files(struct cmd_ctx *x, struct staged *s, size_t n)
{
	int64_t need = 0, room;
	enum err e = OK;

	for (size_t i = 0; i < n && e == OK; i++) {
		for (size_t j = 0; j < i; j++)
			if (strcmp(s[i].name, s[j].name) == 0)
				return FAIL(x->f, E_BADREQ,
				    "%s and %s have the same name", s[j].path,
				    s[i].path);
		e = check_source(x, &s[i]);
		if (e == OK) {
			s[i].to = download_path(x->a, x->cf, s[i].name);
			e = check_file_taken(x, &s[i]);
		}
		if (e == OK)
			e = check_own_set(x, &s[i]);
		need += s[i].there ? 0 : s[i].nbytes;
	}
	room = fs_free_bytes(x->cf->download_dir);
	if (e == OK && room >= 0 && need > room)
		return FAIL(x->f, E_SYS, "%s has %s free, but the files need %s",
		    x->cf->download_dir, human_bytes(x->a, (double)room),
		    human_bytes(x->a, (double)need));
	return e;
}

/* Copies the file and writes NAME.md5 beside it, as the tools of BOINC projects expect
 * (protocol.md 5.4). */
static enum err
copy_file(struct cmd_ctx *x, const struct staged *s)
{
	const char *text = arena_printf(
	    x->a, "%s %lld\n", s->md5, (long long)s->nbytes);
	char *dir = arena_strdup(x->a, s->to), md5[MD5_HEX];
	int64_t n;
	enum err e;

	*strrchr(dir, '/') = '\0';
	e = fs_mkdirs(dir, 0755, x->f);
	if (e == OK && !s->there) {
		e = fs_copy(s->path, s->to, 0644, x->f);
		if (e == OK)
			e = md5_file(s->to, md5, &n, x->f);
		if (e == OK && strcmp(md5, s->md5) != 0) {
			fs_unlink(s->to, NULL);
			return FAIL(x->f, E_BADREQ,
			    "%s changed while it was being copied", s->path);
		}
	}
	if (e == OK)
		e = fs_write(arena_printf(x->a, "%s.md5", s->to), text, strlen(text),
		    0644, x->f);
	return e;
}

static enum err
insert_file(struct cmd_ctx *x, void *arg)
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

static enum err
add_large_file(struct cmd_ctx *x, struct staged *s)
{
	const char *size = human_bytes(x->a, (double)s->nbytes);
	enum err e = OK;

	if (!s->known || !s->there)
		e = copy_file(x, s);
	if (e != OK)
		return e;
	if (s->known && s->has_set) {
		ctx_progress(x, s->there ? "known" : "restored", "%s (%s, md5 %s)",
		    s->name, size, s->md5);
		return OK;
	}
	e = tools_transaction(x, insert_file, s);
	if (e == E_RACE)
		return FAIL(x->f, E_RACE, "somebody else has just added %s", s->name);
	if (e == OK)
		ctx_progress(x, s->empty != 0 ? "filled" : "added", "%s (%s, md5 %s)",
		    s->name, size, s->md5);
	return e;
}

/* --- a set of several --- */

static bool
has_file(const struct staged_set *t, const char *name)
{
	bool any = false;

	for (size_t i = 0; i < t->n; i++)
		any = any || strcmp(t->files[i].name, name) == 0;
	return any;
}

/* An existing set never changes, as its workunits need exactly these files: accepts
 * only the same files. */
static enum err
check_same(struct cmd_ctx *x, struct staged_set *t, int64_t appid)
{
	struct row_member *members;
	size_t n;
	bool same = t->row->appid == appid;
	enum err e = fileset_files(x->db, x->a, t->row->id, &members, &n, x->f);

	if (e != OK)
		return e;
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

static enum err
check_set(struct cmd_ctx *x, struct staged_set *t, int64_t appid)
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

static enum err
insert_set(struct cmd_ctx *x, void *arg)
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

static enum err
add_set(struct cmd_ctx *x, struct staged_set *t)
{
	enum err e;

	if (t->row != NULL && !t->empty) {
		ctx_progress(x, "known", "set %s", t->name);
		return OK;
	}
	e = tools_transaction(x, insert_set, t);
	if (e == E_RACE)
		return FAIL(
		    x->f, E_RACE, "somebody else has just added set %s", t->name);
	if (e == OK)
		ctx_progress(x, t->empty ? "filled" : "added", "set %s (%zu files)",
		    t->name, t->n);
	return e;
}

static enum err
check_file_app(struct cmd_ctx *x, const struct file_opts *o, const struct app **app)
{
	struct catalog *c;
	enum err e;

	if (o->app == NULL)
		return ctx_usage(
		    x, "--app APP is required: the app whose jobs use the files");
	if (o->ranges > RANGES_MOST)
		return ctx_usage(x, "--ranges: at most %d", RANGES_MOST);
	e = tools_catalog(x, &c);
	if (e == OK)
		e = tools_app(x, c, o->app, app);
	if (e == OK && (*app)->locality_scheduling == 0)
		return FAIL(x->f, E_BADREQ,
		    "app %s was created with --no-locality: it has no large files",
		    o->app);
	return e;
}

static void
report_dry_run(struct cmd_ctx *x, const struct staged_set *t)
{
	for (size_t i = 0; i < t->n; i++)
		ctx_progress(x,
		    t->files[i].empty != 0 ? "would fill" :
		    t->files[i].known      ? "known" :
					     "would add",
		    "%s", t->files[i].name);
	if (t->name != NULL)
		ctx_progress(x,
		    t->empty       ? "would fill" :
		    t->row != NULL ? "known" :
				     "would add",
		    "set %s", t->name);
}

static enum err
file_add_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct file_opts *o = opts;
	struct staged *s = NEWN(x->a, struct staged, n);
	struct staged_set t = { .name = o->set, .files = s, .n = n };
	const struct app *app;

	TRY(check_file_app(x, o, &app));
	for (size_t i = 0; i < n; i++)
		s[i] = (struct staged){ .path = args[i],
			.name = text_base_name(args[i]),
			.appid = app->id,
			.has_set = o->set != NULL,
			.ranges = (int32_t)o->ranges };
	if (o->set != NULL && n > SET_MOST)
		return ctx_usage(x, "--set: at most %d files", SET_MOST);
	TRY(check_files(x, s, n));
	if (o->set != NULL)
		TRY(check_set(x, &t, app->id));
	if (o->dry_run) {
		report_dry_run(x, &t);
		return OK;
	}
	for (size_t i = 0; i < n; i++)
		TRY(add_large_file(x, &s[i]));
	if (o->set != NULL)
		TRY(add_set(x, &t));
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
	    "name of a workunit. If one file is refused, none is written. With --set the files\n"
	    "form one set: each of its workunits needs them all and is named SET__*. A file may\n"
	    "be in any number of sets, so a registered file may be named again. A set never\n"
	    "changes, and its name must not be that of a file or of another set. Only a set that\n"
	    "has lost all its files, as reported by fsck, is filled again with the named files\n"
	    "and keeps its ranges: name the files that its workunits need.",
	.opts = file_options,
	.opts_size = sizeof(struct file_opts),
	.run = file_add_run };
