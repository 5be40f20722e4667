/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler request as plain data (protocol.md 1): what the parser leaves and the
 * client fills.  Texts that were not told are empty; those that may be NULL say so.
 * Reports, other results and files without a name are left out.
 */
#ifndef MODEL_REQUEST_H
#define MODEL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "model/prefs.h"

struct rq_resource { /* CPU is resource 0; others in the order of the request */
	char *type;  /* "CPU", "NVIDIA", "ATI", "intel_gpu", "apple_gpu" or a generic
	                model */
	bool has_request;       /* a req_secs or req_instances element is present */
	double req_secs;        /* instance-seconds wanted, clamped to 0 .. 28 days */
	double req_instances;   /* idle instances wanted */
	double estimated_delay; /* s until an instance is free; -1 = not given */
	double count;           /* instances present; CPU: p_ncpus */
	double peak_flops;      /* of one instance */
	double available_ram, total_ram; /* bytes */
	char *name;
	/* Texts of OpenCL: "OpenCL 3.0 CUDA", "3380.6 (PAL,HSAIL)" */
	char *opencl_version, *opencl_driver_version;
	int32_t driver_version, cuda_version,
	    compute_capability; /* 100 * major + minor; 0 unknown */
	int32_t cal_target, metal_support;
	bool have_cuda, have_cal, have_opencl, have_metal;
	bool double_precision;               /* by any of its libraries */
	bool atirt_detected, amdrt_detected; /* libraries of CAL */
};

struct rq_distro { /* a Linux distribution in WSL of a Windows host */
	char *distro_name, *os_name, *os_version, *libc_version, *docker_version;
	int32_t wsl_version, distro_version; /* the latter of the client's own one */
	int32_t docker_type;                 /* 1 Docker, 2 Podman, 0 not known */
	bool is_default, disallowed;
};

struct rq_file { /* an uploaded output file of a report, or a sticky file on the host */
	char *name;
	double nbytes, max_nbytes;
	char *md5_cksum;
	int32_t status;     /* 1 present, 0 absent, 2 verify pending, < 0 error; absent
	                       element = 1 */
	bool upload_failed; /* error_msg present */
};

struct rq_report { /* <result>: a finished task */
	char *name;
	double cpu_time, elapsed_time; /* s; as sent, not yet made plausible */
	int32_t exit_status;           /* EXIT_UNKNOWN if absent */
	int32_t state;
	int32_t version_num, app_version_num;
	char *plan_class, *platform;
	double peak_working_set_size, peak_swap_size, peak_disk_usage; /* bytes */
	char *stderr_out;  /* verbatim between the tags, at most 65535 bytes */
	char *xml_doc_out; /* the <file_info> elements, verbatim, concatenated, at most
	                      65535 bytes */
	struct rq_file *files;
	size_t nfiles;
};

struct rq_app_version { /* position counts: other_results point here by index */
	char *app_name, *platform, *plan_class, *coproc_type;
	int32_t version_num;
	double avg_ncpus, flops, coproc_count;
};

struct rq_other { /* a task of this project that stays on the host */
	char *name;
	int32_t app_version; /* index, -1 = not given */
	char *plan_class;
};

struct rq_in_progress { /* a task of any project: input of the EDF simulation */
	char *name;
	double report_deadline, time_remaining, avg_ncpus, ncudas, natis, nintel_gpus;
};

struct rq_trickle {
	char *variety;
	char *xml; /* the message without the variety line */
};

struct request {
	char *authenticator;
	int64_t hostid, rpc_seqno;
	int32_t core_client_major_version, core_client_minor_version,
	    core_client_release;
	int32_t version; /* 10000 * major + 100 * minor + release */
	double resource_share_fraction, rrs_fraction, prrs_fraction; /* default 1 */
	double duration_correction_factor;
	int32_t allow_multiple_clients, sandbox; /* -1 = not given */
	bool dont_send_work, client_cap_plan_class;
	bool client_cap_no_work_deadlines;  /* understands that element of replies */
	bool dont_use_docker, dont_use_wsl; /* the owner's will */
	double work_req_seconds;            /* legacy total, clamped to 0 .. 28 days */
	bool has_cpu_request; /* cpu_req_secs or cpu_req_instances is present: new style
	                       */
	double cpu_req_secs, cpu_req_instances, estimated_delay;
	char *platform_name;
	char **platforms; /* primary first, then alternates */
	size_t nplatforms;
	char *code_sign_key; /* trimmed; NULL = the client has none */
	bool has_working_prefs;
	struct rq_prefs prefs;
	char
	    *global_prefs; /* master preferences, raw text with tags; NULL = not sent */
	double global_prefs_mod_time;
	char *global_prefs_source_email_hash, *cross_project_id;
	/* host_info, time_stats, net_stats, disk_usage: in the columns of the host row
	 */
	struct rq_host {
		int32_t timezone, p_ncpus;
		char *domain_name, *ip_addr, *host_cpid, *p_vendor, *p_model,
		    *p_features;
		char *os_name, *os_version, *product_name, *virtualbox_version;
		char *docker_version; /* "" = no Docker, no Podman; not of Windows */
		int32_t docker_type;  /* as in rq_distro */
		bool p_vm_extensions_disabled;
		struct rq_distro *distros;
		size_t ndistros;
		double p_fpops, p_iops, p_membw, m_nbytes, m_cache, m_swap, d_total,
		    d_free;
		double on_frac, connected_frac, active_frac, gpu_active_frac;
		double n_bwup, n_bwdown; /* bytes/s */
		double d_boinc_used_total, d_boinc_used_project, d_project_share;
		bool
		    present; /* false: a replicated trickle, leave the host row alone */
	} host;
	struct rq_resource *resources; /* [0] is the CPU, which is always there */
	size_t nresources;
	struct rq_report *reports;
	size_t nreports;
	struct rq_trickle *trickles;
	size_t ntrickles;
	bool trickles_cut; /* there were too many: none is here, none may be acked */
	struct rq_file *files; /* sticky files held */
	size_t nfiles;
	struct rq_app_version *app_versions;
	size_t napp_versions;
	bool has_other_results; /* the element was there, even empty */
	struct rq_other *other_results;
	size_t nother_results;
	bool has_in_progress;
	struct rq_in_progress *in_progress;
	size_t nin_progress;
	char *time_stats_log, *job_log, *client_opaque; /* NULL = not sent */
	char *client_brand;
	uint32_t repairs; /* places that the normaliser had to mend: a metric */
};

/* Place among the resources of a coprocessor type; NULL and "" name the CPU.  SIZE_MAX:
 * the host has none. */
size_t request_resource(const struct request *, const char *coproc_type);
/* Does the client run its own programs only? */
bool request_is_anonymous(const struct request *);

#endif
