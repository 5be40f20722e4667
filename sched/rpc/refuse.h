/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusals as a table (refuse.def): from a situation to message, level, delay.  Which
 * situation it is follows from what failed, or, after authentication, from who asks.
 */
#ifndef SCHED_RPC_REFUSE_H
#define SCHED_RPC_REFUSE_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/decision.h"
#include "model/request.h"
#include "model/snapshot.h"

enum situation {
#define SITUATION(name, level, delay, down, text) REFUSE_##name,
#include "sched/rpc/refuse.def"
#undef SITUATION
	REFUSE__MAX
};

struct refusal {
	bool notice;    /* else priority low */
	double delay_s; /* request_delay, 0 = none */
	bool down;      /* project_is_down */
	char *text;     /* < 1024 bytes */
};

/* detail stands for the table's %s; conf gives maintenance_delay (NULL: 3600 s). */
struct refusal refusal_of(
    struct arena *, const struct conf *, enum situation, const char *detail);

/* What an error of a step means to the client; E_BADREQ is a bad request, E_NOTFOUND a
 * bad key. */
enum situation refuse_error(enum err, bool hostid_given);

/*
 * After authentication: may this host get work at all (scheduling.md 2.15)?
 * REFUSE_NOTHING, or why not; its reports and trickles are taken in any case.  host
 * NULL: a new one. cat tells which platforms the project knows.
 */
enum situation refuse_host(struct arena *, const struct conf *, const struct request *,
    const struct user *, const struct host *, const struct catalog *);
/* What stands for the %s of such a refusal: the platform, the system, the CPU, the
 * limit. */
char *refuse_detail(
    struct arena *, const struct conf *, enum situation, const struct request *);

/*
 * What a host is told besides, whether it gets work or not: that its client will soon
 * be too old, that a part of its description is missing, that it sent too much. Returns
 * how many; texts are the arena's.  now in s UTC.
 */
enum { REFUSE_HINTS_MAX = 4 };
size_t refuse_hints(struct arena *, const struct conf *, const struct request *,
    int64_t now, struct dec_message[REFUSE_HINTS_MAX]);

/* Does such a reply carry project_is_down? */
bool refuse_is_down(enum situation);
/* "BAD_KEY", stable, for logs. */
const char *refuse_name(enum situation);

/* A whole header-only reply (protocol.md 2.1).  conf NULL: nothing of the project is
 * known.
 */
void refuse_render(struct buf *, const struct conf *, const struct request *,
    enum situation, const char *detail);

#endif
