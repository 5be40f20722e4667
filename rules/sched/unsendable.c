/* SPDX-License-Identifier: Apache-2.0 */
/*
 * May any host get this work? Checks each demand of a job that no host can ever meet.
 */
#include "rules/sched/unsendable.h"

#include <string.h>
#include "model/catalog.h"
#include "rules/say.h"
#include "rules/sched/ctx.h"
#include "rules/sched/host.h"
#include "lib/banned.h"

enum unit { NOTHING, BYTES, RATE, SPEED, COUNT };

const struct unsendable_words unsendable_words[UNSENDABLE__MAX] = {
#define ERROR                                        true
#define WARN                                         false
#define UNSENDABLE(code, severity, unit, text, cure) { #code, text, cure, severity },
#include "rules/sched/unsendable.def"
#undef UNSENDABLE
#undef ERROR
#undef WARN
};

static const enum unit units[UNSENDABLE__MAX] = {
#define UNSENDABLE(code, severity, unit, text, cure) unit,
#include "rules/sched/unsendable.def"
#undef UNSENDABLE
};

/* The most memory that a 32-bit process has anywhere: protocol.md 3.12. */
static const double MOST_OF_32BIT = 4294967296.0;

/* Number of the app's versions that remain after each demand. */
struct versions {
	int there, bound, usable;
	int wide;         /* usable on a 64-bit platform */
	int cpu;          /* usable, and needs no coprocessor */
	int by_bound;     /* usable, and its jobs take rsc_memory_bound */
	int by_benchmark; /* usable, with a speed known only from benchmarks */
};

/* A host also names its other platforms, so a deprecated one will do if any is not. */
static bool platform_there(const struct catalog *c, const struct platform *p)
{
	if (p == NULL)
		return false;
	for (size_t i = 0; i < c->nplatforms; i++)
		if (!c->platforms[i].deprecated)
			return true;
	return false;
}

static bool range_empty(int64_t least, int64_t most)
{
	return most > 0 && least > most;
}

static bool class_is_possible(const struct plan_class *pc)
{
	return pc != NULL && !pc->disabled && pc->infeasible_random < 1 &&
	       !range_empty(pc->min_core_client_version, pc->max_core_client_version) &&
	       !range_empty(pc->min_wu_id, pc->max_wu_id) &&
	       !range_empty(pc->min_batch, pc->max_batch);
}

/* Can a client exist that is neither too old nor too new? */
static bool client_is_possible(const struct conf *cf, const struct app_version *v)
{
	int64_t least = version_full(v->min_core_version),
		project = version_full(cf->min_core_client_version);

	return !range_empty(
	    least > project ? least : project, version_full(v->max_core_version));
}

static void count_usable(struct versions *n, const struct platform *p,
    const struct app_version *v, const struct plan_class *pc)
{
	n->usable++;
	n->wide += strstr(p->name, "64") != NULL;
	n->cpu += pc == NULL ||
	          strcmp(plan_class_type(pc), resource_names[RESOURCE_CPU]) == 0;
	n->by_bound += pc == NULL ||
	               (pc->mem_usage_base_mb <= 0 && pc->mem_usage_per_cpu_mb <= 0);
	n->by_benchmark += pc == NULL && v->pfc_n <= 0;
}

/* May the job use this version, if it is bound to a version or a number? */
static bool version_is_meant(
    const struct demand *d, int64_t pinned, const struct app_version *v)
{
	return (pinned == 0 || v->id == pinned) &&
	       (d->app_version_num == 0 || v->version_num == d->app_version_num);
}

static struct versions count_versions(const struct conf *cf, const struct catalog *c,
    const struct app *app, const struct demand *d)
{
	int64_t pinned = app->homogeneous_app_version ? d->app_version_id : 0;
	struct versions n = { 0 };

	for (size_t i = 0; i < c->nversions; i++) {
		const struct app_version *v = &c->versions[i];
		const struct platform *p = catalog_platform(c, v->platformid);
		const struct plan_class *pc = plan_class_named(
		    c->classes, v->plan_class);

		if (v->appid != app->id || !platform_there(c, p) ||
		    (v->deprecated && (pinned == 0 || v->id != pinned)))
			continue;
		n.there++;
		if (!version_is_meant(d, pinned, v))
			continue;
		n.bound++;
		if (!client_is_possible(cf, v) ||
		    (v->plan_class[0] != '\0' && !class_is_possible(pc)))
			continue;
		count_usable(&n, p, v, v->plan_class[0] == '\0' ? NULL : pc);
	}
	return n;
}

static void set_lack(struct lack *l, bool is, double needs, double has)
{
	if (is)
		*l = (struct lack){ true, needs, has };
}

static void set_version_lack(
    struct lack *l, const struct versions *n, const struct demand *d)
{
	if (n->there == 0)
		l[UNSENDABLE_NO_VERSION].is = true;
	else if (n->bound == 0)
		l[UNSENDABLE_VERSION].is = true;
	else if (n->usable == 0)
		l[UNSENDABLE_CLASS].is = true;
	else
		set_lack(&l[UNSENDABLE_64BIT],
		    n->wide == 0 && d->memory > MOST_OF_32BIT, d->memory,
		    MOST_OF_32BIT);
}

static bool kind_active(const struct fleet *f, enum hr_type type, int32_t hr_class)
{
	for (size_t i = 0; i < f->nkinds; i++)
		if (hr_class_of(type, f->kinds[i].os_name, f->kinds[i].p_vendor,
			f->kinds[i].p_model) == hr_class)
			return true;
	return false;
}

