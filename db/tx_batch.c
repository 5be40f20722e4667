/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sends a transaction that only makes changes in one message: MariaDB takes the
 * statements of stmts.def one after another as a single prepared statement (BEGIN NOT
 * ATOMIC ... END) with the arguments of all of them. Each statement whose count was
 * requested must have matched one row, or nothing is committed.
 *
 * Such programs stay prepared with the connection. One that is seen for the first time
 * is refused, so that a transaction that hardly ever recurs costs no preparation.
 */
#include "db/private.h"

#include <assert.h>
#include <string.h>
#include "lib/buf.h"
#include "lib/banned.h"

/* Follows a statement that must match one row. */
#define ONE_ROW                                                                        \
	"; IF ROW_COUNT() <> 1 THEN SIGNAL SQLSTATE '45000'"                           \
	" SET MESSAGE_TEXT = 'a row is not as it was read'; END IF; "

/*
 * The server accepts messages up to max_allowed_packet, which nobody sets below 1 MB.
 */
enum { BYTES_MAX = 512 * 1024 };

/*
 * Returns the key of a step: statement, size of its list, and whether its count is
 * requested.
 */
static uint16_t step_key(enum stmt_id id, size_t slot, bool counted)
{
	static_assert(SQL__MAX < 1 << 12 && LIST_SIZES <= 8, "a key has 16 bits");
	return (uint16_t)((unsigned)id << 4 | (unsigned)slot << 1 | counted);
}

/*
 * Returns E_RETRY, which every caller passes on; E_RACE would be taken for a lost race.
 */
enum err tx_batch_refuse(struct db *db, const char *why, struct fail *f)
{
	db->tx_batch.refused = true;
	return FAIL(f, E_RETRY, "%s", why);
}

bool db_tx_batch_refused(const struct db *db)
{
	return db->tx_batch.refused;
}

enum err tx_batch_keep(
    struct db *db, int64_t *affected, enum stmt_id id, const void *args, struct fail *f)
{
	struct tx_batch *t = &db->tx_batch;
	MYSQL_BIND *binds;
	size_t n;

	/* A whole row is an insert, whose id is requested immediately. */
	if (t->n == STEPS_MAX || stmt_params(db, id)->whole_row)
		return tx_batch_refuse(db, "not a change that may wait", f);
	/* The rows they point to may be gone by the time of the COMMIT. */
	args = stmt_args_keep(&db->scratch, id, args);
	t->binds[t->n] = binds = bind_args(db, id, args, &n);
	t->nbinds[t->n] = n;
	for (size_t i = 0; i < n; i++)
		t->bytes += binds[i].buffer_length;
	if (t->bytes > BYTES_MAX)
		return tx_batch_refuse(db, "too much for one message", f);
	t->key[t->n++] = step_key(
	    id, list_slot(stmt_list_len(db, id, args)), affected != NULL);
	if (affected != NULL)
		*affected = 1;
	return OK;
}

/* Finds a known program; returns NULL if it is new, and remembers it. */
static struct program *tx_program_find(struct tx_batch *t)
{
	struct program *p = t->known;

	for (size_t i = 0; i < PROGRAMS; i++, p++)
		if (p->n == t->n && memcmp(p->key, t->key, t->n * sizeof(*t->key)) == 0)
			return p;
	p = &t->known[t->next++ % PROGRAMS];
	if (p->st != NULL)
		mysql_stmt_close(p->st);
	*p = (struct program){ .n = t->n };
	memcpy(p->key, t->key, t->n * sizeof(*t->key));
	return NULL;
}

static char *program_text(struct arena *a, const struct program *p)
{
	struct buf b = buf_new(a);

	buf_puts(&b, "BEGIN NOT ATOMIC ");
	buf_puts(&b, stmt_infos[SQL_BEGIN].sql);
	buf_puts(&b, "; ");
	for (size_t i = 0; i < p->n; i++) {
		buf_puts(&b, stmt_text(a, p->key[i] >> 4, p->key[i] >> 1 & 7));
		buf_puts(&b, p->key[i] & 1 ? ONE_ROW : "; ");
	}
	buf_puts(&b, "COMMIT; END");
	return b.p;
}

static enum err program_prepare(struct db *db, struct program *p, struct fail *f)
{
	char *text = program_text(&db->scratch, p);
	enum err late = conn_in_time(db, "tx_batch", f);
	if (late != OK)
		return late;
	MYSQL_STMT *st = mysql_stmt_init(db->my);

	if (st == NULL)
		return conn_fail(db, NULL, "tx_batch", f);
	const int bad = mysql_stmt_prepare(st, text, strlen(text));
	conn_answered(db);
	if (bad != 0) {
		enum err e = conn_fail(db, st, "tx_batch", f);
		mysql_stmt_close(st);
		return e;
	}
	p->st = st;
	return OK;
}

static enum err program_run(struct db *db, const struct program *p, struct fail *f)
{
	const struct tx_batch *t = &db->tx_batch;
	MYSQL_BIND *all;
	size_t n = 0;

	enum err late = conn_in_time(db, "tx_batch", f);
	if (late != OK)
		return late;
	for (size_t i = 0; i < t->n; i++)
		n += t->nbinds[i];
	assert(n == mysql_stmt_param_count(p->st));
	all = NEWN(&db->scratch, MYSQL_BIND, n + 1);
	n = 0;
	for (size_t i = 0; i < t->n; i++) {
		memcpy(all + n, t->binds[i], t->nbinds[i] * sizeof(*all));
		n += t->nbinds[i];
	}
	db->count += t->n + 2; /* includes BEGIN and COMMIT */
	const bool bad = mysql_stmt_bind_param(p->st, all) != 0 ||
	                 mysql_stmt_execute(p->st) != 0;

	conn_answered(db);
	if (bad)
		return conn_fail(db, p->st, "tx_batch", f);
	while (mysql_stmt_next_result(p->st) == 0)
		;
	return OK;
}

enum err tx_batch_run(struct db *db, struct fail *f)
{
	struct program *p;

	db->tx_batch.on = false;
	if (db->tx_batch.refused)
		return tx_batch_refuse(db, "refused before", f);
	p = tx_program_find(&db->tx_batch);
	if (p == NULL)
		return tx_batch_refuse(db, "not known yet", f);
	enum err e = p->st != NULL ? OK : program_prepare(db, p, f);
	db->tx_batch.unable = e != OK && e != E_RETRY && !conn_late(db);
	if (e == OK)
		e = program_run(db, p, f);
	if (e == OK)
		return OK;
	if (db->my != NULL && (conn_late(db) || mysql_rollback(db->my) != 0))
		conn_drop(db);
	/*
	 * The failing statement, and what to do about it, will show when each runs
	 * alone.
	 */
	return e == E_RETRY || conn_late(db) ?
	           e :
	           tx_batch_refuse(db, "not as it was read", f);
}
