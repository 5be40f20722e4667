/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a plan_class_spec.xml and, after a line "====", the inside of a request.
 * Each class is tried on this client; the request's text also serves as the project
 * preferences.
 */
#include <math.h>
#include "proto/plan_class.h"
#include "proto/request.h"
#include "rules/sched/plan_class.h"
#include "test/fuzz/fuzz.h"
#include "test/unit/plan_class_hosts.h"
#include "lib/banned.h"

static void in_bounds(const struct plan_class *pc)
{
	for (size_t i = 0; i < pc_nelements; i++) {
		const struct field *el = &pc_elements[i];

		if (el->type == FIELD_F64 || el->type == FIELD_I64)
			assert(field_within(el, field_number(el, pc)));
		if (el->type == FIELD_TEXT)
			assert(strlen(field_text(el, pc)) <= (size_t)el->max);
	}
}

static void try_class(
    struct arena *a, const struct plan_class *pc, const struct plan_class_host *h)
{
	struct plan_class_job job = { .wu_id = 7, .batch = 0 };
	struct rng rng = rng_seed(1);
	struct class_use use, again;
	enum reason why = plan_class_use(a, pc, h, &job, &rng, &use);

	rng = rng_seed(1);
	assert(why == plan_class_use(a, pc, h, &job, &rng, &again));
	if (why != WHY_NONE)
		return;
	assert(isfinite(use.flops) && use.flops > 0);
	assert(isfinite(use.avg_ncpus) && use.avg_ncpus > 0);
	assert(use.mem_bytes >= 0 && use.gpu_ram_bytes >= 0 && use.coproc_count >= 0);
	assert(use.type[0] != '\0' && strlen(use.cmdline) < 64);
	assert((strcmp(use.type, "CPU") == 0) == (use.coproc_count == 0));
	assert(use.flops == again.flops && strcmp(use.cmdline, again.cmdline) == 0);
}

FUZZ(a, in, n)
{
	const char *rest = in, *spec = fuzz_part(a, &rest);
	struct plan_class_host h;
	struct plan_classes *all;
	struct pc_remark *remarks;
	struct request *rq;
	struct fail f;
	size_t nremarks;
	char *request;

	(void)n;
	if (plan_classes_parse(
		a, "spec", spec, strlen(spec), &all, &remarks, &nremarks, &f) != OK) {
		assert(f.code == E_CONFIG && f.detail[0] != '\0' && all->n == 0);
		return;
	}
	for (size_t i = 0; i < nremarks; i++)
		assert(remarks[i].text[0] != '\0' && remarks[i].line > 0);
	request = arena_printf(
	    a, "<scheduler_request>" BASE "%s</scheduler_request>", rest);
	if (request_parse(a, request, strlen(request), &rq, &f) != OK)
		return;
	h = (struct plan_class_host){ .req = rq,
		.userid = 7,
		.project_prefs = rest,
		.ncpus = rq->host.p_ncpus,
		.p_fpops = 2e9,
		.usable_ram = 4294967296.0 };
	for (size_t i = 0; i < all->n && i < 20; i++) {
		in_bounds(&all->classes[i]);
		assert(all->classes[i].name[0] != '\0');
		assert(plan_class_named(all, all->classes[i].name) == &all->classes[i]);
		try_class(a, &all->classes[i], &h);
	}
}