/* Demands that no active host meets; there is at least one active host. */
static void set_host_lacks(struct lack *l, const struct versions *n,
    const struct fleet *f, const struct demand *d)
{
	set_lack(&l[UNSENDABLE_MEMORY],
	    n->by_bound == n->usable && d->memory > f->memory, d->memory, f->memory);
	set_lack(
	    &l[UNSENDABLE_DISK], d->disk > 0 && d->disk > f->disk, d->disk, f->disk);
	set_lack(
	    &l[UNSENDABLE_LINK], d->link > 0 && d->link > f->link, d->link, f->link);
	set_lack(&l[UNSENDABLE_SPEED],
	    n->by_benchmark == n->usable && d->flops > f->flops, d->flops, f->flops);
	set_lack(&l[UNSENDABLE_COPROC], n->cpu == 0 && f->coprocs == 0, 0, 0);
}

int64_t unsendable_takers(const struct conf *cf, const struct fleet *f)
{
	return cf->one_result_per_user_per_wu ? f->users :
	       cf->one_result_per_host_per_wu ? f->hosts :
	                                        0;
}

void unsendable(const struct conf *cf, const struct catalog *c, const struct fleet *f,
    const struct demand *d, struct lack l[UNSENDABLE__MAX])
{
	const struct app *app = catalog_app(c, d->appid);
	int64_t takers = unsendable_takers(cf, f);
	enum hr_type type;
	struct versions n;

	memset(l, 0, UNSENDABLE__MAX * sizeof(*l));
	if (app == NULL)
		return;
	if (app->deprecated) {
		l[UNSENDABLE_APP_OFF].is = true;
		return;
	}
	l[UNSENDABLE_APP_DRAINS].is = app->drain_time != 0;
	n = count_versions(cf, c, app, d);
	set_version_lack(l, &n, d);
	set_lack(&l[UNSENDABLE_BOUND], d->memory > RSC_MEMORY_MOST, d->memory,
	    RSC_MEMORY_MOST);
	set_lack(&l[UNSENDABLE_BOUND], d->disk > RSC_DISK_MOST, d->disk, RSC_DISK_MOST);
	if (f->hosts == 0)
		return;
	if (n.usable > 0)
		set_host_lacks(l, &n, f, d);
	type = hr_type_of(cf, app);
	set_lack(&l[UNSENDABLE_HR],
	    type != HR_NONE && d->hr_class != 0 && !kind_active(f, type, d->hr_class),
	    0, 0);
	if (takers == 0)
		return;
	set_lack(&l[UNSENDABLE_HOSTS], d->quorum > takers, d->quorum, (double)takers);
	l[cf->one_result_per_user_per_wu ? UNSENDABLE_HAD_USER : UNSENDABLE_HAD_HOST]
	    .is = d->had_by_all;
}

static void unsendable_say_figure(struct say *s, enum unit unit, double x)
{
	switch (unit) {
	case NOTHING:
		return;
	case BYTES:
		say_size(s, x);
		return;
	case RATE:
		say_size(s, x);
		say_str(s, "/s");
		return;
	case SPEED:
		say_fixed(s, x / 1e9, 1);
		say_str(s, " GFLOPS");
		return;
	case COUNT:
		say_fixed(s, x, 0);
	}
}

char *unsendable_figures(struct arena *a, enum unsendable code, const struct lack *l)
{
	struct say s = say_new(a);

	if (units[code] == NOTHING)
		return s.p;
	unsendable_say_figure(&s, units[code], l->needs);
	say_str(&s, ", the most is ");
	unsendable_say_figure(&s, units[code], l->has);
	return s.p;
}

char *unsendable_cure(
    struct arena *a, enum unsendable code, const struct lack *l, const char *app)
{
	struct say s = say_new(a);

	for (const char *p = unsendable_words[code].cure, *to; *p != '\0'; p = to) {
		to = strchr(p + 1, *p == '{' ? '}' : '{');
		to = to == NULL ? p + strlen(p) : *p == '{' ? to + 1 : to;
		if (strncmp(p, "{name}", 6) == 0)
			say_str(&s, app);
		else if (strncmp(p, "{most}", 6) == 0)
			say_int(&s, (int64_t)l->has);
		else
			say_str(&s, arena_memdup(a, p, (size_t)(to - p)));
	}
	return s.p;
}

char *unsendable_says(
    struct arena *a, enum unsendable code, const struct lack *l, const char *app)
{
	struct say s = say_new(a);

	say_str(&s, unsendable_words[code].text);
	if (units[code] != NOTHING) {
		say_str(&s, " (");
		say_str(&s, unsendable_figures(a, code, l));
		say_str(&s, ")");
	}
	say_str(&s, "; ");
	say_str(&s, unsendable_cure(a, code, l, app));
	return s.p;
}

struct demand demand_of(const struct workunit *wu)
{
	return (struct demand){ .appid = wu->appid,
		.app_version_num = wu->app_version_num,
		.workunits = 1,
		.memory = wu->rsc_memory_bound,
		.disk = wu->rsc_disk_bound,
		.link = wu->rsc_bandwidth_bound,
		.flops = wu->rsc_fpops_est / (double)wu->delay_bound,
		.quorum = wu->min_quorum,
		.name = wu->name };
}
