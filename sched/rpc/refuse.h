/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Refusals as a table (refuse.def) from a situation to message, level and delay. The
 * situation follows from an error or, after authentication, from who asks.
 */
#ifndef SCHED_RPC_REFUSE_H
#define SCHED_RPC_REFUSE_H

#include <stdbool.h>
#include "lib/buf.h"
#include "lib/err.h"
#include "model/conf.h"
#include "model/decision.h"
#include "model/request.h"

enum situation {
#define SITUATION(name, level, delay, down, text) REFUSE_##name,
#include "sched/rpc/refuse.def"
#undef SITUATION
	REFUSE__MAX
};

struct refusal {
	bool notice;    /* otherwise priority low */
	double delay_s; /* request_delay, 0 = none */
	bool down;      /* project_is_down */
	char *text;     /* < 1024 bytes */
};

/*
 * Returns the refusal for a situation. detail replaces the table's %s; conf gives
 * maintenance_delay (NULL: 3600 s).
 */
struct refusal refusal_of(
    struct arena *, const struct conf *, enum situation, const char *detail);

/*
 * Maps an error of a step to a situation; E_BADREQ is a bad request, E_NOTFOUND a bad
 * key.
 */
enum situation refuse_error(enum err, bool hostid_given);

struct requester {
	const struct user *user;
	const struct host *host; /* NULL: a new host */
	int64_t now;             /* s UTC; bans may end */
};
/*
 * May this authenticated host get work at all (scheduling.md 2.15)? Returns
 * REFUSE_NOTHING or why not; its reports and trickles are accepted in any case. cat
 * says which platforms the project knows.
 */
enum situation refuse_host(struct arena *, const struct conf *, const struct request *,
    const struct requester *, const struct catalog *);
/* Returns the detail of such a refusal: the platform, the OS, the CPU, or the limit. */
char *refuse_detail(
    struct arena *, const struct conf *, enum situation, const struct request *);

/*
 * Makes hints that a host gets whether it gets work or not: its client will soon be too
 * old, part of its description is missing, or it sent too much. Returns their number;
 * texts are in the arena. now in s UTC.
 */
enum { REFUSE_HINTS_MAX = 4 };
size_t refuse_hints(struct arena *, const struct conf *, const struct request *,
    int64_t now, struct dec_message[REFUSE_HINTS_MAX]);

/* Does the reply carry project_is_down? */
bool refuse_is_down(enum situation);
/* Returns a stable name for logs, such as "BAD_KEY". */
const char *refuse_name(enum situation);

/*
 * Renders a complete header-only reply (protocol.md 2.1). conf NULL: nothing is known
 * about the project. delay_s 0: the delay of the table.
 */
void refuse_render(struct buf *, const struct conf *, const struct request *,
    enum situation, const char *detail, double delay_s);

#endif
