/* SPDX-License-Identifier: Apache-2.0 */
/* Triggers in either store: what they are called, and which names they may have. */
#include "trigger/trigger.h"

#include <stdlib.h>
#include <string.h>
#include "lib/names.h"
#include "trigger/cache.h"
#include "trigger/store.h"
#include "lib/banned.h"

enum { NAME_LEN_MAX = 190 };

bool triggers_in_rows(const struct conf *cf)
{
	return cf->locality_store != NULL && strcmp(cf->locality_store, "db") == 0;
}

const char *trigger_name(enum trigger t)
{
	static const char *const names[TRIGGER__MAX] = {
		[TRIGGER_NEED_WORK] = "need_work",
		[TRIGGER_NO_WORK_AVAILABLE] = "no_work_available",
		[TRIGGER_WORKING_SET] = "file_working_set",
		[TRIGGER_FILES_NO_WORK] = "files_no_work",
	};

	return names[t];
}

static bool name_ok(const char *name)
{
	return name[0] != '\0' && name[0] != '.' && strchr(name, '/') == NULL &&
	       strlen(name) <= NAME_LEN_MAX;
}

static enum err trigger_change(const struct triggers *t, enum trigger_op op,
    enum trigger of, const char *name, struct fail *f)
{
	if (!name_ok(name))
		return FAIL(f, E_BADREQ,
		    "\"%.80s\" cannot be a trigger: a name has 1 to %d bytes, no \"/\" and no leading \".\"",
		    name, NAME_LEN_MAX);
	return t->store->change(t, op, of, name, f);
}

enum err trigger_raise(
    const struct triggers *t, enum trigger of, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_RAISE, of, name, f);
}

enum err trigger_clear(
    const struct triggers *t, enum trigger of, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_CLEAR, of, name, f);
}

enum err trigger_claim(const struct triggers *t, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_CLAIM, TRIGGER_NEED_WORK, name, f);
}

enum err trigger_claim_done(const struct triggers *t, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_DONE, TRIGGER_NEED_WORK, name, f);
}

enum err trigger_claim_back(const struct triggers *t, const char *name, struct fail *f)
{
	return trigger_change(t, TRIGGER_OP_BACK, TRIGGER_NEED_WORK, name, f);
}

enum err trigger_ages(const struct triggers *t, struct arena *a, enum trigger of,
    char *const *names, size_t n, int64_t now, int64_t *age_s, struct fail *f)
{
	TRY(n == 0 ? OK : t->store->since(t, a, of, names, n, age_s, f));
	for (size_t i = 0; i < n; i++) {
		int64_t since = name_ok(names[i]) ? age_s[i] : -1;

		age_s[i] = since < 0 ? -1 : since < now ? now - since : 0;
	}
	return OK;
}

enum err trigger_age(const struct triggers *t, enum trigger of, const char *name,
    int64_t now, int64_t *age_s, struct fail *f)
{
	struct arena a = { 0 };
	char *names[] = { arena_strdup(&a, name) };
	enum err e = trigger_ages(t, &a, of, names, 1, now, age_s, f);

	arena_free(&a);
	return e;
}

enum err trigger_there(const struct triggers *t, struct arena *a, enum trigger of,
    char *const *names, size_t n, bool *there, struct fail *f)
{
	int64_t *since = NEWN(a, int64_t, n + 1);
	enum err e = n == 0 ? OK : t->store->since(t, a, of, names, n, since, f);

	for (size_t i = 0; i < n; i++)
		there[i] = e == OK && since[i] >= 0 && name_ok(names[i]);
	return e;
}

enum err trigger_list(const struct triggers *t, struct arena *a, enum trigger of,
    char ***names, size_t *n, struct fail *f)
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

bool trigger_in(char *const *names, size_t n, const char *name)
{
	return n > 0 && bsearch(&name, names, n, sizeof(*names), name_order) != NULL;
}

enum err trigger_claims(const struct triggers *t, struct arena *a, int64_t now,
    struct claim **claims, size_t *n, struct fail *f)
{
	return t->store->claims(t, a, now, claims, n, f);
}

bool trigger_changed(const struct triggers *t, enum trigger of, struct fs_seen *seen)
{
	return t->store->changed(t, of, seen);
}

/*
 * Names are kept only if they were read after their directory was checked and had not
 * changed within that second. So a later change is certain to give the directory
 * another time.
 */

enum { KEPT_MOST = 4096 }; /* names, about 100 KB per process */

