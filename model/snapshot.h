/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All rows that one decision may look at, read before it; the same loader serves the
 * scheduler, replay and explain.  Plain data.  What is added here is added to
 * proto/trace.def too.
 */
#ifndef MODEL_SNAPSHOT_H
#define MODEL_SNAPSHOT_H

#include <stdbool.h>
#include "model/conf.h"
#include "model/job_limits.h"
#include "model/plan_class.h"
#include "model/prefs.h"
#include "model/rows.h"

struct catalog { /* small tables, process lifetime, reloaded when they change */
	struct app *apps;
	size_t napps;
	struct platform *platforms;
	size_t nplatforms;
	struct app_version
	    *versions; /* deprecated ones only if workunits may be bound */
	size_t nversions;
	/* Benchmarks of the newest hosts, FLOP/s of one CPU; 0 = there are too few. */
	double fpops_median, fpops_p95;
	/* From plan_class_spec.xml; NULL = the project has none. */
	const struct plan_classes *classes;
	/* From config_aux.xml; NULL = none. */
	const struct job_limits *limits;
};
/* Sets the benchmarks' percentiles from n of them; sorts v.  Zeros do not count. */
void catalog_benchmarks(struct catalog *, double *v, size_t n);
/*
 * The master switch (locality.md 1.1 (L4)): the project schedules by locality, or one
 * of its apps does.  Without it jobs that need large files are found by the search, and
 * nothing else is done about files: no host is told to delete any, no trigger is raised
 * or waited for, the working set is not looked at.
 */
bool catalog_locality(const struct catalog *, const struct conf *);
const struct app *catalog_app(const struct catalog *, int64_t id); /* NULL if none */
const struct app *catalog_app_named(const struct catalog *, const char *);
const struct platform *catalog_platform(const struct catalog *, int64_t id);
const struct platform *catalog_platform_named(const struct catalog *, const char *);

/* A derived state (locality.md 2); only the last two allow a delete order. */
enum file_state { FILE_ADVERTISED, FILE_DRAINING, FILE_EXHAUSTED, FILE_DEAD };

/* In the index of unsent results: file sets first, by id, then plain shards. */
struct place {
	int64_t ready, id; /* 0, 0 = none */
};

/*
 * A search for candidates beyond the first ones.  It goes once around what it is for,
 * from where the host's last search ended.
 */
struct snap_search {
	bool left;          /* some candidate was not read */
	bool held_left;     /* some of what the host has is to be read next */
	bool new_files_out; /* files that the host lacks were not looked for */
	bool *unread;       /* by place of the catalogue: apps whose plain jobs were
	                       not looked at */
	bool began, wrapped;
	struct place from;
	struct place before, at; /* read so far, without and with the last slice */
	size_t rows;
};

struct snap_member { /* a file of a set */
	int64_t fileset_id, file_id;
	char *name;
	int64_t bytes;
	bool held;       /* the host has it, or is fetching it */
	bool has_others; /* it is in more sets, which are not in the snapshot */
	bool elsewhere;  /* another host that is active holds it; only read where
	                    locality_keep_last_holder asks for it */
};

struct snap_file { /* a file set that this request may be served from */
	int64_t fileset_id;
	char *name;
	bool held;              /* the host has all of its files */
	bool from_working_set;  /* picked for a host without work on its files */
	bool searched;          /* found by the deterministic search */
	int64_t bytes;          /* of all its files */
	int64_t bytes_missing;  /* of those that the host does not have */
	bool no_work_available; /* the generator said: nothing can be made any more */
	bool no_work_is_news;   /* said a moment ago: last results may still come */
	bool paused;            /* the admin holds it back */
	bool draining;          /* the admin: no new work, no new holders */
	int64_t demand_time;    /* when a host last asked for more of it; 0 = never */
	bool unread;            /* nobody looked at its results; all is possible */
	bool has_unsent;        /* some unsent result exists, for this user or not */
	bool has_open_wu;       /* a workunit of it may still produce results */
	bool has_any_wu;        /* it ever had one: false = never generated */
	/* Jobs up to this id are not for this user, as it was passed over with them:
	 * the largest id that it got of the set; 0 = none. */
	int64_t last_id;
	bool last_read; /* last_id was looked for; else it is 0, and no job is below it
	                 */
	/* But those below this one are again: the largest id that it was sent
	 * locality_skip_release ago or earlier; 0 = none. */
	int64_t released_id;
	struct job *jobs; /* unsent candidates in increasing id */
	size_t njobs;
};

