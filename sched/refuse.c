/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of refusals and the two ways into it: an error of a step, and what is known
 * of the host after authentication.  The texts are upstream's where volunteers know
 * them.
 */
#include "sched/refuse.h"

#include <string.h>
#include "lib/fs.h"
#include "proto/reply.h"
#include "lib/banned.h"

enum { LEVEL_LOW, LEVEL_NOTICE, MAINTENANCE_S = 3600, DETAIL_MAX = 300 };

static const struct {
	const char *name;
	bool notice;
	int delay_s;
	bool down;
	const char *text;
} refusals[] = {
#define SITUATION(name, level, delay, down, text)                                      \
	{ #name, LEVEL_##level, delay, down, text },
#include "sched/refuse.def"
#undef SITUATION
};

/* The text with detail in place of its %s; both are cut so that clients keep the
 * message. */
static char *
fill_in(struct arena *a, const char *text, const char *detail)
{
	const char *gap = strstr(text, "%s");

	if (gap == NULL)
		return arena_strdup(a, text);
	return arena_printf(a, "%.*s%.*s%s", (int)(gap - text), text, DETAIL_MAX,
	    detail == NULL ? "" : detail, gap + 2);
}

struct refusal
refusal_of(struct arena *a, const struct conf *cf, enum situation s, const char *detail)
{
	int delay = refusals[s].delay_s;

	if (delay < 0)
		delay = cf == NULL ? MAINTENANCE_S : (int)cf->maintenance_delay;
	return (struct refusal){ .notice = refusals[s].notice,
		.delay_s = delay,
		.down = refusals[s].down,
		.text = fill_in(a, refusals[s].text, detail) };
}

const char *
refuse_name(enum situation s)
{
	return refusals[s].name;
}

enum situation
refuse_error(enum err e, bool hostid_given)
{
	switch (e) {
	case OK:
		return REFUSE_NOTHING;
	case E_BADREQ:
		return REFUSE_BAD_REQUEST;
	case E_NOTFOUND: /* a client that has no host yet was never attached: no notice
	                  */
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
	case E__MAX:
		break;
	}
	return REFUSE_FAILED;
}

/* Old projects wrote major * 100 + minor (wire.md 5.8). */
static int64_t
version_needed(const struct conf *cf)
{
	int64_t v = cf->min_core_client_version;

	return v < 10000 ? v * 100 : v;
}

static bool
platform_known(const struct request *rq, const struct catalog *cat)
{
	for (size_t i = 0; i < rq->nplatforms; i++) {
		const struct platform *p = catalog_platform_named(
		    cat, rq->platforms[i]);

		if (p != NULL && !p->deprecated)
			return true;
	}
	return false;
}

enum situation
refuse_host(const struct conf *cf, const struct request *rq, const struct host *host,
    const struct catalog *cat)
{
	if (host != NULL && host->max_results_day == -1)
		return REFUSE_HOST_BANNED;
	if (cf->ended)
		return REFUSE_ENDED;
	if (rq->version < version_needed(cf))
		return REFUSE_OLD_CLIENT;
	/* A replicated trickle names no host, and need not name a platform. */
	if (rq->host.present && !platform_known(rq, cat))
		return REFUSE_NO_PLATFORM;
	return REFUSE_NOTHING;
}

enum situation
refuse_stopped(struct arena *a, const struct conf *cf)
{
	return fs_exists(project_path(a, cf, "stop_sched")) ? REFUSE_STOPPED :
	                                                      REFUSE_NOTHING;
}

void
refuse_render(struct buf *out, const struct conf *cf, const struct request *rq,
    enum situation s, const char *detail)
{
	struct refusal r = refusal_of(out->a, cf, s, detail);

	reply_render_refusal(
	    out, cf, rq == NULL ? 0 : rq->version, r.text, r.notice, r.delay_s, r.down);
}
