/* SPDX-License-Identifier: Apache-2.0 */
/* Who is asking: pure parts of authentication and host identity (protocol.md 3.1, 3.2;
 * scheduling.md 2.17). */
#ifndef RULES_SCHED_IDENTITY_H
#define RULES_SCHED_IDENTITY_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/conf.h"
#include "model/request.h"
#include "model/rows.h"

enum host_verdict {
	HOST_SAME,    /* the row with this id is this host */
	HOST_FORWARD, /* merged: look at row rpc_seqno instead */
	HOST_CLONE,   /* the seqno went back: a copied client, search or make */
	HOST_FOREIGN, /* belongs to another account */
};
enum host_verdict host_identify(
    const struct host *, const struct request *, int64_t userid, bool forwarded);
/* Differs in CPU count, vendor, model or OS: not the host that its CPID says
 * (protocol.md 3.2 (3)). */
bool host_obviously_different(const struct host *, const struct request *);
/*
 * The client of this row got another one, as its state went back: is it the same
 * computer, restored?  Then all that was in progress there is in progress here.  Where
 * several clients run the row that the client names is the one, and if its directory
 * was copied and not restored, the other one takes back what it has (owner.c).
 */
bool host_succeeds(const struct host *, const struct request *);
/*
 * Seconds until an account may have another new host; 0 = it may now, at most a day.
 * made: when the newest but max_new_hosts_per_account_day - 1 of its hosts was made
 * (s UTC, 0 = it has fewer).
 */
enum { HOST_DAY_S = 86400 };
int64_t host_new_wait_s(const struct conf *, int64_t made, int64_t now);
/* Copies the client-determined columns (protocol.md 3.3) and counts; now is rpc_time.
 */
void host_update(struct arena *, struct host *, const struct request *, int64_t now,
    const char *peer_addr);

#endif
