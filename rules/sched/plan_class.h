/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Does a plan class fit a host, and what does its job use there (scheduling.md 2.12)?
 */
#ifndef RULES_SCHED_PLAN_CLASS_H
#define RULES_SCHED_PLAN_CLASS_H

#include "lib/arena.h"
#include "lib/rng.h"
#include "model/plan_class.h"
#include "model/decision.h"
#include "model/request.h"

struct plan_class_host { /* the host, its account and preferences */
	const struct request *req;
	int64_t userid;
	/*
	 * The account's preferences at the host's venue: snapshot.project_prefs.text;
	 * may be NULL.
	 */
	const char *project_prefs;
	int32_t ncpus;     /* usable CPUs, preferences applied */
	double p_fpops;    /* of one CPU, plausible, > 0 */
	double usable_ram; /* bytes */
};

struct plan_class_job { /* the workunit to check the class for */
	int64_t wu_id, batch;
};

/*
 * Returns WHY_NONE and *use if the class fits, else the reason. A NULL class means a
 * version without one: one CPU. A NULL job meets all demands on workunits, a NULL rng
 * those by chance. *use refers to the arena and the class.
 */
enum reason plan_class_use(struct arena *, const struct plan_class *,
    const struct plan_class_host *, const struct plan_class_job *, struct rng *,
    struct class_use *);

/*
 * Returns the account's factor on the number of devices (gpu_utilization_tag) if it is
 * ignored because it is not a number above 0; else NULL.
 */
const char *plan_class_bad_factor(
    struct arena *, const struct plan_class *, const char *project_prefs);

/*
 * The facts about a host that plan classes use, as numbers and texts (protocol.md 1.3,
 * 1.6).
 */

struct plan_question { /* one class and one host; only job and rng may be NULL */
	struct arena *a;
	const struct plan_class *pc;
	const struct plan_class_host *h;
	const struct plan_class_job *job;
	struct rng *rng;
	/* the CPU is resource 0; NULL: the device is absent */
	const struct rq_resource *dev;
	double ngpus; /* as set by the account's preferences */
};

/* Numbers; NAN = unknown. Flags are 0 or 1. Units as in model/plan_class.def. */
typedef double plan_number(const struct plan_question *);
/* Texts; "" = unknown. */
typedef const char *plan_text(const struct plan_question *);

plan_number plan_never, plan_client_version, plan_wu_id_or_most, plan_wu_id_or_none,
    plan_batch_or_most, plan_batch_or_none, plan_os_version, plan_android_version,
    plan_has_64bit, plan_ncpus, plan_has_vbox, plan_vbox_version, plan_has_vm_accel,
    plan_has_docker, plan_has_wsl, plan_libc_version, plan_has_cuda, plan_cuda_version,
    plan_compcap, plan_has_cal, plan_cal_target, plan_has_ati_libs, plan_has_amd_libs,
    plan_lacks_opencl, plan_has_opencl, plan_opencl_version, plan_opencl_revision,
    plan_metal_support, plan_driver_version, plan_gpu_ram_mb, plan_gpu_ram_free_mb,
    plan_gpu_peak_flops, plan_has_double;
plan_text plan_summary, plan_cpu_vendor, plan_cpu_model;

/* Name of the distribution that comes with Windows clients (protocol.md 1.3). */
extern const char plan_boinc_distro[];
/* Does the processor have virtual machine extensions, enabled or not? */
bool plan_can_accel(const struct request *);
/* "OpenCL 3.0 CUDA" gives 300; NAN if the text has another form. */
double plan_opencl_number(const char *text);

#endif
