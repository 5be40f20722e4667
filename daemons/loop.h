/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What every daemon shares: options, configuration, log, lock, pid file, database,
 * signals, and the loop around step(). A daemon is a struct daemon and a main() that
 * passes it to daemon_main(). Exit codes: 0 asked to stop, 1 failed, 2 usage, 69 no
 * database (single pass), 75 another instance runs, 77 a permission is missing, 78
 * configuration or schema.
 */
#ifndef DAEMONS_LOOP_H
#define DAEMONS_LOOP_H

#include <stdbool.h>
#include <stdint.h>
#include "daemons/items.h"
#include "daemons/handlers.h"
#include "db/db.h"
#include "db/trigger_rows.h"
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/field.h"
#include "lib/rng.h"
#include "model/conf.h"
#include "model/path.h"
#include "model/rows.h"

/* The context of a step. */
struct daemon_ctx {
	struct arena a;     /* of this step; reset after it */
	struct arena *life; /* lives as long as the process */
	const char *name;   /* of this instance */
	const struct conf *conf;
	struct db *db;
	struct triggers triggers; /* owner: this instance on this machine */
	struct rng rng;
	int64_t now;          /* read once per step */
	int64_t mod_n, mod_i; /* this instance handles ids with id % n = i */
	bool dry_run, one_pass;
	struct lease_keeper *keeper;  /* NULL: this run needs no lease */
	struct item_backoff *backoff; /* failed items; NULL = the daemon keeps none */
	bool aside;                   /* workunits are put aside (queue.h) */
	struct handlers *handlers;    /* NULL = no handler */
	const char *trouble;          /* set by daemon_trouble() in this step */
	struct doorbells doorbells;   /* of this machine */
	void *own;                    /* the daemon's own options and state */
	struct fail fail;
};

struct daemon {
	const char *name, *purpose;
	/*
	 * Sleep after a step that found nothing to do; its doorbell ends the sleep.
	 */
	int idle_ms;
	enum doorbell bell;
	bool can_dry_run;
	/*
	 * Claims each item for itself, so that instances on several machines share the
	 * work; else one instance at a time has the lease of its share.
	 */
	bool claims_items;
	size_t own_size;
	const struct field *options; /* of own; NULL = none */
	/* Any of these may be NULL. check: are the options consistent? */
	enum err (*check)(const void *own, struct fail *);
	/* Called once, before the first step; retried after a failure. */
	enum err (*start)(struct daemon_ctx *);
	void (*end)(struct daemon_ctx *); /* releases what no arena owns */
	/* One pass over what is due; *done counts the items handled, 0 = idle. */
	enum err (*step)(struct daemon_ctx *, size_t *done);
};

/*
 * The command line of a daemon: one table of common options and one of its own.
 * Options take one dash or two, with - or _ between words, because admins' scripts
 * write --one_pass, -one_pass and --one-pass.
 */
struct daemon_common {
	char *project, *name, *log;
	int64_t debug;
	int64_t mod[2];
	double sleep_s;
	bool one_pass, dry_run, no_lease;
	char *work; /* name of the share of the work, whatever the instance is called */
};

/*
 * Fills common and own, defaults first. Returns -1 to go on; otherwise the exit status,
 * after printing what was asked for, or which option is wrong and what it takes.
 */
int options_read(struct arena *, const struct daemon *, struct daemon_common *,
    void *own, int argc, char **argv);

/* Runs a daemon until it is asked to stop; returns the exit status. */
int daemon_main(const struct daemon *, int argc, char **argv);

/*
 * Is it time to stop (a signal, the file stop_daemons in the project, or the lease has
 * ended)? Asked between items, and before anything that cannot be undone.
 */
bool daemon_stopping(const struct daemon_ctx *);

/*
 * Wakes the daemons of this machine that listen to this bell, after the commit that
 * made work for them.
 */
void daemon_ring(struct daemon_ctx *, enum doorbell);

/*
 * What a leased daemon writes outside of these transactions is conditional or can be
 * repeated: the triggers of working_set_manager (see there), the copies and archives
 * of assimilator and db_purge, which a crash repeats, too, and the removal of files.
 */
/*
 * Runs unit(x, arg) in a transaction that the daemon's lease guards: E_RACE if another
 * instance has the lease by now. On E_RETRY rolls back and runs it again, at most
 * 8 times; on any other error rolls back and returns it. A unit that reads the rows it
 * decides on turns E_RACE into E_RETRY.
 */
enum err daemon_transaction(
    struct daemon_ctx *, enum err (*unit)(struct daemon_ctx *, void *), void *arg);

/*
 * Handles the outcome e of one item. OK forgets its failures. An error of the item
 * itself is logged with label, the item is put aside for a while, and the function
 * returns OK so that the others go on. Only a lost database or a full disk is
 * returned: the loop then waits, and the item counts no failure.
 */
enum err daemon_item_ended(struct daemon_ctx *, struct item_backoff *, int64_t key,
    const char *label, enum err e);

/*
 * Sets the trouble that locus status shows, until a later step does some work without
 * trouble and no failed item is left. The last call of a step counts.
 */
void daemon_trouble(struct daemon_ctx *, const char *fmt, ...)
    __attribute__((format(printf, 2, 3)));

/* Makes the table of failed items, for daemon_item_ended(). */
struct item_backoff *daemon_backoff(
    struct daemon_ctx *, int64_t first_s, int64_t most_s);

/*
 * Looks up the id of an app once and keeps it in *id (0 before). E_NOTFOUND says how
 * to add the app.
 */
enum err daemon_app_id(struct daemon_ctx *, const char *name, int64_t *id);

/*
 * Splits a project's command into words; E_CONFIG if there are none. cmd NULL gives no
 * words.
 */
enum err daemon_split_command(
    struct daemon_ctx *, const char *cmd, char ***argv, size_t *argc);

#endif
