/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits how often an address may do what only strangers do often: fail to
 * authenticate, or create accounts.  The processes of a machine share the counts in a
 * file.  If the file cannot be used nobody is limited, because a full disk must not
 * lock volunteers out.
 */
#include "sched/web/web_rpc.h"

#include <arpa/inet.h>
#include <string.h>
#include "lib/clock.h"
#include "lib/log.h"
#include "lib/rate.h"
#include "lib/banned.h"

enum { HOUR_S = 3600, NETWORK_BYTES = 8 };

char *
limit_group(struct arena *a, const char *peer)
{
	static const unsigned char v4_in_v6[12] = { [10] = 0xff, [11] = 0xff };
	char text[INET6_ADDRSTRLEN];
	unsigned char p[16];

	if (inet_pton(AF_INET, peer, p) == 1)
		return arena_strdup(a, peer);
	if (inet_pton(AF_INET6, peer, p) != 1)
		return arena_strdup(a, "?");
	if (memcmp(p, v4_in_v6, sizeof(v4_in_v6)) == 0) {
		inet_ntop(AF_INET, p + sizeof(v4_in_v6), text, sizeof(text));
		return arena_strdup(a, text);
	}
	memset(p + NETWORK_BYTES, 0, sizeof(p) - NETWORK_BYTES);
	inet_ntop(AF_INET6, p, text, sizeof(text));
	return arena_printf(a, "%s/64", text);
}

static const char failures[] = "failures of", guesses[] = "failures about",
		  creations[] = "accounts of";

static const char *
limits_path(const struct web_rpc *x)
{
	return arena_printf(x->a, "%s/web_limits", x->conf->run_dir);
}

static struct rate
hourly(int64_t n)
{
	return (struct rate){ .burst = (double)n, .per_s = (double)n / HOUR_S };
}

/*
 * Counts one event; returns 0 if it is within the limit, otherwise the seconds to wait.
 */
static double
limit_take(struct web_rpc *x, int64_t per_hour, const char *what, const char *who)
{
	struct rate r = hourly(per_hour);
	struct fail f = { 0 };
	double wait_s = 0;
	enum err e;

	if (per_hour == 0)
		return 0;
	e = rate_take(limits_path(x), &r, arena_printf(x->a, "%s %s", what, who),
	    clock_now_f(), &wait_s, &f);
	if (e == OK)
		return 0;
	if (e != E_RACE) {
		log_fail("limit", &f);
		return 0;
	}
	/* do not log e-mail addresses */
	log_warn("too many %s %s: refused for %.0f s", what,
	    what == guesses ? "an account" : who, wait_s);
	return wait_s;
}

static void
limit_give_back(struct web_rpc *x, int64_t per_hour, const char *what, const char *who)
{
	struct rate r = hourly(per_hour);
	struct fail f = { 0 };

	if (per_hour != 0 &&
	    rate_give_back(limits_path(x), &r, arena_printf(x->a, "%s %s", what, who),
		clock_now_f(), &f) != OK)
		log_fail("limit", &f);
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
	web_error(x->b, WEB_OFFLINE,
	    arena_printf(x->a, "Too many attempts. Please try again in %.0f minutes.",
		wait_s / 60 + 1));
	return false;
}

bool
limit_try(struct web_rpc *x, const char *account)
{
	const struct conf *cf = x->conf;
	const char *group = limit_group(x->a, x->peer);
	double wait_s = limit_take(x, cf->web_failures_per_hour, failures, group);

	if (wait_s <= 0 && account != NULL) {
		wait_s = limit_take(
		    x, cf->web_account_failures_per_hour, guesses, account);
		if (wait_s > 0)
			limit_give_back(x, cf->web_failures_per_hour, failures, group);
	}
	return limit_allows(x, wait_s);
}

void
limit_succeeded(struct web_rpc *x, const char *account)
{
	const struct conf *cf = x->conf;

	limit_give_back(
	    x, cf->web_failures_per_hour, failures, limit_group(x->a, x->peer));
	if (account != NULL)
		limit_give_back(x, cf->web_account_failures_per_hour, guesses, account);
}

bool
limit_new_account(struct web_rpc *x)
{
	return limit_allows(x, limit_take(x, x->conf->web_accounts_per_hour, creations,
				   limit_group(x->a, x->peer)));
}
