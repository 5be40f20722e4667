/* SPDX-License-Identifier: Apache-2.0 */
/* A small host for tests of the policies' own rules: two CPUs and perhaps a
 * coprocessor, two or three projects, a buffer of 2000 s, at a time long after the
 * first one. */
#ifndef TEST_UNIT_POLICY_HOST_H
#define TEST_UNIT_POLICY_HOST_H

#include <math.h>
#include "rules/client/policies.h"

#define HOST_NOW   1e8
#define HOST_SLICE 3600.0
#define NEARLY(got, want)                                                              \
	ck_assert_msg(fabs((got) - (want)) < 1e-6, "line %d: %.12g, not %.12g",        \
	    __LINE__, (double)(got), (double)(want))

struct policy_host {
	struct arena a;
	struct cw_project p[3];
	struct cw_task t[8];
	struct client_world w;
	struct rr_sim rr;
};

/* share: of the first project, that of the others is 1; the speeds in flop/s. There is
 * no coprocessor until w.nrsc is 2, and no third project until w.nprojects is 3. */
struct policy_host *policy_host(
    struct policy_host *, double share, double cpu_flops, double gpu_flops);
/* Adds a task of one CPU that has run_s seconds left and waits. */
struct cw_task *policy_host_task(struct policy_host *, int32_t project, double run_s);
/* Fails unless the policy lists the tasks in this order: "ba", the second one first. */
void policy_host_runs(
    struct policy_host *, const struct policy *, const char *order, int line);
/* The next contact, and what the project would be asked along with another one. */
struct contact policy_host_next(struct policy_host *, const struct policy *);
struct work_ask policy_host_along(
    struct policy_host *, const struct policy *, size_t project);

#endif
