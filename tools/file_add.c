/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus file add: large files that hosts keep.  All are looked at before the first is
 * copied, so that a refusal leaves nothing behind; then each is copied and becomes a
 * file row and a file set of the same name in one transaction, or, with --set, all
 * together one file set.
 */
#include <string.h>
#include <sys/stat.h>
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/fs.h"
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
	    "The app whose jobs use the files; needed." },
	{ "set", OPT_TEXT, FIELD(set), "NAME",
	    "Workunits need all these files together, by the name of their set." },
	{ "ranges", OPT_NUMBER, FIELD(ranges), "K",
	    "The built-in generator makes K workunits of each file, or of the set." },
	{ "dry-run", OPT_FLAG, FIELD(dry_run), NULL,
	    "Looks at everything and writes nothing." },
	{ 0 },
};

struct staged { /* one file on its way */
	const char *path, *name, *to;
	char md5[MD5_HEX];
	int64_t nbytes;
	bool known;   /* it is in the database with this content */
	bool there;   /* it is in the download directory with this content */
	bool has_set; /* of its own, or needs none */
	int64_t id, appid;
	int64_t empty; /* its own set, if that is there without files; else 0 */
	int32_t ranges;
};

struct tx_batch { /* the files of one set */
	const char *name;
	struct fileset *row; /* NULL: it is new */
	bool empty;          /* it is there, and has no files */
	struct staged *files;
	size_t n;
};

static const char *
base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash == NULL ? path : slash + 1;
}

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

/* A set of its own has a file's name, and no other one. */
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
		    "%s: a set of files has the name %s; give the file another one",
		    s->path, s->name);
	if (e != OK || s->has_set)
		return e;
	if (s->ranges > 0 && s->ranges != set->gen_parts)
		return FAIL(x->f, E_BADREQ,
		    "%s is known with %d ranges, and cannot get %d: its workunits are named after its parts; leave out --ranges, or add it under another name",
		    s->name, set->gen_parts, s->ranges);
	e = fileset_files(x->db, x->a, set->id, &members, &n, x->f);
	s->empty = e == OK && n == 0 ? set->id : 0;
	s->has_set = s->empty == 0;
	return e;
}

/* Is the name taken, in the database or on disk?  The same content is fine. */
static enum err
check_taken(struct cmd_ctx *x, struct staged *s)
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
		    "%s: the project has a file %s with another content (md5 %s), and hosts may hold it; give this one another name",
		    s->path, s->name, row->md5sum);
	if (!fs_exists(s->to))
		return OK;
	e = md5_file(s->to, md5, &n, x->f);
	if (e != OK)
		return e;
	s->there = strcmp(md5, s->md5) == 0;
	if (!s->there && !s->known)
		return FAIL(x->f, E_BADREQ,
		    "%s is there with another content and is no file of the database; remove it if it is not needed",
		    s->to);
	return OK;
}

static enum err
check_all(struct cmd_ctx *x, struct staged *s, size_t n)
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
			e = check_taken(x, &s[i]);
		}
		if (e == OK)
			e = check_own_set(x, &s[i]);
		need += s[i].there ? 0 : s[i].nbytes;
	}
	room = fs_free_bytes(x->cf->download_dir);
	if (e == OK && room >= 0 && need > room)
		return FAIL(x->f, E_SYS, "%s has room for %s, the files need %s",
		    x->cf->download_dir, human_bytes(x->a, (double)room),
		    human_bytes(x->a, (double)need));
	return e;
}

/* The file and beside it NAME.md5, as the tools of BOINC projects know it
 * (protocol.md 5.4). */
static enum err
copy(struct cmd_ctx *x, const struct staged *s)
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
			    "%s has changed while it was copied", s->path);
		}
	}
	if (e == OK)
		e = fs_write(arena_printf(x->a, "%s.md5", s->to), text, strlen(text),
		    0644, x->f);
	return e;
}

static enum err
insert(struct cmd_ctx *x, void *arg)
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
add(struct cmd_ctx *x, struct staged *s)
{
	const char *size = human_bytes(x->a, (double)s->nbytes);
	enum err e = OK;

	if (!s->known || !s->there)
		e = copy(x, s);
	if (e != OK)
		return e;
	if (s->known && s->has_set) {
		ctx_said(x, s->there ? "known" : "restored", "%s (%s, md5 %s)", s->name,
		    size, s->md5);
		return OK;
	}
	e = tools_transaction(x, insert, s);
	if (e == E_RACE)
		return FAIL(
		    x->f, E_RACE, "%s was added by somebody else just now", s->name);
	if (e == OK)
		ctx_said(x, s->empty != 0 ? "filled" : "added", "%s (%s, md5 %s)",
		    s->name, size, s->md5);
	return e;
}

