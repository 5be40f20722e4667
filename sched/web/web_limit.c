/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how often an address may do what only strangers do often: fail to
 * authenticate, create accounts, or ask for mail (model/web_limits.def).  The processes
 * of a machine share the counts in a file.  If the file cannot be used nobody is
 * limited, because a full disk must not lock volunteers out.
 */
#include "sched/web/web_rpc.h"

#include "lib/clock.h"
#include "lib/log.h"
#include "model/web_limits.h"
#include "lib/banned.h"

/* Whom a limit counts for in this request; NULL = nobody. */
struct limit_who {
	const char *group;   /* address_group() of the request */
	const char *account; /* what it says whom it is about */
	const char *pair;    /* that account, tried from there */
};

static struct limit_who
who_asks(struct web_rpc *x, const char *account)
{
	struct limit_who w = { .group = address_group(x->a, x->peer),
		.account = account };

	if (account != NULL)
		w.pair = arena_printf(x->a, "%s from %s", account, w.group);
	return w;
}

static const char *
limit_name(const struct limit_who *w, enum web_limit limit)
{
	return limit == WEB_LIMIT_TRIES                               ? w->pair :
	       limit == WEB_LIMIT_GUESSES || limit == WEB_LIMIT_MAILS ? w->account :
	                                                                w->group;
}

/*
 * Counts one event; returns 0 if it is within the limit, otherwise the seconds to wait.
 */
static double
limit_take(struct web_rpc *x, enum web_limit limit, const struct limit_who *w)
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
static void
limit_give_back(struct web_rpc *x, const struct limit_who *w)
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
static double
limit_refuse(
    struct web_rpc *x, enum web_limit limit, const struct limit_who *w, double wait_s)
{
	/* do not log e-mail addresses */
	log_warn("too many %s %s: refused for %.0f s", web_limit_text(limit),
	    limit_name(w, limit) == w->group ? w->group : "an account", wait_s);
	limit_give_back(x, w);
	return wait_s;
}

/* Takes an event of each of the limits, or of none. */
static double
limit_take_all(
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

char *
limit_message(struct web_rpc *x, double wait_s)
{
	return arena_printf(x->a,
	    "Too many attempts. Please try again in %.0f minutes.", wait_s / 60 + 1);
}

/*
 * Clients have no error number for this.  The number for a project that is temporarily
 * down makes them tell the volunteer to try again later.
 */
static bool
limit_allows(struct web_rpc *x, double wait_s)
{
	if (wait_s <= 0)
		return true;
	web_error(x->b, WEB_OFFLINE, limit_message(x, wait_s));
	return false;
}

/* Is this the first failure about the account from this address, for all we know? */
static bool
is_first_try(struct web_rpc *x, const struct limit_who *w)
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
 * strangers could keep an owner out.  What one address may try is limited in the end.
 */
static double
limit_wait(struct web_rpc *x, const char *account)
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

bool
limit_try(struct web_rpc *x, const char *account)
{
	return limit_allows(x, limit_wait(x, account));
}

void
limit_succeeded(struct web_rpc *x, const char *account)
{
	struct limit_who w = who_asks(x, account);

	limit_give_back(x, &w);
}

double
limit_failed(struct web_rpc *x)
{
	static const enum web_limit v[] = { WEB_LIMIT_FAILURES };

	return limit_take_all(x, v, N(v), NULL);
}

bool
limit_wrong_key(struct web_rpc *x)
{
	return limit_allows(x, limit_failed(x));
}

bool
limit_new_account(struct web_rpc *x)
{
	static const enum web_limit v[] = { WEB_LIMIT_CREATIONS };

	return limit_allows(x, limit_take_all(x, v, N(v), NULL));
}

double
limit_mail_wait(struct web_rpc *x, const char *email)
{
	static const enum web_limit v[] = { WEB_LIMIT_MAIL_REQUESTS, WEB_LIMIT_MAILS };

	return limit_take_all(x, v, N(v), email);
}
