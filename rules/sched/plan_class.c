/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the demands of a plan class one by one, then computes what a job uses. */
#include "rules/sched/plan_class.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include "lib/text.h"
#include "rules/say.h"
#include "lib/banned.h"

/* Versions come as texts of many forms; here each one becomes a number. */

static const double MB = 1048576;
const char plan_boinc_distro[] = "boinc-buda-runner";

/* --- numbers in texts --- */

/* Reads a run of digits and moves *s behind it; -1 if s does not begin with a digit. */
static double read_digits(const char **s)
{
	double n = 0;

	if (!(**s >= '0' && **s <= '9'))
		return -1;
	for (; **s >= '0' && **s <= '9'; (*s)++)
		n = fmin(n * 10 + (**s - '0'), 1e9);
	return n;
}

/*
 * Converts "M.m.R..." to M * w[0] + m * w[1] + ...; missing parts count as 0, and parts
 * with two decimal places are limited to 99 (a kernel 5.10.234). Build numbers of
 * Windows have five digits for their four places: the sum is then the number that
 * administrators know, carry included. NAN if the text does not begin with a digit.
 */
static double dotted_number(const char *s, const double *w, size_t n)
{
	double sum = 0;

	for (size_t i = 0; i < n; i++) {
		double part = read_digits(&s);

		if (part < 0)
			return i == 0 ? NAN : sum;
		if (i > 0 && w[i - 1] / w[i] == 100)
			part = fmin(part, 99);
		sum += part * w[i];
		if (*s != '.')
			break;
		s++;
	}
	return sum;
}

static double version_number(const char *s) /* M*10000 + m*100 + R */
{
	static const double weights[] = { 10000, 100, 1 };

	return dotted_number(s, weights, N(weights));
}

static const char *text_after(const char *s, const char *mark)
{
	const char *at = strstr(s, mark);

	return at == NULL ? NULL : at + strlen(mark);
}

/* --- the client and the work --- */

double plan_never(const struct plan_question *q)
{
	(void)q;
	return 0;
}

double plan_client_version(const struct plan_question *q)
{
	return q->h->req->version;
}

/* Without a workunit, neither a lower nor an upper bound is violated. */
double plan_wu_id_or_most(const struct plan_question *q)
{
	return q->job == NULL ? INFINITY : (double)q->job->wu_id;
}

double plan_wu_id_or_none(const struct plan_question *q)
{
	return q->job == NULL ? 0 : (double)q->job->wu_id;
}

double plan_batch_or_most(const struct plan_question *q)
{
	return q->job == NULL ? INFINITY : (double)q->job->batch;
}

double plan_batch_or_none(const struct plan_question *q)
{
	return q->job == NULL ? 0 : (double)q->job->batch;
}

/* Text of an element of the preferences, trimmed; NULL if absent. */
static const char *plan_pref(struct arena *a, const char *prefs, const char *tag)
{
	size_t n = strlen(tag);

	for (const char *p = prefs; p != NULL && (p = strchr(p, '<')) != NULL;) {
		const char *end;

		if (strncmp(++p, tag, n) != 0)
			continue;
		if (p[n] == '/' && p[n + 1] == '>')
			return "";
		if (p[n] != '>')
			continue;
		p += n + 1;
		end = strchr(p, '<');
		if (end == NULL || end[1] != '/')
			return NULL;
		while (p < end && text_white(*p))
			p++;
		while (end > p && text_white(end[-1]))
			end--;
		return arena_memdup(a, p, (size_t)(end - p));
	}
	return NULL;
}

/* --- the system --- */

static bool is_windows(const struct request *rq)
{
	return strstr(rq->host.os_name, "Windows") != NULL;
}

/*
 * The number that project administrators know: Windows "(06.01.7601.00)" is 601760100,
 * Mac OS "11.00.00" is 110000; Linux and Android use the kernel, "[5.10.0-8|libc ...]"
 * or "5.10.0-8", which is 51000.
 */
