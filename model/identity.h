/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which project a directory holds: PROJECT/identity.xml, written when the project is
 * created. Every program that acts for a project checks it first, so that a copy of the
 * directory never acts for its original: not on its database, its sockets or its
 * processes.
 */
#ifndef MODEL_IDENTITY_H
#define MODEL_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

/*
 * Which machine of a project this is. Its name is the host name unless locus node join
 * --as gave it another one, which identity.xml keeps.
 */

enum { NODE_NAME_MAX = 100 };

struct node {
	const char *name;    /* "web2" */
	const char *place;   /* 32 hexadecimal digits: the machine and the directory */
	const char *project; /* id of identity.xml; "" = none is recorded */
};

/* A name has at most 100 letters, digits and "._-", and starts with a letter or digit.
 */
enum err node_name_check(const char *name, struct fail *);
enum err node_here(struct arena *, const struct conf *, struct node *, struct fail *);

#define IDENTITY_FILE "identity.xml" /* beside config.xml */

struct identity {
	/*
	 * 32 random hexadecimal digits; a copy that becomes a project of its own gets
	 * new ones
	 */
	const char *id;
	const char *dir;     /* directory of config.xml, without links */
	int64_t inode;       /* of that directory */
	const char *machine; /* /etc/machine-id, "" where there is none */
	/* "stars on db.example.org:3306", or "locus of its own" for a private server */
	const char *database;
	const char *master_url; /* canonical */
	const char *run_dir; /* run_dir at the last start; "" = unknown; not compared */
	/* Name of this machine among those of the project; "" = its host name. */
	const char *node;
};

enum standing {
	STANDING_SAME,     /* the original project */
	STANDING_NEW,      /* nothing is recorded yet */
	STANDING_MOVED,    /* the same directory under another name */
	STANDING_COPY,     /* the original is still where it was recorded */
	STANDING_UNSURE,   /* either moved to another disk or machine, or a copy */
	STANDING_DATABASE, /* config.xml names another database than recorded */
	STANDING_URL       /* config.xml has another master URL than recorded */
};

struct identity_there { /* what is at the recorded path now */
	bool here;      /* it is the same directory: a link to it, or another mount */
	const char *id; /* NULL: no project, or an unreadable one */
};

/* Pure; uses there only if the two directories differ. */
enum standing identity_judge(const struct identity *noted, const struct identity *now,
    const struct identity_there *there);

/* Returns what would be recorded now; its id is NULL. */
enum err identity_now(
    struct arena *, const struct conf *, struct identity *, struct fail *);
/* Writes the identity; draws an id if it is NULL. */
enum err identity_write(struct arena *, struct identity *, struct fail *);
/*
 * Compares the recorded identity with the current one; *noted has NULLs for
 * STANDING_NEW.
 */
enum err identity_look(struct arena *, const struct conf *, struct identity *noted,
    struct identity *now, enum standing *, struct fail *);
/*
 * For every program that acts: OK for the original project, a moved one, and one
 * without a record; else E_CONFIG with the problem and the command to resolve it.
 */
enum err identity_check(struct arena *, const struct conf *, struct fail *);

#endif
