/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the demands of a plan class one by one, then computes what a job uses. */
#include "rules/sched/plan_facts.h"

#include <math.h>
#include <string.h>
#include "lib/text.h"
#include "rules/say.h"
#include "lib/banned.h"

static const double MB = 1048576;
static const double LEAST_NCPUS = 0.001; /* clients take 0 for "unknown" */
static const double NGPUS_LEAST = 1e-3, NGPUS_MOST = 64;

/* --- checks with a rule of their own --- */

static bool
check_account(const struct plan_question *q)
{
	return q->pc->user_id == 0 || q->pc->user_id == q->h->userid;
}

static bool
check_preferences(const struct plan_question *q)
{
	const struct plan_class *pc = q->pc;
	const char *value;

	if (pc->project_prefs_tag[0] == '\0')
		return true;
	value = plan_pref(q->a, q->h->project_prefs, pc->project_prefs_tag);
	if (value == NULL)
		return pc->project_prefs_default_true;
	if (pc->project_prefs_regex != NULL)
		return pattern_match(pc->project_prefs_regex, value);
	return value[0] != '\0' && strcmp(value, "0") != 0;
}

/* Administrators write expressions for the name, for the version, or for both. */
static bool
check_system(const struct plan_question *q)
{
	const struct rq_host *host = &q->h->req->host;
	const struct pattern *p = q->pc->os_regex;
	bool negated;
	struct say both;

	if (p == NULL)
		return true;
	both = say_new(q->a);
	say_str(&both, host->os_name);
	say_str(&both, " ");
	say_str(&both, host->os_version);
	negated = pattern_text(p)[0] == '!'; /* none of the three may match */
	if (pattern_match(p, host->os_name) != negated)
		return !negated;
	if (pattern_match(p, host->os_version) != negated)
		return !negated;
	return pattern_match(p, both.p);
}

static bool
check_features(const struct plan_question *q)
{
	for (size_t i = 0; i < q->pc->cpu_feature.n; i++)
		if (!plan_has_feature(q->h->req, q->pc->cpu_feature.v[i]))
			return false;
	return true;
}

static bool
check_vbox_not_excluded(const struct plan_question *q)
{
	const struct pc_numbers *no = &q->pc->exclude_vbox_version;
	double have = plan_vbox_version(q);

	for (size_t i = 0; i < no->n; i++)
		if (have == (double)no->v[i])
			return false;
	return true;
}

static bool
check_device(const struct plan_question *q)
{
	return q->dev != NULL;
}

static bool
check_enough_devices(const struct plan_question *q)
{
	return q->dev == &q->h->req->resources[0] || q->ngpus <= q->dev->count;
}

/* --- the table --- */

