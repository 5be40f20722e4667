/* SPDX-License-Identifier: Apache-2.0 */
/*
 * locus create: makes a new project. On failure it removes everything it made, so that
 * the command can simply be repeated.
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
#include "lib/buf.h"
#include "lib/crypt.h"
#include "lib/fs.h"
#include "lib/http.h"
#include "lib/rng.h"
#include "model/identity.h"
#include "proto/plan_class.h"
#include "tools/destroy_here.h"
#include "tools/install/install.h"
#include "tools/log.h"
#include "lib/privilege.h"
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

#define FIELD(name) FIELD_OF(struct create_opts, name)
static const struct field create_options[] = {
	{ "url", FIELD(url), "URL",
	    "Master URL, at which clients reach the web server; it ends in /NAME/." },
	{ "certificate", FIELD(certificate), "FILE",
	    "Certificate of the web server, with its chain; the site then serves https, too." },
	{ "certificate-key", FIELD(certificate_key), "FILE",
	    "Private key of that certificate." },
	{ "code-sign-public", FIELD(code_sign_public), "FILE",
	    "Public code signing key, made by locus key make on another machine." },
	{ "code-sign-here", FIELD(code_sign_here), NULL,
	    "Makes the pair of code signing keys on this server. Whoever breaks into it can then run programs on all hosts." },
	{ "dry-run", FIELD(dry_run), NULL,
	    "Only shows the steps, and which of them hold already." },
	{ "long-name", FIELD(long_name), "TEXT", "Name shown to users; default NAME." },
	{ "set", FIELD(set), "OPTION=VALUE",
	    "Sets an option in a new config.xml; may be repeated." },
	{ "db-host", FIELD(db_host), "HOST",
	    "Host of the database server, if it is another machine. The database must exist there and be empty." },
	{ "db-port", FIELD(db_port), "PORT", "TCP port of the database server.",
	    .max = 65535 },
	{ "db-name", FIELD(db_name), "NAME",
	    "Database on that host; default locus_NAME. With --here: an existing, empty database, used instead of a private server." },
	{ "db-user", FIELD(db_user), "ACCOUNT",
	    "Account of that database; default NAME." },
	{ "password-file", FIELD(password_file), "FILE",
	    "File with the account's password." },
	{ "db-socket", FIELD(db_socket), "PATH",
	    "Unix socket of the database server, if it is not the usual one." },
	{ "here", FIELD(here), "DIR",
	    "Puts everything into DIR, with a private database server (MariaDB, or else MySQL) and a private Apache." },
	{ "port", FIELD(port), "PORT",
	    "With --here: loopback port of the private Apache; default: a free one.",
	    .max = 65535 },
	{ "start", FIELD(start), NULL,
	    "With --here: starts the project, as locus start does." },
	{ "user", FIELD(user), "ACCOUNT",
	    "With --here, when run by root: the account that will own the project; default www-data." },
	{ 0 },
};

/* --- arguments --- */

/* The name becomes part of URLs, file names and the database's name. */
static enum err project_name_check(struct cmd_ctx *x, const char *name)
{
	size_t n = strlen(name);

	if (n == 0 || n > NAME_MAX_BYTES || !(name[0] >= 'a' && name[0] <= 'z') ||
	    strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_") != n)
		return ctx_usage(x,
		    "\"%.60s\" cannot be a project's name: use a lowercase letter, then lowercase letters, digits and \"_\", at most %d",
		    name, NAME_MAX_BYTES);
	return OK;
}

bool port_is_free(int port)
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

/* Chooses a port below the kernel's ephemeral range, so that it stays free while the
 * project is down. */
enum err create_port(struct cmd_ctx *x, int64_t asked, int *port)
{
	uint64_t seed;
	struct rng r;

	if (asked > 65535)
		return ctx_usage(
		    x, "--port %lld: the highest port is 65535", (long long)asked);
	if (asked > 0) {
		*port = (int)asked;
		if (!port_is_free(*port))
			return FAIL(x->f, E_SYS,
			    "port %d is in use or not permitted; omit --port to get a free one",
			    *port);
		return OK;
	}
	random_bytes(&seed, sizeof(seed));
	r = rng_seed(seed);
	for (int i = 0; i < PORT_TRIES; i++) {
		*port = PORT_LOW + (int)rng_below(&r, PORTS);
		if (port_is_free(*port))
			return OK;
	}
	return FAIL(x->f, E_SYS, "no free loopback port after %d tries", PORT_TRIES);
}

static enum err read_secret(struct cmd_ctx *x, const char *path, const char **secret)
{
	char *text;

