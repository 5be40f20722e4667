/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Seconds and instances are separate requests: jobs are sent until both are satisfied,
 * and a job counts only against those of its own resource. Short, because it counts and
 * leaves choosing to others.
 */
#include "rules/sched/work_req.h"

#include "lib/banned.h"

/*
 * The share among the projects that can run now, if the client reports it, else among
 * all projects; a client that reports neither has only this project.
 */
double work_req_share(const struct request *rq)
{
	double share = rq->prrs_fraction;

	if (!(share > 0 && share < 1))
		share = rq->resource_share_fraction;
	return share > 0 && share < 1 ? share : 1;
}

static bool says_resources(const struct request *rq)
{
	bool any = rq->has_cpu_request;

	for (size_t i = 0; i < rq->nresources; i++)
		any = any || rq->resources[i].has_request;
	return any;
}

/* In requests, the CPU's figures have element names of their own. */
static struct work_left asked(const struct request *rq, size_t r)
{
	if (r == 0 && rq->has_cpu_request)
		return (struct work_left){ rq->cpu_req_secs, rq->cpu_req_instances };
	return (struct work_left){ rq->resources[r].req_secs,
		rq->resources[r].req_instances };
}

static bool wants(struct work_left left)
{
	return left.secs > 0 || left.instances > 0;
}

bool work_req_asks(const struct request *rq)
{
	bool any = wants(asked(rq, 0));

	if (!says_resources(rq))
		return rq->work_req_seconds > 0;
	for (size_t r = 1; r < rq->nresources; r++)
		any = any || wants(asked(rq, r));
	return any;
}

struct work_req work_req_new(struct arena *a, const struct request *rq)
{
	struct work_req w = { .new_style = says_resources(rq) };

	w.n = rq->nresources;
	w.left = NEWN(a, struct work_left, w.n);
	if (!w.new_style) {
		w.old_secs = rq->work_req_seconds * work_req_share(rq);
		return w;
	}
	for (size_t r = 0; r < w.n; r++)
		w.left[r] = asked(rq, r);
	return w;
}

bool work_req_wants(const struct work_req *w, size_t r)
{
	if (!w->new_style)
		return r < w->n && w->old_secs > 0;
	return r < w->n && wants(w->left[r]);
}

bool work_req_needed(const struct work_req *w)
{
	bool any = false;

	for (size_t r = 0; r < w->n; r++)
		any = any || work_req_wants(w, r);
	return any;
}

void work_req_take(struct work_req *w, size_t r, double runtime_s, double usage)
{
	if (!w->new_style) {
		w->old_secs -= runtime_s * (r == 0 ? usage : 1);
		return;
	}
	w->left[r].secs -= runtime_s * usage;
	w->left[r].instances -= usage;
}