double plan_os_version(const struct plan_question *q)
{
	static const double windows[] = { 1e8, 1e6, 100, 1 };
	const char *s = q->h->req->host.os_version, *at;

	if (is_windows(q->h->req)) {
		at = strrchr(s, '(');
		return at == NULL ? NAN : dotted_number(at + 1, windows, N(windows));
	}
	at = strchr(s, '[');
	return version_number(at == NULL ? s : at + 1);
}

double plan_android_version(const struct plan_question *q)
{
	const struct rq_host *host = &q->h->req->host;
	const char *at = text_after(host->os_version, "Android ");

	if (at == NULL && strcmp(host->os_name, "Android") == 0)
		at = host->os_version;
	return at == NULL ? NAN : version_number(at);
}

double plan_has_64bit(const struct plan_question *q)
{
	for (size_t i = 0; i < q->h->req->nplatforms; i++)
		if (strstr(q->h->req->platforms[i], "64") != NULL)
			return 1;
	return 0;
}

/* May the distribution be used for the class, apart from its C library? */
static bool distro_fits(const struct plan_question *q, const struct rq_distro *d)
{
	const struct plan_class *pc = q->pc;

	if (d->disallowed || (pc->docker && d->docker_version[0] == '\0'))
		return false;
	return pc->min_boinc_wsl_distro_version == 0 ||
	       (strcmp(d->distro_name, plan_boinc_distro) == 0 &&
		   d->distro_version >= pc->min_boinc_wsl_distro_version);
}

/* The newest C library of the distributions that fit; NAN if none fits. */
static double distro_libc(const struct plan_question *q)
{
	const struct rq_host *host = &q->h->req->host;
	double best = NAN;

	if (!is_windows(q->h->req) || q->h->req->dont_use_wsl)
		return NAN;
	for (size_t i = 0; i < host->ndistros; i++) {
		double libc;

		if (!distro_fits(q, &host->distros[i]))
			continue;
		libc = version_number(host->distros[i].libc_version);
		best = fmax(best, isnan(libc) ? 0 : libc); /* fmax() ignores NAN */
	}
	return best;
}

double plan_has_wsl(const struct plan_question *q)
{
	return !isnan(distro_libc(q));
}

double plan_has_docker(const struct plan_question *q)
{
	const struct request *rq = q->h->req;

	if (rq->dont_use_docker)
		return 0;
	return is_windows(rq) ? !isnan(distro_libc(q)) :
	                        rq->host.docker_version[0] != '\0';
}

double plan_libc_version(const struct plan_question *q)
{
	const char *at;

	if (q->pc->wsl)
		return distro_libc(q);
	at = text_after(q->h->req->host.os_version, "libc ");
	return at == NULL ? NAN : version_number(at);
}

/* --- the processor --- */

/*
 * Words are separated by white space, or by the brackets that old clients put around
 * them.
 */
static bool features_have_word(const char *s, const char *word)
{
	static const char ends[] = " \t\r\n[](),";
	size_t n = strlen(word);

	for (; *(s += strspn(s, ends)) != '\0'; s += strcspn(s, ends))
		if (strcspn(s, ends) == n && strncasecmp(s, word, n) == 0)
			return true;
	return false;
}

/* Another system's word for the same feature. */
static const char *feature_synonym(const char *word)
{
	static const char *const names[][2] = {
		{ "sse3", "pni" },
		{ "sse4_1", "sse4.1" },
		{ "sse4_2", "sse4.2" },
		{ "avx", "avx1.0" },
	};

	for (size_t i = 0; i < N(names); i++)
		for (size_t k = 0; k < 2; k++)
			if (strcasecmp(word, names[i][k]) == 0)
				return names[i][1 - k];
	return word;
}

/* Is word, or another system's word for it, among the processor's features? */
static bool plan_has_feature(const struct request *rq, const char *word)
{
	const char *other = feature_synonym(word), *f = rq->host.p_features,
		   *m = rq->host.p_model; /* old clients put the features there */

	return features_have_word(f, word) || features_have_word(f, other) ||
	       features_have_word(m, word) || features_have_word(m, other);
}

