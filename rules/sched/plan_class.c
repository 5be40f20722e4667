/* SPDX-License-Identifier: Apache-2.0 */
/* Demands of a plan class, one after the other, and then what a job uses. */
#include "rules/sched/plan_class.h"

#include <math.h>
#include <string.h>
#include "lib/banned.h"

static const double MB = 1048576;

/* The device that the class uses; NULL if the host has none. */
static const struct rq_resource *
device(const struct plan_class *pc, const struct request *rq)
{
	const char *type = plan_class_type(pc);

	for (size_t i = 1; i < rq->nresources; i++)
		if (rq->resources[i].type != NULL && rq->resources[i].count > 0 &&
		    strcmp(rq->resources[i].type, type) == 0)
			return &rq->resources[i];
	return NULL;
}

/* All usable CPUs that there is memory for, at most max_threads. */
static void
use_cpu(
    const struct plan_class *pc, const struct plan_class_host *h, struct class_use *use)
{
	double n = 1, base = pc->mem_usage_base_mb * MB,
	       each = pc->mem_usage_per_cpu_mb * MB;

	if (pc->max_threads > 0)
		n = fmin(h->ncpus, (double)pc->max_threads);
	if (each > 0 && h->usable_ram > base)
		n = fmax(1, fmin(n, floor((h->usable_ram - base) / each)));
	use->avg_ncpus = pc->avg_ncpus > 0 ? pc->avg_ncpus : n;
	use->mem_bytes = base + each * n;
	use->flops = h->p_fpops * use->avg_ncpus;
}

/*
 * Of each unit of work the CPU does cpu_frac, then the device the rest: the times add
 * up, and the CPU is busy for its part of them.
 */
static void
use_device(const struct plan_class *pc, const struct plan_class_host *h,
    const struct rq_resource *dev, struct class_use *use)
{
	double gpu = dev->peak_flops * pc->gpu_peak_flops_scale * pc->ngpus;
	double cpu_s = pc->cpu_frac / h->p_fpops, gpu_s = (1 - pc->cpu_frac) / gpu;

	use->coproc_count = pc->ngpus;
	use->gpu_ram_bytes = pc->gpu_ram_used_mb * MB;
	use->avg_ncpus = pc->avg_ncpus > 0 ? pc->avg_ncpus : cpu_s / (cpu_s + gpu_s);
	use->flops = 1 / (cpu_s + gpu_s);
	use->mem_bytes = pc->mem_usage_base_mb * MB;
}

enum reason
plan_class_use(struct arena *a, const struct plan_class *pc,
    const struct plan_class_host *h, const struct plan_class_job *job, struct rng *rng,
    struct class_use *use)
{
	const struct rq_resource *dev = NULL;

	(void)a;
	(void)job;
	(void)rng;
	*use = (struct class_use){
		.type = "CPU", .avg_ncpus = 1, .flops = h->p_fpops, .cmdline = ""
	};
	if (pc == NULL)
		return WHY_NONE;
	use->type = plan_class_type(pc);
	if (pc->disabled)
		return WHY_NO_APP_VERSION;
	if (strcmp(use->type, "CPU") != 0) {
		dev = device(pc, h->req);
		if (dev == NULL)
			return WHY_NO_APP_VERSION;
		use_device(pc, h, dev, use);
	} else {
		use_cpu(pc, h, use);
	}
	use->flops *= pc->projected_flops_scale;
	return WHY_NONE;
}
