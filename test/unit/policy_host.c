/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit/policy_host.h"

#include "test/unit/unit.h"
#include "lib/banned.h"

struct policy_host *policy_host(
    struct policy_host *h, double share, double cpu_flops, double gpu_flops)
{
	*h = (struct policy_host){ .p = { { .share = share, .dcf = 1 },
				       { .share = 1, .dcf = 1 },
				       { .share = 1, .dcf = 1 } } };
	h->w = (struct client_world){ .now = HOST_NOW,
		.accounted_at = HOST_NOW,
		.rsc = { { "CPU", 2, cpu_flops, 1 }, { "GPU", 1, gpu_flops, 1 } },
		.nrsc = 1,
		.prefs = { .min_s = 1000, .extra_s = 1000, .period_s = HOST_SLICE },
		.projects = h->p,
		.nprojects = 2,
		.tasks = h->t };
	return h;
}

struct cw_task *policy_host_task(struct policy_host *h, int32_t project, double run_s)
{
	struct cw_task *t = &h->t[h->w.ntasks++];

	*t = (struct cw_task){ .project = project,
		.use = 1,
		.ncpus = 1,
		.remaining_s = run_s,
		.received_at = HOST_NOW,
		.deadline = HOST_NOW + 1e7 };
	return t;
}

void policy_host_runs(
    struct policy_host *h, const struct policy *how, const char *order, int line)
{
	struct run_list list;
	char got[N(h->t) + 1] = "";

	rr_simulate(&h->w, &h->a, &h->rr);
	how->order(&h->w, how, &h->a, &h->rr, &list);
	for (size_t i = 0; i < list.n && i < N(h->t); i++)
		got[i] = (char)('a' + list.item[i].task);
	ck_assert_msg(strcmp(got, order) == 0, "line %d: %s, not %s", line, got, order);
}

struct contact policy_host_next(struct policy_host *h, const struct policy *how)
{
	struct contact c;

	rr_simulate(&h->w, &h->a, &h->rr);
	contact_next(&h->w, how, &h->a, &h->rr, &c);
	return c;
}

struct work_ask policy_host_along(
    struct policy_host *h, const struct policy *how, size_t project)
{
	struct work_ask ask = { .project = -1 };

	cw_tally_tasks(&h->w);
	rr_simulate(&h->w, &h->a, &h->rr);
	how->piggyback(&h->w, how, &h->a, &h->rr, project, &ask);
	return ask;
}
