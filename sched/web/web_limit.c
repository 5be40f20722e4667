/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how often an address may do what only strangers do often: fail to
 * authenticate, create accounts, or ask for mail (model/web_limits.def). The processes
 * of a machine share the counts in a file. If the file cannot be used nobody is
 * limited, because a full disk must not lock volunteers out.
 */
#include "sched/web/web_limit.h"

#include <string.h>
#include "db/entity.h"
#include "db/user.h"
#include "lib/clock.h"
#include "lib/crypt.h"
#include "lib/http.h"
#include "lib/log.h"
#include "lib/text.h"
#include "model/web_limits.h"
#include "proto/web_docs.h"
#include "lib/banned.h"

/* Whom a limit counts for in this request; NULL = nobody. */
struct limit_who {
	const char *group;   /* address_group() of the request */
	const char *account; /* what it says whom it is about */
	const char *pair;    /* that account, tried from there */
};

static struct limit_who who_asks(struct web_rpc *x, const char *account)
{
	struct limit_who w = { .group = address_group(x->a, x->peer),
		.account = account };

	if (account != NULL)
		w.pair = arena_printf(x->a, "%s from %s", account, w.group);
	return w;
}

static const char *limit_name(const struct limit_who *w, enum web_limit limit)
{
	return limit == WEB_LIMIT_TRIES                               ? w->pair :
	       limit == WEB_LIMIT_GUESSES || limit == WEB_LIMIT_MAILS ? w->account :
	                                                                w->group;
}

/*
 * Counts one event; returns 0 if it is within the limit, otherwise the seconds to wait.
 */
static double limit_take(
    struct web_rpc *x, enum web_limit limit, const struct limit_who *w)
{
	struct rate r = web_limit_rate(x->conf, limit);
	struct fail f = { 0 };
	double wait_s = 0;
	enum err e;

	if (r.burst <= 0)
		return 0;
	e = rate_take(web_limits_path(x->a, x->conf), &r,
	    web_limit_key(x->a, limit, limit_name(w, limit)), clock_now_f(), &wait_s,
	    &f);
	if (e == OK)
		x->taken |= 1U << limit;
	else if (e != E_RACE)
		log_fail("limit", &f);
	return e == E_RACE ? wait_s : 0;
}

/* Takes back what this request has counted. */
static void limit_give_back(struct web_rpc *x, const struct limit_who *w)
{
	struct fail f = { 0 };

	for (enum web_limit l = 0; l < WEB_LIMITS; l++) {
		struct rate r = web_limit_rate(x->conf, l);

		if ((x->taken & 1U << l) != 0 &&
		    rate_give_back(web_limits_path(x->a, x->conf), &r,
			web_limit_key(x->a, l, limit_name(w, l)), clock_now_f(),
			&f) != OK)
			log_fail("limit", &f);
	}
	x->taken = 0;
}

/* Refuses what exceeds a limit: nothing of it counts. */
static double limit_refuse(
    struct web_rpc *x, enum web_limit limit, const struct limit_who *w, double wait_s)
{
	/* do not log e-mail addresses */
	log_warn("too many %s %s: refused for %.0f s", web_limit_text(limit),
	    limit_name(w, limit) == w->group ? w->group : "an account", wait_s);
	limit_give_back(x, w);
	return wait_s;
}

/* Takes an event of each of the limits, or of none. */
static double limit_take_all(
    struct web_rpc *x, const enum web_limit *v, size_t n, const char *account)
{
	struct limit_who w = who_asks(x, account);

	for (size_t i = 0; i < n; i++) {
		double wait_s = limit_take(x, v[i], &w);

		if (wait_s > 0)
			return limit_refuse(x, v[i], &w, wait_s);
	}
	return 0;
}

char *limit_message(struct web_rpc *x, double wait_s)
{
	return arena_printf(x->a,
	    "Too many attempts. Please try again in %.0f minutes.", wait_s / 60 + 1);
}

/*
 * Clients have no error number for this. The number for a project that is temporarily
 * down makes them tell the volunteer to try again later.
 */
static bool limit_allows(struct web_rpc *x, double wait_s)
{
	if (wait_s <= 0)
		return true;
	web_error(x->b, WEB_OFFLINE, limit_message(x, wait_s));
	return false;
}

