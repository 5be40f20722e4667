/* SPDX-License-Identifier: Apache-2.0 */
/* Workunits: inserted, found, and listed for the daemons for which they are due. */
#ifndef DB_WORKUNIT_H
#define DB_WORKUNIT_H

#include "db/entity.h"
#include "model/rows.h"

/* A daemon's part of the work. */
struct wu_queue_id {
	const char *name; /* of the daemon's kind */
	int64_t appid;    /* 0 = it handles all apps */
	struct id_share part;
};

/* How workunits that a stage puts aside leave its queue. */
enum aside_how {
	ASIDE_NOTED,       /* the stage has none, and leaves out what is put aside */
	ASIDE_VALIDATOR,   /* the transitioner puts them back when next_time comes */
	ASIDE_ASSIMILATOR, /* it takes them out itself; workunits_assimilate_again() */
	ASIDE_TRANSITIONER,
};

struct wu_aside {
	const struct workunit *wu; /* as it was read */
	const char *reason;
	const char *detail; /* may be NULL, or many lines such as a traceback */
	int64_t next_time;  /* s UTC */
	bool left;          /* it has left the queue already */
};
/*
 * Puts n workunits aside, in the caller's transaction, and counts one more failed try
 * of each. A workunit that is no longer as it was read keeps its place.
 */
enum err workunits_put_aside(struct db *, struct arena *, const struct wu_queue_id *,
    enum aside_how, const struct wu_aside *, size_t n, int64_t now, struct fail *);
/* Forgets the troubles of at most DB_LIST_MAX workunits that this stage has handled;
 * *cleared: of how many there was one. */
enum err wu_troubles_clear(struct db *, const int64_t *workunitids, size_t n,
    const char *stage, int64_t *cleared, struct fail *);
/* Does any workunit have a trouble of this stage? */
enum err wu_trouble_any(
    struct db *, struct arena *, const struct wu_queue_id *, bool *any, struct fail *);
/* Lists a workunit's troubles, by stage. */
enum err wu_troubles(struct db *, struct arena *, int64_t workunitid,
    struct row_wu_trouble **, size_t *n, struct fail *);
/* Lists the troubles of a stage with any number of workunits, without the details. */
enum err wu_troubles_of_stage(struct db *, struct arena *, const int64_t *workunitids,
    size_t n, const char *stage, struct row_wu_trouble **, size_t *nrows,
    struct fail *);
/* Lists at most max ids whose time has come, the longest due first. */
enum err wu_troubles_due(struct db *, struct arena *, const struct wu_queue_id *,
    int64_t now, size_t max, int64_t **ids, size_t *n, struct fail *);
/*
 * Lists at most max ids that were put aside at `since` or later, and whose time is
 * still later.
 */
enum err wu_troubles_since(struct db *, struct arena *, const struct wu_queue_id *,
    int64_t since, size_t max, int64_t **ids, size_t *n, struct fail *);
/* Sets until when at most DB_LIST_MAX workunits are put aside. */
enum err wu_troubles_set_next(struct db *, const int64_t *ids, size_t n,
    const char *stage, int64_t next_time, struct fail *);
/* Which of at most DB_LIST_MAX workunits has any stage put aside? */
enum err wu_troubled(struct db *, struct arena *, const int64_t *ids, size_t nids,
    int64_t **troubled, size_t *n, struct fail *);
/* All stages try at most DB_LIST_MAX workunits again. */
enum err wu_troubles_retry(struct db *, const int64_t *ids, size_t n, struct fail *);
/* Puts at most DB_LIST_MAX workunits back into the assimilator's queue. */
enum err workunits_assimilate_again(
    struct db *, const int64_t *ids, size_t n, struct fail *);
/*
 * Lists the most frequent reasons among at most `looked` workunits that are put aside.
 */
enum err wu_troubles_reasons(struct db *, struct arena *, size_t looked, size_t max,
    struct row_aside **, size_t *n, struct fail *);

/* Queues from which samples are taken. */
enum wu_queue { QUEUE_TO_VALIDATE, QUEUE_TO_ASSIMILATE };
/*
 * At most max workunits of a queue, ids from `from` on; tried: also those that the
 * stage has put aside before.
 */
struct wu_sample {
	enum wu_queue queue;
	const struct wu_queue_id *stage;
	int64_t from;
	bool tried;
	size_t max;
};
enum err workunits_sampled(struct db *, struct arena *, const struct wu_sample *,
    struct workunit **, size_t *n, struct fail *);
/* The last id of an app's queue, of all shares; 0 = the queue is empty. */
enum err workunits_queue_end(struct db *, struct arena *, enum wu_queue, int64_t appid,
    int64_t *id, struct fail *);

#endif
