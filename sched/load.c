/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Composes the snapshot that the decision is made from.  Reads only.  Every load of one RPC draws
 * from the same seed, so that a reload after a wait tries the files in the same order.
 */
#include "sched/rpc.h"

#include <string.h>
#include "db/entity.h"
#include "lib/crypt.h"
#include "rules/sched/decide.h"
#include "rules/sched/identity.h"
#include "lib/banned.h"

/* The host as it will be stored; a new one keeps id 0 until the commit. */
static void
host_of_snapshot(struct rpc *x, struct snapshot *s)
{
	struct host *h = &s->host;
	const char *cpid = x->req->host.host_cpid;
	char md5[MD5_HEX];

	if (x->host != NULL) {
		*h = *x->host;
	} else {
		s->host_new = true;
		*h = (struct host){ .userid = x->user->id,
			.create_time = x->now,
			.expavg_time = (double)x->now,
			.duration_correction_factor = 1,
			.venue = x->user->venue };
	}
	host_update(h, x->req, x->now, x->peer);
	if (cpid != NULL && cpid[0] != '\0') {
		md5_text(arena_printf(x->a, "%s%s", cpid, x->user->email_addr), md5);
		h->host_cpid = arena_strdup(x->a, md5);
	}
	h->rpc_seqno = x->host_id_changed ? 0 : x->req->rpc_seqno;
	s->host_id_changed = x->host_id_changed;
	s->detach_in_progress = x->detach;
}

/* The held files come first in the snapshot; the rest keeps the order of the loader. */
static void
order_held_files(const struct rpc *x, struct snapshot *s)
{
	struct rng rng = rng_seed(x->seed);
	size_t held = 0;

	while (held < s->nfiles && s->files[held].held)
		held++;
	locality_order(x->conf, &rng, s->files, held);
}

static enum err
load_work(struct rpc *x, struct snapshot *s)
{
	struct rng rng = rng_seed(x->seed ^ 1);
	enum err e;

	if (x->refused != REFUSE_NOTHING || !decide_wants_work(x->conf, x->req))
		return OK;
	e = snapshot_work(x->db, x->a, x->conf, x->req, &rng,
	    decide_need(x->conf, x->req, s), s, &x->fail);
	if (e == OK)
		order_held_files(x, s);
	return e;
}

enum err
rpc_load(struct rpc *x)
{
	struct snapshot *s = NEW(x->a, struct snapshot);
	enum err e = OK;

	x->snap = s;
	s->cat = x->cat;
	s->user = *x->user;
	s->weak_auth = x->weak_auth;
	s->team_name = arena_strdup(x->a, "");
	host_of_snapshot(x, s);
	x->refused = refuse_host(x->conf, x->req, x->host, x->cat);
	s->waited = x->waited;
	s->wait_possible = x->conf->locality_scheduling_wait_period > 0 && !x->waited &&
	    !x->no_slot;
	if (!s->host_new)
		e = host_app_versions(
		    x->db, x->a, s->host.id, &s->havs, &s->nhavs, &x->fail);
	if (e == OK)
		e = snapshot_reported(x->db, x->a, x->req, s, &x->fail);
	return e == OK ? load_work(x, s) : e;
}
