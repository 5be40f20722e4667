/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The files of jobs: sets of large files, which the project knows, and ordinary input
 * files, which are copied below the download directory.
 */
#include <stdlib.h>
#include <string.h>
#include "db/stmts.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/names.h"
#include "lib/text.h"
#include "tools/jobs/jobs.h"
#include "tools/terminal.h"
#include "lib/banned.h"

/*
 * Explains that there is no set of that name; the file may be in sets of other names.
 */
static enum err fail_no_own_set(struct cmd_ctx *x, const char *name)
{
	struct file *file;
	enum err e = file_by_name(x->db, x->a, name, &file, x->f);

	if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no file %s; add it by locus file add", name);
	if (e != OK)
		return e;
	return FAIL(x->f, E_BADREQ,
	    "file %s is only in sets; name one of them, or add the file without --set",
	    name);
}

/* Does the set consist of exactly these files, which are sorted? */
static enum err set_consists_of(
    struct cmd_ctx *x, const struct fileset *set, char **names, size_t n, bool *yes)
{
	struct row_member *members;
	size_t nmembers;
	enum err e = fileset_files(x->db, x->a, set->id, &members, &nmembers, x->f);

	*yes = e == OK && nmembers == n;
	for (size_t i = 0; *yes && i < n; i++)
		*yes = strcmp(members[i].name, names[i]) == 0;
	return e;
}

/* Finds the set that consists of exactly the named files. */
static enum err set_of_files(
    struct job_inputs *in, const struct text_list *files, struct fileset **set)
{
	struct cmd_ctx *x = in->x;
	char **names = arena_memdup(x->a, files->v, files->n * sizeof(*names));
	struct row_text *sets = NULL;
	struct file *file;
	size_t n = 0;
	bool yes;
	enum err e = file_by_name(x->db, x->a, names[0], &file, x->f);

	if (e == E_NOTFOUND)
		return ctx_not_found(
		    x, "there is no file %s; add it by locus file add", names[0]);
	if (e != OK)
		return e;
	TRY(db_query(x->db, x->a, x->f, &sets, &n, SETS_OF_FILE, .file_id = file->id));
	qsort(names, files->n, sizeof(*names), name_order);
	for (size_t i = 0; i < n; i++) {
		TRY(fileset_by_name(x->db, x->a, sets[i].s, set, x->f));
		TRY(set_consists_of(x, *set, names, files->n, &yes));
		if (yes && (*set)->appid == in->app->id)
			return OK;
	}
	return ctx_not_found(x,
	    "no set consists of exactly the %zu files %s ...; locus file add --set makes one",
	    files->n, files->v[0]);
}

static enum err large_inputs(struct cmd_ctx *x, struct job_set *s)
{
	struct row_member *members;
	const char **names;
	struct file *rows;
	size_t n;

	TRY(fileset_files(x->db, x->a, s->set->id, &members, &s->n, x->f));
	names = NEWN(x->a, const char *, s->n + 1);
	s->files = NEWN(x->a, struct input_file, s->n + 1);
	for (size_t i = 0; i < s->n; i++)
		names[i] = members[i].name;
	TRY(files_by_names(x->db, x->a, names, s->n, &rows, &n, x->f));
	for (size_t i = 0; i < s->n; i++)
		for (size_t k = 0; k < n; k++)
			if (strcmp(rows[k].name, names[i]) == 0)
				s->files[i] = (struct input_file){ rows[k].name,
					download_url(x->a, x->cf, rows[k].name),
					rows[k].md5sum, (int64_t)rows[k].size,
					gzipped_bytes(
					    download_path(x->a, x->cf, rows[k].name)) };
	return OK;
}

static enum err set_look_up(
    struct job_inputs *in, const struct job_row *row, struct job_set *s)
{
	struct cmd_ctx *x = in->x;
	enum err e;

	if (row->files.n > 0) {
		TRY(set_of_files(in, &row->files, &s->set));
	} else {
		e = fileset_by_name(x->db, x->a, row->file, &s->set, x->f);
		if (e == E_NOTFOUND)
			return fail_no_own_set(x, row->file);
		if (e != OK)
			return e;
	}
	if (s->set->appid != in->app->id)
		return FAIL(
		    x->f, E_BADREQ, "file %s was added for another app", s->set->name);
	return large_inputs(x, s);
}

/* The key of a job's set in the index: no name contains a newline. */
static const char *set_key(struct arena *a, const struct job_row *row)
{
	const char *key = row->file;

	for (size_t i = 0; i < row->files.n; i++)
		key = arena_printf(a, "%s%s\n", i == 0 ? "\n" : key, row->files.v[i]);
	return key;
}

enum err job_set_find(
    struct job_inputs *in, const struct job_row *row, const struct job_set **set)
{
	struct cmd_ctx *x = in->x;
	const char *key = set_key(x->a, row);
	struct job_set s = { 0 };
	size_t place;

