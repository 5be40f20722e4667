/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of "locus create": its options, and the steps that have a file of their own. */
#ifndef TOOLS_CREATE_H
#define TOOLS_CREATE_H

#include <sys/types.h>
#include "tools/cmd.h"
#include "tools/site_files.h"

struct create_opts {
	const char *here, *url, *user, *long_name;
	const char *db_name, *db_user, *db_host, *db_socket, *password_file;
	const char *certificate, *certificate_key, *code_sign_public;
	int64_t port, db_port;
	bool code_sign_here, dry_run, start;
	struct text_list set;
};

struct create { /* the project being created */
	const char *name, *dir;
	const struct create_opts *o;
	bool private;                         /* private servers */
	const struct installation *installed; /* NULL: --here */
	const char *owner; /* account that will own it, if run by root; else NULL */
	int port;
	const char *db_name, *db_user, *db_passwd;
	char *base_url; /* "http://127.0.0.1:8123" */
};

#define SHORT_DIR "/tmp/locus-" /* followed by SHORT_DIR_DIGITS hexadecimal digits */
enum { SHORT_DIR_DIGITS = 12 };
/* Variable that apache/httpd.conf uses for the project's directory; the supervisor
 * defines it. */
#define WEB_DIR_VARIABLE "LOCUS_DIR"
/* The same for the directory of the services' sockets, socket_dir() (service.h). */
#define WEB_SOCKETS_VARIABLE "LOCUS_SOCKETS"
/* Configuration of the project's own Apache; files for an Apache of the machine, and
 * beside it for those who run nginx. */
#define WEB_PRIVATE_CONF "apache/httpd.conf"
#define WEB_APACHE_SITE  "apache/site.conf"
#define WEB_NGINX_SITE   "nginx/site.conf"
/* Variables for web_slow_limit() and web_trusted_proxies() (service.h). */
#define WEB_SLOW_VARIABLE    "LOCUS_SLOW"
#define WEB_PROXIES_VARIABLE "LOCUS_PROXIES"
#define WEB_MODULE           "mod_locus.so" /* installed beside the programs */
/* Returns db_socket for a private server: below the project, or in a short directory
 * with a random name if that path would be too long. */
char *create_db_socket(struct arena *, const char *run_dir);
/*
 * Takes the master URL given by --url apart: base is what stands before "/NAME/".
 * E_BADREQ if it does not end like this, or is not a URL.
 */
enum err create_base_url(
    struct cmd_ctx *, const char *given, const char *name, char **base);
/* May a program listen on this loopback port now? */
bool port_is_free(int port);
/* Finds a free loopback port if asked is 0, else checks that this port is free. */
enum err create_port(struct cmd_ctx *, int64_t asked, int *port);
/* E_BADREQ if a path cannot be written into Apache's configuration. */
enum err create_path_check(const char *path, struct fail *);
/*
 * Makes the text of the project's config.xml, checks it and sets x->cf. Options given
 * by
 * --set come last and take precedence.
 */
enum err create_config_text(
    struct cmd_ctx *, const struct create *, const char **text, struct fail *);
/* Writes that text to x->cf->path. */
enum err create_config_xml(struct cmd_ctx *, const struct create *, struct fail *);
/* Copies the sample plan classes into project_dir; a project has only those in its own
 * file. */
enum err create_plan_classes(struct cmd_ctx *);
/* Makes the links in bin/ that give locus the names of BOINC's tools; names what has
 * such a name already, and stays. */
enum err create_links(struct cmd_ctx *);
/* Copies the page and style to html/. */
enum err create_pages(struct cmd_ctx *, struct fail *);
/* Fills a template of pkgdatadir for the web server. */
enum err create_web_text(struct cmd_ctx *, const struct create *, const char *template,
    char **text, struct fail *);
/* Makes a pair of keys, KIND_private and KIND_public, in the directory. */
enum err create_key_pair(struct cmd_ctx *, const char *dir, const char *kind,
    unsigned private_mode, unsigned public_mode);
/* Writes the list of platforms into a database that has none. */
enum err create_platforms(struct cmd_ctx *, struct fail *);
/* Writes apache/httpd.conf, or the site files of a shared Apache and a shared nginx,
 * and copies the page and style to html/. */
enum err create_web(struct cmd_ctx *, struct create *, struct fail *);
/* Makes the private server's data directory and starts it; *pid is its process. */
enum err private_db_make(struct cmd_ctx *, const char *os_user, pid_t *, struct fail *);
/*
 * Starts the server for work alone; makes it for os_user first, unless that is NULL.
 */
enum err private_db_with(struct cmd_ctx *, const char *os_user,
    enum err (*work)(struct cmd_ctx *, void *), void *arg);
/* Stops the server, by force if it does not end in time; the process is gone even on
 * failure. */
enum err private_db_end(struct cmd_ctx *, pid_t, struct fail *);
/* Returns what create_web() writes for the project in x->cf. */
enum err create_site_files(
    struct cmd_ctx *, struct site_file **, size_t *n, struct fail *);
/* Creates the empty database of a private server. */
enum err private_db_empty(struct cmd_ctx *, struct fail *);
/* Creates the database if the server is private, then its schema and platforms. */
enum err create_database(struct cmd_ctx *, const struct create *, struct fail *);

/* Creates or finds the empty directory *dir and makes its path absolute. If run by
 * root, gives it to that account (NULL: the usual one), named in *owner, and continues
 * as that account; E_DENIED if that cannot reach it. */
enum err create_home(
    struct cmd_ctx *, const char *user, const char **dir, const char **owner);
/*
 * Runs work, which makes a project in dir by create_home(), and removes dir again if it
 * fails and dir was not there before; root's work runs in a child process.
 */
enum err create_or_remove(struct cmd_ctx *, const char *dir,
    enum err (*work)(struct cmd_ctx *, void *), void *arg);

#endif
