/* SPDX-License-Identifier: Apache-2.0 */
/* What plan classes look at in a host, as numbers and texts (protocol.md 1.3, 1.6). */
#ifndef RULES_SCHED_PLAN_FACTS_H
#define RULES_SCHED_PLAN_FACTS_H

#include "rules/sched/plan_class.h"

struct plan_question { /* one class and one host; no member is NULL but job and rng */
	struct arena *a;
	const struct plan_class *pc;
	const struct plan_class_host *h;
	const struct plan_class_job *job;
	struct rng *rng;
	const struct rq_resource *dev; /* CPU: resource 0; NULL: there is none */
	double ngpus;                  /* by the account's preferences */
};

/* Numbers; NAN = not known.  Flags are 0 or 1.  Units as in model/plan_class.def. */
typedef double plan_number(const struct plan_question *);
/* Texts; "" = not known. */
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

/* The name of the distribution that comes with Windows clients (protocol.md 1.3). */
extern const char plan_boinc_distro[];
/* Does the processor have what virtual machines need, switched on or not? */
bool plan_can_accel(const struct request *);
/* Is word, or another system's word for it, among the processor's features? */
bool plan_has_feature(const struct request *, const char *word);
/* "OpenCL 3.0 CUDA" is 300; NAN if it is no such text. */
double plan_opencl_number(const char *text);
/* The device that the class uses, the processor if it needs none; NULL: not there. */
const struct rq_resource *plan_device(
    const struct plan_class *, const struct request *);
/* Text of an element of the preferences, trimmed; NULL if it is not there. */
const char *plan_pref(struct arena *, const char *prefs, const char *tag);

#endif