enum kind { NEED, MIN, MAX, MATCH, CHECK };
static const struct check {
	enum kind kind;
	size_t off; /* offset of the element in the class */
	bool real;  /* the element is a double, else an int64_t */
	double unset;
	plan_number *number;
	plan_text *text;
	bool (*check)(const struct plan_question *);
	enum reason why;
} checks[] = {
#define OFF(element) .off = offsetof(struct plan_class, element)
#define BOUND(element)                                                                 \
	OFF(element), .real = _Generic(((struct plan_class *)0)->element, double       \
				       : true, default                                 \
				       : false)
#define NEED(element, fact, reason)                                                    \
	{ .kind = NEED, OFF(element), .number = fact, .why = WHY_##reason },
#define MIN(element, fact, reason)                                                     \
	{ .kind = MIN, BOUND(element), .number = fact, .why = WHY_##reason },
#define MAX(element, none, fact, reason)                                               \
	{ .kind = MAX,                                                                 \
		BOUND(element),                                                        \
		.unset = none,                                                         \
		.number = fact,                                                        \
		.why = WHY_##reason },
#define MATCH(element, fact, reason)                                                   \
	{ .kind = MATCH, OFF(element), .text = fact, .why = WHY_##reason },
#define CHECK(function, reason)                                                        \
	{ .kind = CHECK, .check = function, .why = WHY_##reason },
#include "rules/sched/plan_class_checks.def"
#undef OFF
#undef BOUND
#undef NEED
#undef MIN
#undef MAX
#undef MATCH
#undef CHECK
};

static double
check_bound(const struct check *c, const void *element)
{
	return c->real ? *(const double *)element : (double)*(const int64_t *)element;
}

static bool
check_passes(const struct check *c, const struct plan_question *q)
{
	const void *element = (const char *)q->pc + c->off;
	const struct pattern *p;
	double x;

	switch (c->kind) {
	case NEED:
		return !*(const bool *)element || c->number(q) != 0;
	case MIN:
		x = check_bound(c, element);
		return x <= 0 || c->number(q) >= x;
	case MAX:
		x = check_bound(c, element);
		return x <= c->unset || c->number(q) <= x;
	case MATCH:
		p = *(const struct pattern *const *)element;
		return p == NULL || pattern_match(p, c->text(q));
	case CHECK:
		break;
	}
	return c->check(q);
}

/* --- what a job uses --- */

/* CPUs that a job of the class can use. */
static double
wanted_threads(const struct plan_class *pc, int32_t ncpus)
{
	if (pc->max_threads > 0)
		return fmin(ncpus, (double)pc->max_threads);
	return fmax(1, floor(pc->avg_ncpus));
}

/* CPUs for which there is enough memory; 0: too little memory. */
static double
usable_threads(const struct plan_class *pc, const struct plan_class_host *h)
{
	double n = wanted_threads(pc, h->ncpus), most;
	double each = pc->mem_usage_per_cpu_mb * MB;

	if (each <= 0)
		return n;
	most = floor((h->usable_ram - pc->mem_usage_base_mb * MB) / each);
	if (most >= n)
		return n;
	return most < fmax(1, pc->min_ncpus) ? 0 : most;
}

static void
use_cpu(const struct plan_question *q, double n, struct class_use *use)
{
	const struct plan_class *pc = q->pc;

	use->avg_ncpus = pc->avg_ncpus > 0 ? pc->avg_ncpus : n;
	use->mem_bytes = (pc->mem_usage_base_mb + pc->mem_usage_per_cpu_mb * n) * MB;
	use->flops = q->h->p_fpops * use->avg_ncpus;
}

/*
 * The CPU does cpu_frac of the work, then the device does the rest: the times add up,
 * and the CPU is busy for its part of them.
 */
static void
use_device(const struct plan_question *q, struct class_use *use)
{
	const struct plan_class *pc = q->pc;
	double gpu = q->dev->peak_flops * pc->gpu_peak_flops_scale * q->ngpus;
	double cpu_s = pc->cpu_frac / fmax(q->h->p_fpops, 1);
	double gpu_s = (1 - pc->cpu_frac) / fmax(gpu, 1);

	use->coproc_count = q->ngpus;
	use->gpu_ram_bytes = pc->gpu_ram_used_mb * MB;
	use->avg_ncpus = pc->avg_ncpus > 0 ? pc->avg_ncpus :
	                                     fmax(cpu_s / (cpu_s + gpu_s), LEAST_NCPUS);
	use->flops = 1 / (cpu_s + gpu_s);
	use->mem_bytes = (pc->mem_usage_base_mb +
			     pc->mem_usage_per_cpu_mb * use->avg_ncpus) *
	                 MB;
}

static const char *
nthreads_option(struct arena *a, double n)
{
	struct say s = say_new(a);

	say_str(&s, "--nthreads ");
	say_fixed(&s, fmax(n, 1), 0);
	return s.p;
}

/*
 * The account's factor on the number of devices, 0 if there is none; *text is its text.
 */
static double
device_factor(
    struct arena *a, const struct plan_class *pc, const char *prefs, const char **text)
{
	double factor;

	*text = pc->gpu_utilization_tag[0] == '\0' ?
	            NULL :
	            plan_pref(a, prefs, pc->gpu_utilization_tag);
	if (*text == NULL || !text_f64(*text, &factor) || !(factor > 0))
		return 0;
	return factor;
}

const char *
plan_class_bad_factor(
    struct arena *a, const struct plan_class *pc, const char *project_prefs)
{
	const char *text;

	if (device_factor(a, pc, project_prefs, &text) > 0 || text == NULL ||
	    text[0] == '\0')
		return NULL;
	return text;
}

/* Number of devices that a job uses; an invalid factor is ignored. */
static double
devices_used(const struct plan_question *q)
{
	const char *text;
	double factor = device_factor(q->a, q->pc, q->h->project_prefs, &text);

	if (!(factor > 0))
		return q->pc->ngpus;
	return fmax(NGPUS_LEAST, fmin(q->pc->ngpus * factor, NGPUS_MOST));
}

enum reason
plan_class_use(struct arena *a, const struct plan_class *pc,
    const struct plan_class_host *h, const struct plan_class_job *job, struct rng *rng,
    struct class_use *use)
{
	struct plan_question q = { .a = a, .pc = pc, .h = h, .job = job, .rng = rng };
	double n;

	*use = (struct class_use){
		.type = "CPU", .avg_ncpus = 1, .flops = h->p_fpops, .cmdline = ""
	};
	if (pc == NULL)
		return WHY_NONE;
	if (!h->req->client_cap_plan_class)
		return WHY_CLIENT_TOO_OLD;
	q.dev = plan_device(pc, h->req);
	q.ngpus = devices_used(&q);
	for (size_t i = 0; i < N(checks); i++)
		if (!check_passes(&checks[i], &q))
			return checks[i].why;
	use->type = q.dev->type;
	n = usable_threads(pc, h);
	if (strcmp(use->type, "CPU") != 0)
		use_device(&q, use);
	else if (n < 1)
		return WHY_MEM;
	else
		use_cpu(&q, n, use);
	if (pc->nthreads_cmdline)
		use->cmdline = nthreads_option(
		    a, strcmp(use->type, "CPU") == 0 ? n : use->avg_ncpus);
	use->flops *= pc->projected_flops_scale;
	/* last, so that chance affects only classes that fit */
	if (rng != NULL && pc->infeasible_random > 0 &&
	    rng_unit(rng) < pc->infeasible_random)
		return WHY_CLASS_CHANCE;
	return WHY_NONE;
}
