/* SPDX-License-Identifier: Apache-2.0 */
/* A pass that is killed begins again: the order to make it is taken back at its end. */
#include "daemons/recount.h"

#include "db/id_walk.h"
#include "db/work_tally.h"
#include "lib/log.h"
#include "lib/banned.h"

enum { RECOUNT_SLICE = 5000 };

struct recount_slice {
	int64_t from, to;
};

static enum err
tx_recount(struct daemon_ctx *x, void *arg)
{
	const struct recount_slice *s = arg;

	return work_recount(x->db, s->from, s->to, x->now, &x->fail);
}

enum err
recount_step(struct daemon_ctx *x, struct recount *c, bool *full)
{
	struct recount_slice s = { c->from, 0 };
	bool wanted = true;
	enum err e;

	if (c->over || x->mod_i != 0 || x->dry_run)
		return OK;
	if (c->from == 0)
		TRY(work_recount_wanted(x->db, &wanted, &x->fail));
	c->over = !wanted;
	if (c->over)
		return OK;
	TRY(ids_ahead(x->db, IDS_WORKUNITS, s.from, RECOUNT_SLICE, &s.to, &x->fail));
	e = daemon_transaction(x, tx_recount, &s);
	if (e != OK) /* contention: the next step tries this slice again */
		return e == E_RACE || e == E_RETRY ? OK : e;
	c->from = s.to;
	*full = true;
	if (c->from < IDS_END)
		return OK;
	TRY(work_recount_want(x->db, false, &x->fail));
	c->over = true;
	log_info("compared the counts of all workunits");
	return OK;
}
