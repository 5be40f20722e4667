/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus relocate: adapts a project whose directory was moved, or makes a copy a project
 * of its own. The note of the new place is written last, so that repeating the command
 * completes an interrupted run.
 */
#include "tools/relocate.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/entity.h"
#include "db/id_walk.h"
#include "db/schema.h"
#include "db/stmts.h"
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "model/identity.h"
#include "tools/conf_edit.h"
#include "tools/create.h"
#include "tools/dir_cure.h"
#include "tools/log.h"
#include "tools/service.h"
#include "tools/state.h"
#include "tools/supervisor/supervise.h"
#include "tools/web_fit.h"
#include "lib/banned.h"

enum { FILE_MOST = 4 << 20, SECRET_MOST = 4096, ROWS = 1000, PAIRS_MOST = 12 };

struct relocate_opts {
	bool copy, moved;
	const char *url, *db_name, *db_user, *db_host, *db_socket, *password_file;
	int64_t port, db_port;
};

#define FIELD(name) FIELD_OF(struct relocate_opts, name)
static const struct field relocate_options[] = {
	{ "moved", FIELD(moved), NULL,
	    "This is the same project; its former location no longer exists." },
	{ "copy", FIELD(copy), NULL, "This is a copy; makes it a project of its own." },
	{ "port", FIELD(port), "PORT",
	    "For a copy with private servers: the port of its Apache; default: a free one.",
	    .max = 65535 },
	{ "url", FIELD(url), "URL",
	    "The new master URL, which ends in the same name." },
	{ "db-name", FIELD(db_name), "NAME",
	    "For a copy on a shared server: its database, loaded with a dump of the original's." },
	{ "db-user", FIELD(db_user), "ACCOUNT", "Account of that database." },
	{ "password-file", FIELD(password_file), "FILE",
	    "File with the account's password." },
	{ "db-host", FIELD(db_host), "HOST", "Host of the database server." },
	{ "db-port", FIELD(db_port), "PORT", "TCP port of the database server.",
	    .max = 65535 },
	{ "db-socket", FIELD(db_socket), "PATH",
	    "Unix socket of the database server." },
	{ 0 },
};

struct relocation {
	char *secret; /* the text of --password-file; NULL = not given */
	struct cmd_ctx *x;
	const struct relocate_opts *o;
	struct identity noted, now;
	enum standing s;
	struct conf_change texts[PAIRS_MOST]; /* replacements to make in the files */
	size_t ntexts;
	const char *socket; /* new value of db_socket; NULL = unchanged */
	const char *old_base,
	    *new_base; /* start of its URLs, "http://127.0.0.1:8123" */
};

/* --- texts in config.xml and the web server's configuration --- */

static void replace_later(struct relocation *r, const char *old, const char *new)
{
	if (strcmp(old, new) != 0)
		r->texts[r->ntexts++] = (struct conf_change){ old, new };
}

/* Returns "http://127.0.0.1:8123" for "http://127.0.0.1:8123/stars/". */
static char *base_of(struct arena *a, const char *url)
{
	const char *host = strstr(url, "://");

	if (host == NULL)
		return arena_strdup(a, url);
	return arena_memdup(a, url, (size_t)(host + 3 - url) + strcspn(host + 3, "/"));
}

/* Returns "stars" for "http://127.0.0.1:8123/stars/". */
static char *relocate_name(struct cmd_ctx *x)
{
	const char *url = x->cf->master_url;
	size_t n = strlen(url), from;

	n -= n > 0 && url[n - 1] == '/';
	for (from = n; from > 0 && url[from - 1] != '/';)
		from--;
	return arena_memdup(x->a, url + from, n - from);
}

static char *dir_part(struct arena *a, const char *path)
{
	return arena_memdup(a, path, (size_t)(strrchr(path, '/') - path));
}

