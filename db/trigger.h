/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seeds' directories below PROJECT/locality_scheduling (seed 003): need_work,
 * no_work_available, file_working_set, files_no_work.  A name is only ever used after
 * its file was found in the file table; names with "/", a leading "." or over 190 bytes
 * are refused here as well.
 */
#ifndef DB_TRIGGER_H
#define DB_TRIGGER_H

#include <stdbool.h>
#include "lib/arena.h"
#include "lib/err.h"
#include "model/conf.h"

enum trigger {
	TRIGGER_NEED_WORK,
	TRIGGER_NO_WORK_AVAILABLE,
	TRIGGER_WORKING_SET,
	TRIGGER_FILES_NO_WORK,
	TRIGGER__MAX
};

enum err trigger_dirs_make(const struct conf *, struct fail *);
enum err trigger_raise(const struct conf *, enum trigger, const char *name,
    struct fail *); /* no change if there */
enum err trigger_clear(const struct conf *, enum trigger, const char *name,
    struct fail *); /* absent is OK */
bool trigger_is(const struct conf *, enum trigger, const char *name);
int64_t trigger_age_s(
    const struct conf *, enum trigger, const char *name, int64_t now); /* -1 absent */
/* Names, sorted; claims (.claim-*) and other dot files left out. */
enum err trigger_list(struct arena *, const struct conf *, enum trigger, char ***names,
    size_t *n, struct fail *);
/* need_work/F -> need_work/.claim-F by rename; E_NOTFOUND if F is not there (someone
 * else has it). */
enum err trigger_claim(const struct conf *, const char *name, struct fail *);
enum err trigger_claim_done(const struct conf *, const char *name, struct fail *);
/*
 * The other way round: the claim is a trigger again, as one with one that was raised
 * meanwhile.  It needs no room on the disk.  E_NOTFOUND if there is no claim.
 */
enum err trigger_claim_back(const struct conf *, const char *name, struct fail *);
/* Names of claims, sorted. */
enum err trigger_claims(
    struct arena *, const struct conf *, char ***names, size_t *n, struct fail *);
/* Since it was claimed; the file's own time stays that of the trigger.  -1 absent. */
int64_t trigger_claim_age_s(const struct conf *, const char *name, int64_t now);

#endif
