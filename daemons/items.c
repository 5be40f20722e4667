/* SPDX-License-Identifier: Apache-2.0 */
/*
 * How daemons process items: transactions with retries, and failures of one item that
 * do not stop the others (of workunits: queue.c).
 */
#include "daemons/items.h"

#include <string.h>
#include "daemons/lease_keeper.h"
#include "daemons/loop.h"
#include "db/entity.h"
#include "lib/clamp.h"
#include "lib/log.h"
#include "lib/proc.h"
#include "lib/banned.h"

/* A sorted table of failed items and their pauses. */

/* Returns the index of the first item whose key is not below key. */
static size_t item_backoff_place(const struct item_backoff *t, int64_t key)
{
	size_t lo = 0, hi = t->used;

	while (lo < hi) {
		size_t mid = lo + (hi - lo) / 2;
		if (t->item[mid].key < key)
			lo = mid + 1;
		else
			hi = mid;
	}
	return lo;
}

static bool item_backoff_has(const struct item_backoff *t, size_t i, int64_t key)
{
	return i < t->used && t->item[i].key == key;
}

static struct try_item *item_backoff_get(struct item_backoff *t, int64_t key)
{
	size_t i = item_backoff_place(t, key), after;

	if (item_backoff_has(t, i, key))
		return &t->item[i];
	after = t->used - i;
	PUSH(t->a, t->item, t->used, t->cap) = (struct try_item){ 0 };
	memmove(&t->item[i + 1], &t->item[i], after * sizeof(*t->item));
	t->item[i] = (struct try_item){ .key = key };
	return &t->item[i];
}

int32_t item_backoff_failed(struct item_backoff *t, int64_t key, int64_t now)
{
	struct try_item *it = item_backoff_get(t, key);

	it->n++;
	it->next_at = now + pause_doubled(t->first_s, it->n, t->most_s);
	return it->n;
}

void item_backoff_wait(struct item_backoff *t, int64_t key, int64_t now)
{
	item_backoff_get(t, key)->next_at = now + t->first_s;
}

void item_backoff_forget(struct item_backoff *t, int64_t key)
{
	size_t i = item_backoff_place(t, key);

	if (!item_backoff_has(t, i, key))
		return;
	t->used--;
	memmove(&t->item[i], &t->item[i + 1], (t->used - i) * sizeof(*t->item));
}

bool item_backoff_must_wait(const struct item_backoff *t, int64_t key, int64_t now)
{
	size_t i = item_backoff_place(t, key);

	return item_backoff_has(t, i, key) && now < t->item[i].next_at;
}

static enum err unit_once(
    struct daemon_ctx *x, enum err (*unit)(struct daemon_ctx *, void *), void *arg)
{
	TRY(db_begin(x->db, &x->fail));
	if (x->keeper != NULL && !x->dry_run)
		TRY(keeper_guard(x->keeper, x->db, &x->fail));
	return unit(x, arg);
}

enum err daemon_transaction(
    struct daemon_ctx *x, enum err (*unit)(struct daemon_ctx *, void *), void *arg)
{
	int attempt = 0;
	enum err e;

	do {
		e = unit_once(x, unit, arg);
	} while (db_again(x->db, &attempt, &e, &x->fail));
	return e;
}

enum err daemon_item_ended(struct daemon_ctx *x, struct item_backoff *t, int64_t key,
    const char *label, enum err e)
{
	struct fail f = { 0 };

	if (e == OK) {
		item_backoff_forget(t, key);
		return OK;
	}
	if (e == E_DISK_FULL)
		item_backoff_wait(t, key, x->now); /* a smaller item may still fit */
	if (e == E_DISK_FULL || db_ready(x->db, &f) != OK)
		return e;
	if (e == E_RACE ||
	    e == E_RETRY) { /* contention: the item is still due in the next step */
		log_debug("%s: left to the next pass: %s", label, x->fail.detail);
		return OK;
	}
	log_err("%s: failed %d times, %s: %s", label,
	    (int)item_backoff_failed(t, key, x->now), err_name(e), x->fail.detail);
	daemon_trouble(x, "%s: %s", label, x->fail.detail);
	return OK;
}

struct item_backoff *daemon_backoff(
    struct daemon_ctx *x, int64_t first_s, int64_t most_s)
{
	struct item_backoff *t = NEW(x->life, struct item_backoff);

	t->a = x->life;
	t->first_s = first_s;
	t->most_s = most_s;
	x->backoff = t;
	return t;
}

enum err daemon_app_id(struct daemon_ctx *x, const char *name, int64_t *id)
{
	struct catalog *cat;
	const struct app *app;
	enum err e = *id != 0 ? OK : catalog_load(x->db, &x->a, &cat, &x->fail);

	if (e != OK || *id != 0)
		return e;
	app = catalog_app_named(cat, name);
	if (app == NULL)
		return FAIL(&x->fail, E_NOTFOUND,
		    "no app %s in the database: add it with locus app add", name);
	*id = app->id;
	return OK;
}

enum err daemon_split_command(
    struct daemon_ctx *x, const char *cmd, char ***argv, size_t *argc)
{
	enum err e;

	*argc = 0;
	*argv = NULL;
	if (cmd == NULL)
		return OK;
	if ((e = proc_split(x->life, cmd, argv, &x->fail)) != OK)
		return FAIL(&x->fail, E_CONFIG,
		    "--command %s: cannot be split into words", cmd);
	while ((*argv)[*argc] != NULL)
		++*argc;
	return *argc > 0 ? OK : FAIL(&x->fail, E_CONFIG, "--command is empty");
}
