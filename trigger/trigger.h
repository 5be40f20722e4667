/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The triggers of LocalityScheduling (locality.md 1.1): need_work, no_work_available,
 * file_working_set, files_no_work. The option locality_store says where they are
 * stored: in directories below PROJECT/locality_scheduling (dirs.c) or, for projects on
 * several machines, in rows of sched_trigger (db/trigger_rows.c). Both stores have the
 * same operations (store.h); each is a single step that any number of processes may
 * make at once, and none may be called inside a transaction.
 *
 * A name is used only after its file was found in the file table; names with "/", a
 * leading "." or over 190 bytes are also refused here (E_BADREQ). Rows stand for file
 * sets: raising a trigger for another name is E_NOTFOUND there.
 */
#ifndef TRIGGER_TRIGGER_H
#define TRIGGER_TRIGGER_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "lib/fs.h"
#include "model/conf.h"

enum trigger {
	TRIGGER_NEED_WORK,
	TRIGGER_NO_WORK_AVAILABLE,
	TRIGGER_WORKING_SET,
	TRIGGER_FILES_NO_WORK,
	TRIGGER__MAX
};

struct db;
struct trigger_cache;
struct trigger_store;

/* A project's triggers, as used by one process; triggers_of() of db/trigger_rows.h. */
struct triggers {
	const struct trigger_store *store;
	const struct conf *conf;
	struct db *db;               /* where the rows are; directories need none */
	struct trigger_cache *cache; /* for the functions of cache.h */
	const char *owner; /* owner of claims made here; NULL = makes no claims */
};

/*
 * A claim older than this is stale: its owner would have finished or given up. The
 * generator and locus fsck --repair turn it into a trigger again.
 */
enum { CLAIM_STALE_S = 600 };

struct claim {
	char *name;
	char *owner;   /* "" = unknown: directories do not record it */
	int64_t age_s; /* since the claim; the trigger itself is older */
};

/* Are the triggers rows, so that nothing works without the database? */
bool triggers_in_rows(const struct conf *);
/*
 * Returns "need_work", ...: the trigger's name in LocalityScheduling, the same in both
 * stores.
 */
const char *trigger_name(enum trigger);

/* Returns the trigger's directory; NULL if triggers are rows. */
char *trigger_dir(struct arena *, const struct conf *, enum trigger);
/* Makes the directories, unless triggers are rows. */
enum err trigger_dirs_make(const struct conf *, struct fail *);
/* Raises a trigger; no change if it is raised already. */
enum err trigger_raise(
    const struct triggers *, enum trigger, const char *name, struct fail *);
/* Clears a trigger; one that is not raised is OK. */
enum err trigger_clear(
    const struct triggers *, enum trigger, const char *name, struct fail *);
/* Returns the age of a trigger in s; -1 = not raised or the name is refused. */
enum err trigger_age(const struct triggers *, enum trigger, const char *name,
    int64_t now, int64_t *age_s, struct fail *);
/* Returns the ages of many triggers; age_s[n]. */
enum err trigger_ages(const struct triggers *, struct arena *, enum trigger,
    char *const *names, size_t n, int64_t now, int64_t *age_s, struct fail *);
/* Finds which of these triggers are raised; there[n]. */
enum err trigger_there(const struct triggers *, struct arena *, enum trigger,
    char *const *names, size_t n, bool *there, struct fail *);
/* Lists the names of raised triggers, sorted bytewise, without claims. */
enum err trigger_list(const struct triggers *, struct arena *, enum trigger,
    char ***names, size_t *n, struct fail *);
/*
 * May the names have changed since the last look? Directories show it by their time,
 * so that they need not be read; rows do not show it, and the answer is no.
 */
bool trigger_changed(const struct triggers *, enum trigger, struct fs_seen *);
/* Is the name in a list from trigger_list()? */
bool trigger_in(char *const *names, size_t n, const char *name);

/*
 * Turns need_work/F into a claim: .claim-F by rename, or a conditional update.
 * E_NOTFOUND if F is not raised or is claimed already; if it was raised again
 * meanwhile, it stays for the next claim.
 */
enum err trigger_claim(const struct triggers *, const char *name, struct fail *);
/*
 * Ends a claim whose work is made. A claim that is gone or has another owner is left
 * alone: OK.
 */
enum err trigger_claim_done(const struct triggers *, const char *name, struct fail *);
/*
 * Turns the claim back into a trigger, merged with one raised meanwhile. Needs no disk
 * space. E_NOTFOUND if there is no such claim.
 */
enum err trigger_claim_back(const struct triggers *, const char *name, struct fail *);
/* Lists all claims, sorted by name. */
enum err trigger_claims(const struct triggers *, struct arena *, int64_t now,
    struct claim **, size_t *n, struct fail *);

#endif