	TRY(fs_read(x->a, path, SECRET_MAX, &text, NULL, x->f));
	text[strcspn(text, "\r\n")] = '\0';
	*secret = text;
	return OK;
}

/* With --here and without --db-name, the database server is private. */
static enum err check_private(struct cmd_ctx *x, const struct create_opts *o)
{
	bool other = o->db_user != NULL || o->db_host != NULL || o->db_socket != NULL ||
	             o->db_port != 0 || o->password_file != NULL;

	if (o->db_name == NULL && other)
		return ctx_usage(x,
		    "--here creates a private database server; to use another one, name its database with --db-name");
	if (o->db_name != NULL && o->url == NULL)
		return ctx_usage(x,
		    "--db-name means servers of others: give the URL at which clients reach the web server with --url");
	return OK;
}

/* Options that only an installed project or only one with --here has. */
static enum err check_mode(struct cmd_ctx *x, const struct create_opts *o)
{
	bool installs = o->certificate != NULL || o->certificate_key != NULL ||
	                o->code_sign_public != NULL || o->code_sign_here || o->dry_run;

	if (o->here == NULL)
		return o->port == 0 && o->user == NULL && !o->start ?
		           OK :
		           ctx_usage(
			       x, "--port, --start and --user belong to --here DIR");
	if (installs)
		return ctx_usage(x,
		    "--here makes a project of one directory with all its keys: omit --certificate, --certificate-key, --code-sign-public, --code-sign-here and --dry-run");
	return check_private(x, o);
}

static enum err create_check_options(struct cmd_ctx *x, struct create *c)
{
	const struct create_opts *o = c->o;

	c->private = o->db_name == NULL;
	c->db_name = o->db_name;
	c->db_user = o->db_user != NULL ? o->db_user : c->name;
	if (c->private)
		TRY(create_port(x, o->port, &c->port));
	if (o->url != NULL)
		return create_base_url(x, o->url, c->name, &c->base_url);
	c->base_url = arena_printf(x->a, "http://127.0.0.1:%d", c->port);
	return OK;
}

/* --- the directory --- */

static enum err check_dir_empty(struct cmd_ctx *x, int fd, const char *dir)
{
	char **names;
	size_t n;

	TRY(fs_list(
	    x->a, arena_printf(x->a, "/proc/self/fd/%d", fd), 2, &names, &n, x->f));
	if (n > 0)
		return FAIL(x->f, E_SYS,
		    "%s is not empty (it contains \"%s\"%s); choose another directory, or remove it if you do not need it",
		    dir, names[0], n > 1 ? " and others" : "");
	return OK;
}

/* Is the account going to reach the directory, which will be its own? */
static enum err check_home_reach(
    struct cmd_ctx *x, const char *account, const char *dir)
{
	const char *name = strrchr(dir, '/');
	const char *closed = privilege_closed(
	    x->a, arena_printf(x->a, "%.*s", (int)(name - dir), dir));

	if (closed == NULL)
		return OK;
	return FAIL(x->f, E_DENIED,
	    "the account %s, as which everything of the project runs, cannot enter %s: choose a directory that it can reach (--here /srv%s), or open the way (%s)",
	    account, closed, name, owner_open_way(x->a, "a+x", closed));
}

/* If run by root, gives the directory to its future owner and continues as that
 * account, if that can reach it. */
static enum err become_owner(
    struct cmd_ctx *x, const char *user, int fd, const char *dir, const char **owner)
{
	struct account acc;
	enum err e;

	if (!privilege_is_root())
		return user == NULL ?
		           OK :
		           ctx_usage(x,
			       "--user can only be used by root; the project will be yours");
	TRY(account_find(x->a, user, &acc, x->f));
	if (acc.uid == 0)
		return ctx_usage(
		    x, "--user root: database and web servers do not run as root");
	TRY(privilege_suspend(&acc, x->f));
	e = check_home_reach(x, acc.name, dir);
	TRY(privilege_resume(x->f));
	TRY(e);
	if (fchown(fd, acc.uid, acc.gid) < 0)
		return FAIL_ERRNO(x->f, "giving %s to %s", dir, acc.name);
	*owner = acc.name;
	return privilege_become(&acc, x->f);
}

static enum err enter_home(
    struct cmd_ctx *x, const char *user, int fd, const char **dir, const char **owner)
{
	char real[PATH_MAX];
	ssize_t n = readlink(
	    arena_printf(x->a, "/proc/self/fd/%d", fd), real, sizeof(real) - 1);