/* Is this the first failure about the account from this address, for all we know? */
static bool is_first_try(struct web_rpc *x, const struct limit_who *w)
{
	struct rate r = web_limit_rate(x->conf, WEB_LIMIT_TRIES);
	struct fail f = { 0 };
	double level = 0, wait_s;

	return (x->taken & 1U << WEB_LIMIT_TRIES) != 0 &&
	       rate_look(web_limits_path(x->a, x->conf), &r,
		   web_limit_key(x->a, WEB_LIMIT_TRIES, w->pair), clock_now_f(), &level,
		   &wait_s, &f) == OK &&
	       level <= 1;
}

/*
 * An address that has not failed about the account is not refused for what others have
 * tried about it, or those who share the address about other accounts: otherwise
 * strangers could keep an owner out. What one address may try is limited in the end.
 */
static double limit_wait(struct web_rpc *x, const char *account)
{
	struct limit_who w = who_asks(x, account);
	double wait_s = limit_take(x, WEB_LIMIT_TRIES, &w);
	bool first;

	if (wait_s > 0)
		return limit_refuse(x, WEB_LIMIT_TRIES, &w, wait_s);
	first = is_first_try(x, &w);
	wait_s = limit_take(x, WEB_LIMIT_FAILURES, &w);
	if (wait_s > 0 && first)
		wait_s = limit_take(x, WEB_LIMIT_FIRSTS, &w);
	if (wait_s > 0)
		return limit_refuse(x, WEB_LIMIT_FAILURES, &w, wait_s);
	wait_s = limit_take(x, WEB_LIMIT_GUESSES, &w);
	return wait_s > 0 && !first ? limit_refuse(x, WEB_LIMIT_GUESSES, &w, wait_s) :
	                              0;
}

bool limit_try(struct web_rpc *x, const char *account)
{
	return limit_allows(x, limit_wait(x, account));
}

void limit_succeeded(struct web_rpc *x, const char *account)
{
	struct limit_who w = who_asks(x, account);

	limit_give_back(x, &w);
}

double limit_failed(struct web_rpc *x)
{
	static const enum web_limit v[] = { WEB_LIMIT_FAILURES };

	return limit_take_all(x, v, N(v), NULL);
}

bool limit_wrong_key(struct web_rpc *x)
{
	return limit_allows(x, limit_failed(x));
}

bool limit_new_account(struct web_rpc *x)
{
	static const enum web_limit v[] = { WEB_LIMIT_CREATIONS };

	return limit_allows(x, limit_take_all(x, v, N(v), NULL));
}

double limit_mail_wait(struct web_rpc *x, const char *email)
{
	static const enum web_limit v[] = { WEB_LIMIT_MAIL_REQUESTS, WEB_LIMIT_MAILS };

	return limit_take_all(x, v, N(v), email);
}

/* Parameters of web RPCs: clients send them in the query or post them as a form. */

char *web_param(const struct web_rpc *x, const char *name)
{
	char *v = query_get(x->a, x->query, name);

	return v != NULL ? v : query_get(x->a, x->form, name);
}

char *web_text(const struct web_rpc *x, const char *name)
{
	char *v = web_param(x, name);

	return v != NULL ? v : arena_strdup(x->a, "");
}

int64_t web_id(const struct web_rpc *x, const char *name)
{
	int64_t id = 0;

	return text_i64(web_text(x, name), 1, INT64_MAX, &id) ? id : 0;
}

void web_failed(struct web_rpc *x, const struct fail *f)
{
	log_fail("web RPC", f);
	web_error(x->b, WEB_NO_DATABASE, NULL);
}

/* RPCs of account managers and statistics sites (protocol.md 7.6). */

enum { IDS_MAX = DB_LIST_MAX };

/*
 * A deleted account keeps its row; its key shows that it is deleted (protocol.md 7.4).
 */
static bool account_is_deleted(const struct user_info *u)
{
	return strstr(u->authenticator, "deleted") != NULL;
}

/*
 * Finds the account of a key, or of an old one. The index ignores trailing blanks of a
 * key, so the key is compared again.
 */
static enum err account_of_key(
    struct web_rpc *x, const char *key, struct user_info **u, struct fail *f)
{
	int64_t id;
	enum err e;

	if (key[0] == '\0')
		return E_NOTFOUND;
	e = account_by_key(x->db, x->a, key, u, f);
	if (e == OK && secret_equal((*u)->authenticator, key) &&
	    !account_is_deleted(*u))
		return OK;
	if (e != OK && e != E_NOTFOUND)
		return e;
	TRY(user_of_old_key(x->db, key, &id, f));
	return account_by_id(x->db, x->a, id, u, f);
}

/*
 * Finds the account whose key is in the parameter; otherwise writes an error document.
 */