	*set = NULL;
	if (row->file != NULL && row->files.n > 0)
		return FAIL(x->f, E_BADREQ, "give either file or files");
	if (key == NULL && in->app->locality_scheduling != 0 && row->inputs.n == 0)
		return ctx_usage(x,
		    "--file FILE is required, or in a file of jobs the column file: app %s uses locality scheduling",
		    in->app->name);
	if (key == NULL)
		return OK;
	if (!names_find(&in->set_names, key, &place)) {
		TRY(set_look_up(in, row, &s));
		place = in->nsets;
		PUSH(x->a, in->sets, in->nsets, in->sets_cap) = s;
		names_put(x->a, &in->set_names, arena_strdup(x->a, key), place);
	}
	*set = &in->sets[place];
	return OK;
}

/* --- ordinary input files --- */

static enum err input_look_up(struct cmd_ctx *x, const char *path, struct job_input *in)
{
	const char *name = text_base_name(path);
	char md5[MD5_HEX], have[MD5_HEX];
	int64_t nbytes, n;

	*in = (struct job_input){ .path = path,
		.to = download_path(x->a, x->cf, name) };
	TRY(file_name_check(name, x->f));
	TRY(md5_file(path, md5, &nbytes, x->f));
	in->file = (struct input_file){ name, download_url(x->a, x->cf, name),
		arena_strdup(x->a, md5), nbytes, gzipped_bytes(in->to) };
	in->there = fs_exists(in->to);
	if (!in->there)
		return fs_check_change(in->to, x->f);
	TRY(md5_file(in->to, have, &n, x->f));
	if (strcmp(have, md5) == 0)
		return OK;
	return FAIL(x->f, E_BADREQ,
	    "%s exists with different content; give this file another name", in->to);
}

enum err job_input_find(struct job_inputs *in, const char *path, size_t *place)
{
	struct cmd_ctx *x = in->x;
	struct job_input input;
	size_t other;

	if (names_find(&in->paths, path, place))
		return OK;
	path = arena_strdup(x->a, path);
	TRY(input_look_up(x, path, &input));
	if (names_find(&in->names, input.file.name, &other) &&
	    strcmp(in->inputs[other].file.md5, input.file.md5) != 0)
		return FAIL(x->f, E_BADREQ, "%s and %s have the same name", path,
		    in->inputs[other].path);
	*place = in->ninputs;
	PUSH(x->a, in->inputs, in->ninputs, in->inputs_cap) = input;
	names_put(x->a, &in->paths, path, *place);
	names_put(x->a, &in->names, input.file.name, *place);
	return OK;
}

enum { COPIED_AT_ONCE = 256 };

struct copying {
	struct names dirs; /* that exist */
	struct job_input *v[COPIED_AT_ONCE];
	size_t n;
};

static enum err copied_rightly(struct cmd_ctx *x, struct job_input *in, bool ours)
{
	char md5[MD5_HEX];
	int64_t n;

	TRY(md5_file(in->to, md5, &n, x->f));
	in->there = strcmp(md5, in->file.md5) == 0;
	if (in->there)
		return OK;
	if (!ours)
		return FAIL(x->f, E_RACE,
		    "somebody else has just staged a file %s with other contents: give this one another name",
		    in->file.name);
	fs_unlink(in->to, NULL);
	return FAIL(x->f, E_BADREQ, "%s changed while it was being copied", in->path);
}

static enum err copy_some(struct cmd_ctx *x, struct copying *c)
{
	struct fs_pair pairs[COPIED_AT_ONCE];
	struct arena round = { 0 };
	enum err e = OK;

	for (size_t i = 0; i < c->n && e == OK; i++) {
		char *dir = arena_strdup(x->a, c->v[i]->to);

		pairs[i] = (struct fs_pair){ c->v[i]->path, c->v[i]->to, false };
		*strrchr(dir, '/') = '\0';
		if (names_put(x->a, &c->dirs, dir, 0))
			e = fs_mkdirs(dir, 0755, x->f);
	}
	if (e == OK)
		e = fs_copy_all(&round, pairs, c->n, 0644, x->f);
	for (size_t i = 0; i < c->n && e == OK; i++)
		e = copied_rightly(x, c->v[i], pairs[i].copied);
	c->n = 0;
	arena_free(&round);
	return e;
}

enum err job_inputs_copy(struct job_inputs *in)
{
	struct progress p = progress_begin("copying input files", (int64_t)in->ninputs);
	struct copying c = { 0 };
	enum err e = OK;

	for (size_t i = 0; e == OK && i < in->ninputs; i++) {
		if (!fs_exists(in->inputs[i].to))
			c.v[c.n++] = &in->inputs[i];
		if (c.n == COPIED_AT_ONCE)
			e = copy_some(in->x, &c);
		progress_set(&p, (int64_t)i);
	}
	if (e == OK)
		e = copy_some(in->x, &c);
	progress_end(&p);
	return e;
}