const char *plan_cpu_vendor(const struct plan_question *q)
{
	return q->h->req->host.p_vendor;
}

const char *plan_cpu_model(const struct plan_question *q)
{
	return q->h->req->host.p_model;
}

double plan_ncpus(const struct plan_question *q)
{
	return q->h->ncpus;
}

/* "[BOINC|7.20.5|brand][NVIDIA|name|count|MB|driver]...[vbox|7.0.12]" */
const char *plan_summary(const struct plan_question *q)
{
	const struct request *rq = q->h->req;
	struct say s = say_new(q->a);

	say_str(&s, "[BOINC|");
	say_int(&s, rq->core_client_major_version);
	say_str(&s, ".");
	say_int(&s, rq->core_client_minor_version);
	say_str(&s, ".");
	say_int(&s, rq->core_client_release);
	if (rq->client_brand[0] != '\0') {
		say_str(&s, "|");
		say_str(&s, rq->client_brand);
	}
	say_str(&s, "]");
	for (size_t i = 1; i < rq->nresources; i++) {
		const struct rq_resource *r = &rq->resources[i];

		say_str(&s, "[");
		say_str(&s, r->type);
		say_str(&s, "|");
		say_str(&s, r->name);
		say_str(&s, "|");
		say_fixed(&s, r->count, 0);
		say_str(&s, "|");
		say_fixed(&s, r->total_ram / MB, 0);
		say_str(&s, "MB|");
		say_int(&s, r->driver_version);
		say_str(&s, "]");
	}
	if (rq->host.virtualbox_version[0] != '\0') {
		say_str(&s, "[vbox|");
		say_str(&s, rq->host.virtualbox_version);
		say_str(&s, "]");
	}
	return s.p;
}

/* --- virtual machines --- */

double plan_has_vbox(const struct plan_question *q)
{
	return q->h->req->host.virtualbox_version[0] != '\0';
}

double plan_vbox_version(const struct plan_question *q)
{
	return version_number(q->h->req->host.virtualbox_version);
}

bool plan_can_accel(const struct request *rq)
{
	return plan_has_feature(rq, "vmx") || plan_has_feature(rq, "svm");
}

double plan_has_vm_accel(const struct plan_question *q)
{
	const struct request *rq = q->h->req;

	return !rq->host.p_vm_extensions_disabled && plan_can_accel(rq);
}

/* --- the device --- */

double plan_has_cuda(const struct plan_question *q)
{
	return q->dev->have_cuda;
}

double plan_cuda_version(const struct plan_question *q)
{
	return q->dev->cuda_version;
}

double plan_compcap(const struct plan_question *q)
{
	return q->dev->compute_capability;
}

double plan_has_cal(const struct plan_question *q)
{
	return q->dev->have_cal;
}

double plan_cal_target(const struct plan_question *q)
{
	return q->dev->cal_target;
}

double plan_has_ati_libs(const struct plan_question *q)
{
	return q->dev->atirt_detected;
}

double plan_has_amd_libs(const struct plan_question *q)
{
	return q->dev->amdrt_detected;
}

double plan_has_opencl(const struct plan_question *q)
{
	return q->dev->have_opencl;
}

double plan_lacks_opencl(const struct plan_question *q)
{
	return !q->dev->have_opencl;
}

double plan_opencl_number(const char *text)
{
	static const double weights[] = { 100, 1 };
	const char *at = text_after(text, "OpenCL ");

	return at == NULL ? NAN : dotted_number(at, weights, N(weights));
}

double plan_opencl_version(const struct plan_question *q)
{
	return plan_opencl_number(q->dev->opencl_version);
}

/* AMD's "OpenCL 1.2 AMD-APP (1124.2)" gives 112402 (protocol.md 1.6). */
double plan_opencl_revision(const struct plan_question *q)
{
	static const double weights[] = { 100, 1 };
	const char *at = strrchr(q->dev->opencl_version, '(');

	return at == NULL ? NAN : dotted_number(at + 1, weights, N(weights));
}

double plan_metal_support(const struct plan_question *q)
{
	return q->dev->metal_support;
}

