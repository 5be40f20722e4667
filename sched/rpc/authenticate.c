/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds who is asking: the account by its strong or weak key, the host by id, by
 * cross-project id, or by likeness (protocol.md 3.1, 3.2). Reads only; the commit
 * writes a new host.
 */
#include "sched/rpc/rpc.h"

#include <stdlib.h>
#include <string.h>
#include "db/entity.h"
#include "db/user.h"
#include "lib/crypt.h"
#include "rules/sched/host.h"
#include "proto/web_docs.h"
#include "lib/banned.h"

/*
 * A killed client's request may still be under way when its successor asks, and may be
 * served last. Within this time it is not taken for a copied client: a host created
 * for it would hold jobs that nobody has. A real copy asks again and is recognised
 * then.
 */
enum { OVERTAKEN_S = 30 };

enum { FORWARDS_MAX = 16 }; /* merge links followed, bounded in case of a cycle */

/* Returns the account id in a weak key "<id>_<32 hex>"; 0 if it is not one. */
static int64_t weak_key_user(const char *key)
{
	char *end;
	long long id = strtoll(key, &end, 10);

	return end != key && *end == '_' && id > 0 ? id : 0;
}

/* Does the key belong to this account? Sets weak_auth. */
static bool key_fits(struct rpc *x, const struct user *u)
{
	const char *key = x->req->authenticator;

	x->weak_auth = false;
	if (key[0] == '\0' || u->authenticator[0] == '\0')
		return false;
	if (secret_equal(u->authenticator, key))
		return true;
	x->weak_auth = account_weak_key_is(x->a, u, key);
	return x->weak_auth;
}

/*
 * Is the key that of an account which was merged into another one? Clients go on to
 * use it, so it has all rights of the other one's own keys.
 */
static enum err user_by_old_key(struct rpc *x, struct user **u)
{
	int64_t id;

	TRY(user_of_old_key(x->db, x->req->authenticator, &id, &x->fail));
	x->weak_auth = weak_key_user(x->req->authenticator) != 0;
	return user_by_id(x->db, x->a, id, u, &x->fail);
}

/* Finds the account by the key alone; E_NOTFOUND if there is none. */
static enum err user_by_key(struct rpc *x)
{
	const char *key = x->req->authenticator;
	int64_t weak = weak_key_user(key);
	struct user *u;
	enum err e;

	if (key[0] == '\0')
		return FAIL(&x->fail, E_NOTFOUND, "the request has no account key");
	e = weak != 0 ? user_by_id(x->db, x->a, weak, &u, &x->fail) :
	                user_by_authenticator(x->db, x->a, key, &u, &x->fail);
	if (e != OK && e != E_NOTFOUND)
		return e;
	if (e == E_NOTFOUND || !key_fits(x, u))
		e = user_by_old_key(x, &u);
	if (e == E_NOTFOUND)
		return FAIL(&x->fail, E_NOTFOUND, "no account has this key");
	TRY(e);
	x->user = u;
	return OK;
}

/*
 * Does the client say that it has no tasks of this project? Then those of an older
 * installation are lost. A client that reports something is not empty; whatever else
 * it lost is sent again.
 */
static bool client_is_empty(const struct request *rq)
{
	return rq->has_other_results && rq->nother_results == 0 && rq->nreports == 0 &&
	       rq->allow_multiple_clients != 1;
}

static bool search_is_off(const struct rpc *x)
{
	const struct text_list *off = &x->conf->dont_search_host_for_user;

	for (size_t i = 0; i < off->n; i++)
		if (strtoll(off->v[i], NULL, 10) == x->user->id)
			return true;
	return x->req->allow_multiple_clients == 1;
}

static char *hashed_cpid(struct arena *a, const struct user *u, const char *cpid)
{
	char md5[MD5_HEX];

	md5_text(arena_printf(a, "%s%s", cpid, u->email_addr), md5);
	return arena_strdup(a, md5);
}

/*
 * Finds the account's newest host with this cross-project id, if it looks alike
 * (protocol.md 3.2 (3)).
 */