static bool has_random_name(const char *socket)
{
	size_t n = strlen(SHORT_DIR);

	return strncmp(socket, SHORT_DIR, n) == 0 &&
	       strspn(socket + n, "0123456789abcdef") == SHORT_DIR_DIGITS &&
	       socket[n + SHORT_DIR_DIGITS] == '/';
}

/*
 * Chooses new sockets. A short directory of sockets belongs to one project only, so it
 * is replaced; other sockets move with the project, unless its path has become too long
 * for them.
 */
static void replace_sockets(struct relocation *r)
{
	static const char *const names[] = { "scheduler.sock", "web.sock",
		"upload.sock", "fcgid" };
	static const char run[] = "${" WEB_DIR_VARIABLE "}/run";
	struct arena *a = r->x->a;
	const char *old = r->x->cf->db_socket;
	char *fresh = create_db_socket(a, arena_printf(a, "%s/run", r->now.dir));

	if (!r->x->cf->private_servers)
		return;
	if (has_random_name(old)) {
		r->socket = fresh;
		replace_later(
		    r, dir_part(a, old), fresh[0] == '/' ? dir_part(a, fresh) : run);
	} else if (fresh[0] == '/') {
		r->socket = fresh;
		for (size_t i = 0; i < N(names); i++)
			replace_later(r, arena_printf(a, "%s/%s", run, names[i]),
			    arena_printf(a, "%s/%s", dir_part(a, fresh), names[i]));
	}
}

static enum err edit_paths(struct relocation *r)
{
	static const char *const files[] = { WEB_PRIVATE_CONF, WEB_APACHE_SITE,
		WEB_NGINX_SITE, LOG_ROTATION_FILE };
	TRY(create_path_check(r->now.dir, r->x->f));
	struct cmd_ctx *x = r->x;

	for (size_t i = 0; i < N(files); i++) {
		const char *path = arena_printf(x->a, "%s/%s", r->now.dir, files[i]);
		bool changed = false;

		TRY(conf_replace_texts(
		    x->a, path, r->texts, r->ntexts, &changed, x->f));
		if (changed)
			ctx_progress(x, "changed", "%s", path);
		if (changed && (i == 1 || i == 2))
			ctx_progress(x, "to do", "reload your %s",
			    i == 1 ? "Apache" : "nginx, if it serves the project");
	}
	return OK;
}

struct conf_edits {
	struct relocation *r;
	const struct conf_change *options;
	size_t n;
};

static enum err edit_conf_as_root(struct cmd_ctx *x, void *arg)
{
	const struct conf_edits *c = arg;
	struct relocation *r = c->r;
	const struct conf_change *options = c->options;
	size_t n = c->n;
	const struct conf_change socket = { "db_socket", r->socket };
	const char *path = x->cf->path;
	bool changed = false;

	TRY(conf_replace_texts(x->a, path, r->texts, r->ntexts, &changed, x->f));
	if (n > 0)
		TRY(conf_set_options(x, options, n));
	if (r->socket != NULL)
		TRY(conf_set_options(x, &socket, 1));
	if (changed || n > 0 || r->socket != NULL) {
		ctx_progress(x, "changed", "%s", path);
		TRY(conf_load(x->a, path, &x->cf, NULL, NULL, x->f));
	}
	return OK;
}

/* Edits config.xml and loads it again. */
static enum err edit_conf(
    struct relocation *r, const struct conf_change *options, size_t n)
{
	struct conf_edits c = { r, options, n };

	return ctx_as_root(r->x, edit_conf_as_root, &c);
}

/* --- URLs in the rows --- */

static enum err readdress_all(
    struct cmd_ctx *x, const struct conf *cf, char *old, char *new)
{
	static const struct {
		enum id_table of;
		enum stmt_id set;
	} tables[] = {
		{ IDS_WORKUNITS, SQL_WUS_READDRESS },
		{ IDS_RESULTS, SQL_LIKE(RESULTS_READDRESS, WUS_READDRESS) },
	};