/* 0 = unknown, which is below any minimum. */
double plan_driver_version(const struct plan_question *q)
{
	return q->dev->driver_version;
}

double plan_gpu_ram_mb(const struct plan_question *q)
{
	return q->dev->total_ram / MB;
}

double plan_gpu_ram_free_mb(const struct plan_question *q)
{
	return q->dev->available_ram / MB;
}

double plan_gpu_peak_flops(const struct plan_question *q)
{
	return q->dev->peak_flops;
}

double plan_has_double(const struct plan_question *q)
{
	return q->dev->double_precision;
}

static const double LEAST_NCPUS = 0.001; /* clients take 0 for "unknown" */
static const double NGPUS_LEAST = 1e-3, NGPUS_MOST = 64;

/* --- checks with a rule of their own --- */

static bool check_account(const struct plan_question *q)
{
	return q->pc->user_id == 0 || q->pc->user_id == q->h->userid;
}

static bool check_preferences(const struct plan_question *q)
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
static bool check_system(const struct plan_question *q)
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

static bool check_features(const struct plan_question *q)
{
	for (size_t i = 0; i < q->pc->cpu_feature.n; i++)
		if (!plan_has_feature(q->h->req, q->pc->cpu_feature.v[i]))
			return false;
	return true;
}

static bool check_vbox_not_excluded(const struct plan_question *q)
{
	const struct number_list *no = &q->pc->exclude_vbox_version;
	double have = plan_vbox_version(q);

	for (size_t i = 0; i < no->n; i++)
		if (have == (double)no->v[i])
			return false;
	return true;
}

static bool check_device(const struct plan_question *q)
{
	return q->dev != NULL;
}

static bool check_enough_devices(const struct plan_question *q)
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

static double check_bound(const struct check *c, const void *element)
{
	return c->real ? *(const double *)element : (double)*(const int64_t *)element;
}

static bool check_passes(const struct check *c, const struct plan_question *q)
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

/* CPUs for which there is enough memory; 0: too little memory. */
static double usable_threads(
    const struct plan_class *pc, const struct plan_class_host *h)
{
	double n = pc->max_threads > 0 ? fmin(h->ncpus, (double)pc->max_threads) :
	                                 fmax(1, floor(pc->avg_ncpus));
	double most, each = pc->mem_usage_per_cpu_mb * MB;

	if (each <= 0)
		return n;
	most = floor((h->usable_ram - pc->mem_usage_base_mb * MB) / each);
	if (most >= n)
		return n;
	return most < fmax(1, pc->min_ncpus) ? 0 : most;
}

static void use_cpu(const struct plan_question *q, double n, struct class_use *use)
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
static void use_device(const struct plan_question *q, struct class_use *use)
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

static const char *nthreads_option(struct arena *a, double n)
{
	struct say s = say_new(a);

	say_str(&s, "--nthreads ");
	say_fixed(&s, fmax(n, 1), 0);
	return s.p;
}

/*
 * The account's factor on the number of devices, 0 if there is none; *text is its text.
 */
static double device_factor(
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

const char *plan_class_bad_factor(
    struct arena *a, const struct plan_class *pc, const char *project_prefs)
{
	const char *text;

	if (device_factor(a, pc, project_prefs, &text) > 0 || text == NULL ||
	    text[0] == '\0')
		return NULL;
	return text;
}

/* Number of devices that a job uses; an invalid factor is ignored. */
static double devices_used(const struct plan_question *q)
{
	const char *text;
	double factor = device_factor(q->a, q->pc, q->h->project_prefs, &text);

	if (!(factor > 0))
		return q->pc->ngpus;
	return fmax(NGPUS_LEAST, fmin(q->pc->ngpus * factor, NGPUS_MOST));
}

enum reason plan_class_use(struct arena *a, const struct plan_class *pc,
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
	/* The device that the class uses, or the processor if it needs none; NULL:
	 * absent. */
	size_t r = plan_class_resource(pc, h->req);

	q.dev = r == SIZE_MAX ? NULL : &h->req->resources[r];
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
