/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds out which services of a project run, by the supervisor's state file and /proc.
 */
#ifndef TOOLS_RUNNING_H
#define TOOLS_RUNNING_H

#include <stdbool.h>
#include "tools/cmd.h"
#include "tools/state.h"

enum running {
	RUNNING_ALL,  /* the supervisor and every service run */
	RUNNING_NONE, /* neither the supervisor nor any service runs */
	RUNNING_PART  /* something in between */
};

/*
 * Contacts no server. *s lists every service, in the order of starting, with its
 * present life: a service that outlived its supervisor is running, a service of a
 * stopped project is down. A project on servers of this machine has a line for the web
 * server.
 */
enum err running_read(struct cmd_ctx *, struct state *s, enum running *);
/* E_SYS if services were stopped by their names; the message names them. */
enum err running_fail_held(struct cmd_ctx *, const struct state *);
struct web_server {
	const char *name; /* "apache2" or "nginx" */
	pid_t pid;        /* 0 = neither runs */
	int64_t since;    /* seconds UTC */
};
/* The web server of this machine, by the pid files of Debian's packages. */
struct web_server running_web_server(struct arena *);
/*
 * Explains what of a running project's configuration is not in force yet, and the
 * command that makes it so; NULL if all is. *names lists the options concerned, or the
 * unit of systemd.
 */
const char *running_waits(
    struct cmd_ctx *, const struct state *, const char ***names, size_t *n);
const char *running_name(enum running); /* "running" */
int running_exit(enum running);         /* 0, 3 or 4 */

#endif
