/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which project a directory holds: PROJECT/identity.xml, written when the project is
 * made.  Whoever acts for a project looks at it first, so that a copy of the directory
 * never acts in the name of its original: not on its database, its sockets or its
 * processes.
 */
#ifndef MODEL_IDENTITY_H
#define MODEL_IDENTITY_H

#include <stdbool.h>
#include <stdint.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

#define IDENTITY_FILE "identity.xml" /* beside config.xml */

struct identity {
	const char *id;  /* 32 hexadecimal digits, drawn; a copy that becomes a project
	              of its  own draws others */
	const char *dir; /* of config.xml, without links */
	int64_t inode;   /* of that directory */
	const char *machine;    /* /etc/machine-id, "" where there is none */
	const char *database;   /* "stars on db.example.org:3306", "locus of its own" */
	const char *master_url; /* canonical */
	const char *run_dir;    /* when it was started last; "" = unknown; not judged */
};

enum standing {
	STANDING_SAME,     /* the project itself */
	STANDING_NEW,      /* nothing is noted yet */
	STANDING_MOVED,    /* the same directory under another name */
	STANDING_COPY,     /* its original is where it was noted */
	STANDING_UNSURE,   /* moved to another disk or machine, or a copy */
	STANDING_DATABASE, /* config.xml names another database than was noted */
	STANDING_URL       /* or another master URL */
};

struct identity_there { /* what is now at the place that was noted */
	bool here;      /* the same directory: a link to it, or another mount */
	const char *id; /* NULL: no project, or none that we may read */
};

/* Pure; there is looked at only if both directories differ. */
enum standing identity_judge(const struct identity *noted, const struct identity *now,
    const struct identity_there *there);

/* What would be noted now; its id is NULL. */
enum err identity_now(
    struct arena *, const struct conf *, struct identity *, struct fail *);
/* E_NOTFOUND if none is noted; E_CONFIG if the file is broken. */
enum err identity_read(
    struct arena *, const char *dir, struct identity *, struct fail *);
/* An id of NULL is drawn. */
enum err identity_write(struct arena *, struct identity *, struct fail *);
/* How the project of that configuration stands; *noted has NULLs for STANDING_NEW. */
enum err identity_look(struct arena *, const struct conf *, struct identity *noted,
    struct identity *now, enum standing *, struct fail *);
/*
 * For all that acts: OK for the project itself, one that was moved, and one without a
 * note; else E_CONFIG, with what is the matter and the command for it.
 */
enum err identity_check(struct arena *, const struct conf *, struct fail *);

#endif
