/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus create: a project from nothing.  Whatever fails, what was made is removed
 * again, so that the command can simply be repeated.
 */
#include "tools/create.h"

#include <arpa/inet.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include "db/trigger_rows.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/rng.h"
#include "model/identity.h"
#include "proto/plan_class.h"
#include "tools/privilege.h"
#include "tools/program.h"
#include "tools/supervisor/supervise.h"
#include "lib/banned.h"

enum {
	NAME_MAX_BYTES = 40,
	PORT_LOW = 20000,
	PORTS = 12000,
	PORT_TRIES = 200,
	SECRET_MAX = 4096
};

#define FIELD(name) offsetof(struct create_opts, name)
static const struct opt create_options[] = {
	{ "here", OPT_TEXT, FIELD(here), "DIR",
	    "Everything in DIR, with a database server (MariaDB, or else MySQL) and an Apache of the project's own." },
	{ "port", OPT_NUMBER, FIELD(port), "PORT",
	    "Loopback port of that Apache; default: a free one." },
	{ "user", OPT_TEXT, FIELD(user), "ACCOUNT",
	    "Run by root: the account that the project shall belong to; default www-data." },
	{ "url-base", OPT_TEXT, FIELD(url_base), "URL",
	    "Where clients find the web server, without the project's name." },
	{ "long-name", OPT_TEXT, FIELD(long_name), "TEXT",
	    "Name for people; default NAME." },
	{ "set", OPT_TEXTS, FIELD(set), "OPTION=VALUE",
	    "Sets an option of config.xml; may be repeated." },
	{ "dir", OPT_TEXT, FIELD(dir), "DIR",
	    "Without --here: the project's directory; default /var/lib/locus/NAME." },
	{ "db-name", OPT_TEXT, FIELD(db_name), "NAME",
	    "Without --here: an empty database that exists; default NAME." },
	{ "db-user", OPT_TEXT, FIELD(db_user), "ACCOUNT",
	    "Its account; default NAME." },
	{ "password-file", OPT_TEXT, FIELD(password_file), "FILE",
	    "File with the account's password." },
	{ "db-host", OPT_TEXT, FIELD(db_host), "HOST",
	    "Its server; default this machine." },
	{ "db-port", OPT_NUMBER, FIELD(db_port), "PORT", "TCP port of that server." },
	{ "db-socket", OPT_TEXT, FIELD(db_socket), "PATH",
	    "Unix socket of that server." },
	{ "apache-site", OPT_TEXT, FIELD(apache_site), "FILE",
	    "Without --here: where to write the Apache configuration; default DIR/apache/site.conf." },
	{ 0 },
};

/* --- what is asked for --- */

/* The name is part of URLs, of file names and of the database's name. */
static enum err
check_name(struct cmd_ctx *x, const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > NAME_MAX_BYTES || !(name[0] >= 'a' && name[0] <= 'z') ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n)
		return ctx_usage(x,
		    "\"%.60s\" cannot be a project's name: a small letter, then small letters, digits and \"_\", at most %d",
		    name, NAME_MAX_BYTES);
	return OK;
}

static bool
port_free(int port)
{
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)port),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), one = 1;
	bool is_free;

	if (fd < 0)
		return false;
	setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
	is_free = bind(fd, (const struct sockaddr *)&in, sizeof(in)) == 0;
	close(fd);
	return is_free;
}

/* Below the ports that the kernel gives to clients, so that it stays free while we are
 * down. */
enum err
create_port(struct cmd_ctx *x, int64_t asked, int *port)
{
	uint64_t seed;
	struct rng r;

	if (asked > 65535)
		return ctx_usage(
		    x, "--port %lld: there are 65535 ports", (long long)asked);
	if (asked > 0) {
		*port = (int)asked;
		if (!port_free(*port))
			return FAIL(x->f, E_SYS,
			    "port %d is taken or not for us; leave out --port for a free one",
			    *port);
		return OK;
	}
	random_bytes(&seed, sizeof(seed));
	r = rng_seed(seed);
	for (int i = 0; i < PORT_TRIES; i++) {
		*port = PORT_LOW + (int)rng_below(&r, PORTS);
		if (port_free(*port))
			return OK;
	}
	return FAIL(x->f, E_SYS, "no free loopback port after %d tries", PORT_TRIES);
}