static bool authenticated(
    struct web_rpc *x, const char *parameter, struct user_info **u)
{
	struct fail f = { 0 };
	enum err e = account_of_key(x, web_text(x, parameter), u, &f);

	if (e == E_NOTFOUND && limit_wrong_key(x))
		web_error(x->b, WEB_NOT_FOUND, NULL);
	else if (e != OK && e != E_NOTFOUND)
		web_failed(x, &f);
	return e == OK;
}

void rpc_manager_get_info(struct web_rpc *x)
{
	struct user_info *u;
	struct fail f = { 0 };
	struct team *t = NULL;
	size_t n = 0;
	enum err e = OK;

	if (!authenticated(x, "account_key", &u))
		return;
	if (u->teamid != 0)
		e = teams_by_ids(x->db, x->a, &u->teamid, 1, &t, &n, &f);
	if (e == OK)
		web_manager_info(x->b, u, n > 0 && t[0].userid == u->id);
	else
		web_failed(x, &f);
}

void rpc_manager_set_info(struct web_rpc *x)
{
	web_error(x->b, WEB_FAILED, "Accounts cannot be changed by account managers");
}

/* The venues that preferences know; "" is the default. */
static bool venue_is_known(const char *s)
{
	static const char *const venues[] = { "", "home", "school", "work" };

	for (size_t i = 0; i < N(venues); i++)
		if (strcmp(venues[i], s) == 0)
			return true;
	return false;
}

void rpc_manager_set_host(struct web_rpc *x)
{
	const char *venue = web_text(x, "venue");
	struct user_info *u;
	struct fail f = { 0 };
	enum err e;

	if (!authenticated(x, "account_key", &u))
		return;
	if (!venue_is_known(venue)) {
		web_error(x->b, WEB_BAD_PARAMETER, "No such venue");
		return;
	}
	e = account_host_venue(x->db, u->id, web_id(x, "hostid"), venue, &f);
	if (e == OK)
		web_success(x->b, "am_set_host_info_reply");
	else if (e == E_NOTFOUND)
		web_error(x->b, WEB_NOT_FOUND, NULL);
	else
		web_failed(x, &f);
}

/* --- statistics --- */

enum err web_public_account(struct web_rpc *x, struct user_info **u, struct fail *f)
{
	enum err e = account_by_id(x->db, x->a, web_id(x, "userid"), u, f);

	return e == OK && account_is_deleted(*u) ? E_NOTFOUND : e;
}

void rpc_show_user(struct web_rpc *x)
{
	struct user_info *u;
	struct host *hosts = NULL;
	struct fail f = { 0 };
	bool own = web_param(x, "auth") != NULL;
	size_t n = 0;
	enum err e;

	if (own) {
		if (!authenticated(x, "auth", &u))
			return;
		e = account_hosts(x->db, x->a, u->id, &hosts, &n, &f);
	} else {
		e = web_public_account(x, &u, &f);
	}
	if (e == OK)
		web_user(x->b, u, own, hosts, n);
	else if (e == E_NOTFOUND)
		web_error(x->b, WEB_NOT_FOUND, NULL);
	else
		web_failed(x, &f);
}

/* Parses "1,2,3", up to the first item that is not a number. */
static size_t read_ids(struct arena *a, const char *s, int64_t ids[IDS_MAX])
{
	size_t n = 0;

	while (*s != '\0' && n < IDS_MAX) {
		size_t len = strcspn(s, ",");

		if (!text_i64(arena_memdup(a, s, len), 1, INT64_MAX, &ids[n]))
			break;
		n++;
		s += len;
		s += *s == ',';
	}
	return n;
}

void rpc_team_lookup(struct web_rpc *x)
{
	char *one = web_param(x, "team_id"), *many = web_param(x, "team_ids");
	char *name = web_param(x, "team_name");
	struct team *t = NULL;
	int64_t ids[IDS_MAX];
	size_t n = 0, nids = 0;
	struct fail f = { 0 };
	enum err e = OK;

	if (one != NULL)
		nids = text_i64(one, 1, INT64_MAX, &ids[0]) ? 1 : 0;
	else if (many != NULL)
		nids = read_ids(x->a, many, ids);
	if (nids > 0)
		e = teams_by_ids(x->db, x->a, ids, nids, &t, &n, &f);
	else if (one == NULL && many == NULL && name != NULL && name[0] != '\0')
		e = teams_by_name(x->db, x->a, name, &t, &n, &f);
	if (e != OK)
		web_failed(x, &f);
	else if (n == 0)
		web_error(x->b, WEB_NOT_FOUND, NULL);
	else
		web_teams(x->b, t, n, one == NULL);
}
