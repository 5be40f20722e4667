/* SPDX-License-Identifier: Apache-2.0 */
/* Statements and transactions on one connection, which is made when needed (db.h). */
#include "db/private.h"

#include <assert.h>
#include <unistd.h>
#include "lib/clamp.h"
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { NAP_FIRST_MS = 2, NAP_MAX_MS = 500, AWAKE_MS = 1000, DEADLOCK = 1213 };

enum err db_open(
    const struct conf *cf, enum db_use use, struct db **out, struct fail *f)
{
	struct arena a = { 0 };
	struct db *db = NEW(&a, struct db);
	enum err e;

	db->a = a;
	db->cf = cf;
	db->use = use;
	/* Two that collided must not collide again. */
	db->jitter = rng_seed(
	    (uint64_t)clock_mono_ms() ^ (uint64_t)getpid() << 32 ^ (uintptr_t)db);
	db_request(db);
	e = conn_need(db, f);
	if (e != OK) {
		db_close(db);
		return e;
	}
	*out = db;
	return OK;
}

void db_close(struct db *db)
{
	if (db == NULL)
		return;
	conn_drop(db);
	arena_free(&db->scratch);
	trigger_cache_free(&db->trigger_cache);
	known_sets_free(&db->known_sets);
	struct arena a = db->a; /* holds db itself */
	arena_free(&a);
}

enum err db_ready(struct db *db, struct fail *f)
{
	db->began_ms = clock_mono_ms();
	if (db->my != NULL && (conn_late(db) || mysql_ping(db->my) != 0)) {
		conn_answered(db);
		db_rollback(db);
		conn_drop(db);
	}
	enum err e = conn_need(db, f);

	db->asked_ms = e == OK ? clock_mono_ms() : 0;
	return e;
}

enum err db_awake(struct db *db, struct fail *f)
{
	int64_t now_ms = clock_mono_ms();

	if (db->my == NULL || db->asked_ms == 0 || now_ms - db->asked_ms >= AWAKE_MS)
		return db_ready(db, f);
	return OK;
}

static enum err db_run_once(struct db *db, struct arena *a, struct fail *f, void **rows,
    size_t *n, int64_t *affected, enum stmt_id id, const void *args)
{
	TRY(conn_need(db, f));
	return stmt_run(db, a, f, rows, n, affected, id, args);
}

/*
 * A single statement that lost against another transaction has changed nothing and is
 * run again.
 */
enum err db_run(struct db *db, struct arena *a, struct fail *f, void **rows, size_t *n,
    int64_t *affected, enum stmt_id id, const void *args)
{
	if (db->tx_batch.on)
		return rows == NULL ? tx_batch_keep(db, affected, id, args, f) :
		                      tx_batch_refuse(db, "it needs an answer", f);
	enum err e = db_run_once(db, a, f, rows, n, affected, id, args);

	for (int i = 1;
	     e == E_RETRY && db->code == DEADLOCK && !db->in_tx && i < DB_TRIES; i++) {
		db_retry_nap(db, i);
		e = db_run_once(db, a, f, rows, n, affected, id, args);
	}
	return e;
}

enum err db_run_row(struct db *db, struct arena *a, struct fail *f, void **row,
    enum stmt_id id, const void *args)
{
	size_t n;

	TRY(db_run(db, a, f, row, &n, NULL, id, args));
	if (n == 0)
		return FAIL(f, E_NOTFOUND, "%s: no such row", stmt_infos[id].name);
	return OK;
}

enum err db_run_number(
    struct db *db, struct fail *f, int64_t *value, enum stmt_id id, const void *args)
{
	struct arena a = { 0 };
	void *row = NULL;
	enum err e = db_run_row(db, &a, f, &row, id, args);

	if (e == OK)
		*value = ((const struct row_number *)row)->v;
	arena_free(&a);
	return e;
}

int64_t db_insert_id(struct db *db)
{
	return db->my == NULL ? 0 : (int64_t)mysql_insert_id(db->my);
}

enum err db_begin(struct db *db, struct fail *f)
{
	assert(!db->in_tx);
	db->tx_batch.refused = false;
	enum err e = conn_need(db, f);
	if (e == OK)
		e = conn_text(db, stmt_infos[SQL_BEGIN].sql, "BEGIN", f);
	db->in_tx = e == OK;
	return e;
}

