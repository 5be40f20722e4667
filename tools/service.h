/* SPDX-License-Identifier: Apache-2.0 */
/* The services that the supervisor runs for a project: its private servers, the
 * programs that Apache reaches by sockets, and its daemons. */
#ifndef TOOLS_SERVICE_H
#define TOOLS_SERVICE_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

enum ready {          /* how to tell that a service is ready */
	READY_ALIVE,  /* its process runs */
	READY_TOLD,   /* it says so, and goes on to say that it works (lib/notify.h) */
	READY_GREETS, /* its unix socket accepts and the server sends the first byte */
	READY_PORT    /* its loopback port accepts connections */
};

/* In the order of starting; they are stopped in reverse order, Apache first. */
enum service_kind { SERVICE_DATABASE, SERVICE_DAEMON, SERVICE_FCGI, SERVICE_WEB };

struct service {
	char *name; /* unique */
	enum service_kind kind;
	char **argv; /* NULL = it cannot be run; why is the reason */
	char *why;
	char *log;      /* path */
	char *pid_file; /* removed before the service starts, as Apache trusts an old
	                   one; NULL = none */
	enum ready ready;
	char *socket;
	char *socket_name; /* "scheduler", "web" or "upload": the socket that it serves;
	                      NULL = none */
	bool ours;         /* a program of Locus */
	bool takes_log;    /* has the option --log */
	char *listen; /* socket that the supervisor holds and passes on as descriptor 0;
	                 NULL = none */
	int port;
	int stop_signal; /* sent to the process itself; after grace_s its group is
	                    killed */
	int grace_s;
};

/* Lists all services of the project, sorted by kind. */
enum err services_of(
    struct arena *, const struct conf *, struct service **, size_t *n, struct fail *);
/*
 * Describes the private database server alone, for creating the database (db_server.c).
 */
enum err service_database(
    struct arena *, const struct conf *, struct service *, struct fail *);
bool service_ready(const struct service *);
/* Returns the command line that the service runs with: argv, with --log if the program
 * takes it, as only the program itself can follow a rotated log. NULL if it cannot be
 * run. */
char **service_command(struct arena *, const struct service *);
/* Longest run directory that leaves room for a socket's name: its address holds 107
 * bytes. */
enum { RUN_DIR_MOST = 70 };
/* Returns the directory of a private database server's socket: that of db_socket, else
 * the run directory. */
char *database_socket_dir(struct arena *, const struct conf *);
/* Returns the directory of the services' sockets: the run directory, or if its path is
 * too long for them, the short one of db_socket (supervise.h). */
char *socket_dir(struct arena *, const struct conf *);
/* Returns the path of the socket of "scheduler", "web" or "upload". */
char *service_socket(struct arena *, const struct conf *, const char *name);
/* Values of the directives LocusSlowPerAddress and LocusTrustedProxies of mod_locus. */
char *web_slow_limit(struct arena *, const struct conf *);
char *web_trusted_proxies(struct arena *, const struct conf *);
/* The limit of slow connections as limit_conn of nginx takes it: "65535" for none. */
char *web_nginx_limit(struct arena *, const struct conf *);

#endif