static enum err
read_secret(struct cmd_ctx *x, const char *path, const char **secret)
{
	char *text;
	enum err e = fs_read(x->a, path, SECRET_MAX, &text, NULL, x->f);

	if (e == OK) {
		text[strcspn(text, "\r\n")] = '\0';
		*secret = text;
	}
	return e;
}

enum err
create_base_url(struct cmd_ctx *x, const char *given, char **base)
{
	*base = arena_strdup(x->a, given);
	for (size_t n = strlen(*base); n > 0 && (*base)[n - 1] == '/'; n--)
		(*base)[n - 1] = '\0';
	if (url_canonical(x->a, *base) == NULL)
		return ctx_usage(
		    x, "--url-base %s: it must begin with http:// or https://", *base);
	return OK;
}

/* A project brings servers of its own, or is told where they are. */
static enum err
check_servers(struct cmd_ctx *x, const struct create_opts *o)
{
	if (o->here != NULL &&
	    (o->dir != NULL || o->db_name != NULL || o->db_user != NULL ||
		o->db_host != NULL || o->db_socket != NULL || o->db_port != 0 ||
		o->password_file != NULL || o->apache_site != NULL))
		return ctx_usage(x,
		    "--here brings its own database and web server: leave out --dir, --db-..., --password-file and --apache-site");
	if (o->here == NULL && o->url_base == NULL)
		return ctx_usage(x,
		    "--url-base URL is needed: where clients find the web server (or --here DIR for a project with servers of its own)");
	return OK;
}

static enum err
check_options(struct cmd_ctx *x, struct create *c)
{
	const struct create_opts *o = c->o;

	TRY(check_servers(x, o));
	c->private = o->here != NULL;
	c->db_user = o->db_user != NULL ? o->db_user : c->name;
	c->db_passwd = "";
	if (o->password_file != NULL)
		TRY(read_secret(x, o->password_file, &c->db_passwd));
	if (c->private)
		TRY(create_port(x, o->port, &c->port));
	if (o->url_base != NULL)
		return create_base_url(x, o->url_base, &c->base_url);
	c->base_url = arena_printf(x->a, "http://127.0.0.1:%d", c->port);
	return OK;
}

/* --- the directory --- */

static enum err
check_dir(struct cmd_ctx *x, const char *dir)
{
	char **names;
	size_t n;
	enum err e = fs_list(x->a, dir, 2, &names, &n, x->f);

	if (e == E_NOTFOUND)
		return OK;
	if (e != OK)
		return e;
	if (n > 0)
		return FAIL(x->f, E_SYS,
		    "%s is not empty (it holds \"%s\"%s); name another directory, or remove it if you do not need it",
		    dir, names[0], n > 1 ? " and more" : "");
	return OK;
}

/* Absolute and without links, as it will be seen from anywhere. */
static enum err
make_dir(struct cmd_ctx *x, struct create *c, const char *asked)
{
	char real[PATH_MAX];
	enum err e = check_dir(x, asked);

	if (e == OK)
		e = fs_mkdirs(asked, 0755, x->f);
	if (e != OK)
		return e;
	if (realpath(asked, real) == NULL)
		return FAIL_ERRNO(x->f, "looking at %s", asked);
	c->dir = arena_strdup(x->a, real);
	return OK;
}

