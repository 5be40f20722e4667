/* SPDX-License-Identifier: Apache-2.0 */
/* What the supervisor runs for a project: its private servers, what Apache reaches by
 * sockets, its daemons. */
#ifndef TOOLS_SERVICE_H
#define TOOLS_SERVICE_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

enum ready {          /* how to see that it is ready */
	READY_ALIVE,  /* it runs */
	READY_SOCKET, /* its unix socket accepts */
	READY_GREETS, /* its unix socket accepts and sends the first byte */
	READY_PORT    /* its loopback port accepts */
};

/* In the order of starting; the other way round they are stopped, Apache first. */
enum service_kind { SERVICE_DATABASE, SERVICE_DAEMON, SERVICE_FCGI, SERVICE_WEB };

struct service {
	char *name; /* unique */
	enum service_kind kind;
	char **argv; /* NULL: it cannot be run, and why */
	char *why;
	char *log;      /* path */
	char *pid_file; /* removed before it starts, as Apache trusts an old one; NULL =
	                   none */
	enum ready ready;
	char *socket;
	char *listen; /* socket that the supervisor holds, and hands down as descriptor
	                 0; NULL = none */
	int port;
	int stop_signal; /* to the process itself; past grace_s its group is killed */
	int grace_s;
};

/* All services of the project, sorted by kind. */
enum err services_of(
    struct arena *, const struct conf *, struct service **, size_t *n, struct fail *);
/* The private database server alone, for creating the database: db_server.c. */
enum err service_database(
    struct arena *, const struct conf *, struct service *, struct fail *);
bool service_ready(const struct service *);
/* Directory of the sockets of private servers: the run directory, or a short one
 * (supervise.h). */
char *socket_dir(struct arena *, const struct conf *);
/* Of "scheduler", "web", "upload". */
char *service_socket(struct arena *, const struct conf *, const char *name);
/* What the directives of mod_locus say: LocusSlowPerAddress, LocusTrustedProxies. */
char *web_slow(struct arena *, const struct conf *);
char *web_proxies(struct arena *, const struct conf *);

#endif