static enum err host_by_its_cpid(struct rpc *x, struct host **host)
{
	const char *cpid = x->req->host.host_cpid;
	enum err e;

	*host = NULL;
	if (cpid == NULL || cpid[0] == '\0')
		return OK;
	e = host_by_cpid(
	    x->db, x->a, x->user->id, hashed_cpid(x->a, x->user, cpid), host, &x->fail);
	if (e == OK && host_obviously_different(*host, x->req))
		*host = NULL;
	if (e == E_NOTFOUND)
		*host = NULL;
	return e == E_NOTFOUND ? OK : e;
}

/*
 * Finds the host by name, address, CPU, OS and RAM, if all are known (protocol.md 3.2
 * (4)).
 */
static enum err host_by_likeness(struct rpc *x, struct host **host)
{
	const struct rq_host *rh = &x->req->host;
	struct host like = {
		.userid = x->user->id,
		.domain_name = rh->domain_name,
		.last_ip_addr = rh->ip_addr,
		.os_name = rh->os_name,
		.p_model = rh->p_model,
		.m_nbytes = rh->m_nbytes,
	};
	const char *const must[] = { rh->domain_name, rh->ip_addr, rh->os_name,
		rh->p_model };
	enum err e;

	*host = NULL;
	if (search_is_off(x))
		return OK;
	for (size_t i = 0; i < N(must); i++)
		if (must[i] == NULL || must[i][0] == '\0')
			return OK;
	e = host_similar(x->db, x->a, &like, host, &x->fail);
	if (e == E_NOTFOUND)
		*host = NULL;
	return e == E_NOTFOUND ? OK : e;
}

/*
 * Finds the host of a client that names none, or that may not use the one it names. A
 * copied client has the cross-project id of its original, so for a clone only likeness
 * counts.
 */
static enum err search_host(struct rpc *x, bool clone)
{
	struct host *h = NULL;

	if (!clone)
		TRY(host_by_its_cpid(x, &h));
	if (h == NULL)
		TRY(host_by_likeness(x, &h));
	x->clone = clone;
	x->host = h;
	x->host_id_changed = true;
	/* The tasks may be those of the other attachment of this computer. */
	x->detach = h != NULL && !x->twin && client_is_empty(x->req);
	return OK;
}

enum err rpc_still_no_host(struct rpc *x)
{
	enum err e = x->host_wait_s > 0 ? OK : user_lock(x->db, x->user->id, &x->fail);

	if (e == OK)
		e = search_host(x, x->clone);
	if (e != OK || x->host == NULL)
		return e;
	return FAIL(&x->fail, E_RETRY,
	    "host %lld was created by a copy of this request", (long long)x->host->id);
}

enum err rpc_count_new_hosts(struct rpc *x)
{
	int64_t made = 0, most = x->conf->max_new_hosts_per_account_day;
	enum err e = most == 0 ? OK :
	                         host_made(x->db, x->user->id, x->now - HOST_DAY_S,
				     most, &made, &x->fail);

	x->host_wait_s = host_new_wait_s(x->conf, made, x->now);
	return e;
}

/*
 * Finds the row of the client's host id, with its account, following merge links;
 * *found stays NULL if there is none.
 */
static enum err host_of_request(
    struct rpc *x, struct row_host_account **found, bool *forwarded)
{
	struct row_host_account *at = x->asking;
	size_t n = at != NULL;

	*forwarded = false;
	for (int hops = 1; n > 0 && at->host.userid == 0 && hops < FORWARDS_MAX;
	     hops++) {
		TRY(hosts_and_accounts(x->db, x->a, &at->host.rpc_seqno, 1,
		    x->req->nreports + x->req->nother_results > 0, &at, &n, &x->fail));
		*forwarded = true;
	}
	if (n > 0 && at->host.userid != 0)
		*found = at;
	return OK;
}

/*
 * Authenticates by the key alone, because the host's row is missing or its account has
 * another key.
 */
static enum err authenticate_stranger(struct rpc *x)
{
	TRY(user_by_key(x));
	return search_host(x, false);
}

/*
 * *ours: the key is one of the account u that the host belongs to, or of one that was
 * merged into it.
 */
