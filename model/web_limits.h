/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Limits of what an address, or strangers about an account, may do in an hour: where
 * the processes of a machine count it (lib/rate.h), under which name, and at which
 * rate.
 */
#ifndef MODEL_WEB_LIMITS_H
#define MODEL_WEB_LIMITS_H

#include "lib/rate.h"
#include "model/conf.h"

enum web_limit {
#define WEB_LIMIT(name, text) WEB_LIMIT_##name,
#include "model/web_limits.def"
#undef WEB_LIMIT
	WEB_LIMITS
};

/* Returns the text of web_limits.def, for the log. */
const char *web_limit_text(enum web_limit);
/* Returns the number of events an hour that the configuration allows; 0 = no limit. */
int64_t web_limit_per_hour(const struct conf *, enum web_limit);
/* The same as a rate: an hour's events may come at once. */
struct rate web_limit_rate(const struct conf *, enum web_limit);
/* The name under which events of who are counted: an address_group(), or an e-mail
 * address in lower case. */
char *web_limit_key(struct arena *, enum web_limit, const char *who);
/* The file of the counts. */
char *web_limits_path(struct arena *, const struct conf *);
/*
 * Returns the name of the group that shares a limit: an IPv4 address, or the 64-bit
 * network of an IPv6 address. Everything that is not an address shares one group.
 */
char *address_group(struct arena *, const char *peer);

#endif
