/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a FastCGI program keeps between requests: configuration, database connection,
 * catalogue, keys. Each is renewed when its source changes, so nothing needs a
 * restart.
 */
#ifndef SCHED_PROJECT_H
#define SCHED_PROJECT_H

#include "db/db.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/fs.h"
#include "model/conf.h"
#include "model/path.h"
#include "model/decision.h"
#include "proto/reply.h"
#include "sched/trace/recording.h"
#include "sched/rpc/rpc_log.h"
#include "rules/sched/limits.h"

struct decision_log;
struct admin_text { /* a file of proto/project_text.h, as last read */
	struct arena a;
	char *text; /* NULL = absent or unusable */
	struct fs_seen seen;
};

struct project {
	const char *program; /* name in the log */
	const char *config;  /* file used instead of config.xml, or NULL */
	bool look;           /* the database is opened read-only */
	char *dir;
	bool log_to_file;
	struct arena home, conf_arena, cat_arena, key_arena, class_arena;
	struct conf *conf;   /* never NULL: defaults if config.xml cannot be used */
	bool usable;         /* conf is the project's own */
	bool identified;     /* identity_check() succeeded */
	struct fail trouble; /* why conf is not usable; set by callers */
	struct fs_seen conf_seen, keys_seen, classes_seen, limits_seen, reread_seen,
	    stop_seen, dir_seen;
	bool dir_still; /* project_dir has not changed since the previous request */
	struct db *db;  /* NULL = not connected */
	struct catalog *cat; /* NULL = not loaded yet */
	int64_t cat_loaded;
	struct plan_classes *classes; /* NULL = the file cannot be used */
	struct job_limits *limits;    /* NULL = no limits */
	struct arena limits_arena;
	struct reply_keys keys;
	struct rpc_dump rpc_dump;
	struct decision_log *decision_log; /* of all workers; NULL = not a scheduler */
	struct counts counts;
	struct doorbells doorbells;
	struct contention contention;
	int64_t drawn_at; /* rpc.h */
	struct admin_text admin_texts[PROJECT_TEXTS];
	const char *texts[PROJECT_TEXTS]; /* the texts in admin_texts, for replies */
};

/*
 * Finds the project (dir may be NULL, see conf_find_project) and notes where to log:
 * log_dir/PROGRAM.log, or standard error if log_to_file is false. E_CONFIG if there is
 * no project.
 */
enum err project_find(struct project *, const char *program, const char *dir,
    bool log_to_file, struct fail *);

/*
 * Reads config.xml again if it has changed, and nothing else. E_CONFIG: conf holds
 * defaults.
 */
enum err project_read_config(struct project *, struct fail *);

/*
 * Reads config.xml, the keys, plan_class_spec.xml and the job limits again if they have
 * changed. E_CONFIG: conf holds defaults. Without usable plan classes, versions that
 * have one are not sent; this is logged when the file is read.
 */
enum err project_configure(struct project *, struct fail *);

/* Does the file stop_sched exist? */
bool project_stopped(struct project *);

/*
 * Connects or reconnects, and reloads the catalogue if reread_db was touched or the
 * catalogue is older than 60 s. now: seconds UTC. E_DB, E_CONFIG: there is no usable
 * database.
 */
enum err project_connect(struct project *, int64_t now, struct fail *);

/*
 * Returns the project's own texts for replies, read again when their files change.
 * Unusable texts are left out of replies and logged when read.
 */
const char *const *project_texts(struct project *);

void project_close(struct project *); /* frees everything, at the end of the process */

#endif
