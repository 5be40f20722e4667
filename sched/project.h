/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a FastCGI program keeps from one request to the next: configuration, database
 * connection, catalogue, keys.  Each is made anew when its source changed, so that
 * nothing has to be restarted.
 */
#ifndef SCHED_PROJECT_H
#define SCHED_PROJECT_H

#include "db/db.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/fs.h"
#include "model/conf.h"
#include "model/snapshot.h"
#include "proto/reply.h"
#include "sched/trace/rpc_dump.h"
#include "sched/trace/counts.h"
#include "sched/rpc/contention.h"

struct decision_log;
struct admin_text { /* a file of proto/project_text.h as it was read last */
	struct arena a;
	char *text; /* NULL: there is none, or it cannot be used */
	struct fs_seen seen;
};

struct project {
	const char *program; /* for the log */
	const char *config;  /* this file's text instead of config.xml's; NULL = no */
	bool look;           /* the database is only read */
	char *dir;
	bool log_to_file;
	struct arena home, conf_arena, cat_arena, key_arena, class_arena;
	struct conf *conf;   /* never NULL: defaults when config.xml cannot be used */
	bool usable;         /* conf is the project's */
	bool identified;     /* identity_check() was content */
	struct fail trouble; /* why it is not; set by whoever configures */
	struct fs_seen conf_seen, keys_seen, classes_seen, limits_seen, reread_seen,
	    stop_seen, dir_seen;
	bool dir_still;      /* project_dir is as it was at the request before */
	struct db *db;       /* NULL: not connected */
	struct catalog *cat; /* NULL: not loaded yet */
	int64_t cat_loaded;
	struct plan_classes *classes; /* NULL: the project has no such file */
	struct job_limits *limits;    /* NULL: none */
	struct arena limits_arena;
	struct reply_keys keys;
	struct rpc_dump rpc_dump;
	struct decision_log *decision_log; /* of all workers; NULL: not a scheduler */
	struct counts counts;
	struct contention contention;
	int64_t drawn_at; /* rpc.h */
	struct admin_text admin_texts[PROJECT_TEXTS];
	const char *texts[PROJECT_TEXTS]; /* of those, for replies */
};

/*
 * Finds the project (dir may be NULL, see conf_find_project) and opens the log:
 * log_dir/PROGRAM.log, or standard error when log_to_file is false.  E_CONFIG if there
 * is no project at all.
 */
enum err project_find(struct project *, const char *program, const char *dir,
    bool log_to_file, struct fail *);

/* Reads config.xml again if it changed, and nothing else.  E_CONFIG: conf holds
 * defaults. */
enum err project_read_config(struct project *, struct fail *);

/*
 * Reads config.xml and keys again if the file changed, and so plan_class_spec.xml.
 * E_CONFIG: conf holds defaults.  Without usable plan classes versions that have one
 * are not sent; that is logged when the file is read.
 */
enum err project_configure(struct project *, struct fail *);

/* Is there a file stop_sched? */
bool project_stopped(struct project *);

/*
 * Connects, or connects again, and reloads the catalogue when reread_db was touched or
 * it is older than 60 s.  now in s UTC.  E_DB, E_CONFIG: there is no usable database.
 */
enum err project_connect(struct project *, int64_t now, struct fail *);

/*
 * The project's own texts for replies, read again when their files changed.  What
 * cannot be used is left out of the replies and logged when it is read.
 */
const char *const *project_texts(struct project *);

void project_close(struct project *); /* at the end of the process: all is freed */

#endif
