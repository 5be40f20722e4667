/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The seeds' directories: a trigger is an empty file, its age is the file's.  Every
 * change is one system call (create, unlink, rename), so that any number of processes
 * may do it.
 */
#include "db/trigger.h"

#include <string.h>
#include <sys/stat.h>
#include "lib/fs.h"
#include "lib/banned.h"

enum { NAME_LEN_MAX = 190, PATH_LEN_MAX = 4096, NAMES_MAX = 100000 };

static const char *const dirs[TRIGGER__MAX] = {
	[TRIGGER_NEED_WORK] = "need_work",
	[TRIGGER_NO_WORK_AVAILABLE] = "no_work_available",
	[TRIGGER_WORKING_SET] = "file_working_set",
	[TRIGGER_FILES_NO_WORK] = "files_no_work",
};
static const char claim_prefix[] = ".claim-";

static bool
name_ok(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
	       strlen(name) <= NAME_LEN_MAX;
}

static char *
dir_path(struct arena *a, const struct conf *cf, enum trigger t)
{
	return arena_printf(
	    a, "%s/%s", project_path(a, cf, "locality_scheduling"), dirs[t]);
}

/* prefix is "" or the claim prefix; NULL if the name is refused. */
static char *
trigger_path(struct arena *a, const struct conf *cf, enum trigger t, const char *prefix,
    const char *name)
{
	if (!name_ok(name))
		return NULL;
	return arena_printf(a, "%s/%s%s", dir_path(a, cf, t), prefix, name);
}

static enum err
refuse(const char *name, struct fail *f)
{
	return FAIL(f, E_BADREQ,
	    "\"%.80s\" cannot be a trigger: 1 to %d bytes, no \"/\", no \".\" first",
	    name, NAME_LEN_MAX);
}

enum err
trigger_dirs_make(const struct conf *cf, struct fail *f)
{
	struct arena a = { 0 };
	enum err e = OK;

	for (enum trigger t = 0; t < TRIGGER__MAX && e == OK; t++)
		e = fs_mkdirs(dir_path(&a, cf, t), 0775, f);
	arena_free(&a);
	return e;
}

enum err
trigger_raise(const struct conf *cf, enum trigger t, const char *name, struct fail *f)
{
	struct arena a = { 0 };
	char *path = trigger_path(&a, cf, t, "", name);
	enum err e = path == NULL ? refuse(name, f) : fs_touch(path, f);

	arena_free(&a);
	return e;
}

enum err
trigger_clear(const struct conf *cf, enum trigger t, const char *name, struct fail *f)
{
	struct arena a = { 0 };
	char *path = trigger_path(&a, cf, t, "", name);
	enum err e = path == NULL ? refuse(name, f) : fs_unlink(path, f);

	arena_free(&a);
	return e;
}

int64_t
trigger_age_s(const struct conf *cf, enum trigger t, const char *name, int64_t now)
{
	struct arena a = { 0 };
	char *path = trigger_path(&a, cf, t, "", name);
	int64_t since = path == NULL ? -1 : fs_mtime(path);

	arena_free(&a);
	if (since < 0)
		return -1;
	return since < now ? now - since : 0;
}

bool
trigger_is(const struct conf *cf, enum trigger t, const char *name)
{
	return trigger_age_s(cf, t, name, 0) >= 0;
}

/* Names whose prefix is as given, without it; an absent directory has none. */
static enum err
list(struct arena *a, const struct conf *cf, enum trigger t, const char *prefix,
    char ***names, size_t *n, struct fail *f)
{
	char **all = NULL;
	size_t nall = 0, skip = strlen(prefix);
	enum err e = fs_list(a, dir_path(a, cf, t), NAMES_MAX, &all, &nall, f);

	*n = 0;
	*names = all;
	if (e == E_NOTFOUND)
		return OK;
	for (size_t i = 0; e == OK && i < nall; i++)
		if (strncmp(all[i], prefix, skip) == 0 && name_ok(all[i] + skip))
			all[(*n)++] = all[i] + skip;
	return e;
}

enum err
trigger_list(struct arena *a, const struct conf *cf, enum trigger t, char ***names,
    size_t *n, struct fail *f)
{
	return list(a, cf, t, "", names, n, f);
}

enum err
trigger_claim(const struct conf *cf, const char *name, struct fail *f)
{
	struct arena a = { 0 };
	char *from = trigger_path(&a, cf, TRIGGER_NEED_WORK, "", name);
	char *to = trigger_path(&a, cf, TRIGGER_NEED_WORK, claim_prefix, name);
	enum err e = from == NULL ? refuse(name, f) : fs_rename(from, to, f);

	arena_free(&a);
	return e;
}

enum err
trigger_claim_done(const struct conf *cf, const char *name, struct fail *f)
{
	struct arena a = { 0 };
	char *path = trigger_path(&a, cf, TRIGGER_NEED_WORK, claim_prefix, name);
	enum err e = path == NULL ? refuse(name, f) : fs_unlink(path, f);

	arena_free(&a);
	return e;
}

enum err
trigger_claim_back(const struct conf *cf, const char *name, struct fail *f)
{
	struct arena a = { 0 };
	char *from = trigger_path(&a, cf, TRIGGER_NEED_WORK, claim_prefix, name);
	char *to = trigger_path(&a, cf, TRIGGER_NEED_WORK, "", name);
	enum err e = from == NULL ? refuse(name, f) : fs_rename(from, to, f);

	arena_free(&a);
	return e;
}

enum err
trigger_claims(
    struct arena *a, const struct conf *cf, char ***names, size_t *n, struct fail *f)
{
	return list(a, cf, TRIGGER_NEED_WORK, claim_prefix, names, n, f);
}

int64_t
trigger_claim_age_s(const struct conf *cf, const char *name, int64_t now)
{
	struct arena a = { 0 };
	char *path = trigger_path(&a, cf, TRIGGER_NEED_WORK, claim_prefix, name);
	struct stat st; /* a rename sets st_ctime */
	bool there = path != NULL && stat(path, &st) == 0;

	arena_free(&a);
	if (!there)
		return -1;
	return st.st_ctime < now ? now - (int64_t)st.st_ctime : 0;
}
