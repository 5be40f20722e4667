/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every daemon shares: options, configuration, log, lock, pid file, database,
 * signals and the loop around one step().  A daemon is a struct daemon and a main()
 * that hands it over. Exit codes: 0 asked to end, 1 failed, 2 usage, 69 no database
 * (one pass), 75 another instance runs, 78 configuration or schema.
 */
#ifndef DAEMONS_LOOP_H
#define DAEMONS_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include "daemons/backoff.h"
#include "db/db.h"
#include "db/trigger.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/rng.h"
#include "model/conf.h"
#include "model/rows.h"

/* Everything a step works with. */
struct daemon_ctx {
	struct arena a;     /* of this step: reset after it */
	struct arena *life; /* of the process */
	const struct conf *conf;
	struct db *db;
	struct triggers triggers; /* owner: this instance on this machine */
	struct rng rng;
	int64_t now;          /* read once per step */
	int64_t mod_n, mod_i; /* this instance does ids with id % n = i */
	bool dry_run, one_pass;
	struct item_backoff
	    *backoff;        /* items that failed; NULL = the daemon keeps none */
	const char *trouble; /* of this step, by daemon_trouble() */
	void *own;           /* options and state of the daemon */
	struct fail fail;
};

enum daemon_type {
	OPTION_FLAG, /* bool */
	OPTION_INT,  /* int64_t */
	OPTION_REAL, /* double */
	OPTION_TEXT, /* char *           */
	OPTION_PAIR, /* int64_t[2]: two arguments, 0 <= second < first */
};
struct daemon_option {
	const char *name; /* taken as --name or -name, with - or _ between words */
	char letter;      /* taken as -x as well; 0 = none */
	enum daemon_type type;
	size_t off;      /* of the field in own */
	const char *arg; /* what stands for the value in --help; NULL for a flag */
	const char *def; /* default, in the same syntax; NULL = zero */
	double min, max; /* of numbers */
	const char *help;
	bool required;
};

struct daemon {
	const char *name, *purpose;
	int idle_ms; /* sleep when a step found nothing to do */
	bool can_dry_run;
	size_t own_size;
	const struct daemon_option *options;
	size_t noptions;
	/* Any of these may be NULL.  check: do the options go together? */
	enum err (*check)(const void *own, struct fail *);
	/* Once, before the first step; after a failure it is called again. */
	enum err (*start)(struct daemon_ctx *);
	void (*end)(struct daemon_ctx *); /* gives back what no arena owns */
	/* One pass over what is due; *done counts the items dealt with, 0 = idle. */
	enum err (*step)(struct daemon_ctx *, size_t *done);
};

/* Runs a daemon to its end; the exit status. */
int daemon_main(const struct daemon *, int argc, char **argv);

/* Is it time to end?  Asked between items: a signal, or the file stop_daemons in the
 * project. */
bool daemon_stopping(const struct daemon_ctx *);

/*
 * Runs unit(x, arg) in a transaction.  E_RETRY rolls back and starts it again, at most
 * 8 times; other errors roll back and are returned.  A unit that reads what it decides
 * on turns E_RACE into E_RETRY.
 */
enum err daemon_transaction(
    struct daemon_ctx *, enum err (*unit)(struct daemon_ctx *, void *), void *arg);

/*
 * How one item ended: e is what it returned.  OK forgets its failures.  A failure of
 * its own is logged with label and the item put aside for a while: OK, the others go
 * on.  Only when the database is gone or a disk is full is that returned, for the loop
 * to wait: the item is as good as before.
 */
enum err daemon_item_ended(struct daemon_ctx *, struct item_backoff *, int64_t key,
    const char *label, enum err e);

/*
 * What keeps an item from being done, for locus status: shown until a later step did
 * something without trouble and no failed item is left.  The last one of a step counts.
 */
void daemon_trouble(struct daemon_ctx *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/*
 * each(x, wu) for the n workunits of a batch, but for those that are put aside, until
 * it is time to end; daemon_item_ended sees to its failures.  *done counts the good
 * ones.
 */
enum err daemon_workunits(struct daemon_ctx *, struct item_backoff *, struct workunit *,
    size_t n, enum err (*each)(struct daemon_ctx *, struct workunit *), size_t *done);

/*
 * some(x, chunk, m) for at most so many at a time, by id, without those that are put
 * aside. If that fails, one of them may be to blame: then it is daemon_workunits() with
 * each.
 */
enum err daemon_chunks(struct daemon_ctx *, struct item_backoff *, struct workunit *,
    size_t n, size_t most,
    enum err (*some)(struct daemon_ctx *, struct workunit *const *, size_t),
    enum err (*each)(struct daemon_ctx *, struct workunit *), size_t *done);

/* Pauses of a daemon that retries by daemon_item_ended. */
struct item_backoff *daemon_backoff(
    struct daemon_ctx *, int64_t first_s, int64_t most_s);

/* Id of an app, found once and kept in *id (0 before).  E_NOTFOUND says how to add it.
 */
enum err daemon_app_id(struct daemon_ctx *, const char *name, int64_t *id);

/* Words of a project's command; E_CONFIG if there are none.  NULL gives none. */
enum err daemon_split_command(
    struct daemon_ctx *, const char *cmd, char ***argv, size_t *argc);

#endif