	if (n < 0)
		return FAIL_ERRNO(x->f, "looking at %s", *dir);
	*dir = arena_memdup(x->a, real, (size_t)n);
	TRY(check_dir_empty(x, fd, *dir));
	return become_owner(x, user, fd, *dir, owner);
}

enum err create_home(
    struct cmd_ctx *x, const char *user, const char **dir, const char **owner)
{
	enum err e;
	int fd;

	*owner = NULL;
	TRY(fs_open_dir(*dir, 0755, &fd, NULL, x->f));
	e = enter_home(x, user, fd, dir, owner);
	close(fd);
	return e;
}

enum err create_or_remove(struct cmd_ctx *x, const char *dir,
    enum err (*work)(struct cmd_ctx *, void *), void *arg)
{
	bool was_there = fs_exists(dir);
	enum err e = privilege_is_root() ? ctx_fork(x, work, arg) : work(x, arg);
	struct fail f = { 0 };

	if (e != OK && !was_there && fs_remove_empty(dir, &f) != OK)
		fprintf(stderr, "locus %s: %s\n", x->cmd->name, f.detail);
	return e;
}

/* --- the steps --- */

/* Directories of a project. Until the last step removes their mark, they may be removed
 * again on failure. */
static const struct made {
	const char *name;
	unsigned mode;
	enum { ALWAYS, IF_PRIVATE, IF_SHARED } when;
} made_dirs[] = { { "keys", 0750, ALWAYS }, { "download", 0755, ALWAYS },
	{ "upload", 0750, ALWAYS }, { "apps", 0755, ALWAYS },
	{ "templates", 0755, ALWAYS }, { "log", 0750, ALWAYS },
	{ "run", 0750, IF_PRIVATE }, { "run", 0711, IF_SHARED },
	{ "results", 0750, ALWAYS }, { "archives", 0750, ALWAYS },
	{ "stats", 0755, ALWAYS }, { "html", 0755, ALWAYS }, { "bin", 0755, ALWAYS },
	{ "apache", 0755, ALWAYS }, { "nginx", 0755, IF_SHARED },
	{ "tmp", 0700, ALWAYS }, { "locality_scheduling", 0755, ALWAYS },
	{ "mysql", 0700, IF_PRIVATE } };

static const char *const made_files[] = { "config.xml", IDENTITY_FILE, PLAN_CLASS_FILE,
	SITE_FILES_RECORD, LOG_ROTATION_FILE };

static enum err make_database(struct cmd_ctx *x, void *arg)
{
	return create_database(x, arg, x->f);
}

static enum err create_all(struct cmd_ctx *x, struct create *c)
{
	struct identity id;
	struct account acc;

	if (c->private) {
		TRY(account_by_uid(x->a, geteuid(), &acc, x->f));
		c->db_user = acc.name;
	}
	TRY(create_config_xml(x, c, x->f));
	for (size_t i = 0; i < N(made_dirs); i++)
		if (made_dirs[i].when != (c->private ? IF_SHARED : IF_PRIVATE))
			TRY(fs_make_own(project_path(x->a, x->cf, made_dirs[i].name),
			    made_dirs[i].mode, x->f));
	TRY(trigger_dirs_make(x->cf, x->f));
	ctx_progress(x, "created", "directories in %s", x->cf->project_dir);

	/* code_sign signs versions only, so its private key may be moved off this
	 * machine. */
	TRY(create_key_pair(x, x->cf->key_dir, "code_sign", 0600, 0640));
	TRY(create_key_pair(x, x->cf->key_dir, "upload", 0640, 0640));
	ctx_progress(x, "created",
	    "keys (move keys/code_sign_private to a safe place once your versions are signed)");
	TRY(create_plan_classes(x));
	TRY(create_links(x));
	TRY(create_web(x, c, x->f));
	TRY(c->private ? private_db_with(x, c->db_user, make_database, c) :
			 make_database(x, c));
	TRY(identity_now(x->a, x->cf, &id, x->f));
	TRY(identity_write(x->a, &id, x->f));
	/* Notes what locus destroy may remove. */
	struct buf b = buf_new(x->a);

