/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who is asking: the pure parts of authentication and host identity (protocol.md 3.1,
 * 3.2; scheduling.md 2.17).
 */
#ifndef RULES_SCHED_HOST_H
#define RULES_SCHED_HOST_H

#include <stdbool.h>
#include "lib/arena.h"
#include "model/conf.h"
#include "model/request.h"
#include "model/rows.h"

enum host_verdict {
	HOST_SAME,    /* the row with this id is this host */
	HOST_FORWARD, /* merged: continue with row rpc_seqno */
	/*
	 * the seqno went back, so the client was copied: search for its row or make one
	 */
	HOST_CLONE,
	HOST_FOREIGN, /* belongs to another account */
};
enum host_verdict host_identify(
    const struct host *, const struct request *, int64_t userid, bool forwarded);
/*
 * Does the count of requests show that two clients call by turns in this host's name,
 * one that began to count when it got the host's id, and one that goes on from where it
 * was? A computer that is attached to the project under two URLs does
 * (protocol.md 3.2).
 */
bool host_is_twin(const struct host *, const struct request *, enum host_verdict);
/*
 * Does the request differ in CPU count, vendor, model or OS, so that it is not the host
 * that its CPID claims (protocol.md 3.2 (3))?
 */
bool host_obviously_different(const struct host *, const struct request *);
/*
 * The client of this row got another row because its state went back: is it the same
 * computer, restored from a backup? If so, its tasks in progress become this row's. If
 * several clients run, the row that the client names decides; if the directory was
 * copied rather than restored, the other client takes back what it has (owner.c).
 */
bool host_succeeds(const struct host *, const struct request *);
/*
 * Seconds until an account may have another new host; 0 = now, at most a day. made:
 * when the newest but max_new_hosts_per_account_day - 1 of its hosts was created (s
 * UTC, 0 = it has fewer hosts).
 */
enum { HOST_DAY_S = 86400 };
int64_t host_new_wait_s(const struct conf *, int64_t made, int64_t now);
/*
 * Copies the columns that the client determines (protocol.md 3.3) and updates the
 * counts; now becomes rpc_time.
 */
void host_update(struct arena *, struct host *, const struct request *, int64_t now,
    const char *peer_addr);

/*
 * Homogeneous redundancy (scheduling.md 2.10): which hosts may share a workunit, so
 * that their results can be compared bit by bit.
 */

enum hr_type { HR_NONE, HR_FINE, HR_COARSE }; /* as in rows and options */
/* The app's own type, else the project's; unknown numbers mean none. */
enum hr_type hr_type_of(const struct conf *, const struct app *);
/*
 * The host's class, > 0: processor family or vendor + 128 x system. 0 = unknown: the
 * host gets no work of such apps. Texts may be NULL.
 */
int32_t hr_class_of(
    enum hr_type, const char *os_name, const char *vendor, const char *model);
/* Windows, Linux, or a Mac with an Intel processor? Texts may be NULL. */
bool hr_usual(const char *os_name, const char *vendor);

/* Facts about a host for which its row has no columns, as text (protocol.md 9.4). */

/*
 * JSON for host.misc: client_version, gpus (type, model, count, ram_mb, driver_version,
 * opencl_version), docker (version, type, wsl_distro, boinc_buda_runner_version), vbox
 * (version, hw_accel, hw_accel_enabled), config (dont_use_docker, dont_use_wsl): the
 * facts that plan classes use and that have no column. Unknown facts are left out.
 * Texts from clients are escaped but otherwise unchanged; the database layer makes them
 * valid text.
 */
char *host_misc(struct arena *, const struct request *);

#endif
