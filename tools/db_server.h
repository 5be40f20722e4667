/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The private database server of a project: MariaDB, or MySQL if that is installed or
 * asked for. They differ in their options and in how a data directory is made.
 */
#ifndef TOOLS_DB_SERVER_H
#define TOOLS_DB_SERVER_H

#include "tools/service.h"

struct db_server {
	char *program; /* path */
	bool mysql;
	const char *name; /* name of the service, its log and its pid file */
};

/*
 * Finds the program named by private_db_server; else that of the server which made the
 * data directory; else an installed one, MariaDB first. E_CONFIG if there is none, or
 * if another kind of server made the data directory.
 */
enum err db_server_find(
    struct arena *, const struct conf *, struct db_server *, struct fail *);
/*
 * Creates the data directory in the project's directory and waits for completion.
 * Besides root only the system account os_user can log in, identified by the kernel.
 */
enum err db_server_install(struct arena *, const struct conf *,
    const struct db_server *, const char *os_user, struct fail *);

#endif