/* --- a set of several --- */

static bool
has_file(const struct tx_batch *t, const char *name)
{
	bool any = false;

	for (size_t i = 0; i < t->n; i++)
		any = any || strcmp(t->files[i].name, name) == 0;
	return any;
}

/* A set stays as it is for ever, as its workunits need these files and no others. */
static enum err
check_same(struct cmd_ctx *x, struct tx_batch *t, int64_t appid)
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
		    "set %s is known with %d ranges, and cannot get %d: leave out --ranges, or give this one another name",
		    t->name, t->row->gen_parts, t->files[0].ranges);
	if (same && (n == t->n || n == 0))
		return OK;
	return FAIL(x->f, E_BADREQ,
	    "there is a set %s of other files or of another app; give this one another name",
	    t->name);
}

static enum err
check_set(struct cmd_ctx *x, struct tx_batch *t, int64_t appid)
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
	const struct tx_batch *t = arg;
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
add_set(struct cmd_ctx *x, struct tx_batch *t)
{
	enum err e;

	if (t->row != NULL && !t->empty) {
		ctx_said(x, "known", "set %s", t->name);
		return OK;
	}
	e = tools_transaction(x, insert_set, t);
	if (e == E_RACE)
		return FAIL(x->f, E_RACE, "set %s was added by somebody else just now",
		    t->name);
	if (e == OK)
		ctx_said(x, t->empty ? "filled" : "added", "set %s (%zu files)",
		    t->name, t->n);
	return e;
}

static enum err
check_app(struct cmd_ctx *x, const struct file_opts *o, const struct app **app)
{
	struct catalog *c;
	enum err e;

	if (o->app == NULL)
		return ctx_usage(x, "--app APP is needed: whose jobs use the files");
	if (o->ranges > RANGES_MOST)
		return ctx_usage(x, "--ranges: at most %d", RANGES_MOST);
	e = tools_catalog(x, &c);
	if (e == OK)
		e = tools_app(x, c, o->app, app);
	if (e == OK && (*app)->locality_scheduling == 0)
		return FAIL(x->f, E_BADREQ,
		    "app %s was made with --no-locality: it has no large files",
		    o->app);
	return e;
}

static void
say_dry(struct cmd_ctx *x, const struct tx_batch *t)
{
	for (size_t i = 0; i < t->n; i++)
		ctx_said(x,
		    t->files[i].empty != 0 ? "would fill" :
		    t->files[i].known      ? "known" :
					     "would add",
		    "%s", t->files[i].name);
	if (t->name != NULL)
		ctx_said(x,
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
	struct tx_batch t = { .name = o->set, .files = s, .n = n };
	const struct app *app;

	TRY(check_app(x, o, &app));
	for (size_t i = 0; i < n; i++)
		s[i] = (struct staged){ .path = args[i],
			.name = base_name(args[i]),
			.appid = app->id,
			.has_set = o->set != NULL,
			.ranges = (int32_t)o->ranges };
	if (o->set != NULL && n > SET_MOST)
		return ctx_usage(x, "--set: at most %d files", SET_MOST);
	TRY(check_all(x, s, n));
	if (o->set != NULL)
		TRY(check_set(x, &t, app->id));
	if (o->dry_run) {
		say_dry(x, &t);
		return OK;
	}
	for (size_t i = 0; i < n; i++)
		TRY(add(x, &s[i]));
	if (o->set != NULL)
		TRY(add_set(x, &t));
	return ctx_reread(x);
}

const struct cmd cmd_file_add = { .name = "file add",
	.args = "PATH ...",
	.min_args = 1,
	.max_args = -1,
	.purpose = "add large files that hosts keep",
	.about =
	    "Copies the files to the download directory and makes them known.  A file is known\n"
	    "by its name for ever: a changed content under the same name is refused, the same\n"
	    "content again is fine.  No name may have \"__\" in it, as that ends the file's name\n"
	    "in the name of a workunit.  If one file is refused, none is written.\n"
	    "With --set the files are one set: a workunit of it needs them all, and is named\n"
	    "SET__*.  A file may be in any number of sets, so a file that is known already may\n"
	    "be named again.  A set stays as it is; its name is neither that of a file nor of\n"
	    "another set.  Only one that has lost all its files, as fsck tells, is filled with\n"
	    "those that are named, and keeps its ranges: name those that its workunits need.",
	.opts = file_options,
	.opts_size = sizeof(struct file_opts),
	.run = file_add_run };
