/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Removes what create --here has made, by its record, and what a running project leaves
 * beside it. The record goes last, so that an interrupted run can be repeated.
 */
#include "tools/destroy_here.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "lib/fs.h"
#include "lib/text.h"
#include "tools/running.h"
#include "tools/supervisor/supervise.h"
#include "lib/banned.h"

enum { RECORD_MOST = 1 << 16, NAMES_MOST = 10000 };

/* Files and a directory that programs of ours make in a project's directory later. */
static const char *const left_by_programs[] = { "reread_db", "stop_sched", "stop_web",
	"stop_upload", "recordings/" };

struct destroying {
	struct cmd_ctx *x;
	const char *dir;
	char **made; /* as in the record */
	size_t nmade, cap;
	char **strangers; /* what else is in the directory */
	size_t nstrangers, strangers_cap;
};

static bool is_dir_name(const char *name)
{
	return name[0] != '\0' && name[strlen(name) - 1] == '/';
}

/* Without the slash of a directory. */
static char *made_path(struct destroying *d, const char *name)
{
	size_t n = strlen(name);

	return arena_printf(
	    d->x->a, "%s/%.*s", d->dir, (int)(is_dir_name(name) ? n - 1 : n), name);
}

/* Is it what the name says: a file, or a directory that is no link? */
static bool is_as_made(struct destroying *d, const char *name)
{
	struct stat st;

	if (lstat(made_path(d, name), &st) < 0 || st.st_uid != geteuid())
		return false;
	return is_dir_name(name) ? S_ISDIR(st.st_mode) : S_ISREG(st.st_mode);
}

static enum err created_read(struct destroying *d)
{
	struct cmd_ctx *x = d->x;
	char *text, *save = NULL;
	enum err e = fs_read(x->a, arena_printf(x->a, "%s/%s", d->dir, CREATED_FILE),
	    RECORD_MOST, &text, NULL, x->f);

	if (e == E_NOTFOUND)
		return FAIL(x->f, E_CONFIG,
		    "%s has no %s, in which locus create notes what it made; stop the project (locus stop) and remove its directory by hand",
		    d->dir, CREATED_FILE);
	TRY(e);
	for (char *w = strtok_r(text, "\n", &save); w != NULL;
	     w = strtok_r(NULL, "\n", &save)) {
		/* Only names in this very directory. */
		if (strchr(w, '/') != NULL && strchr(w, '/') != w + strlen(w) - 1)
			return FAIL(x->f, E_CONFIG, "%s/%s: \"%.80s\" is no name",
			    d->dir, CREATED_FILE, w);
		if (w[0] != '\0' && strcmp(w, "./") != 0 && strcmp(w, "../") != 0)
			PUSH(x->a, d->made, d->nmade, d->cap) = w;
	}
	for (size_t i = 0; i < N(left_by_programs); i++)
		PUSH(x->a, d->made, d->nmade, d->cap) = arena_strdup(
		    x->a, left_by_programs[i]);
	return OK;
}

static enum err strangers_find(struct destroying *d)
{
	struct cmd_ctx *x = d->x;
	char **names;
	size_t n;

	TRY(fs_list(x->a, d->dir, NAMES_MOST, &names, &n, x->f));
	for (size_t i = 0; i < n; i++) {
		const char *as_dir = arena_printf(x->a, "%s/", names[i]);
		bool ours = strcmp(names[i], CREATED_FILE) == 0;

		for (size_t k = 0; k < d->nmade && !ours; k++)
			ours = (strcmp(d->made[k], names[i]) == 0 ||
				   strcmp(d->made[k], as_dir) == 0) &&
			       is_as_made(d, d->made[k]);
		if (!ours)
			PUSH(x->a, d->strangers, d->nstrangers,
			    d->strangers_cap) = names[i];
	}
	return OK;
}

/* Stops the services as locus stop does. */
static enum err stop_services(struct cmd_ctx *x)
{
	char word[] = "stop", *words[] = { word, NULL };
	const struct cmd *was = x->cmd;
	enum err e;
	int used;

	if (!state_supervised(x->a, x->cf))
		return OK;
	ctx_close(x);
	x->cmd = command_find(x->commands, words, 1, &used);
	e = x->cmd->run(x, arena_alloc(x->a, x->cmd->opts_size + 1), words + 1, 0);
	x->cmd = was;
	return e;
}

static enum err remove_made(struct destroying *d, const char *name)
{
	struct cmd_ctx *x = d->x;
	const char *path = made_path(d, name);

	if (!is_as_made(d, name))
		return OK;
	if (!is_dir_name(name))
		return fs_unlink(path, x->f);
	TRY(fs_mark_own(path, x->f));
	return fs_rmtree(path, x->f);
}

static void destroy_here_plan(struct destroying *d, bool dry)
{
	for (size_t i = 0; i < d->nmade; i++)
		if (is_as_made(d, d->made[i]))
			ctx_progress(d->x, dry ? "would" : "remove", "%s%s/%s",
			    dry ? "remove " : "", d->dir, d->made[i]);
	for (size_t i = 0; i < d->nstrangers; i++)
		ctx_progress(d->x, "leave", "%s/%s: locus create did not make it",
		    d->dir, d->strangers[i]);
	if (!d->x->cf->private_servers)
		ctx_progress(d->x, "leave",
		    "the database %s, which was there before: its admin may drop it",
		    d->x->cf->db_name);
}

static enum err remove_directory(struct destroying *d)
{
	struct cmd_ctx *x = d->x;

	TRY(fs_unlink(arena_printf(x->a, "%s/%s", d->dir, CREATED_FILE), x->f));
	if (d->nstrangers > 0) {
		ctx_progress(x, "left",
		    "%s with %zu files that are not of locus create", d->dir,
		    d->nstrangers);
		return OK;
	}
	if (rmdir(d->dir) < 0 && x->owner.as.name != NULL)
		return OK; /* tools/install/destroy.c does it as root */
	if (fs_exists(d->dir)) {
		ctx_progress(
		    x, "left", "the empty directory %s: %s", d->dir, strerror(errno));
		return OK;
	}
	ctx_progress(x, "removed", "%s", d->dir);
	return OK;
}

/* The name stands at the end of the master URL. */
static bool is_called(const struct conf *cf, const char *name)
{
	size_t n = strlen(cf->master_url), len = strlen(name);

	return len > 0 && n > len + 2 && cf->master_url[n - 1] == '/' &&
	       cf->master_url[n - len - 2] == '/' &&
	       strncmp(cf->master_url + n - 1 - len, name, len) == 0;
}

enum err destroy_here(struct cmd_ctx *x, const char *name, const struct destroy_opts *o)
{
	struct destroying d = { .x = x, .dir = x->cf->project_dir };

	if (!is_called(x->cf, name))
		return ctx_usage(x, "the project in %s is not called %.60s but %s",
		    d.dir, name, x->cf->master_url);
	TRY(created_read(&d));
	TRY(strangers_find(&d));
	destroy_here_plan(&d, o->dry_run || o->yes == NULL);
	if (o->dry_run)
		return OK;
	if (o->yes == NULL || strcmp(o->yes, name) != 0)
		return ctx_usage(x,
		    "this removes all data, keys and the database of %s for good: repeat the name with --yes-delete-everything %s",
		    name, name);
	TRY(stop_services(x));
	short_dir_remove(x->a, x->cf);
	if (chdir("/") < 0)
		return FAIL_ERRNO(x->f, "leaving %s", d.dir);
	for (size_t i = 0; i < d.nmade; i++)
		TRY(remove_made(&d, d.made[i]));
	return remove_directory(&d);
}
