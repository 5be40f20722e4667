/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus restore: reads a backup, checks every byte of it, and makes a project of it. On
 * failure it removes everything it made.
 */
#include "tools/backup/restore.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/schema.h"
#include "db/trigger_rows.h"
#include "lib/clock.h"
#include "lib/fs.h"
#include "lib/privilege.h"
#include "lib/proc.h"
#include "lib/text.h"
#include "model/identity.h"
#include "tools/conf_edit.h"
#include "tools/create.h"
#include "tools/install/install.h"
#include "tools/install/rights.h"
#include "tools/print/print.h"
#include "tools/dir_cure.h"
#include "tools/relocate.h"
#include "tools/site_files.h"
#include "tools/supervisor/supervise.h"
#include "lib/banned.h"

/*
 * locus restore --here: a directory with everything in it, and a private database
 * server. The project's own identity is restored, so that model/identity.h decides, as
 * for any copy, whether it may act.
 */

/* Options that lead somewhere else than into the directory, and what they become. */
static const struct conf_change places[] = { { "project_dir", "." },
	{ "key_dir", "keys" }, { "download_dir", "download" },
	{ "upload_dir", "upload" }, { "log_dir", "log" }, { "run_dir", "run" },
	{ "debug_req_reply_dir", "" } };

/* Nothing of the copy may be where the original's things are. */
static enum err keep_inside(struct restore *r)
{
	struct conf_change set[N(places) + 3];
	struct account acc;
	size_t n = 0;