	TRY(db_open(cf, DB_WORK, &x->db, x->f));
	TRY(db_exec(x->db, x->f, NULL, VERSIONS_READDRESS, .old = old, .new = new));
	for (size_t i = 0; i < N(tables); i++)
		for (int64_t from = IDS_BEGIN, to = from; to < IDS_END; from = to) {
			TRY(ids_ahead(x->db, tables[i].of, from, ROWS, &to, x->f));
			TRY(db_exec_like(x->db, x->f, NULL, tables[i].set,
			    WUS_READDRESS, .old = old, .new = new, .from = from,
			    .to = to));
		}
	return OK;
}

enum err relocate_readdress(
    struct cmd_ctx *x, const struct conf *cf, const char *from_url, const char *to_url)
{
	char *old = arena_strdup(x->a, from_url), *new = arena_strdup(x->a, to_url);
	enum err e = readdress_all(x, cf, old, new);

	ctx_close(x);
	if (e == OK)
		ctx_progress(x, "changed", "URLs of stored work: %s to %s", old, new);
	return e;
}

static enum err readdress_rows(struct cmd_ctx *x, void *arg)
{
	const struct relocation *r = arg;

	return relocate_readdress(x, x->cf, arena_printf(x->a, "%s/", r->old_base),
	    arena_printf(x->a, "%s/", r->new_base));
}

static enum err readdress(struct relocation *r)
{
	return r->x->cf->private_servers ?
	           private_db_with(r->x, NULL, readdress_rows, r) :
	           readdress_rows(r->x, r);
}

/* --- moved --- */

static enum err write_place(struct cmd_ctx *x, void *now)
{
	return identity_write(x->a, now, x->f);
}

static enum err note_place(struct relocation *r)
{
	enum err e = identity_now(r->x->a, r->x->cf, &r->now, r->x->f);

	r->now.id = r->o->copy ? NULL : r->noted.id;
	r->now.node = r->o->copy ? NULL : r->noted.node;
	return e == OK ? ctx_as_root(r->x, write_place, &r->now) : e;
}

/* The private web server answers at the URL itself: it moves to the port of the new
 * one.
 */
static enum err choose_new_port(
    struct relocation *r, const char *was, struct conf_change *set)
{
	struct cmd_ctx *x = r->x;
	int64_t old = loopback_port(was), new = loopback_port(r->o->url);
	int port;

	if (!x->cf->private_servers || old == 0 || new == 0 || old == new)
		return OK;
	/* config.xml may have the new one already. */
	if (x->cf->private_port != old && x->cf->private_port != new)
		return OK;
	TRY(create_port(x, new, &port));
	set->old = "private_port";
	set->new = arena_printf(x->a, "%d", port);
	replace_later(r, arena_printf(x->a, "127.0.0.1:%lld", (long long)old),
	    arena_printf(x->a, "127.0.0.1:%d", port));
	return OK;
}

/* The project gets another URL, perhaps one that config.xml has already; *set: what
 * changes with it, or no name. */
static enum err choose_new_url(struct relocation *r, struct conf_change *set)
{
	struct cmd_ctx *x = r->x;
	const char *was = r->noted.master_url != NULL ? r->noted.master_url :
	                                                x->cf->master_url;
	char *base;

	TRY(create_base_url(x, r->o->url, relocate_name(x), &base));
	r->new_base = base;
	r->old_base = base_of(x->a, was);
	if (strcmp(r->new_base, r->old_base) == 0)
		return ctx_usage(x, "the project has the URL %s already", was);
	replace_later(r, r->old_base, r->new_base);
	return choose_new_port(r, was, set);
}

/* What is left to the admin after a change of the URL. */
static void say_who_follows(struct relocation *r)
{
	struct cmd_ctx *x = r->x;

	if (conf_is_installed(x->cf))
		ctx_progress(x, "to do",
		    "write the site of the new URL: locus create %s --url %s",
		    relocate_name(x), x->cf->master_url);
	ctx_progress(x, "to do",
	    "let %s lead here, too, until the hosts have followed: locus-install(7), A new domain",
	    r->old_base);
}

