/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of locus restore. */
#ifndef TOOLS_BACKUP_RESTORE_H
#define TOOLS_BACKUP_RESTORE_H

#include "tools/backup/backup.h"

struct restore_opts {
	bool verify;
	const char *into, *here, *url, *user;
	int64_t port;
};

struct late_link { /* made when all files are there, so that none goes through it */
	char *path, *target;
};

struct restore {
	struct cmd_ctx *x;
	const struct restore_opts *o;
	struct backup_in in;
	const char *dir;   /* --here: the project's directory */
	const char *owner; /* its account, if run by root */
	char *config, *identity,
	    *record; /* texts of the archive; NULL = not read yet */
	bool prepared, loading, loaded;
	struct dump_load load;
	pid_t server; /* the private database server; 0 = none */
	struct dump_count rows;
	int fd;                /* of the archive */
	const char *old_url;   /* --into: master URL in the archive */
	struct into *into;     /* --into: what is being installed */
	const struct conf *db; /* --into: the connection of the server's root */
	struct late_link *links;
	size_t nlinks, links_cap;
};

/* --- extract.c --- */
/* Writes the current entry below the project's directories. */
enum err restore_extract(struct restore *);
/* Reads the archive once more, and writes its files. */
enum err restore_read_files(struct restore *);
/* Makes the links, and removes the files that the archive calls torn. */
enum err restore_extract_end(struct restore *);

/* --- restore_here.c: into a directory with servers of its own --- */

/* --- restore_into.c: into an installed project --- */
struct into;

#endif
