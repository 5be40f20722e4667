/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The database server of a project of its own: MariaDB, or MySQL where that is what is
 * installed or asked for.  They differ in how a data directory is made and in options.
 */
#ifndef TOOLS_DB_SERVER_H
#define TOOLS_DB_SERVER_H

#include "tools/service.h"

struct db_server {
	char *program; /* path */
	bool mysql;
	const char *name; /* of the service, its log and its pid file */
};

/*
 * The program of private_db_server; else what made the data directory; else what is
 * installed, MariaDB first.  E_CONFIG if there is none, or if another kind of server
 * made the data directory.
 */
enum err db_server_find(
    struct arena *, const struct conf *, struct db_server *, struct fail *);
/*
 * Makes the data directory below the project's, with the account os_user, known by the
 * kernel, as the only one that may enter besides root.  Waits for the end.
 */
enum err db_server_install(struct arena *, const struct conf *,
    const struct db_server *, const char *os_user, struct fail *);

#endif
