/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Triggers as rows of sched_trigger, one row per file set, created with its first
 * trigger. Every change is one statement that names the state it expects, so any
 * number of processes on any number of machines may make it.
 */
#include "db/trigger_rows.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "db/private.h"
#include "db/stmts.h"
#include "lib/clock.h"
#include "trigger/store.h"
#include "lib/banned.h"

static const struct {
	enum stmt_id raise, clear, list, since;
} stmts[TRIGGER__MAX] = {
#define TRIGGER(name)                                                                  \
	[TRIGGER_##name] = {                                                           \
		SQL_LIKE(TRIGGER_RAISE_##name, TRIGGER_RAISE_NEED_WORK),               \
		SQL_LIKE(TRIGGER_CLEAR_##name, TRIGGER_CLEAR_NEED_WORK),               \
		SQL_LIKE(TRIGGER_LIST_##name, TRIGGER_LIST_NEED_WORK),                 \
		SQL_LIKE(TRIGGER_SINCE_##name, TRIGGER_SINCE_NEED_WORK),               \
	}
	TRIGGER(NEED_WORK),
	TRIGGER(NO_WORK_AVAILABLE),
	TRIGGER(WORKING_SET),
	TRIGGER(FILES_NO_WORK),
#undef TRIGGER
};

static enum err need_db(const struct triggers *t, struct fail *f)
{
	return t->db != NULL ?
	           OK :
	           FAIL(
		       f, E_DB, "triggers are in the database, which is not available");
}

static enum err rows_since(const struct triggers *t, struct arena *a, enum trigger of,
    char *const *names, size_t n, int64_t *since, struct fail *f)
{
	TRY(need_db(t, f));
	for (size_t i = 0; i < n; i += DB_LIST_LONG) {
		size_t part = n - i < DB_LIST_LONG ? n - i : DB_LIST_LONG, got;
		struct row_trigger *rows = NULL;

		TRY(db_query_like(t->db, a, f, &rows, &got, stmts[of].since,
		    TRIGGER_SINCE_NEED_WORK, .names = db_names(names + i, part)));
		for (size_t k = i; k < i + part; k++) {
			since[k] = -1;
			for (size_t m = 0; m < got; m++)
				if (strcmp(rows[m].name, names[k]) == 0)
					since[k] = rows[m].since;
		}
	}
	return OK;
}

/*
 * Most triggers are already raised, because every host without work raises the same
 * ones. So this costs a read, not a write for which others must wait.
 */
static enum err rows_raise(
    const struct triggers *t, enum trigger of, const char *name, struct fail *f)
{
	struct arena a = { 0 };
	char *names[] = { arena_strdup(&a, name) };
	int64_t since, affected;
	enum err e = rows_since(t, &a, of, names, 1, &since, f);

	arena_free(&a);
	if (e != OK || since >= 0)
		return e;
	TRY(db_exec_like(t->db, f, &affected, stmts[of].raise, TRIGGER_RAISE_NEED_WORK,
	    .now = clock_now(), .name = name));
	if (affected == 0)
		return FAIL(f, E_NOTFOUND, "%s is not a file of this project", name);
	return OK;
}

static enum err rows_change_once(const struct triggers *t, enum trigger_op op,
    enum trigger of, const char *name, struct fail *f)
{
	const char *owner = t->owner != NULL ? t->owner : "";
	int64_t affected = 0;
	enum err e = need_db(t, f);

	if (e != OK)
		return e;
	switch (op) {
	case TRIGGER_OP_RAISE:
		return rows_raise(t, of, name, f);
	case TRIGGER_OP_CLEAR:
		return db_exec_like(t->db, f, NULL, stmts[of].clear,
		    TRIGGER_CLEAR_NEED_WORK, .name = name);
	case TRIGGER_OP_DONE:
		return db_exec(
		    t->db, f, NULL, TRIGGER_DONE, .name = name, .owner = owner);
	case TRIGGER_OP_CLAIM:
		e = db_exec(t->db, f, &affected, TRIGGER_CLAIM, .now = clock_now(),
		    .owner = owner, .name = name);
		break;
	case TRIGGER_OP_BACK:
		e = db_exec(
		    t->db, f, &affected, TRIGGER_BACK, .name = name, .owner = owner);
		break;
	}
	if (e == OK && affected == 0)
		return FAIL(f, E_NOTFOUND,
		    "%s: no such trigger, or another process has it", name);
	return e;
}

/* A trigger must not be lost with a connection, so a change is tried again. */
static enum err rows_change(const struct triggers *t, enum trigger_op op,
    enum trigger of, const char *name, struct fail *f)
{
	enum err e;

	for (int i = 1;
	     (e = rows_change_once(t, op, of, name, f)) == E_RETRY && i < DB_TRIES; i++)
		db_retry_nap(t->db, i);
	return e;
}

static enum err rows_list(const struct triggers *t, struct arena *a, enum trigger of,
    char ***names, size_t *n, struct fail *f)
{
	struct row_text *rows = NULL;

	TRY(need_db(t, f));
	TRY(db_query_like(
	    t->db, a, f, &rows, n, stmts[of].list, TRIGGER_LIST_NEED_WORK));
	*names = NEWN(a, char *, *n + 1);
	for (size_t i = 0; i < *n; i++)
		(*names)[i] = rows[i].s;
	return OK;
}

static int claim_order(const void *a, const void *b)
{
	const struct claim *x = a, *y = b;

	return strcmp(x->name, y->name);
}

static enum err rows_claims(const struct triggers *t, struct arena *a, int64_t now,
    struct claim **claims, size_t *n, struct fail *f)
{
	struct row_trigger *v = NULL;

	TRY(need_db(t, f));
	TRY(db_query(t->db, a, f, &v, n, TRIGGER_CLAIMS));
	const struct row_trigger *rows = v;
	*claims = NEWN(a, struct claim, *n + 1);
	for (size_t i = 0; i < *n; i++)
		(*claims)[i] = (struct claim){ .name = rows[i].name,
			.owner = rows[i].owner,
			.age_s = rows[i].since < now ? now - rows[i].since : 0 };
	if (*n > 0)
		qsort(*claims, *n, sizeof(**claims), claim_order);
	return OK;
}

/* Rows do not tell. */
static bool rows_changed(
    const struct triggers *t, enum trigger of, struct fs_seen *seen)
{
	(void)t;
	(void)of;
	(void)seen;
	return false;
}

static const struct trigger_store trigger_store_rows = {
	.change = rows_change,
	.since = rows_since,
	.list = rows_list,
	.claims = rows_claims,
	.changed = rows_changed,
};

struct triggers triggers_of(const struct conf *cf, struct db *db, const char *owner)
{
	return (struct triggers){
		.store = triggers_in_rows(cf) ? &trigger_store_rows :
		                                &trigger_store_dirs,
		.conf = cf,
		.db = db,
		.cache = db != NULL ? &db->trigger_cache : NULL,
		.owner = owner,
	};
}
