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

/*
 * Counts one event; returns 0 if it is within the limit, otherwise the seconds to wait.
 */
static double
limit_take(struct web_rpc *x, enum web_limit limit, const char *who)
{
	struct rate r = web_limit_rate(x->conf, limit);
	bool of_account = limit == WEB_LIMIT_GUESSES || limit == WEB_LIMIT_MAILS;
	struct fail f = { 0 };
	double wait_s = 0;
	enum err e;

	if (r.burst <= 0)
		return 0;
	e = rate_take(web_limits_path(x->a, x->conf), &r,
	    web_limit_key(x->a, limit, who), clock_now_f(), &wait_s, &f);
	if (e == OK)
		return 0;
	if (e != E_RACE) {
		log_fail("limit", &f);
		return 0;
	}
	/* do not log e-mail addresses */
	log_warn("too many %s %s: refused for %.0f s", web_limit_text(limit),
	    of_account ? "an account" : who, wait_s);
	return wait_s;
}

static void
limit_give_back(struct web_rpc *x, enum web_limit limit, const char *who)
{
	struct rate r = web_limit_rate(x->conf, limit);
	struct fail f = { 0 };

	if (r.burst > 0 &&
	    rate_give_back(web_limits_path(x->a, x->conf), &r,
		web_limit_key(x->a, limit, who), clock_now_f(), &f) != OK)
		log_fail("limit", &f);
}

/*
 * Takes an event of the address, and one about an account (NULL = none known), or
 * neither of them.
 */
static double
limit_take_both(struct web_rpc *x, enum web_limit of_address, enum web_limit of_account,
    const char *account)
{
	const char *group = address_group(x->a, x->peer);
	double wait_s = limit_take(x, of_address, group);

	if (wait_s <= 0 && account != NULL) {
		wait_s = limit_take(x, of_account, account);
		if (wait_s > 0)
			limit_give_back(x, of_address, group);
	}
	return wait_s;
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

double
limit_wait(struct web_rpc *x, const char *account)
{
	return limit_take_both(x, WEB_LIMIT_FAILURES, WEB_LIMIT_GUESSES, account);
}

bool
limit_try(struct web_rpc *x, const char *account)
{
	return limit_allows(x, limit_wait(x, account));
}

void
limit_succeeded(struct web_rpc *x, const char *account)
{
	limit_give_back(x, WEB_LIMIT_FAILURES, address_group(x->a, x->peer));
	if (account != NULL)
		limit_give_back(x, WEB_LIMIT_GUESSES, account);
}

bool
limit_new_account(struct web_rpc *x)
{
	return limit_allows(
	    x, limit_take(x, WEB_LIMIT_CREATIONS, address_group(x->a, x->peer)));
}

double
limit_mail_wait(struct web_rpc *x, const char *email)
{
	return limit_take_both(x, WEB_LIMIT_MAIL_REQUESTS, WEB_LIMIT_MAILS, email);
}