static enum err relocate_moved(struct relocation *r)
{
	struct cmd_ctx *x = r->x;
	struct conf_change set = { 0 };
	bool new_url = r->o->url != NULL;

	if (r->s == STANDING_COPY)
		return FAIL(x->f, E_CONFIG,
		    "it was not moved: the project still exists in %s; remove one of the two, or make this one a project of its own with --copy",
		    r->noted.dir);
	if (new_url)
		TRY(choose_new_url(r, &set));
	if (r->noted.dir != NULL && strcmp(r->noted.dir, r->now.dir) != 0) {
		ctx_progress(x, "moved", "from %s to %s", r->noted.dir, r->now.dir);
		replace_later(r, r->noted.dir, r->now.dir);
		replace_sockets(r);
	}
	TRY(edit_conf(r, &set, set.old != NULL));
	TRY(edit_paths(r));
	if (new_url)
		TRY(readdress(r));
	TRY(note_place(r));
	ctx_progress(x, "noted", "%s/" IDENTITY_FILE, r->now.dir);
	if (new_url)
		say_who_follows(r);
	return OK;
}

/* --- copied --- */

/* Chooses the start of the copy's URLs; not required if config.xml already differs from
 * the original's. */
static enum err choose_base(struct relocation *r)
{
	struct cmd_ctx *x = r->x;
	char *given;
	int port = 0;
	enum err e;

	r->new_base = base_of(x->a, x->cf->master_url);
	r->old_base = r->noted.master_url == NULL ? r->new_base :
	                                            base_of(x->a, r->noted.master_url);
	if (x->cf->private_servers) {
		const char *old = arena_printf(
		    x->a, "127.0.0.1:%lld", (long long)x->cf->private_port);

		e = create_port(x, r->o->port, &port);
		if (e != OK)
			return e;
		if (strcmp(r->new_base, r->old_base) == 0)
			r->new_base = arena_printf(x->a, "http://127.0.0.1:%d", port);
		replace_later(r, old, arena_printf(x->a, "127.0.0.1:%d", port));
	}
	if (r->o->url != NULL) {
		e = create_base_url(x, r->o->url, relocate_name(x), &given);
		if (e != OK)
			return e;
		r->new_base = given;
	}
	if (strcmp(r->new_base, r->old_base) == 0)
		return ctx_usage(x,
		    "clients would mistake the copy for its original, as both have the URL %s: give the copy's URL with --url",
		    x->cf->master_url);
	replace_later(r, r->old_base, r->new_base);
	return OK;
}

/* Converts --db-... and --password-file to options of config.xml. */
static void database_options(struct relocation *r, struct conf_change *set, size_t *n)
{
	const struct relocate_opts *o = r->o;
	struct cmd_ctx *x = r->x;
	const struct conf_change asked[] = { { "db_name", o->db_name },
		{ "db_user", o->db_user }, { "db_host", o->db_host },
		{ "db_socket", o->db_socket },
		{ "db_port", o->db_port > 0 ?
				 arena_printf(x->a, "%lld", (long long)o->db_port) :
				 NULL } };

	for (size_t i = 0; i < N(asked); i++)
		if (asked[i].new != NULL)
			set[(*n)++] = asked[i];
	if (r->secret != NULL)
		set[(*n)++] = (struct conf_change){ "db_passwd", r->secret };
}

/* Returns the configuration as it will be with these options. */
static struct conf with_database(
    struct relocation *r, const struct conf_change *set, size_t n)
{
	struct conf cf = *r->x->cf;
	struct arena *a = r->x->a;

