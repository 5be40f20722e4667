/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus restore --into: an installed project, by the steps of locus create. The archive
 * is read twice: root checks every digest, while a client that runs as the project's
 * account loads the database; then a child process that has become the account writes
 * the files, because root follows no names in directories of that account.
 */
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "lib/fs.h"
#include "model/identity.h"
#include "tools/backup/restore.h"
#include "tools/conf_edit.h"
#include "tools/install/install.h"
#include "tools/install/rights.h"
#include "tools/relocate.h"
#include "lib/banned.h"

struct into {
	struct install in; /* first: the child gets a pointer to it */
	struct create c;
	struct create_opts opts;
	struct restore *r;
	bool own; /* with --url: a project of its own */
};

static enum err
into_run_step(struct into *t, const char *name)
{
	size_t n;
	const struct install_step *s = install_steps(&n);
	bool holds = false;

	while (n > 0 && strcmp(s->name, name) != 0) {
		s++;
		n--;
	}
	TRY(s->holds(&t->in, &holds));
	if (holds)
		return OK;
	TRY(s->make(&t->in));
	ctx_progress(t->in.x, "done", "%s: %s", s->name, s->text(&t->in));
	return OK;
}

static enum err
into_run_steps(struct into *t, const char *const *names)
{
	for (; *names != NULL; names++)
		TRY(into_run_step(t, *names));
	return OK;
}

/* --- the configuration --- */

/* Is it the option's value, for a directory the one below project_dir? */
static bool
is_value(struct cmd_ctx *x, const struct conf_change *c)
{
	const char *value = conf_value(x->a, x->cf, conf_find(c->old));

	return strcmp(value, c->new) == 0 ||
	       (value[0] == '/' && c->new[0] != '/' &&
		   strcmp(value, project_path(x->a, x->cf, c->new)) == 0);
}

/* Sets what depends on the machine and the name; the rest is the archive's. */
static enum err
adapt_config(struct into *t)
{
	struct cmd_ctx *x = t->in.x;
	const struct installation *p = &t->in.p;
	const char *base = t->c.base_url, *name = t->c.name;
	const struct conf_change set[] = { { "project_dir", p->data_dir },
		{ "log_dir", p->log_dir }, { "run_dir", p->run_dir },
		{ "key_dir", "keys" }, { "download_dir", "download" },
		{ "upload_dir", "upload" }, { "run_user", p->account },
		{ "service_manager", "systemd" }, { "private_servers", "0" },
		{ "private_port", "0" }, { "db_name", p->database },
		{ "db_user", p->account }, { "db_passwd", "" }, { "db_host", "" },
		{ "db_port", "0" }, { "db_socket", "" },
		{ "master_url", arena_printf(x->a, "%s/%s/", base, name) },
		{ "scheduler_url", arena_printf(x->a, "%s/%s_cgi/cgi", base, name) },
		{ "upload_url",
		    arena_printf(x->a, "%s/%s_cgi/file_upload_handler", base, name) },
		{ "download_url", arena_printf(x->a, "%s/%s/download", base, name) } };

	struct conf_change changed[N(set)];
	size_t n = 0;

	TRY(conf_load(x->a, t->in.config_path, &x->cf, NULL, NULL, x->f));
	for (size_t i = 0; i < N(set); i++)
		if (!is_value(x, &set[i]))
			changed[n++] = set[i];
	if (n > 0)
		TRY(conf_set_options(x, changed, n));
	TRY(conf_load(x->a, t->in.config_path, &x->cf, NULL, NULL, x->f));
	t->in.config = NULL;
	return install_config_make(&t->in); /* its owner and mode */
}

static enum err
into_begin(struct into *t)
{
	struct cmd_ctx *x = t->in.x;
	struct restore *r = t->r;
	const char *url;

	t->in.config_path = arena_printf(x->a, "%s/config.xml", t->in.p.config_dir);
	if (fs_exists(t->in.config_path))
		return FAIL(x->f, E_CONFIG,
		    "the project %s exists already; restore into another name with --url, or remove it first (locus destroy %s)",
		    t->c.name, t->c.name);
	TRY(conf_parse(x->a, t->in.config_path, r->config, strlen(r->config), &x->cf,
	    NULL, NULL, x->f));
	url = r->o->url != NULL ? r->o->url : x->cf->master_url;
	t->own = strcmp(url, x->cf->master_url) != 0;
	r->old_url = x->cf->master_url;
	TRY(create_base_url(x, url, t->c.name, &t->c.base_url));
	t->c.installed = &t->in.p;
	t->c.owner = t->in.p.account;
	t->c.dir = t->in.p.config_dir;
	t->c.db_name = t->in.p.database;
	t->c.db_user = t->in.p.account;
	t->in.config = r->config;
	return install_url(
	    &t->in, arena_printf(x->a, "%s/%s/", t->c.base_url, t->c.name));
}

