/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The triggers of LocalityScheduling (locality.md 1.1): need_work, no_work_available,
 * file_working_set, files_no_work.  The option locality_store says where they are: in
 * directories below PROJECT/locality_scheduling, or in rows of sched_trigger, for
 * projects on several machines.  The same operations in both, each a single step that
 * any number of processes may do at once; none may be called inside a transaction.
 *
 * A name is only ever used after its file was found in the file table; names with "/",
 * a leading "." or over 190 bytes are refused here as well (E_BADREQ).  Rows stand for
 * file sets: to raise the trigger of another name is E_NOTFOUND there.
 */
#ifndef DB_TRIGGER_H
#define DB_TRIGGER_H

#include <stdbool.h>
#include "db/db.h"
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

struct triggers { /* of one project, as one process sees them */
	const struct conf *conf;
	struct db *db;     /* of directories: only no_work.h needs it */
	const char *owner; /* of claims made here; NULL = it makes none */
};

/*
 * An older claim is nobody's any more: whoever made it would be done or have given up.
 * The generator and locus fsck --repair make it a trigger again.
 */
enum { CLAIM_STALE_S = 600 };

struct claim {
	char *name;
	char *owner;   /* "" = not known: directories do not tell */
	int64_t age_s; /* since it was claimed; the trigger's own time is older */
};

/* Are they rows, so that nothing works without the database? */
bool triggers_in_rows(const struct conf *);
/* "need_work", ...: its name in LocalityScheduling, the same in both stores. */
const char *trigger_name(enum trigger);

/* Its directory; NULL if they are rows. */
char *trigger_dir(struct arena *, const struct conf *, enum trigger);
/* The directories, if it is they. */
enum err trigger_dirs_make(const struct conf *, struct fail *);
/* No change if there. */
enum err trigger_raise(
    const struct triggers *, enum trigger, const char *name, struct fail *);
/* Absent is OK. */
enum err trigger_clear(
    const struct triggers *, enum trigger, const char *name, struct fail *);
/* In s; -1 = absent, also for names that are refused. */
enum err trigger_age(const struct triggers *, enum trigger, const char *name,
    int64_t now, int64_t *age_s, struct fail *);
/* The same of many; age_s[n]. */
enum err trigger_ages(const struct triggers *, struct arena *, enum trigger,
    char *const *names, size_t n, int64_t now, int64_t *age_s, struct fail *);
/* Which of these are there; there[n]. */
enum err trigger_there(const struct triggers *, struct arena *, enum trigger,
    char *const *names, size_t n, bool *there, struct fail *);
/* Names, sorted bytewise; claims left out. */
enum err trigger_list(const struct triggers *, struct arena *, enum trigger,
    char ***names, size_t *n, struct fail *);
/*
 * May the names be others than at the last look?  Directories tell by their time, so
 * that nobody need read them; rows do not tell, and the answer is no.
 */
bool trigger_changed(const struct triggers *, enum trigger, struct fs_seen *);
/* Is the name in such a list? */
bool trigger_in(char *const *names, size_t n, const char *name);

/*
 * need_work/F becomes a claim: .claim-F by rename, or by a conditional update.
 * E_NOTFOUND if F is not there or is claimed already; then what was raised meanwhile
 * stays for the next claim.
 */
enum err trigger_claim(const struct triggers *, const char *name, struct fail *);
/* Its work is made.  A claim that is somebody else's, or is gone, stays so: OK. */
enum err trigger_claim_done(const struct triggers *, const char *name, struct fail *);
/*
 * The other way round: the claim is a trigger again, as one with one that was raised
 * meanwhile.  It needs no room on the disk.  E_NOTFOUND if there is no such claim.
 */
enum err trigger_claim_back(const struct triggers *, const char *name, struct fail *);
/* Sorted by name. */
enum err trigger_claims(const struct triggers *, struct arena *, int64_t now,
    struct claim **, size_t *n, struct fail *);

#endif