	for (size_t i = 0; i < n; i++) {
		char *value = arena_strdup(a, set[i].new);

		if (strcmp(set[i].old, "db_name") == 0)
			cf.db_name = value;
		else if (strcmp(set[i].old, "db_user") == 0)
			cf.db_user = value;
		else if (strcmp(set[i].old, "db_passwd") == 0)
			cf.db_passwd = value;
		else if (strcmp(set[i].old, "db_host") == 0)
			cf.db_host = value;
		else if (strcmp(set[i].old, "db_port") == 0)
			cf.db_port = strtoll(value, NULL, 10);
		else if (strcmp(set[i].old, "db_socket") == 0)
			cf.db_socket = value[0] == '/' ?
			                   value :
			                   arena_printf(a, "%s/%s", r->now.dir, value);
	}
	return cf;
}

/* Finds out which database the configuration leads to, and the version of its schema; 0
 * if it has none of our tables. */
static enum err database_look(struct arena *a, const struct conf *cf,
    const char **place, int64_t *version, struct fail *f)
{
	struct db *db = NULL;
	struct row_text *row;
	enum err e = db_open(cf, DB_ANY_SCHEMA, &db, f);

	if (e != OK)
		return e;
	e = db_row(db, a, f, &row, SESSION_PLACE);
	if (e == OK) {
		*place = row->s;
		e = schema_version(db, version, f);
	}
	db_close(db);
	return e;
}

static enum err same_database(struct relocation *r)
{
	return ctx_usage(r->x,
	    "the copy would use its original's database, %s: load a dump of it into another database and give that with --db-name",
	    r->noted.database != NULL ? r->noted.database : r->now.database);
}

/*
 * Checks, before anything is changed, that the copy's database is not its original's,
 * whatever names they have, and that it has the original's schema.
 */
static enum err check_database(
    struct relocation *r, const struct conf_change *set, size_t n)
{
	const struct conf new = with_database(r, set, n);
	struct cmd_ctx *x = r->x;
	struct identity id;
	const char *was, *is, *noted = r->noted.database;
	int64_t version, its;
	struct fail none = { 0 };

	TRY(identity_now(x->a, &new, &id, x->f));
	if (strcmp(id.database, noted != NULL ? noted : r->now.database) == 0)
		return same_database(r);
	TRY(database_look(x->a, &new, &is, &version, x->f));
	if ((noted == NULL || strcmp(noted, r->now.database) == 0) &&
	    database_look(x->a, x->cf, &was, &its, &none) == OK && strcmp(was, is) == 0)
		return same_database(r);
	if (version != SCHEMA_VERSION)
		return FAIL(x->f, E_CONFIG,
		    version == 0 ?
			"database %s has no tables of Locus: first load a dump of the original's database into it" :
		    version > SCHEMA_VERSION ?
			"database %s has the schema of a newer Locus; install the newer Locus" :
			"database %s has another schema than this Locus: upgrade the original's database and load a dump of it",
		    id.database);
	return OK;
}

static enum err relocate_copied(struct relocation *r)
{
	struct conf_change set[PAIRS_MOST] = { 0 };
	struct cmd_ctx *x = r->x;
	size_t n = 0;

	database_options(r, set, &n);
	if (x->cf->private_servers && n > 0)
		return ctx_usage(x, "the copy has a private database: omit --db-...");
	TRY(choose_base(r));
	if (!x->cf->private_servers)
		TRY(check_database(r, set, n));
	if (x->cf->private_servers) {
		const char *port = strrchr(r->texts[0].new, ':') + 1;

		set[n++] = (struct conf_change){ "private_port", port };
	}
	if (r->noted.dir != NULL)
		replace_later(r, r->noted.dir, r->now.dir);
	replace_sockets(r);
	TRY(edit_conf(r, set, n));
	TRY(edit_paths(r));
	/* The processes noted when the directory was copied belong to the original. */
	state_forget(x->a, x->cf);
	TRY(readdress(r));
	TRY(note_place(r));
	ctx_progress(x, "made", "a project of its own at %s, with the same keys",
	    x->cf->master_url);
	return OK;
}

/* --- the command --- */

static enum err read_standing(struct relocation *r)
{
	struct cmd_ctx *x = r->x;

