/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The directories of LocalityScheduling: a trigger is an empty file, its age is the
 * file's. Every change is one system call (create, unlink, rename), so that any number
 * of processes may do it.
 */
#include "trigger/store.h"

#include <string.h>
#include <sys/stat.h>
#include "lib/buf.h"
#include "lib/fs.h"
#include "lib/banned.h"

enum { NAMES_MAX = 100000 };

static const char claim_prefix[] = ".claim-";

static char *dir_path(struct arena *a, const struct conf *cf, enum trigger t)
{
	const char *name = trigger_name(t);

	/* Programs written for BOINC before 2010 know two of them by other names. */
	if (cf->locality_old_names && t == TRIGGER_WORKING_SET)
		name = "work_available";
	else if (cf->locality_old_names && t == TRIGGER_FILES_NO_WORK)
		name = "working_set_removal";
	return arena_printf(
	    a, "%s/%s", project_path(a, cf, "locality_scheduling"), name);
}

char *trigger_dir(struct arena *a, const struct conf *cf, enum trigger t)
{
	return triggers_in_rows(cf) ? NULL : dir_path(a, cf, t);
}

/* prefix is "" or the claim prefix. */
static char *trigger_path(struct arena *a, const struct conf *cf, enum trigger t,
    const char *prefix, const char *name)
{
	return arena_printf(a, "%s/%s%s", dir_path(a, cf, t), prefix, name);
}

enum err trigger_dirs_make(const struct conf *cf, struct fail *f)
{
	struct arena a = { 0 };
	enum err e = OK;

	for (enum trigger t = 0; t < TRIGGER__MAX && e == OK && !triggers_in_rows(cf);
	     t++)
		e = fs_mkdirs(dir_path(&a, cf, t), 0775, f);
	arena_free(&a);
	return e;
}

static bool dirs_changed(
    const struct triggers *t, enum trigger of, struct fs_seen *seen)
{
	struct arena a = { 0 };
	bool changed = fs_changed(dir_path(&a, t->conf, of), seen);

	arena_free(&a);
	return changed;
}

static enum err dirs_change(const struct triggers *t, enum trigger_op op,
    enum trigger of, const char *name, struct fail *f)
{
	struct arena a = { 0 };
	char *path = trigger_path(&a, t->conf, of, "", name);
	char *claim = trigger_path(&a, t->conf, of, claim_prefix, name);
	enum err e = OK;

	switch (op) {
	case TRIGGER_OP_RAISE:
		e = fs_touch(path, f);
		break;
	case TRIGGER_OP_CLEAR:
		e = fs_unlink(path, f);
		break;
	case TRIGGER_OP_CLAIM:
		e = fs_rename_new(path, claim, f);
		e = e == E_RACE ? (f->code = E_NOTFOUND) : e;
		break;
	case TRIGGER_OP_DONE:
		e = fs_unlink(claim, f);
		break;
	case TRIGGER_OP_BACK:
		e = fs_rename(claim, path, f);
		break;
	}
	arena_free(&a);
	return e;
}

static enum err dirs_since(const struct triggers *t, struct arena *a, enum trigger of,
    char *const *names, size_t n, int64_t *since, struct fail *f)
{
	struct buf path = buf_new(a);
	size_t dir_n;

	(void)f;
	buf_puts(&path, dir_path(a, t->conf, of));
	buf_puts(&path, "/");
	dir_n = path.n;
	for (size_t i = 0; i < n; i++) {
		path.n = dir_n;
		buf_puts(&path, names[i]);
		since[i] = fs_mtime(path.p);
	}
	return OK;
}

/* Names whose prefix is as given, without it; an absent directory has none. */
static enum err names_in(const struct triggers *t, struct arena *a, enum trigger of,
    const char *prefix, char ***names, size_t *n, struct fail *f)
{
	char **all = NULL;
	size_t nall = 0, skip = strlen(prefix);
	enum err e = fs_list(a, dir_path(a, t->conf, of), NAMES_MAX, &all, &nall, f);

	*n = 0;
	*names = all;
	if (e == E_NOTFOUND)
		return OK;
	for (size_t i = 0; e == OK && i < nall; i++)
		if (strncmp(all[i], prefix, skip) == 0 && all[i][skip] != '.' &&
		    all[i][skip] != '\0')
			all[(*n)++] = all[i] + skip;
	return e;
}

static enum err dirs_list(const struct triggers *t, struct arena *a, enum trigger of,
    char ***names, size_t *n, struct fail *f)
{
	return names_in(t, a, of, "", names, n, f);
}

/* A rename sets st_ctime; the file's own time stays that of the trigger. */
static int64_t claim_age_s(
    const struct triggers *t, struct arena *a, const char *name, int64_t now)
{
	struct stat st;

	if (stat(trigger_path(a, t->conf, TRIGGER_NEED_WORK, claim_prefix, name),
		&st) != 0)
		return -1;
	return st.st_ctime < now ? now - (int64_t)st.st_ctime : 0;
}

static enum err dirs_claims(const struct triggers *t, struct arena *a, int64_t now,
    struct claim **claims, size_t *n, struct fail *f)
{
	char **names;
	size_t nnames;
	enum err e = names_in(
	    t, a, TRIGGER_NEED_WORK, claim_prefix, &names, &nnames, f);

	*n = 0;
	*claims = NEWN(a, struct claim, nnames + 1);
	for (size_t i = 0; e == OK && i < nnames; i++) {
		struct claim c = { .name = names[i], .owner = arena_strdup(a, "") };

		c.age_s = claim_age_s(t, a, c.name, now);
		if (c.age_s >= 0)
			(*claims)[(*n)++] = c;
	}
	return e;
}

const struct trigger_store trigger_store_dirs = {
	.change = dirs_change,
	.since = dirs_since,
	.list = dirs_list,
	.claims = dirs_claims,
	.changed = dirs_changed,
};