/* Root makes the directory and goes on as the account that it shall belong to. */
static enum err
become_owner(struct cmd_ctx *x, struct create *c)
{
	struct account acc;
	enum err e;

	if (!privilege_is_root())
		return c->o->user == NULL ?
		           OK :
		           ctx_usage(x, "--user is for root; the project is yours");
	e = account_find(x->a, c->o->user, &acc, x->f);
	if (e != OK)
		return e;
	if (acc.uid == 0)
		return ctx_usage(
		    x, "--user root: database and web servers do not serve as root");
	if (chown(c->dir, acc.uid, acc.gid) < 0)
		return FAIL_ERRNO(x->f, "giving %s to %s", c->dir, acc.name);
	c->owner = acc.name;
	e = privilege_become(&acc, x->f);
	/* The database server's programs run below the directory too. */
	if (e == OK && !privilege_reaches(c->dir))
		e = privilege_lend(x->f);
	return e;
}

/* --- the steps --- */

/* While they carry our mark they may be removed again; the last step takes it away. */
static const struct made {
	const char *name;
	unsigned mode;
	bool private_only;
} made_dirs[] = { { "keys", 0750, false }, { "download", 0755, false },
	{ "upload", 0755, false }, { "apps", 0755, false },
	{ "templates", 0755, false }, { "log", 0755, false }, { "run", 0755, false },
	{ "results", 0755, false }, { "html", 0755, false }, { "bin", 0755, false },
	{ "apache", 0755, false }, { "tmp", 0700, false },
	{ "locality_scheduling", 0755, false }, { "mysql", 0700, true } };

static enum err
make_tree(struct cmd_ctx *x, const struct create *c)
{
	enum err e = OK;

	for (size_t i = 0; i < N(made_dirs) && e == OK; i++)
		if (c->private || !made_dirs[i].private_only)
			e = fs_make_own(project_path(x->a, x->cf, made_dirs[i].name),
			    made_dirs[i].mode, x->f);
	if (e == OK)
		e = trigger_dirs_make(x->cf, x->f);
	if (e == OK)
		ctx_said(x, "created", "directories in %s", x->cf->project_dir);
	return e;
}

/* From now on all of it is the admin's. */
static enum err
hand_over(struct cmd_ctx *x)
{
	enum err e = OK;

	for (size_t i = 0; i < N(made_dirs) && e == OK; i++)
		e = fs_unmark_own(project_path(x->a, x->cf, made_dirs[i].name), x->f);
	return e;
}

static enum err
make_key_pair(struct cmd_ctx *x, const char *kind, unsigned private_mode)
{
	char *private, *public;
	enum err e = key_make(x->a, &private, &public, x->f);

	if (e == OK)
		e = fs_write(arena_printf(x->a, "%s/%s_private", x->cf->key_dir, kind),
		    private, strlen(private), private_mode, x->f);
	if (e == OK)
		e = fs_write(arena_printf(x->a, "%s/%s_public", x->cf->key_dir, kind),
		    public, strlen(public), 0640, x->f);
	return e;
}

static enum err
make_keys(struct cmd_ctx *x)
{
	/* Only versions are signed with the first: it may be moved off this machine. */
	enum err e = make_key_pair(x, "code_sign", 0600);

	if (e == OK)
		e = make_key_pair(x, "upload", 0640);
	if (e == OK)
		ctx_said(x, "created",
		    "keys (move keys/code_sign_private to a safe place when your versions are signed)");
	return e;
}

/* There are no plan classes but those of the project's own file. */
static enum err
make_classes(struct cmd_ctx *x)
{
	const char *from = program_data(x->a, PLAN_CLASS_FILE);
	const char *to = project_path(x->a, x->cf, PLAN_CLASS_FILE);
	enum err e;

	if (from == NULL)
		return FAIL(x->f, E_CONFIG, "%s is not installed with this program",
		    PLAN_CLASS_FILE);
	e = fs_copy(from, to, 0644, x->f);
	if (e == OK)
		ctx_said(x, "created", "%s (plan classes, to be changed)", to);
	return e;
}