	TRY(identity_look(x->a, x->cf, &r->noted, &r->now, &r->s, x->f));
	if (r->o->copy && (r->s == STANDING_SAME || r->s == STANDING_MOVED))
		return ctx_usage(
		    x, "%s is not a copy, but the project itself", r->now.dir);
	return OK;
}

static enum err relocate_options_fit(struct cmd_ctx *x, const struct relocate_opts *o)
{
	if (o->copy && o->moved)
		return ctx_usage(x, "--copy and --moved are mutually exclusive");
	if (o->url != NULL && !o->copy && !o->moved)
		return ctx_usage(x,
		    "--url needs --moved, if this is the same project under another URL, or --copy");
	return OK;
}

static enum err relocate_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	struct relocation r = { .x = x, .o = opts };

	(void)args, (void)n;
	/* It may be for root's eyes only: it is read before the project is entered. */
	const char *path = r.o->password_file;

	if (path != NULL) {
		TRY(fs_read(r.x->a, path, SECRET_MOST, &r.secret, NULL, r.x->f));
		r.secret[strcspn(r.secret, "\r\n")] = '\0';
	}
	TRY(ctx_conf(x));
	TRY(relocate_options_fit(x, r.o));
	TRY(read_standing(&r));
	if (state_supervised(x->a, x->cf))
		return FAIL(x->f, E_CONFIG, "the project is running; first run: %s",
		    locus_command(x->a, x->cf, "stop"));
	if (r.o->copy)
		return relocate_copied(&r);
	if (!r.o->moved && r.s == STANDING_SAME) {
		ctx_progress(x, "same", "%s is the noted location", r.now.dir);
		return OK;
	}
	if (!r.o->moved && r.s != STANDING_MOVED && r.s != STANDING_NEW)
		return identity_check(x->a, x->cf, x->f);
	return relocate_moved(&r);
}

enum err relocate_settle(struct cmd_ctx *x)
{
	static const struct relocate_opts none;
	struct relocation r = { .x = x, .o = &none };

	TRY(identity_look(x->a, x->cf, &r.noted, &r.now, &r.s, x->f));
	/*
	 * Notes the place again if a backup was restored, so that a later move is
	 * recognised, or if run_dir has changed and no supervisor runs in the old one.
	 */
	if (r.s == STANDING_SAME)
		return r.noted.inode == r.now.inode &&
		               (strcmp(r.noted.run_dir, r.now.run_dir) == 0 ||
				   state_supervised(x->a, x->cf)) ?
		           OK :
		           note_place(&r);
	return state_supervised(x->a, x->cf) ? OK : relocate_moved(&r);
}

enum err relocate_copy(struct cmd_ctx *x, const char *url, int64_t port)
{
	struct relocate_opts o = { .copy = true, .url = url, .port = port };
	struct relocation r = { .x = x, .o = &o };

	TRY(identity_look(x->a, x->cf, &r.noted, &r.now, &r.s, x->f));
	return relocate_copied(&r);
}

const struct cmd cmd_relocate = { .name = "relocate",
	.args = "",
	.purpose = "adapt a moved project, or a copy of one; change the URL",
	.about =
	    "A project notes its location, its database and its URL in identity.xml. When these no\n"
	    "longer match, commands and daemons refuse to act for it until this command says which\n"
	    "case it is. --moved: the same project; with --url, it gets this master URL, and the\n"
	    "URLs of config.xml and of the stored work are changed. --copy: a project of its own:\n"
	    "it gets a new identity, port, URL and sockets, and the same is changed. The keys stay\n"
	    "the same; see locus key rotate code-sign. A directory that was only renamed needs\n"
	    "nothing: locus start reports the move and continues.",
	.details =
	    "Copy a project only while it is stopped. On a shared database server load a dump into\n"
	    "another database first and give it with --db-name. The port of a private Apache that\n"
	    "answers at the URL itself, http://127.0.0.1:PORT/NAME/, changes with it.",
	.opts = relocate_options,
	.opts_size = sizeof(struct relocate_opts),
	.anywhere = true,
	.as_root = true,
	.run = relocate_run };
