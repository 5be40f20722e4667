/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a host decides: when to make contact, how much to ask for, what to run.  Pure
 * functions, the same for the real client and for simulated ones (client.md; seeds 000,
 * 001, 004).
 */
#ifndef RULES_CLIENT_CLIENT_RULES_H
#define RULES_CLIENT_CLIENT_RULES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "rules/client/policy.h"

/* --- rpc_policy.c --- */
enum rpc_reason { RPC_NONE, RPC_INIT, RPC_REQUESTED, RPC_RESULTS_DUE, RPC_NEED_WORK };
struct rpc_view { /* what the policy may look at */
	bool never_contacted;
	int64_t min_rpc_time;  /* no contact before */
	int64_t next_rpc_time; /* the project wants contact by then; 0 = no such wish */
	size_t ready_to_report;     /* finished tasks not yet acked */
	int64_t first_ready_at;     /* since when the oldest of them waits */
	int64_t first_deadline;     /* the earliest deadline among them */
	bool report_immediately;    /* of any of them, or by option */
	bool uploading;             /* an upload is under way: reports may be joined */
	double wanted_s;            /* instance-seconds that work_fetch() asks for */
	int64_t work_backoff_until; /* no work was given: do not ask before */
};
/* Why to make contact now, the most pressing reason first (client.md 1.3, 1.4). */
enum rpc_reason rpc_due(const struct rpc_view *, int64_t now);
const char *rpc_reason_text(enum rpc_reason);

/* --- work_fetch.c --- */
struct queued {             /* a task on this host that is not finished */
	double remaining_s; /* estimated run time left, on one instance */
	double ncpus;
};
struct work_wish {
	double req_secs, req_instances;
	double estimated_delay; /* s for which all instances are busy */
};
/*
 * The shortfall of the buffer (client.md 4; seed 001): when not all of ncpus instances
 * are busy for min_s, the instance-seconds missing to min_s + extra_s; else nothing.
 */
struct work_wish work_fetch(
    const struct queued *, size_t n, double ncpus, double min_s, double extra_s);

/* --- cpu_sched.c --- */
struct runnable {
	int64_t deadline;
	int64_t received_at;
	double remaining_s, ncpus;
	bool running;
	size_t id; /* the caller's */
};
/*
 * Which tasks run now: those in danger of missing their deadline first, earliest
 * deadline first, then what runs already, then in order of arrival (seed 001, job
 * scheduling policy, for one project).  Sorts t; the first *chosen of it fit into
 * ncpus.
 */
void cpu_sched(struct runnable *t, size_t n, double ncpus, int64_t now, size_t *chosen);

#endif