static void working_set_keep(struct working_set_cache *w, char *const *names, size_t n)
{
	w->kept = w->dir.there && !w->dir.fresh && n <= KEPT_MOST;
	if (!w->kept)
		return;
	w->names = NEWN(&w->a, char *, n + 1);
	for (size_t i = 0; i < n; i++)
		w->names[i] = arena_strdup(&w->a, names[i]);
	w->n = n;
}

enum err working_set_names(
    const struct triggers *t, struct arena *a, char ***names, size_t *n, struct fail *f)
{
	struct working_set_cache *w = &t->cache->working_set;

	if (triggers_in_rows(t->conf))
		return trigger_list(t, a, TRIGGER_WORKING_SET, names, n, f);
	if (!trigger_changed(t, TRIGGER_WORKING_SET, &w->dir) && w->kept) {
		*names = arena_memdup(a, w->names, w->n * sizeof(*w->names));
		*n = w->n;
		return OK;
	}
	w->kept = false;
	arena_reset(&w->a);
	TRY(trigger_list(t, a, TRIGGER_WORKING_SET, names, n, f));
	working_set_keep(w, *names, *n);
	return OK;
}

void trigger_cache_free(struct trigger_cache *c)
{
	arena_free(&c->working_set.a);
}

/*
 * A bit of there[] is set only if the file was seen after its directory was checked and
 * had not changed within that second. So removing the file is certain to give the
 * directory another time.
 */

static bool no_work_has(const unsigned char *bits, int64_t id)
{
	return id > 0 && id < NO_WORK_SETS && (bits[id / 8] >> id % 8 & 1) != 0;
}

static void no_work_put(unsigned char *bits, int64_t id)
{
	if (id > 0 && id < NO_WORK_SETS)
		bits[id / 8] |= (unsigned char)(1 << id % 8);
}

/* Forgets what is remembered once the directory has changed. */
static void no_work_refresh(const struct triggers *t, struct no_work_cache *m)
{
	if (trigger_changed(t, TRIGGER_NO_WORK_AVAILABLE, &m->dir) || m->dir.fresh)
		memset(m->there, 0, sizeof(m->there));
}

/*
 * Returns the first id in [from, to] that is not remembered; 0 = all are. Skips eight
 * at a time where it can.
 */
static int64_t first_unknown(const struct no_work_cache *m, int64_t from, int64_t to)
{
	for (int64_t id = from; id <= to; id++) {
		size_t at = (size_t)(id / 8);

		if (id % 8 == 0 && id + 7 <= to && id < NO_WORK_SETS &&
		    (m->there[at] | m->none[at]) == 0xff)
			id += 7;
		else if (!no_work_has(m->there, id) && !no_work_has(m->none, id))
			return id;
	}
	return 0;
}

int64_t no_work_next(const struct triggers *t, int64_t after, int64_t last)
{
	struct no_work_cache *m = &t->cache->no_work;
	int64_t id;

	no_work_refresh(t, m);
	id = first_unknown(m, after + 1, last);
	return id != 0 ? id : first_unknown(m, 1, after < last ? after : last);
}

void no_work_gap(struct trigger_cache *c, int64_t after, int64_t before)
{
	int64_t end = before < NO_WORK_SETS ? before : NO_WORK_SETS;

	for (int64_t id = after + 1; id < end; id++)
		no_work_put(c->no_work.none, id);
}

void no_work_forget_gaps(struct trigger_cache *c)
{
	memset(c->no_work.none, 0, sizeof(c->no_work.none));
}

enum err no_work_there(const struct triggers *t, struct arena *a, const int64_t *ids,
    char *const *names, size_t n, bool *there, struct fail *f)
{
	struct no_work_cache *m = &t->cache->no_work;
	char **asked = NEWN(a, char *, n + 1);
	bool *answers = NEWN(a, bool, n + 1);
	size_t nasked = 0, k = 0;

	if (n == 0 || triggers_in_rows(t->conf))
		return trigger_there(
		    t, a, TRIGGER_NO_WORK_AVAILABLE, names, n, there, f);
	no_work_refresh(t, m);
	for (size_t i = 0; i < n; i++) {
		there[i] = no_work_has(m->there, ids[i]);
		if (!there[i])
			asked[nasked++] = names[i];
	}
	TRY(trigger_there(t, a, TRIGGER_NO_WORK_AVAILABLE, asked, nasked, answers, f));
	for (size_t i = 0; i < n; i++) {
		if (there[i])
			continue;
		there[i] = answers[k++];
		if (there[i] && m->dir.there && !m->dir.fresh)
			no_work_put(m->there, ids[i]);
	}
	return OK;
}
