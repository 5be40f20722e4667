/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Checks the triggers: names that are not file sets, and triggers that nobody serves.
 */
#include "db/entity.h"
#include "db/trigger_rows.h"
#include "tools/fsck.h"
#include "lib/banned.h"

enum { VAIN_S = 60, WAITS_S = 600 };

/* Sets *fs to NULL if there is no file set of that name. */
static enum err
find_fileset(struct fsck *k, const char *name, struct fileset **fs)
{
	enum err e = fileset_by_name(k->x->db, k->x->a, name, fs, k->x->f);

	if (e == E_NOTFOUND)
		*fs = NULL;
	return e == E_NOTFOUND ? OK : e;
}

static enum err
check_claim(struct fsck *k, const struct claim *c)
{
	const struct triggers t = triggers_of(k->x->cf, k->x->db, c->owner);
	struct fileset *fs;
	enum err e = find_fileset(k, c->name, &fs);

	if (e != OK || c->age_s < CLAIM_STALE_S)
		return e;
	/* Raises the trigger before the claim is removed, so that the demand is never
	 * lost. */
	if (k->repair && fs != NULL)
		e = trigger_raise(&t, TRIGGER_NEED_WORK, c->name, k->x->f);
	if (k->repair && e == OK)
		e = trigger_claim_done(&t, c->name, k->x->f);
	if (e == OK)
		fsck_found(k, fs == NULL ? FSCK_CLAIM_STRANGER : FSCK_CLAIM_STALE,
		    c->name, c->owner, k->repair);
	return e;
}

static enum err
check_need_work(struct fsck *k, const char *name, const struct fileset *fs)
{
	const struct triggers t = triggers_of(k->x->cf, k->x->db, NULL);
	int64_t age = -1, no_work = -1;

	TRY(trigger_age(&t, TRIGGER_NEED_WORK, name, k->now, &age, k->x->f));
	TRY(trigger_age(
	    &t, TRIGGER_NO_WORK_AVAILABLE, name, k->now, &no_work, k->x->f));
	if (age > VAIN_S && fs->gen_next >= fs->gen_parts && no_work >= 0)
		fsck_found(k, FSCK_NEED_WORK_VAIN, name, "", false);
	else if (age > WAITS_S && k->running && fs->paused == 0)
		fsck_found(k, FSCK_NEED_WORK_WAITS, name, "", false);
	return OK;
}

static enum err
check_trigger_dir(struct fsck *k, enum trigger dir, enum fsck_code stranger)
{
	const struct triggers t = triggers_of(k->x->cf, k->x->db, NULL);
	struct fileset *fs;
	char **names;
	size_t n;
	enum err e = trigger_list(&t, k->x->a, dir, &names, &n, k->x->f);

	for (size_t i = 0; e == OK && i < n; i++) {
		e = find_fileset(k, names[i], &fs);
		if (e != OK)
			continue;
		if (fs == NULL) {
			if (k->repair)
				e = trigger_clear(&t, dir, names[i], k->x->f);
			if (e == OK)
				fsck_found(k, stranger, names[i], "", k->repair);
		} else if (dir == TRIGGER_NEED_WORK) {
			e = check_need_work(k, names[i], fs);
		}
	}
	return e;
}

enum err
fsck_triggers(struct fsck *k)
{
	static const struct {
		enum trigger dir;
		enum fsck_code stranger;
	} dirs[] = {
		{ TRIGGER_NEED_WORK, FSCK_NEED_WORK_STRANGER },
		{ TRIGGER_NO_WORK_AVAILABLE, FSCK_NO_WORK_STRANGER },
		{ TRIGGER_WORKING_SET, FSCK_WORKING_SET_STRANGER },
		{ TRIGGER_FILES_NO_WORK, FSCK_FILES_NO_WORK_STRANGER },
	};
	const struct triggers t = triggers_of(k->x->cf, k->x->db, NULL);
	struct claim *claims;
	size_t n;

	TRY(trigger_claims(&t, k->x->a, k->now, &claims, &n, k->x->f));
	for (size_t i = 0; i < n; i++)
		TRY(check_claim(k, &claims[i]));
	for (size_t i = 0; i < N(dirs); i++)
		TRY(check_trigger_dir(k, dirs[i].dir, dirs[i].stranger));
	return OK;
}
