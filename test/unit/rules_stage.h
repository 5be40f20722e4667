/* SPDX-License-Identifier: Apache-2.0 */
/* The host of "Work fetch and GPUs", with a CPU, GPUs and the SPEs of a Cell, and a
 * project whose app has a version for each. Only one test of each program includes this
 * file. */
#ifndef TEST_RULES_STAGE_H
#define TEST_RULES_STAGE_H

#include "test/unit/rules_world.h"

enum { CPU, NVIDIA, SPE, RESOURCES, JOBS = 40 };

struct stage { /* what a case may change */
	struct world *w;
	struct app_version v[RESOURCES];
	struct plan_class pc[2];
	struct plan_classes classes;
	struct catalog cat;
	struct host_app_version hav;
};
static struct world *now_world;

static inline char *stage_text(const char *s)
{
	return arena_strdup(&now_world->a, s);
}

static inline struct rq_resource a_resource(
    const char *type, double count, double peak_flops)
{
	return (struct rq_resource){ .type = stage_text(type),
		.has_request = true,
		.estimated_delay = -1,
		.count = count,
		.peak_flops = peak_flops,
		.total_ram = 1073741824.0,
		.available_ram = 1e9,
		.driver_version = 47000,
		.name = stage_text(""),
		.opencl_version = stage_text(""),
		.opencl_driver_version = stage_text("") };
}

static inline void stage_set(struct stage *x, const char *options)
{
	struct world *w = x->w = now_world = world_new(options, 0);
	struct rq_resource *r = NEWN(&w->a, struct rq_resource, RESOURCES);
	char *plain = stage_text("");

	r[CPU] = w->req.resources[0];
	r[NVIDIA] = a_resource("NVIDIA", 2, 1e12);
	r[SPE] = a_resource("SPE", 6, 2e10);
	w->req.resources = r;
	w->req.nresources = RESOURCES;
	x->pc[0] = world_class(x->w, "nv", "nvidia");
	x->pc[1] = world_class(x->w, "spe", "SPE");
	x->pc[1].avg_ncpus = 0.25;
	x->classes = (struct plan_classes){ .classes = x->pc, .n = N(x->pc) };
	x->cat = *w->snap.cat;
	for (int i = 0; i < RESOURCES; i++) {
		x->v[i] = w->snap.cat->versions[0];
		x->v[i].id = i + 1;
	}
	x->v[NVIDIA].plan_class = stage_text("nv");
	x->v[SPE].plan_class = stage_text("spe");
	x->cat.versions = x->v;
	x->cat.nversions = RESOURCES;
	x->cat.classes = &x->classes;
	x->hav = (struct host_app_version){ .host_id = WORLD_HOST,
		.app_version_id = 2 };
	w->snap.cat = &x->cat;
	w->snap.havs = &x->hav;
	w->snap.nhavs = 1;
	for (int i = 1; i <= JOBS; i++)
		plain = arena_printf(&w->a, "%s %d/%d", plain, i, i);
	world_plain(w, plain);
	for (size_t i = 0; i < w->snap.nplain; i++)
		w->snap.plain[i].rsc_disk_bound = 0;
}

static inline void refuse(struct world *w, const char *type)
{
	w->snap.project_prefs.no_rsc = NEWN(&w->a, char *, 1);
	w->snap.project_prefs.no_rsc[0] = stage_text(type);
	w->snap.project_prefs.nno_rsc = 1;
}

/* Adds jobs of the host that are missing from its list, bound to version number 7 and
 * due to be resent. */
static inline void lost(struct world *w, const char *jobs, struct app_version *v)
{
	world_others(w, "");
	world_in_progress(w, jobs);
	w->conf->resend_lost_results = true;
	v->version_num = 7;
	for (size_t i = 0; i < w->snap.nin_progress; i++)
		w->snap.in_progress[i].app_version_num = 7;
}

/* Limits the jobs of the app on a host. */
static inline struct job_limits *stage_app_limit(struct world *w, double jobs)
{
	struct job_limits *l = NEW(&w->a, struct job_limits);

	l->apps = NEWN(&w->a, struct job_limits_of, 1);
	l->napps = 1;
	l->apps[0].app_name = stage_text("stars");
	l->apps[0].total = (struct job_limit){ .set = true, .jobs = jobs };
	return l;
}

/* Limits the jobs of the project on all GPUs, or on each GPU. */
static inline struct job_limits *gpu_limit(struct world *w, double jobs, bool each)
{
	struct job_limits *l = NEW(&w->a, struct job_limits);

	l->project.gpu = (struct job_limit){
		.set = true, .jobs = jobs, .per_proc = each
	};
	return l;
}

/* Replaces the host's tasks by n NVIDIA tasks, each with secs left to run and to its
 * deadline. */
static inline void gpu_tasks(struct world *w, size_t n, double secs)
{
	w->req.has_in_progress = true;
	w->req.nin_progress = n;
	w->req.in_progress = NEWN(&w->a, struct rq_in_progress, n);
	for (size_t i = 0; i < n; i++)
		w->req.in_progress[i] = (struct rq_in_progress){ .name = stage_text(
								     "x"),
			.report_deadline = (double)WORLD_NOW + secs,
			.time_remaining = secs,
			.ncudas = 1 };
}

/* Makes the client run a program of its own (anonymous platform) on this many
 * instances. */
static inline void own_versions(struct world *w, const char *type, double count)
{
	struct rq_app_version *v = NEW(&w->a, struct rq_app_version);

	*v = (struct rq_app_version){ .app_name = stage_text("stars"),
		.platform = stage_text("x86_64-pc-linux-gnu"),
		.plan_class = stage_text(""),
		.version_num = 5,
		.coproc_type = stage_text(type),
		.coproc_count = count };
	w->req.app_versions = v;
	w->req.napp_versions = 1;
	if (!w->req.has_other_results) /* else only the index is asked for */
		w->req.platforms[0] = stage_text("anonymous");
}

#endif
