/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of "locus create": what the admin asked for, and the steps that need a file
 * of their own. */
#ifndef TOOLS_CREATE_H
#define TOOLS_CREATE_H

#include <sys/types.h>
#include "tools/cmd.h"

struct create_opts {
	const char *here, *url_base, *user, *long_name;
	const char *db_name, *db_user, *db_host, *db_socket, *password_file, *dir,
	    *apache_site;
	int64_t port, db_port;
	struct conf_list set;
};

struct create { /* what is made */
	const char *name, *dir;
	const struct create_opts *o;
	bool private;      /* servers of its own */
	const char *owner; /* account, if root makes it for another */
	int port;
	const char *db_user, *db_passwd;
	char *base_url; /* "http://127.0.0.1:8123" */
	bool site_made; /* o->apache_site is written */
};

#define SHORT_DIR "/tmp/locus-" /* and so many hexadecimal digits */
enum { SHORT_DIR_DIGITS = 12 };
/* Stands for the project's directory in apache/httpd.conf; the supervisor defines it.
 */
#define WEB_DIR_VARIABLE "LOCUS_DIR"
/* And for web_slow() and web_proxies() (service.h). */
#define WEB_SLOW_VARIABLE    "LOCUS_SLOW"
#define WEB_PROXIES_VARIABLE "LOCUS_PROXIES"
#define WEB_MODULE           "mod_locus.so" /* beside the programs */
/* db_socket of a private server: below its project, or in a short directory with a name
 * that is drawn. */
char *create_db_socket(struct arena *, const char *run_dir);
/* What an option --url-base says, without slashes at its end; E_BADREQ: it is no URL.
 */
enum err create_base_url(struct cmd_ctx *, const char *given, char **base);
/* A free loopback port, or the one that is asked for (0 = none is). */
enum err create_port(struct cmd_ctx *, int64_t asked, int *port);
/* E_BADREQ if a path cannot stand in Apache's configuration. */
enum err create_path_check(const char *path, struct fail *);
/* config.xml of that project, checked; the values of --set come last and count. */
enum err create_conf(struct cmd_ctx *, const struct create *, struct fail *);
/* apache/httpd.conf, or the site file of a shared Apache, from its template; html/ with
 * page and style. */
enum err create_web(struct cmd_ctx *, struct create *, struct fail *);
/* Makes the private server's data directory and starts it; *pid is its process. */
enum err private_db_make(struct cmd_ctx *, const char *os_user, pid_t *, struct fail *);
/* The same with a directory that is there. */
enum err private_db_start(struct cmd_ctx *, pid_t *, struct fail *);
/* Ends it; at failure too. */
enum err private_db_end(struct cmd_ctx *, pid_t, struct fail *);
/* Database, schema, platforms. */
enum err create_database(struct cmd_ctx *, const struct create *, struct fail *);

#endif