	for (size_t i = 0; i < N(made_dirs); i++)
		if (made_dirs[i].when != (c->private ? IF_SHARED : IF_PRIVATE))
			buf_printf(&b, "%s/\n", made_dirs[i].name);
	for (size_t i = 0; i < N(made_files); i++)
		buf_printf(&b, "%s\n", made_files[i]);
	TRY(fs_write(project_path(x->a, x->cf, CREATED_FILE), b.p, b.n, 0644, x->f));
	/* Removes the marks: from now on the directories are the admin's. */
	for (size_t i = 0; i < N(made_dirs); i++)
		TRY(fs_unmark_own(project_path(x->a, x->cf, made_dirs[i].name), x->f));
	return OK;
}

static enum err create_in_dir(struct cmd_ctx *x, void *arg)
{
	struct create *c = arg;
	enum err e;

	c->dir = c->o->here;
	TRY(create_home(x, c->o->user, &c->dir, &c->owner));
	e = create_all(x, c);
	if (e != OK) {
		struct fail f = { 0 };

		/*
		 * Removes only what it made, by name, as somebody may have put other
		 * files into the directory meanwhile. Those files stay, and so does a
		 * directory that existed before.
		 */
		for (size_t i = 0; i < N(made_dirs); i++) {
			const char *dir = arena_printf(
			    x->a, "%s/%s", c->dir, made_dirs[i].name);

			if (fs_is_own(dir) && fs_rmtree(dir, &f) != OK)
				fprintf(stderr, "locus create: %s\n", f.detail);
		}
		for (size_t i = 0; i < N(made_files); i++)
			fs_unlink(
			    arena_printf(x->a, "%s/%s", c->dir, made_files[i]), &f);
		fs_unlink(arena_printf(x->a, "%s/%s", c->dir, CREATED_FILE), &f);
		return e;
	}
	if (c->o->start) {
		/* Goes on as locus start of the new project. */
		char word[] = "start", *words[] = { word, NULL };
		int used;

		ctx_close(x);
		x->cmd = command_find(x->commands, words, 1, &used);
		x->project = c->dir;
		x->cf = NULL;
		return x->cmd->run(
		    x, arena_alloc(x->a, x->cmd->opts_size + 1), words + 1, 0);
	}
	printf("\nMaster URL: %s\nNext:       cd %s && locus start\n",
	    x->cf->master_url, c->o->here);
	return OK;
}

static enum err create_run(struct cmd_ctx *x, const void *opts, char **args, size_t n)
{
	const struct create_opts *o = opts;
	struct create c = { .name = args[0], .o = o, .db_passwd = "" };

	(void)n;
	umask(022);
	TRY(project_name_check(x, args[0]));
	TRY(check_mode(x, o));
	if (o->password_file != NULL)
		TRY(read_secret(x, o->password_file, &c.db_passwd));
	if (o->here == NULL)
		return install_run(x, &c);
	TRY(create_check_options(x, &c));
	ctx_progress(x, "project", "%s in %s", c.name, o->here);
	return create_or_remove(x, o->here, create_in_dir, &c);
}

const struct cmd cmd_create = { .name = "create",
	.args = "NAME",
	.min_args = 1,
	.max_args = 1,
	.purpose = "create a project",
	.about =
	    "With --url, root installs a project into this machine: an account of its own,\n"
	    "directories below /etc/locus, /var/lib/locus, /var/log/locus and /run/locus, a\n"
	    "database of the machine's MariaDB or MySQL, a site of its Apache, log rotation and\n"
	    "systemd unit; locus-install(7) has it all. Each step is printed and may be repeated:\n"
	    "after a failure, run the command again. Run again for a project that is there, it\n"
	    "restores what is missing.\n"
	    "\n"
	    "With --here everything is in one directory, including private servers, and root is not\n"
	    "needed; with --db-name as well, the machine's database server and Apache are used: the\n"
	    "database must exist and be empty, and you have to include apache/site.conf. If run by\n"
	    "root, the project belongs to the account given by --user.",
	.details =
	    "The machine's database server should have a redo log of at least 128 MB, like a\n"
	    "private one (innodb_log_file_size; on MySQL innodb_redo_log_capacity).",
	.opts = create_options,
	.opts_size = sizeof(struct create_opts),
	.run = create_run };
