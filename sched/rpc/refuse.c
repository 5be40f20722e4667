/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of refusals and the two ways into it: an error of a step, and what
 * authentication found out about the host. Texts that volunteers know from the stock
 * server have its wording.
 */
#include "sched/rpc/refuse.h"

#include <string.h>
#include "model/rows.h"
#include "proto/reply.h"
#include "rules/sched/decide.h"
#include "lib/banned.h"

enum { LEVEL_LOW, LEVEL_NOTICE, MAINTENANCE_S = 3600, DETAIL_MAX = 300 };
enum {
	NOTICE_S = 3 * 86400
}; /* a hint becomes a notice this long before its deadline */

static const struct {
	const char *name;
	bool notice;
	int delay_s;
	bool down;
	const char *text;
} refusals[] = {
#define SITUATION(name, level, delay, down, text)                                      \
	{ #name, LEVEL_##level, delay, down, text },
#include "sched/rpc/refuse.def"
#undef SITUATION
};

/*
 * Returns text with detail in place of %s, both cut so that clients do not drop the
 * message.
 */
static char *fill_detail(struct arena *a, const char *text, const char *detail)
{
	const char *gap = strstr(text, "%s");

	if (gap == NULL)
		return arena_strdup(a, text);
	return arena_printf(a, "%.*s%.*s%s", (int)(gap - text), text, DETAIL_MAX,
	    detail == NULL ? "" : detail, gap + 2);
}

struct refusal refusal_of(
    struct arena *a, const struct conf *cf, enum situation s, const char *detail)
{
	int delay = refusals[s].delay_s;

	if (delay < 0)
		delay = cf == NULL ? MAINTENANCE_S : (int)cf->maintenance_delay;
	return (struct refusal){ .notice = refusals[s].notice,
		.delay_s = delay,
		.down = refusals[s].down,
		.text = fill_detail(a, refusals[s].text, detail) };
}

const char *refuse_name(enum situation s)
{
	return refusals[s].name;
}

bool refuse_is_down(enum situation s)
{
	return refusals[s].down;
}

enum situation refuse_error(enum err e, bool hostid_given)
{
	switch (e) {
	case OK:
		return REFUSE_NOTHING;
	case E_BADREQ:
		return REFUSE_BAD_REQUEST;
	case E_NOTFOUND: /* a client without a host was never attached: no notice */
		return hostid_given ? REFUSE_BAD_KEY : REFUSE_BAD_KEY_NEW;
	case E_DB:
		return REFUSE_NO_DATABASE;
	case E_DISK_FULL:
		return REFUSE_DISK_FULL;
	case E_RETRY:
	case E_RACE:
		return REFUSE_BUSY;
	case E_CONFIG:
		return REFUSE_NO_CONFIG;
	case E_SYS:
	case E_DENIED:
	case E__MAX:
		break;
	}
	return REFUSE_FAILED;
}

static bool platform_known(const struct request *rq, const struct catalog *cat)
{
	for (size_t i = 0; i < rq->nplatforms; i++) {
		const struct platform *p = catalog_platform_named(
		    cat, rq->platforms[i]);

		if (p != NULL && !p->deprecated)
			return true;
	}
	return false;
}

static const char *or_empty(const char *text)
{
	return text == NULL ? "" : text;
}

/*
 * Administrators' patterns are matched against "name TAB version" (protocol.md 2.10).
 */
static bool machine_is_banned(struct arena *a, const struct pattern_list *ban,
    const char *name, const char *version)
{
	const char *both;

	if (ban->n == 0)
		return false;
	both = arena_printf(a, "%s\t%s", or_empty(name), or_empty(version));
	for (size_t i = 0; i < ban->n; i++)
		if (pattern_match(ban->v[i], both))
			return true;
	return false;
}

/* A replicated trickle describes no host, so it need not name a platform. */
static enum situation refuse_machine(struct arena *a, const struct conf *cf,
    const struct request *rq, const struct catalog *cat)
{
	const struct rq_host *h = &rq->host;

	if (!h->present)
		return REFUSE_NOTHING;
	if (machine_is_banned(a, &cf->ban_os, h->os_name, h->os_version))
		return REFUSE_BANNED_OS;
	if (machine_is_banned(a, &cf->ban_cpu, h->p_vendor, h->p_model))
		return REFUSE_BANNED_CPU;
	return platform_known(rq, cat) ? REFUSE_NOTHING : REFUSE_NO_PLATFORM;
}

enum situation refuse_host(struct arena *a, const struct conf *cf,
    const struct request *rq, const struct requester *by, const struct catalog *cat)
{
	const struct host *host = by->host;

	if (ban_holds(by->user->banned != 0, by->user->ban_until, by->now))
		return REFUSE_USER_BANNED;
	if (host != NULL &&
	    ban_holds(host->max_results_day == HOST_BANNED, host->ban_until, by->now))
		return REFUSE_HOST_BANNED;
	if (cf->ended)
		return REFUSE_ENDED;
	if (rq->version < version_full(cf->min_core_client_version))
		return REFUSE_OLD_CLIENT;
	return refuse_machine(a, cf, rq, cat);
}

char *refuse_detail(
    struct arena *a, const struct conf *cf, enum situation s, const struct request *rq)
{
	const struct rq_host *h = &rq->host;

	if (s == REFUSE_NEW_HOSTS)
		return arena_printf(
		    a, "%lld", (long long)cf->max_new_hosts_per_account_day);
	if (s == REFUSE_BANNED_OS)
		return arena_printf(
		    a, "%s %s", or_empty(h->os_name), or_empty(h->os_version));
	if (s == REFUSE_BANNED_CPU)
		return arena_printf(
		    a, "%s %s", or_empty(h->p_vendor), or_empty(h->p_model));
	return arena_strdup(a, or_empty(rq->platform_name));
}

static void add_hint(struct dec_message *to, size_t *n, bool notice, char *text)
{
	to[(*n)++] = (struct dec_message){ .notice = notice, .text = text };
}

size_t refuse_hints(struct arena *a, const struct conf *cf, const struct request *rq,
    int64_t now, struct dec_message to[REFUSE_HINTS_MAX])
{
	int64_t left = cf->min_core_client_upgrade_deadline - now;
	int64_t v = version_full(cf->min_core_client_version_announced);
	size_t n = 0;

	if (rq->version < v && left > 0)
		add_hint(to, &n, left < NOTICE_S,
		    arena_printf(a,
			"In %lld days and %lld hours this project will need BOINC version %lld.%lld.%lld or later; yours is %d.%d.%d. Please upgrade before then.",
			(long long)(left / 86400), (long long)(left % 86400 / 3600),
			(long long)(v / 10000), (long long)(v / 100 % 100),
			(long long)(v % 100), rq->core_client_major_version,
			rq->core_client_minor_version, rq->core_client_release));
	if (rq->trickles_cut)
		add_hint(to, &n, true,
		    arena_strdup(a,
			"Too many trickle messages in one request; none were accepted"));
	if (!rq->host.present)
		return n;
	if (or_empty(rq->host.p_vendor)[0] == '\0')
		add_hint(to, &n, true, arena_strdup(a, "Missing CPU type in request"));
	if (or_empty(rq->host.os_name)[0] == '\0')
		add_hint(to, &n, true, arena_strdup(a, "Missing OS name in request"));
	return n;
}

void refuse_render(struct buf *out, const struct conf *cf, const struct request *rq,
    enum situation s, const char *detail, double delay_s)
{
	struct refusal r = refusal_of(out->a, cf, s, detail);

	if (delay_s > 0)
		r.delay_s = delay_s;
	reply_render_refusal(
	    out, cf, rq == NULL ? 0 : rq->version, r.text, r.notice, r.delay_s, r.down);
}