enum err
restore_into_prepare(struct restore *r)
{
	static const char *const first[] = { "account", "directories", "configuration",
		NULL };
	struct cmd_ctx *x = r->x;
	struct into *t = NEW(x->a, struct into);

	t->r = r;
	t->c = (struct create){ .name = r->o->into, .o = &t->opts, .db_passwd = "" };
	t->in = (struct install){
		.x = x, .c = &t->c, .p = installation_of(x->a, r->o->into)
	};
	if (!privilege_is_root())
		return FAIL(x->f, E_DENIED, "only root can install a project");
	TRY(into_begin(t));
	r->into = t;
	TRY(into_run_steps(t, first));
	TRY(adapt_config(t));
	TRY(into_run_step(t, "database"));
	r->db = ctx_db_root(x);
	return OK;
}

/* --- the dump, as the project's account --- */

enum err
restore_into_load(struct restore *r)
{
	struct install *in = &r->into->in;
	struct cmd_ctx *x = in->x;
	struct fail back = { 0 };
	struct account acc;
	enum err e;

	TRY(install_on_server(in, grant_filling));
	TRY(account_find(x->a, in->p.account, &acc, x->f));
	TRY(privilege_suspend(&acc, x->f));
	e = dump_load_begin(x->a, x->cf, &r->load, x->f);
	if (privilege_resume(&back) == OK)
		return e;
	*x->f = back;
	return back.code;
}

enum err
restore_into_loaded(struct restore *r)
{
	return install_on_server(&r->into->in, grant_filled);
}

/* --- the files, as the project's account --- */

static enum err
set_rights(struct into *t)
{
	struct cmd_ctx *x = t->in.x;
	const char *data = t->in.p.data_dir;
	size_t n;
	const struct right *v = rights_of(x->a, &t->in.p, &n);

	for (size_t i = 0; i < n; i++)
		if (strncmp(v[i].path, data, strlen(data)) == 0 && fs_exists(v[i].path))
			TRY(right_set(x->a, &t->in.p, &v[i], x->f));
	return OK;
}

static enum err
into_write_files(struct install *in)
{
	struct into *t = (struct into *)in;
	struct restore *r = t->r;

	TRY(restore_read_files(r));
	return set_rights(t);
}

/* --- the end --- */

/* Changes the URLs in the stored work, which have the old name in two places. */
static enum err
into_readdress(struct into *t)
{
	static const char *const ends[] = { "/", "_cgi/" };
	struct cmd_ctx *x = t->in.x;
	const char *old = t->r->old_url, *new = x->cf->master_url;

	for (size_t i = 0; i < N(ends); i++)
		TRY(relocate_readdress(x, t->r->db,
		    arena_printf(x->a, "%.*s%s", (int)strlen(old) - 1, old, ends[i]),
		    arena_printf(x->a, "%.*s%s", (int)strlen(new) - 1, new, ends[i])));
	return OK;
}

/* A project of its own gets a new identity, else it keeps the archive's. */
static enum err
settle_identity(struct into *t)
{
	struct cmd_ctx *x = t->in.x;
	const char *text = t->r->identity;

	if (t->own)
		TRY(into_readdress(t));
	if (t->own || text == NULL)
		return into_run_step(t, "identity");
	return fs_write(arena_printf(x->a, "%s/" IDENTITY_FILE, t->in.p.config_dir),
	    text, strlen(text), 0644, x->f);
}

enum err
restore_into_end(struct restore *r)
{
	static const char *const rest[] = { "files", "keys", "tmpfiles", "log rotation",
		"units", "Apache modules", "Apache site", NULL };
	struct into *t = r->into;
	struct cmd_ctx *x = r->x;
	struct fail why = { 0 };

	ctx_close(x);
	TRY(install_as_account(&t->in, into_write_files));
	ctx_progress(x, "restored", "files in %s", t->in.p.data_dir);
	TRY(settle_identity(t));
	TRY(into_run_steps(t, rest));
	if (identity_check(x->a, x->cf, &why) == OK)
		TRY(into_run_step(t, "start"));
	if (t->in.to_do != NULL)
		printf("\nLeft to you:\n%s", t->in.to_do);
	if (why.code != OK)
		printf("\nIt does not start as it is: %s\n", why.detail);
	else
		printf("\nMaster URL: %s\nNext:       locus -p %s status\n",
		    x->cf->master_url, t->c.name);
	return OK;
}

void
restore_into_undo(struct restore *r)
{
	struct into *t = r->into;
	struct fail f = { 0 };
	size_t n;
	const struct install_step *s = install_steps(&n);

	if (r->loading)
		dump_load_end(&r->load, true, &f);
	ctx_close(r->x);
	if (t == NULL)
		return;
	f = *r->x->f;
	t->in.had_config = fs_exists(t->in.config_path);
	while (n-- > 0)
		if (s[n].undo(&t->in) != OK)
			fprintf(stderr, "locus restore: undoing %s: %s\n", s[n].name,
			    r->x->f->detail);
	*r->x->f = f;
}
