/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The facts about a host that plan classes use, as numbers and texts (protocol.md 1.3,
 * 1.6).
 */
#ifndef RULES_SCHED_PLAN_FACTS_H
#define RULES_SCHED_PLAN_FACTS_H

#include "rules/sched/plan_class.h"

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
/* Is word, or another system's word for it, among the processor's features? */
bool plan_has_feature(const struct request *, const char *word);
/* "OpenCL 3.0 CUDA" gives 300; NAN if the text has another form. */
double plan_opencl_number(const char *text);
/* The device that the class uses, or the processor if it needs none; NULL: absent. */
const struct rq_resource *plan_device(
    const struct plan_class *, const struct request *);
/* Text of an element of the preferences, trimmed; NULL if absent. */
const char *plan_pref(struct arena *, const char *prefs, const char *tag);

#endif
