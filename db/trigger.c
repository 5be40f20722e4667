/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers in either store: checks names, and retries operations. */
#include "db/trigger_store.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/order.h"
#include "lib/clock.h"
#include "lib/banned.h"

enum { NAME_LEN_MAX = 190, TRIES = 8 };

static const struct trigger_store *
store_of(const struct triggers *t)
{
	return triggers_in_rows(t->conf) ? &trigger_store_rows : &trigger_store_dirs;
}

static bool
name_ok(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
	       strlen(name) <= NAME_LEN_MAX;
}

/* Retries, so that a lost connection does not lose a trigger. */
static enum err
trigger_change(const struct triggers *t, enum trigger_op op, enum trigger of,
    const char *name, struct fail *f)
{
	struct rng rng = rng_seed((uint64_t)clock_mono_ms() ^ (uint64_t)getpid());
	enum err e = OK;

	if (!name_ok(name))
		return FAIL(f, E_BADREQ,
		    "\"%.80s\" cannot be a trigger: a name has 1 to %d bytes, no \"/\" and no leading \".\"",
		    name, NAME_LEN_MAX);
	for (int i = 0; i < TRIES; i++) {
		e = store_of(t)->change(t, op, of, name, f);
		if (e != E_RETRY)
			break;
		db_retry_nap(&rng, i);
	}
	return e;
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
	enum err e = n == 0 ? OK : store_of(t)->since(t, a, of, names, n, age_s, f);

	for (size_t i = 0; i < n && e == OK; i++) {
		int64_t since = name_ok(names[i]) ? age_s[i] : -1;

		age_s[i] = since < 0 ? -1 : since < now ? now - since : 0;
	}
	return e;
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
	enum err e = n == 0 ? OK : store_of(t)->since(t, a, of, names, n, since, f);

	for (size_t i = 0; i < n; i++)
		there[i] = e == OK && since[i] >= 0 && name_ok(names[i]);
	return e;
}

enum err
trigger_list(const struct triggers *t, struct arena *a, enum trigger of, char ***names,
    size_t *n, struct fail *f)
{
	size_t kept = 0;
	enum err e = store_of(t)->list(t, a, of, names, n, f);

	if (e != OK)
		return e;
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
	return store_of(t)->claims(t, a, now, claims, n, f);
}