static enum err authenticate_for_host(struct rpc *x, struct user *u, bool *ours)
{
	*ours = u->id != 0 && (key_fits(x, u) || x->as_host != 0);
	if (*ours) {
		x->user = u;
		return OK;
	}
	TRY(user_by_key(x));
	*ours = x->user->id == u->id;
	return OK;
}

/* Returns an account without a row, for a request on nobody's behalf. */
static struct user *nobody(struct arena *a)
{
	struct user *u = NEW(a, struct user);

	for (size_t i = 0; i < shape_user.ncols; i++)
		if (shape_user.cols[i].type == FIELD_TEXT)
			*(char **)((char *)u + shape_user.cols[i].off) = arena_strdup(
			    a, "");
	return u;
}

/* Forgets what an earlier try found. */
static void forget_identity(struct rpc *x)
{
	x->user = x->probe ? nobody(x->a) : NULL;
	x->asking = NULL;
	x->host = NULL;
	x->host_id_changed = x->detach = x->twin = false;
	x->predecessor = 0;
	x->nnotes = 0;
	x->glance.there = false;
}

/* The state of this host's client went back: the client was restored or copied. */
static enum err identify_clone(struct rpc *x, const struct host *h)
{
	if (x->now - h->rpc_time < OVERTAKEN_S)
		return FAIL(&x->fail, E_RACE,
		    "host %lld: a request with number %lld comes after %lld",
		    (long long)h->id, (long long)x->req->rpc_seqno,
		    (long long)h->rpc_seqno);
	TRY(search_host(x, true));
	if ((x->host == NULL || x->host->id != h->id) && host_succeeds(h, x->req))
		x->predecessor = h->id;
	return OK;
}

static enum err authenticate(struct rpc *x)
{
	struct row_host_account *found = NULL;
	struct host *h;
	struct user *u;
	enum host_verdict verdict;
	bool forwarded = false, ours;

	x->next = x->head ? RPC_served : RPC_load;
	if (x->probe)
		return OK;
	if (x->req->hostid != 0)
		TRY(host_of_request(x, &found, &forwarded));
	if (found == NULL && x->req->hostid != 0)
		rpc_note(x, false, "Can't find host record");
	if (found == NULL)
		return authenticate_stranger(x);

	h = &found->host;
	u = &found->user;
	TRY(authenticate_for_host(x, u, &ours));
	if (!ours)
		return search_host(x, false);
	/* In a dry run an old request is replayed, which is not a copy of the host. */
	if (x->dry && x->req->rpc_seqno < h->rpc_seqno)
		x->req->rpc_seqno = h->rpc_seqno;
	verdict = host_identify(h, x->req, u->id, forwarded);
	x->twin = !forwarded && host_is_twin(h, x->req, verdict);
	switch (verdict) {
	case HOST_SAME:
		x->host = h;
		x->host_id_changed = forwarded;
		x->predecessor = forwarded ? x->req->hostid : 0;
		x->glance = found->glance;
		return OK;
	case HOST_CLONE:
		return identify_clone(x, h);
	case HOST_FORWARD:
	case HOST_FOREIGN:
		break;
	}
	return search_host(x, false);
}

enum err rpc_authenticate(struct cohort *c)
{
	int64_t *ids = NEWN(c->a, int64_t, c->n);
	struct row_host_account *rows;
	bool tasks = false;
	size_t n = 0, nrows;

	for (size_t i = 0; i < c->n; i++) {
		struct rpc *x = c->v[i];

		forget_identity(x);
		if (x->as_host != 0)
			x->req->hostid = x->as_host;
		if (x->req->hostid == 0 || x->probe)
			continue;
		ids[n++] = x->req->hostid;
		tasks = x->req->nreports + x->req->nother_results > 0;
	}
	TRY(hosts_and_accounts(c->db, c->a, ids, n, tasks, &rows, &nrows, &c->fail));
	for (size_t i = 0; i < c->n; i++)
		for (size_t k = 0; k < nrows; k++)
			if (c->v[i]->req->hostid == rows[k].host.id)
				c->v[i]->asking = &rows[k];
	cohort_each(c, authenticate);
	return OK;
}
