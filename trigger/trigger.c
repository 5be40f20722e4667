/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers in either store: what they are called, and which names they may have. */
#include "trigger/store.h"

#include <stdlib.h>
#include <string.h>
#include "lib/order.h"
#include "lib/banned.h"

enum { NAME_LEN_MAX = 190 };

bool
triggers_in_rows(const struct conf *cf)
{
	return cf->locality_store != NULL && strcmp(cf->locality_store, "db") == 0;
}

const char *
trigger_name(enum trigger t)
{
	static const char *const names[TRIGGER__MAX] = {
		[TRIGGER_NEED_WORK] = "need_work",
		[TRIGGER_NO_WORK_AVAILABLE] = "no_work_available",
		[TRIGGER_WORKING_SET] = "file_working_set",
		[TRIGGER_FILES_NO_WORK] = "files_no_work",
	};

	return names[t];
}

static bool
name_ok(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
	       strlen(name) <= NAME_LEN_MAX;
}

static enum err
trigger_change(const struct triggers *t, enum trigger_op op, enum trigger of,
    const char *name, struct fail *f)
{
	if (!name_ok(name))
		return FAIL(f, E_BADREQ,
		    "\"%.80s\" cannot be a trigger: a name has 1 to %d bytes, no \"/\" and no leading \".\"",
		    name, NAME_LEN_MAX);
	return t->store->change(t, op, of, name, f);
}

enum err
trigger_raise(
    const struct triggers *t, enum trigger of, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_RAISE, of, name, f);
}

enum err
trigger_clear(
    const struct triggers *t, enum trigger of, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_CLEAR, of, name, f);
}

enum err
trigger_claim(const struct triggers *t, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_CLAIM, TRIGGER_NEED_WORK, name, f);
}

enum err
trigger_claim_done(const struct triggers *t, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_DONE, TRIGGER_NEED_WORK, name, f);
}

enum err
trigger_claim_back(const struct triggers *t, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_BACK, TRIGGER_NEED_WORK, name, f);
}

enum err
trigger_ages(const struct triggers *t, struct arena *a, enum trigger of,
    char *const *names, size_t n, int64_t now, int64_t *age_s, struct fail *f)
{
	TRY(n == 0 ? OK : t->store->since(t, a, of, names, n, age_s, f));
	for (size_t i = 0; i < n; i++) {
		int64_t since = name_ok(names[i]) ? age_s[i] : -1;

		age_s[i] = since < 0 ? -1 : since < now ? now - since : 0;
	}
	return OK;
}

enum err
trigger_age(const struct triggers *t, enum trigger of, const char *name, int64_t now,
    int64_t *age_s, struct fail *f)
{
	struct arena a = { 0 };
	char *names[] = { arena_strdup(&a, name) };
	enum err e = trigger_ages(t, &a, of, names, 1, now, age_s, f);

	arena_free(&a);
	return e;
}

enum err
trigger_there(const struct triggers *t, struct arena *a, enum trigger of,
    char *const *names, size_t n, bool *there, struct fail *f)
{
	int64_t *since = NEWN(a, int64_t, n + 1);
	enum err e = n == 0 ? OK : t->store->since(t, a, of, names, n, since, f);

	for (size_t i = 0; i < n; i++)
		there[i] = e == OK && since[i] >= 0 && name_ok(names[i]);
	return e;
}

enum err
trigger_list(const struct triggers *t, struct arena *a, enum trigger of, char ***names,
    size_t *n, struct fail *f)
{
	size_t kept = 0;

	TRY(t->store->list(t, a, of, names, n, f));
	for (size_t i = 0; i < *n; i++)
		if (name_ok((*names)[i]))
			(*names)[kept++] = (*names)[i];
	*n = kept;
	if (kept > 0) /* a database may sort differently */
		qsort(*names, kept, sizeof(**names), name_order);
	return OK;
}

bool
trigger_in(char *const *names, size_t n, const char *name)
{
	return n > 0 && bsearch(&name, names, n, sizeof(*names), name_order) != NULL;
}

enum err
trigger_claims(const struct triggers *t, struct arena *a, int64_t now,
    struct claim **claims, size_t *n, struct fail *f)
{
	return t->store->claims(t, a, now, claims, n, f);
}

bool
trigger_changed(const struct triggers *t, enum trigger of, struct fs_seen *seen)
{
	return t->store->changed(t, of, seen);
}
