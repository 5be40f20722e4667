/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Each transaction adds some jobs to the ledger, or sums up one old row, and marks them
 * as done.  A kill between any two statements leaves either both changes or neither.
 */
#include "daemons/ledger_writer.h"

#include "db/ledger.h"
#include "lib/log.h"
#include "lib/banned.h"

enum {
	JOBS_MOST = 16 * DB_LIST_MAX,
	OLD_MOST = 256,
	CLOSE_EVERY_S = 600,
	SLICE_ROWS = 10000,
	DAY_S = 86400
};

struct slice {
	const int64_t *ids;
	size_t n;
};

static enum err
tx_ledger_fold(struct daemon_ctx *x, void *arg)
{
	const struct slice *s = arg;

	return ledger_fold(x->db, s->ids, s->n, &x->fail);
}

static enum err
tx_ledger_close(struct daemon_ctx *x, void *arg)
{
	return ledger_close(x->db, arg, &x->fail);
}

/*
 * Contention, or a COMMIT whose answer was lost: the next pass finds what is still due.
 */
static enum err
left_for_next(enum err e)
{
	return e == E_RACE || e == E_RETRY ? OK : e;
}

/*
 * Sums up rows of old days. *full: the pass has reached its bound, so the next one
 * follows at once.
 */
static enum err
close_old(struct daemon_ctx *x, struct ledger_writer *b, bool *full)
{
	int64_t before = x->now / DAY_S - x->conf->ledger_days;
	struct row_ledger *old;
	size_t n = 0;
	enum err e = ledger_old(x->db, &x->a, before, OLD_MOST, &old, &n, &x->fail);

	for (size_t i = 0; e == OK && i < n && !daemon_stopping(x); i++)
		e = left_for_next(daemon_transaction(x, tx_ledger_close, &old[i]));
	if (e == OK && n > 0)
		log_info("[LEDGER] summed up %zu rows of old days", n);
	if (e == OK && n == OLD_MOST)
		*full = true;
	else
		b->closed_at = x->now;
	return e;
}

static enum err
tx_ledger_end(struct daemon_ctx *x, void *arg)
{
	return ledger_end(x->db, arg, &x->fail);
}

/* Removes what is left of those that are gone, of the next slice of ids.  The last
 * slice has no end: those with the highest ids may be gone. */
static enum err
end_slice(struct daemon_ctx *x, struct ledger_writer *b, enum ledger_ended what)
{
	struct ledger_round *r = &b->rounds[what];
	struct row_ledger *ended;
	int64_t to;
	size_t n;

	if (x->now < r->begin_at)
		return OK;
	TRY(ledger_ended_to(x->db, what, r->from, SLICE_ROWS, &to, &x->fail));
	TRY(ledger_ended(x->db, &x->a, what, r->from, to, &ended, &n, &x->fail));
	for (size_t i = 0; i < n && !daemon_stopping(x); i++)
		TRY(left_for_next(daemon_transaction(x, tx_ledger_end, &ended[i])));
	if (n > 0)
		log_info("[LEDGER] removed the sums of %zu %s that are gone", n,
		    what == LEDGER_SETS ? "files" : "hosts");
	r->from = to < LEDGER_ENDED_SET - 1 ? to : 0;
	if (r->from == 0)
		r->begin_at = x->now + DAY_S;
	return OK;
}

enum err
ledger_writer_step(struct daemon_ctx *x, struct ledger_writer *b, bool *full)
{
	int64_t *ids;
	size_t n;
	enum err e = ledger_due(x->db, &x->a, (struct id_share){ x->mod_n, x->mod_i },
	    JOBS_MOST, &ids, &n, &x->fail);

	*full = e == OK && n == JOBS_MOST && !x->dry_run;
	if (e != OK || x->dry_run)
		return e;
	for (size_t i = 0; i < n && e == OK && !daemon_stopping(x); i += DB_LIST_MAX) {
		size_t part = n - i < DB_LIST_MAX ? n - i : DB_LIST_MAX;
		struct slice s = { ids + i, part };

		e = left_for_next(daemon_transaction(x, tx_ledger_fold, &s));
	}
	if (e != OK || x->mod_i != 0)
		return e;
	TRY(end_slice(x, b, LEDGER_SETS));
	TRY(end_slice(x, b, LEDGER_HOSTS));
	return x->now - b->closed_at < CLOSE_EVERY_S ? OK : close_old(x, b, full);
}