	for (size_t i = 0; i < N(places); i++) {
		const char *value = field_get(r->x->a,
		    field_find(conf_opts, places[i].old, false, NULL), r->x->cf);

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

static enum err write_config(struct restore *r)
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

/* The socket's place in config.xml may be the original's, which may be running. */
static enum err here_make_database(struct restore *r)
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

/* Makes the directory, config.xml and an empty database; r->x->cf is the new one. */
static enum err restore_here_prepare(struct restore *r)
{
	struct cmd_ctx *x = r->x;

	umask(022);
	r->dir = r->o->here;
	TRY(create_home(x, r->o->user, &r->dir, &r->owner));
	TRY(fs_mark_own(r->dir, x->f));
	TRY(write_config(r));
	/* Directories that no backup has, and those that must be there before files
	 * are. */
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

	return here_make_database(r);
}

static enum err end_server(struct restore *r, struct fail *f)
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

/* Ends the database server and settles what the new project is. */
static enum err restore_here_end(struct restore *r)
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

/*
 * locus restore --into: an installed project, by the steps of locus create. The archive
 * is read twice: root checks every digest, while a client that runs as the project's
 * account loads the database; then a child process that has become the account writes
 * the files, because root follows no names in directories of that account.
 */

struct into {
	struct install in; /* first: the child gets a pointer to it */
	struct create c;
	struct create_opts opts;
	struct restore *r;
	bool own; /* with --url: a project of its own */
};

static enum err into_run_step(struct into *t, const char *name)
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

static enum err into_run_steps(struct into *t, const char *const *names)
{
	for (; *names != NULL; names++)
		TRY(into_run_step(t, *names));
	return OK;
}

/* --- the configuration --- */

/* Is it the option's value, for a directory the one below project_dir? */
static bool is_value(struct cmd_ctx *x, const struct conf_change *c)
{
	const char *value = field_get(
	    x->a, field_find(conf_opts, c->old, false, NULL), x->cf);

	return strcmp(value, c->new) == 0 ||
	       (value[0] == '/' && c->new[0] != '/' &&
		   strcmp(value, project_path(x->a, x->cf, c->new)) == 0);
}

/* Sets what depends on the machine and the name; the rest is the archive's. */
static enum err adapt_config(struct into *t)
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

static enum err into_begin(struct into *t)
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

/* Makes account, directories, config.xml and the database. */
static enum err restore_into_prepare(struct restore *r)
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

/*
 * Begins the load of the dump. Its statements, and the commands that the
 * client finds among them, are the archive's: the client runs as the project's account,
 * which may change this database alone.
 */
static enum err restore_into_load(struct restore *r)
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

/* --- the files, as the project's account --- */

static enum err into_write_files(struct install *in)
{
	struct into *t = (struct into *)in;
	struct restore *r = t->r;

	TRY(restore_read_files(r));
	struct cmd_ctx *x = t->in.x;
	const char *data = t->in.p.data_dir;
	size_t n;
	const struct right *v = rights_of(x->a, &t->in.p, &n);

	for (size_t i = 0; i < n; i++)
		if (strncmp(v[i].path, data, strlen(data)) == 0 && fs_exists(v[i].path))
			TRY(right_set(x->a, &t->in.p, &v[i], x->f));
	return OK;
}

/* --- the end --- */

/* Changes the URLs in the stored work, which have the old name in two places. */
static enum err into_readdress(struct into *t)
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
static enum err settle_identity(struct into *t)
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

/* Writes the files, and runs the other steps of locus create. */
static enum err restore_into_end(struct restore *r)
{
	static const char *const rest[] = { "files", "keys", "tmpfiles", "log rotation",
		"unit", "Apache modules", "Apache site", NULL };
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

/* Undoes the steps. */
static void restore_into_undo(struct restore *r)
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

enum { CONFIG_MOST = 4 << 20, CHUNK_BYTES = 256 << 10 };

#define FIELD(name) FIELD_OF(struct restore_opts, name)
static const struct field restore_options[] = {
	{ "verify", FIELD(verify), NULL,
	    "Only reads everything and compares digests, tables and numbers of rows." },
	{ "into", FIELD(into), "NAME",
	    "Restores it as the installed project NAME, with this machine's servers; for root." },
	{ "here", FIELD(here), "DIR",
	    "Restores a project with private servers into DIR." },
	{ "url", FIELD(url), "URL",
	    "Makes it a project of its own beside the original, with this master URL." },
	{ "port", FIELD(port), "PORT",
	    "With --here and --url: the port of its Apache; default: a free one.",
	    .max = 65535 },
	{ "user", FIELD(user), "ACCOUNT",
	    "With --here, when run by root: the account that will own the project; default www-data." },
	{ 0 },
};

/* --- the database's part of an archive --- */

static void say_restored_schema(const char *text)
{
	printf("%-9s %s\n", "schema", text);
}

/* An older release's database becomes one of this release. */
static enum err adapt_schema(struct restore *r)
{
	struct cmd_ctx *x = r->x;
	int64_t version;

	TRY(schema_version(x->db, &version, x->f));
	if (version < SCHEMA_VERSION) {
		TRY(schema_upgrade(x->db, x->a, false, say_restored_schema, x->f));
		ctx_progress(x, "to do",
		    "locus upgrade: the files from templates are those of the older release");
	}
	ctx_progress(x, "restored", "database %s, schema %lld of the backup",
	    x->cf->db_name, (long long)version);
	return OK;
}

static enum err finish_database(struct restore *r)
{
	struct cmd_ctx *x = r->x;

	if (!r->loading)
		return OK;
	r->loading = false;
	TRY(dump_load_end(&r->load, false, x->f));
	if (r->into != NULL)
		TRY(install_on_server(&r->into->in, grant_filled));
	TRY(db_open(r->db != NULL ? r->db : x->cf, DB_ANY_SCHEMA, &x->db, x->f));
	TRY(adapt_schema(r));
	TRY(schema_create_views(x->db, x->f));
	TRY(schema_skip_ids(x->db, x->a, x->f));
	r->loaded = true;
	return OK;
}

/* --- entries --- */

static bool entry_begins(const char *name, const char *with)
{
	return strncmp(name, with, strlen(with)) == 0;
}

static enum err take_config(struct restore *r)
{
	const char *name = r->in.now.name + strlen(BACKUP_CONFIG);
	char *text;
	size_t n;

	TRY(backup_read_all(&r->in, r->x->a, CONFIG_MOST, &text, &n));
	if (strcmp(name, "config.xml") == 0)
		r->config = text;
	else if (strcmp(name, IDENTITY_FILE) == 0)
		r->identity = text;
	else if (strcmp(name, SITE_FILES_RECORD) == 0)
		r->record = text;
	return OK;
}

static enum err prepare(struct restore *r)
{
	if (r->prepared)
		return OK;
	/* A newer release knows columns that this one would leave as they are. */
	int64_t version = json_integer_value(json_object_get(r->in.head, "schema"));

	if (!r->o->verify && version > SCHEMA_VERSION + SCHEMA_AHEAD_MOST)
		return FAIL(r->x->f, E_CONFIG,
		    "the backup has schema %lld, this program knows %d; use the Locus that made it, or a newer one",
		    (long long)version, (int)SCHEMA_VERSION);

	if (r->config == NULL)
		return FAIL(r->x->f, E_BADREQ, "the archive has no config.xml");
	r->prepared = true;
	if (r->o->verify)
		return OK;
	return r->o->into != NULL ? restore_into_prepare(r) : restore_here_prepare(r);
}

static enum err take_entry(struct restore *r)
{
	if (entry_begins(r->in.now.name, BACKUP_CONFIG))
		return take_config(r);
	TRY(prepare(r));
	if (entry_begins(r->in.now.name, BACKUP_DATABASE)) {
		char chunk[CHUNK_BYTES];
		size_t n;
		if (!r->loading && !r->o->verify) {
			TRY(r->into != NULL ?
				restore_into_load(r) :
				dump_load_begin(r->x->a, r->x->cf, &r->load, r->x->f));
			r->loading = true;
		}
		for (;;) {
			TRY(backup_read(&r->in, chunk, sizeof(chunk), &n));
			if (n == 0)
				return OK;
			dump_count(&r->rows, chunk, n);
			if (r->loading)
				TRY(dump_load(&r->load, chunk, n, r->x->f));
		}
	}
	TRY(finish_database(r));
	return r->o->here != NULL ? restore_extract(r) : OK;
}

static enum err take_entries(struct restore *r)
{
	enum err e;

	while ((e = backup_next(&r->in)) == OK)
		TRY(take_entry(r));
	if (e != E_NOTFOUND)
		return e;
	/* Compares the tables in the dump with those counted at the time of the backup,
	 * and with the schema. */
	const json_t *want = json_object_get(r->in.end, "rows");
	json_t *got = dump_counts(&r->rows);
	bool same = json_equal(want, got);
	bool has_schema = json_object_get(got, "locus_schema") != NULL;

	json_decref(got);
	if (!has_schema)
		return FAIL(r->x->f, E_BADREQ, "the archive has no database of Locus");
	if (!same)
		return FAIL(r->x->f, E_BADREQ,
		    "the archive is damaged: its dump has other tables or rows than its %s says",
		    BACKUP_END);

	if (r->o->verify)
		return OK;
	TRY(finish_database(r));
	return r->o->here != NULL ? restore_extract_end(r) : OK;
}

/* --- the command --- */

static enum err check_options(struct cmd_ctx *x, const struct restore_opts *o)
{
	if (o->into != NULL && (o->user != NULL || o->port > 0))
		return ctx_usage(x, "--user and --port are for --here");
	if (o->verify + (o->here != NULL) + (o->into != NULL) != 1)
		return ctx_usage(x, "give one of --verify, --into NAME and --here DIR");
	if (o->verify && (o->url != NULL || o->user != NULL || o->port > 0))
		return ctx_usage(
		    x, "--verify makes no project: omit the other options");
	return OK;
}

static enum err restore_end(struct restore *r)
{
	if (r->o->verify) {
		struct cmd_ctx *x = r->x;
		struct print *p;
		int64_t rows = 0;

		for (size_t i = 0; i < r->rows.n; i++)
			rows += r->rows.tables[i].rows;
		p = print_tree(x, PRINT_OBJECT);
		print_json(p, "head", r->in.head);
		print_json(p, "end", r->in.end);
		print_line(p, NULL,
		    "verified  %lld entries, %lld bytes, %zu tables with %lld rows; torn files: %zu",
		    (long long)r->in.entries, (long long)r->in.bytes, r->rows.n,
		    (long long)rows, r->in.ntorn);
		print_end(p);
		return OK;
	}
	return r->o->into != NULL ? restore_into_end(r) : restore_here_end(r);
}

static enum err restore_all(struct restore *r)
{
	const json_t *head;

	TRY(backup_in_begin(r->x->a, r->fd, &r->in, r->x->f));
	head = r->in.head;
	if (r->x->format == FORMAT_TABLE)
		printf("backup    of %s, made %s by Locus %s, schema %lld, %s\n",
		    backup_text(head, "master_url"), backup_text(head, "time_utc"),
		    backup_text(head, "locus"),
		    (long long)json_integer_value(json_object_get(head, "schema")),
		    backup_text(head, "database"));
	TRY(take_entries(r));
	return restore_end(r);
}

static enum err restore_from(struct restore *r)
{
	enum err e = restore_all(r);

	if (e != OK) {
		if (r->o->into != NULL)
			restore_into_undo(r);
		else if (r->o->here != NULL) {
			/* Ends the server and removes everything that was made. */
			struct fail f = { 0 };

			dump_load_end(&r->load, true, &f);
			end_server(r, &f);
			if (r->dir != NULL && fs_is_own(r->dir) &&
			    fs_rmtree(r->dir, &f) != OK)
				fprintf(stderr, "locus restore: %s\n", f.detail);
		}
	}
	backup_in_free(&r->in);
	return e;
}

static enum err restore_work(struct cmd_ctx *x, void *r)
{
	(void)x;
	return restore_from(r);
}

static enum err restore_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct restore r = { .x = x, .o = opts, .rows = { .a = x->a } };
	bool is_stdin = strcmp(args[0], "-") == 0;
	enum err e;

	(void)n;
	TRY(check_options(x, r.o));
	proc_signals();
	r.fd = is_stdin ? STDIN_FILENO : open(args[0], O_RDONLY | O_CLOEXEC);
	if (r.fd < 0)
		return FAIL_ERRNO(x->f, "opening %s", args[0]);
	if (r.o->into != NULL && lseek(r.fd, 0, SEEK_CUR) < 0)
		return ctx_usage(x, "--into reads the archive twice: give a file");
	e = r.o->here == NULL ? restore_from(&r) :
	                        create_or_remove(x, r.o->here, restore_work, &r);
	if (!is_stdin)
		close(r.fd);
	return e;
}

const struct cmd cmd_restore = { .name = "restore",
	.args = "FILE",
	.min_args = 1,
	.max_args = 1,
	.purpose = "make a project of a backup, or verify the backup",
	.about =
	    "Reads an archive that locus backup made; \"-\" is standard input. Every digest is\n"
	    "compared, and a damaged or partial archive leaves nothing behind. The restored\n"
	    "project is the same project as the original: on another machine, or while the\n"
	    "original is still there, it refuses to start until locus relocate says what it is.\n"
	    "With --url it becomes a project of its own. locus-backup(7) has the whole story.",
	.opts = restore_options,
	.opts_size = sizeof(struct restore_opts),
	.tree = true,
	.run = restore_run };
