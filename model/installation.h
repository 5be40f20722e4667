/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where an installed project lives: in the directories of the Filesystem Hierarchy
 * Standard, with an account of its own, run by systemd. A project made with --here has
 * one directory instead, and our supervisor.
 */
#ifndef MODEL_INSTALLATION_H
#define MODEL_INSTALLATION_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"

#define INSTALLED_CONFIG_ROOT                                                          \
	"/etc/locus" /* one directory for each installed project */

struct installation {
	char *name;       /* "stars" */
	char *account;    /* "locus-stars": account, group and database account */
	char *database;   /* "locus_stars" */
	char *config_dir; /* "/etc/locus/stars": root's, read by the account */
	char *data_dir;   /* "/var/lib/locus/stars": the account's */
	char *log_dir;    /* "/var/log/locus/stars": the account's */
	char *run_dir;    /* "/run/locus/stars": sticky */
	const char *web;  /* account of the web server, "www-data" */
	char *unit; /* "locus-stars": prefix of its units, site and logrotate file */
};

struct installation installation_of(struct arena *, const char *name);
/*
 * Returns the config_dir of the installed project of this name; NULL if there is none.
 * A directory that this account may not enter counts as a project.
 */
char *installation_find(struct arena *, const char *name);
/* Lists the names of this machine's installed projects, sorted; none is not an error.
 */
enum err installation_list(struct arena *, char ***names, size_t *n, struct fail *);

#endif