/* Nothing of it is for this host now: a file that drains is for its holders. */
static inline bool
snap_file_held_back(const struct snap_file *f)
{
	return f->paused || (f->draining && !f->held);
}

struct snap_report { /* a reported result, aligned with request.reports */
	bool found;
	struct result result;
	bool same_user_host; /* its host is another one of the same user */
	int64_t owner_seen;  /* when that one last asked; 0 = its row is gone */
};

/* A task that the host says it has (request.other_results); the row may be gone. */
struct snap_other {
	bool found; /* a result of this account by that name, IN_PROGRESS or NO_REPLY */
	int32_t server_state, outcome;        /* of the result */
	int32_t error_mask, assimilate_state; /* of its workunit */
	int64_t owner; /* another host of the account that has it, 0 = it is this one's;
	                  else the rest is read as well */
	int64_t owner_seen; /* as in snap_report */
	int64_t result_id, appid, fileset_id;
};

struct snap_message { /* for this host, not handled yet (msg_to_host) */
	int64_t id;
	char *xml;
};

/*
 * What was seen with the host's row.  It spares the loader statements that would find
 * nothing; no decision looks at it, so it is not recorded.
 */
struct snap_glance {
	bool there;        /* it was looked at, and a moment ago */
	int32_t has_jobs;  /* some result is in progress on the host, or it says so */
	int32_t has_aimed; /* some workunit is for some hosts only */
	char *files;       /* ids of the rows of host_file, with commas between them */
	char *team_name;
	bool has_last;        /* the next two were looked at */
	int64_t last_ready;   /* the largest of result.ready; READY_SENT: nothing is
	                         unsent */
	int64_t last_fileset; /* the largest id; 0 = there is none */
};

struct snapshot {
	struct snap_glance glance;
	const struct catalog *cat;
	struct user user;
	struct host host;        /* a new host: id 0, filled from the request */
	bool host_new;           /* to be inserted by the commit */
	bool host_id_changed;    /* the reply carries <hostid> */
	bool detach_in_progress; /* found by similarity with nothing on it */
	bool weak_auth;
	bool has_time_stats_log, has_job_log; /* on file; read only if they are asked
	                                         for */
	/* Of the account so many other hosts have jobs in progress as may at once; read
	 * only if this one has none and could get some. */
	bool account_full;
	int64_t last_rpc_time; /* of the host, before this request; 0 = none */
	char *email_hash;      /* MD5 of the user's e-mail, hex; NULL = preferences are
	                          not stored */
	char *team_name;       /* "" = none */
	struct project_prefs project_prefs; /* the account's, at the host's venue */
	/* At the host's venue, for clients that sent no working preferences: those of
	 * the account, and the client's master copy. */
	struct rq_prefs account_prefs, master_prefs;
	struct host_app_version *havs;
	size_t nhavs;
	struct snap_report *reports; /* request.nreports of them */
	struct job *in_progress;     /* of this host, server_state 4, all columns */
	size_t nin_progress;
	/* Host row whose place this one takes, 0 = none: the last ninherited of
	 * in_progress are that row's until the commit. */
	int64_t predecessor;
	size_t ninherited;
	struct snap_other *others; /* aligned with request.other_results; NULL = not
	                              read, so that nothing unknown is aborted */
	struct file *held_files;   /* registered large files that the host has */
	size_t nheld_files;
	struct snap_file *files; /* in the order in which they are to be tried */
	size_t nfiles;
	struct snap_member *members; /* of all these sets, in no order */
	size_t nmembers;
	struct job *targeted; /* candidates that are for this host in particular */
	size_t ntargeted;
	struct job
	    *nci; /* of apps that use almost no CPU and that the host has none of */
	size_t nnci;
	struct job *plain; /* candidates without a file set */
	size_t nplain;
	int64_t *user_wus; /* workunits among the candidates that this user (or, by the
	                      host rule, this host) already has */
	size_t nuser_wus;
	struct snap_message *down;
	size_t ndown;
	/* On some requests: jobs drawn whatever the host holds, each of another file
	 * set, and the files of those sets (rules/sched/baseline_cost.h). */
	struct job *drawn;
	size_t ndrawn;
	struct snap_member *drawn_members;
	size_t ndrawn_members;
	struct snap_search search;     /* for files and plain jobs */
	struct snap_search nci_search; /* for nci */
	bool wait_possible; /* there is budget and a slot to wait for the generator */
	bool waited;        /* this is the extra attempt */
	bool wait_brought;  /* the wait ended as results of a wanted file were there */
};

#endif
