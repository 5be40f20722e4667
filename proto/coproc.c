/* SPDX-License-Identifier: Apache-2.0 */
/* Old clients leave out peak FLOPS, and each vendor reports memory differently. */
#include "proto/coproc.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include "lib/clamp.h"
#include "lib/banned.h"

enum { FIRST_DOUBLE = 103 }; /* NVIDIA: compute capability 1.3 */

/*
 * Cores and FLOPs per clock of one multiprocessor, for compute capabilities up to cc.
 */
static double nvidia_flops(const struct in_coproc *c)
{
	static const struct {
		int cc;
		double per_clock;
	} table[] = {
		{ 199, 8 * 3 },
		{ 200, 32 * 2 },
		{ 299, 48 * 2 },
		{ 399, 192 * 2 },
		{ 599, 128 * 2 },
		{ 600, 64 * 2 },
		{ 699, 128 * 2 },
		{ 800, 64 * 2 },
		{ 1 << 30, 128 * 2 },
	};
	size_t i = 0;

	while (table[i].cc < c->r.compute_capability)
		i++;
	return c->clock_khz * 1000 * c->multiprocessors * table[i].per_clock;
}

static double computed_flops(const struct in_coproc *c)
{
	switch (c->kind) {
	case COPROC_NVIDIA:
		return nvidia_flops(c);
	case COPROC_AMD:
		return c->simds * c->wavefront * 5 * c->clock_mhz * 1e6;
	case COPROC_INTEL:
	case COPROC_APPLE:
		return 8.0 * c->opencl_units * c->opencl_mhz * 1e6;
	case COPROC_OTHER:
		break;
	}
	return 0;
}

/*
 * Converts "1.4.1607" to 10000000 * a + 10000 * b + c, limited to the range of an
 * int32.
 */
static int32_t cal_number(const char *s)
{
	int a, b, c;

	if (s == NULL || sscanf(s, "%3d.%3d.%4d", &a, &b, &c) != 3 || a < 0 ||
	    a > 200 || b < 0 || c < 0)
		return 0;
	return 10000000 * a + 10000 * b + c;
}

const char *coproc_type(const char *name)
{
	return name != NULL && strcmp(name, "CUDA") == 0 ?
	           resource_names[RESOURCE_NVIDIA] :
	           name;
}

/* Fills in memory and speed from whichever elements are present. */
static void complete_size(struct in_coproc *c)
{
	struct rq_resource *r = &c->r;

	if (r->total_ram <= 0)
		r->total_ram = c->local_ram_mb * 1048576;
	if (r->total_ram <= 0)
		r->total_ram = c->opencl_ram;
	if (r->available_ram <= 0)
		r->available_ram = r->total_ram;
	if (r->peak_flops == 0)
		r->peak_flops = computed_flops(c);
	if (!(r->peak_flops > 0) || r->peak_flops > 1e15)
		r->peak_flops = 1e11;
}

/*
 * A coprocessor of another vendor says that it does OpenCL by the block alone; Apple's,
 * as clients 7.20 to 7.24 report it, is one of them (protocol.md 1.6).
 */
static void complete_generic(struct arena *a, struct in_coproc *c)
{
	struct rq_resource *r = &c->r;

	r->type = arena_strdup(a, coproc_type(r->type));
	r->have_opencl |= c->has_opencl_block;
	if (r->vendor != NULL && strcmp(r->vendor, "Apple") == 0)
		r->kind = arena_strdup(a, resource_names[RESOURCE_APPLE]);
}

void coproc_complete(struct arena *a, struct in_coproc *c)
{
	struct rq_resource *r = &c->r;

	if (c->kind == COPROC_OTHER)
		complete_generic(a, c);
	else
		r->type = arena_strdup(a, resource_names[c->kind]);
	if (c->cc_major > 0 && c->cc_major < 1000 && c->cc_minor >= 0 &&
	    c->cc_minor < 100)
		r->compute_capability = 100 * c->cc_major + c->cc_minor;
	if (c->kind == COPROC_AMD && r->driver_version == 0)
		r->driver_version = cal_number(c->cal_version);
	if (c->opencl_double > 0 || r->compute_capability >= FIRST_DOUBLE)
		r->double_precision = true;
	complete_size(c);
	/* Clients before 6.13 detected GPUs through these libraries only. */
	r->have_cuda |= c->kind == COPROC_NVIDIA && !c->says_cuda;
	r->have_cal |= c->kind == COPROC_AMD && !c->says_cal;
	if (!c->has_delay || r->estimated_delay < 0)
		r->estimated_delay = -1;
	else if (r->estimated_delay > REQ_SECS_MAX)
		r->estimated_delay = REQ_SECS_MAX;
	r->count = floor(clamp(r->count, 0, COPROC_COUNT_MAX));
	r->req_secs = clamp(r->req_secs, 0, REQ_SECS_MAX);
	r->req_instances = clamp(r->req_instances, 0, COPROC_COUNT_MAX);
}
