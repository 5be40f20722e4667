/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus restore --here: a directory with everything in it, and a private database
 * server. The project's own identity is restored, so that model/identity.h decides, as
 * for any copy, whether it may act.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/trigger_rows.h"
#include "lib/fs.h"
#include "lib/text.h"
#include "model/identity.h"
#include "tools/backup/restore.h"
#include "tools/conf_edit.h"
#include "tools/create.h"
#include "lib/privilege.h"
#include "tools/private_dirs.h"
#include "tools/relocate.h"
#include "tools/site_files.h"
#include "tools/supervisor/supervise.h"
#include "lib/banned.h"

/* Options that lead somewhere else than into the directory, and what they become. */
static const struct conf_change places[] = { { "project_dir", "." },
	{ "key_dir", "keys" }, { "download_dir", "download" },
	{ "upload_dir", "upload" }, { "log_dir", "log" }, { "run_dir", "run" },
	{ "debug_req_reply_dir", "" } };

/* Nothing of the copy may be where the original's things are. */
static enum err
keep_inside(struct restore *r)
{
	struct conf_change set[N(places) + 3];
	struct account acc;
	size_t n = 0;

	for (size_t i = 0; i < N(places); i++) {
		const char *value = conf_value(
		    r->x->a, r->x->cf, conf_find(places[i].old));

		if (value[0] != '\0' && text_below(r->dir, value) == NULL)
			set[n++] = places[i];
	}
	TRY(account_by_uid(r->x->a, geteuid(), &acc, r->x->f));
	if (strcmp(r->x->cf->db_user, acc.name) != 0)
		set[n++] = (struct conf_change){ "db_user", acc.name };
	if (r->x->cf->run_user[0] != '\0' && strcmp(r->x->cf->run_user, acc.name) != 0)
		set[n++] = (struct conf_change){ "run_user", acc.name };
	if (n == 0)
		return OK;
	TRY(conf_set_options(r->x, set, n));
	return conf_load(r->x->a, r->x->cf->path, &r->x->cf, NULL, NULL, r->x->f);
}

static enum err
write_config(struct restore *r)
{
	struct cmd_ctx *x = r->x;
	const char *path = arena_printf(x->a, "%s/config.xml", r->dir);

	TRY(fs_write(path, r->config, strlen(r->config), 0640, x->f));
	TRY(conf_load(x->a, path, &x->cf, NULL, NULL, x->f));
	if (!x->cf->private_servers)
		return FAIL(x->f, E_CONFIG,
		    "this project uses the machine's servers: restore it with --into NAME");
	TRY(keep_inside(r));
	if (r->identity != NULL)
		TRY(fs_write(arena_printf(x->a, "%s/" IDENTITY_FILE, r->dir),
		    r->identity, strlen(r->identity), 0644, x->f));
	if (r->record != NULL)
		TRY(fs_write(arena_printf(x->a, "%s/" SITE_FILES_RECORD, r->dir),
		    r->record, strlen(r->record), 0644, x->f));
	ctx_progress(x, "restored", "%s", path);
	return OK;
}

/* Directories that no backup has, and those that must be there before files are. */
static enum err
make_dirs(struct restore *r)
{
	const struct conf *cf = r->x->cf;
	const struct {
		const char *path;
		unsigned mode;
	} dirs[] = { { cf->log_dir, 0750 }, { cf->run_dir, private_run_mode(cf) },
		{ cf->key_dir, 0750 }, { cf->upload_dir, 0750 },
		{ cf->download_dir, 0755 }, { project_path(r->x->a, cf, "tmp"), 0700 },
		{ project_path(r->x->a, cf, "mysql"), 0700 } };

	for (size_t i = 0; i < N(dirs); i++)
		TRY(fs_mkdirs(dirs[i].path, dirs[i].mode, r->x->f));
	return OK;
}

/* The socket's place in config.xml may be the original's, which may be running. */
static enum err
here_make_database(struct restore *r)
{
	struct cmd_ctx *x = r->x;
	struct conf *own = NEW(x->a, struct conf);

	*own = *x->cf;
	own->db_socket = create_db_socket(x->a, own->run_dir);
	if (own->db_socket[0] != '/')
		own->db_socket = project_path(x->a, own, own->db_socket);
	x->cf = own;
	TRY(short_dir_make(x->a, x->cf, x->f));
	TRY(private_db_make(x, x->cf->db_user, &r->server, x->f));
	return private_db_empty(x, x->f);
}

enum err
restore_here_prepare(struct restore *r)
{
	struct cmd_ctx *x = r->x;

	umask(022);
	r->dir = r->o->here;
	TRY(create_home(x, r->o->user, &r->dir, &r->owner));
	TRY(fs_mark_own(r->dir, x->f));
	TRY(write_config(r));
	TRY(make_dirs(r));
	return here_make_database(r);
}

static enum err
end_server(struct restore *r, struct fail *f)
{
	enum err e;

	ctx_close(r->x);
	if (r->server <= 0)
		return OK;
	e = private_db_end(r->x, r->server, f);
	r->server = 0;
	short_dir_remove(r->x->a, r->x->cf);
	return e;
}

void
restore_here_undo(struct restore *r)
{
	struct fail f = { 0 };

	dump_load_end(&r->load, true, &f);
	end_server(r, &f);
	if (r->dir != NULL && fs_is_own(r->dir) && fs_rmtree(r->dir, &f) != OK)
		fprintf(stderr, "locus restore: %s\n", f.detail);
}

enum err
restore_here_end(struct restore *r)
{
	struct cmd_ctx *x = r->x;
	struct fail why = { 0 };

	TRY(end_server(r, x->f));
	TRY(conf_load(x->a, x->cf->path, &x->cf, NULL, NULL, x->f));
	TRY(trigger_dirs_make(x->cf, x->f));
	TRY(create_links(x));
	if (r->o->url != NULL)
		TRY(relocate_copy(x, r->o->url, r->o->port));
	TRY(fs_unmark_own(r->dir, x->f));
	if (identity_check(x->a, x->cf, &why) == OK)
		printf("\nNext:       cd %s && locus start\n", r->dir);
	else
		printf("\nIt does not start as it is: %s\n", why.detail);
	return OK;
}