enum err db_begin_snapshot(struct db *db, struct fail *f)
{
	assert(!db->in_tx);
	db->tx_batch.refused = false;
	TRY(conn_need(db, f));
	TRY(conn_text(db, stmt_infos[SQL_BEGIN_REPEATABLE].sql, "SET", f));
	TRY(conn_text(db, stmt_infos[SQL_BEGIN_SNAPSHOT].sql, "BEGIN", f));
	db->in_tx = true;
	return OK;
}

enum err db_begin_tx_batch(struct db *db, struct fail *f)
{
	struct tx_batch *t = &db->tx_batch;
	enum err e = conn_need(db, f);

	t->refused = false;
	if (e != OK || !db->mariadb || db->cluster || t->unable)
		return e != OK ? e : db_begin(db, f);
	assert(!db->in_tx);
	arena_reset(&db->scratch);
	t->n = t->bytes = 0;
	t->on = db->in_tx = true;
	return OK;
}

bool db_in_tx_batch(const struct db *db)
{
	return db->tx_batch.on;
}

enum err db_begin_current(struct db *db, struct fail *f)
{
	struct fail off = { 0 };
	enum err e = conn_need(db, f);

	if (e == OK && db->cluster)
		e = conn_text(db, stmt_infos[SQL_SESSION_SYNC].sql, "SET", f);
	if (e == OK)
		e = db_begin(db, f);
	if (db->my != NULL && db->cluster &&
	    conn_text(db, stmt_infos[SQL_SESSION_NO_SYNC].sql, "SET", &off) != OK &&
	    e == OK) {
		db_rollback(db);
		*f = off;
		e = off.code;
	}
	return e;
}

enum err db_commit(struct db *db, struct fail *f)
{
	assert(db->in_tx);
	enum err e = conn_need(db, f);

	if (e == OK)
		e = conn_in_time(db, "COMMIT", f);
	if (e == E_DB)
		conn_drop(db); /* discards everything that was to be committed */
	db->uncertain = false;
	db->in_tx = false;
	if (e != OK)
		return e;
	db->committed = true;
	db->code = 0;
	if (db->tx_batch.on) {
		e = tx_batch_run(db, f);
		db->uncertain = conn_uncertain(db);
		return e;
	}
	db->count++;
	const bool bad = mysql_commit(db->my) != 0;

	conn_answered(db);
	if (!bad)
		return OK;
	e = conn_fail(db, NULL, "COMMIT", f);
	db->uncertain = conn_uncertain(db);
	/*
	 * Otherwise, if the transaction is still open, the next BEGIN would commit it.
	 */
	if (db->my != NULL && mysql_rollback(db->my) != 0)
		conn_drop(db);
	return e;
}

bool db_committed(const struct db *db)
{
	return db->committed;
}

bool db_commit_uncertain(const struct db *db)
{
	return db->uncertain;
}

bool db_in_cluster(const struct db *db)
{
	return db->cluster;
}

void db_rollback(struct db *db)
{
	bool was = db->in_tx && !db->tx_batch.on;

	db->in_tx = db->tx_batch.on = false;
	if (was && db->my != NULL && (conn_late(db) || mysql_rollback(db->my) != 0))
		conn_drop(db); /* the server rolls back when the connection is gone */
}

void db_retry_nap(struct db *db, int attempt)
{
	const int64_t half = pause_doubled(NAP_FIRST_MS, attempt + 1, NAP_MAX_MS) / 2;

	clock_nap_ms((int)(half + (int64_t)rng_below(&db->jitter, (uint64_t)half + 1)));
}

bool db_again(struct db *db, int *attempt, enum err *e, struct fail *f)
{
	if (*e == OK && db->in_tx)
		*e = db_commit(db, f);
	if (*e == OK)
		return false;
	db_rollback(db);
	if (*e != E_RETRY || ++*attempt >= DB_TRIES)
		return false;
	log_debug("trying again: %s", f->detail);
	db_retry_nap(db, *attempt);
	return true;
}

uint64_t db_statements(const struct db *db)
{
	return db->count;
}

int64_t *row_numbers(struct arena *a, const void *rows, size_t n)
{
	const struct row_number *row = rows;
	int64_t *v = NEWN(a, int64_t, n + 1);

	for (size_t i = 0; i < n; i++)
		v[i] = row[i].v;
	return v;
}