static enum err
make_database(struct cmd_ctx *x, struct create *c)
{
	pid_t pid = 0;
	enum err e, e2;
	struct fail f2 = { 0 };

	if (!c->private)
		return create_database(x, c, x->f);
	e = short_dir_make(x->a, x->cf, x->f);
	if (e == OK)
		e = private_db_make(x, c->db_user, &pid, x->f);
	if (e == OK)
		e = create_database(x, c, x->f);
	ctx_close(x);
	if (pid > 0) {
		e2 = private_db_end(x, pid, &f2);
		if (e == OK && e2 != OK) {
			*x->f = f2;
			e = e2;
		}
	}
	short_dir_remove(x->a, x->cf);
	return e;
}

static enum err
make_all(struct cmd_ctx *x, struct create *c)
{
	struct identity id;
	struct account acc;

	if (c->private) {
		TRY(account_by_uid(x->a, geteuid(), &acc, x->f));
		c->db_user = acc.name;
	}
	TRY(create_conf(x, c, x->f));
	TRY(make_tree(x, c));
	TRY(make_keys(x));
	TRY(make_classes(x));
	TRY(create_web(x, c, x->f));
	TRY(make_database(x, c));
	TRY(identity_now(x->a, x->cf, &id, x->f));
	TRY(identity_write(x->a, &id, x->f));
	return hand_over(x);
}

/*
 * By name, as somebody may have put something into the directory meanwhile; it stays,
 * and so does a directory that was there before.
 */
static void
unmake(struct cmd_ctx *x, const struct create *c, bool dir_was_there)
{
	static const char *const files[] = { "config.xml", IDENTITY_FILE,
		PLAN_CLASS_FILE };
	struct fail f = { 0 };

	for (size_t i = 0; i < N(made_dirs); i++) {
		const char *dir = arena_printf(
		    x->a, "%s/%s", c->dir, made_dirs[i].name);

		if (fs_is_own(dir) && fs_rmtree(dir, &f) != OK)
			fprintf(stderr, "locus create: %s\n", f.detail);
	}
	for (size_t i = 0; i < N(files); i++)
		fs_unlink(arena_printf(x->a, "%s/%s", c->dir, files[i]), &f);
	if (c->site_made)
		fs_unlink(c->o->apache_site, &f);
	if (!dir_was_there && rmdir(c->dir) < 0)
		fprintf(
		    stderr, "locus create: %s stays: %s\n", c->dir, strerror(errno));
}

static enum err
create_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct create_opts *o = opts;
	struct create c = { .name = args[0], .o = o };
	enum err e = check_name(x, args[0]);
	bool was_there;
	const char *dir;

	(void)n;
	umask(022);
	if (e == OK)
		e = check_options(x, &c);
	if (e != OK)
		return e;
	dir = c.private      ? o->here :
	      o->dir != NULL ? o->dir :
	                       arena_printf(x->a, "/var/lib/locus/%s", c.name);
	was_there = fs_exists(dir);
	ctx_said(x, "project", "%s in %s", c.name, dir);
	e = make_dir(x, &c, dir);
	if (e != OK)
		return e;
	e = become_owner(x, &c);
	if (e == OK)
		e = make_all(x, &c);
	if (e != OK) {
		unmake(x, &c, was_there);
		return e;
	}
	printf("\nMaster URL: %s\nNext:       cd %s && locus start\n",
	    x->cf->master_url, dir);
	return OK;
}

const struct cmd cmd_create = { .name = "create",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "make a project",
	.about =
	    "Makes directories, keys, config.xml, database and web server configuration.\n"
	    "With --here all is in one directory, servers included, and needs no root.\n"
	    "Without it the machine's MariaDB or MySQL and its Apache are used: the database must exist and\n"
	    "be empty, and the Apache configuration that is written has to be included.\n"
	    "Run by root, the project belongs to the account given by --user.",
	.opts = create_options,
	.opts_size = sizeof(struct create_opts),
	.run = create_run };
