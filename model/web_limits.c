/* SPDX-License-Identifier: Apache-2.0 */
/* Short, because it is all that web and the tools share of the limits. */
#include "model/web_limits.h"

#include <arpa/inet.h>
#include <string.h>
#include "lib/banned.h"

/* FIRSTS_TIMES: many may share an address, and each may fail about another account. */
enum { HOUR_S = 3600, NETWORK_BYTES = 8, FIRSTS_TIMES = 10 };

static const char *const limit_texts[WEB_LIMITS] = {
#define WEB_LIMIT(name, text) text,
#include "model/web_limits.def"
#undef WEB_LIMIT
};

const char *web_limit_text(enum web_limit limit)
{
	return limit_texts[limit];
}

int64_t web_limit_per_hour(const struct conf *cf, enum web_limit limit)
{
	const int64_t per_hour[WEB_LIMITS] = {
		[WEB_LIMIT_FAILURES] = cf->web_failures_per_hour,
		[WEB_LIMIT_GUESSES] = cf->web_account_failures_per_hour,
		[WEB_LIMIT_TRIES] = cf->web_account_failures_per_hour,
		[WEB_LIMIT_FIRSTS] = cf->web_failures_per_hour * FIRSTS_TIMES,
		[WEB_LIMIT_CREATIONS] = cf->web_accounts_per_hour,
		[WEB_LIMIT_MAIL_REQUESTS] = cf->web_mails_per_hour,
		[WEB_LIMIT_MAILS] = cf->web_account_mails_per_hour,
	};

	return per_hour[limit];
}

struct rate web_limit_rate(const struct conf *cf, enum web_limit limit)
{
	double n = (double)web_limit_per_hour(cf, limit);

	return (struct rate){ .burst = n, .per_s = n / HOUR_S };
}

char *web_limit_key(struct arena *a, enum web_limit limit, const char *who)
{
	return arena_printf(a, "%s %s", limit_texts[limit], who);
}

char *web_limits_path(struct arena *a, const struct conf *cf)
{
	return arena_printf(a, "%s/web_limits", cf->run_dir);
}

char *address_group(struct arena *a, const char *peer)
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
