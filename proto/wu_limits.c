/* SPDX-License-Identifier: Apache-2.0 */
#include "proto/wu_limits.h"

#include "model/fleet.h"
#include "lib/banned.h"

/* Defaults of BOINC's tools. */
static const double fpops_est = 3600e9, fpops_bound = 86400e9, memory = 5e8, disk = 1e9;
enum {
	DELAY_BOUND = 7 * 86400,
	QUORUM = 2,
	ERRORS = 3,
	TOTAL = 10,
	SUCCESSES = 6,
	BOUND_PER_EST = 24
};

static double
greater(double a, double b)
{
	return a > b ? a : b;
}

static int32_t
more_of(int32_t a, int32_t b)
{
	return a > b ? a : b;
}

static int32_t
less_of(int32_t a, int32_t b)
{
	return a < b ? a : b;
}

static void
default_f64(double *v, bool named, double otherwise)
{
	if (!named && *v == 0)
		*v = otherwise;
}

static void
default_i32(int32_t *v, bool named, int32_t otherwise)
{
	if (!named && *v == 0)
		*v = otherwise;
}

void
wu_limits_default(struct workunit *w, const bool named[WU_LIMITS])
{
	bool total = named[WU_LIMIT_max_total_results] || w->max_total_results != 0;

	default_f64(&w->rsc_fpops_est, named[WU_LIMIT_rsc_fpops_est], fpops_est);
	default_f64(&w->rsc_fpops_bound, named[WU_LIMIT_rsc_fpops_bound],
	    greater(fpops_bound, BOUND_PER_EST * w->rsc_fpops_est));
	default_f64(&w->rsc_memory_bound, named[WU_LIMIT_rsc_memory_bound], memory);
	default_f64(&w->rsc_disk_bound, named[WU_LIMIT_rsc_disk_bound], disk);
	if (!named[WU_LIMIT_delay_bound] && w->delay_bound == 0)
		w->delay_bound = DELAY_BOUND;
	default_i32(&w->min_quorum, named[WU_LIMIT_min_quorum],
	    w->target_nresults == 1 ? 1 : QUORUM);
	default_i32(&w->target_nresults, named[WU_LIMIT_target_nresults],
	    more_of(1, w->min_quorum));
	default_i32(&w->max_success_results, named[WU_LIMIT_max_success_results],
	    more_of(w->target_nresults,
		total ? less_of(SUCCESSES, w->max_total_results) : SUCCESSES));
	default_i32(&w->max_error_results, named[WU_LIMIT_max_error_results],
	    total ? less_of(ERRORS, w->max_total_results) : ERRORS);
	default_i32(&w->max_total_results, named[WU_LIMIT_max_total_results],
	    more_of(TOTAL, more_of(w->max_success_results, w->max_error_results)));
}

struct limit_faults {
	struct arena *a;
	const char **texts;
	size_t n;
};

static void
check_positive(struct limit_faults *l, const struct workunit *w)
{
	const struct {
		const char *name;
		double value;
	} nonzero[] = {
		{ "rsc_fpops_est", w->rsc_fpops_est },
		{ "rsc_fpops_bound", w->rsc_fpops_bound },
		{ "rsc_disk_bound", w->rsc_disk_bound },
		{ "delay_bound", (double)w->delay_bound },
		{ "target_nresults", w->target_nresults },
		{ "max_error_results", w->max_error_results },
		{ "max_total_results", w->max_total_results },
		{ "max_success_results", w->max_success_results },
	};

	for (size_t i = 0; i < N(nonzero); i++)
		if (!(nonzero[i].value > 0))
			l->texts[l->n++] = arena_printf(
			    l->a, "<%s> must be above 0", nonzero[i].name);
}

size_t
wu_limits_faults(
    struct arena *a, const struct workunit *w, const char *texts[WU_FAULTS_MOST])
{
	struct limit_faults l = { a, texts, 0 };

	check_positive(&l, w);
	if (w->rsc_memory_bound > RSC_MEMORY_MOST || w->rsc_disk_bound > RSC_DISK_MOST)
		texts[l.n++] = arena_printf(a,
		    "<rsc_memory_bound> %.4g or <rsc_disk_bound> %.4g is more than any computer can have",
		    w->rsc_memory_bound, w->rsc_disk_bound);
	if (w->max_error_results > w->max_total_results ||
	    w->max_success_results > w->max_total_results)
		texts[l.n++] = arena_printf(a,
		    "<max_error_results> %d and <max_success_results> %d must not be above <max_total_results> %d",
		    w->max_error_results, w->max_success_results, w->max_total_results);
	if (w->target_nresults > w->max_success_results)
		texts[l.n++] = arena_printf(a,
		    "<target_nresults> %d is above <max_success_results> %d",
		    w->target_nresults, w->max_success_results);
	if (w->min_quorum > w->target_nresults)
		texts[l.n++] = arena_printf(a,
		    "<min_quorum> %d is above <target_nresults> %d: that many results are never created, so its workunits would wait forever",
		    w->min_quorum, w->target_nresults);
	return l.n;
}
