/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A scheduler request as plain data (protocol.md 1): the server's parser and the client
 * fill it. Texts that were not sent are empty, unless noted as possibly NULL. Reports,
 * other results and files without a name are left out.
 */
#ifndef MODEL_REQUEST_H
#define MODEL_REQUEST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include "lib/names.h"

/* A volunteer's preferences at one venue (protocol.md 1.4): plain data. */

struct rq_resource;

struct rq_prefs { /* global preferences that scheduling uses; 0 = unset */
	double mod_time, disk_max_used_gb, disk_max_used_pct, disk_min_free_gb;
	double work_buf_min_days, ram_max_used_busy_pct, ram_max_used_idle_pct,
	    max_ncpus_pct;
	/* Used by hosts only. */
	double work_buf_additional_days, cpu_scheduling_period_minutes;
	bool leave_apps_in_memory;
	bool has_work_buf_min, has_work_buf_additional, has_leave_apps;
	/* the first value that is not a number: <name> "text"; NULL = none */
	const char *bad;
};

struct project_prefs { /* all zero: no preferences, everything is allowed */
	int64_t *apps; /* ids of selected apps; none = all */
	size_t napps;
	/* jobs of other apps, too, if the selected ones have none */
	bool allow_non_preferred_apps;
	bool allow_beta_work;
	int32_t max_cpus, max_jobs; /* 0 = no limit */
	/*
	 * Resource types to get no work, as in request.resources[].type: "CPU",
	 * "NVIDIA", "ATI", "intel_gpu", "apple_gpu", or a generic model.
	 */
	char **no_rsc;
	size_t nno_rsc;
	bool no_gpus; /* no device that does graphics, whatever its type */
	/*
	 * All elements at the venue, well-formed, for elements that only the project
	 * knows. NULL = none.
	 */
	char *text;
	const char *bad; /* as in rq_prefs */
};

/*
 * Do the preferences refuse work for this type of resource (as in request.resources)?
 */
bool prefs_refuse_resource(const struct project_prefs *, const char *type);
/* The same for a resource of a request, by its type, its kind, or as a GPU. */
bool prefs_refuse_device(const struct project_prefs *, const struct rq_resource *);

enum app_choice { APP_SELECTED, APP_OTHER, APP_BETA_REFUSED, APP_REFUSED };
/*
 * Does the account want jobs of an app: yes, only if the selected apps have none, or
 * never? With distinct_beta_apps, a beta app is selected by name or refused; otherwise
 * all beta apps follow allow_beta_work.
 */
enum app_choice prefs_app_choice(
    const struct project_prefs *, int64_t appid, bool beta, bool distinct_beta_apps);

/* resource 0 is the CPU; the others follow in the order of the request */
struct rq_resource {
	/* "CPU", "NVIDIA", "ATI", "intel_gpu", "apple_gpu" or a generic model */
	char *type;
	/*
	 * The type by which plan classes and preferences know it, too: "apple_gpu" for
	 * Apple's device, which clients 7.20 to 7.24 report by its model; else NULL.
	 */
	char *kind;
	bool has_request;       /* req_secs or req_instances is present */
	double req_secs;        /* instance-seconds wanted, limited to 0 .. 28 days */
	double req_instances;   /* idle instances wanted */
	double estimated_delay; /* s until an instance is free; -1 = not sent */
	double count;           /* instances present; CPU: p_ncpus */
	double peak_flops;      /* of one instance */
	double available_ram, total_ram; /* bytes */
	char *name, *vendor;             /* vendor: as OpenCL says, may be NULL */
	/* Texts from OpenCL: "OpenCL 3.0 CUDA", "3380.6 (PAL,HSAIL)" */
	char *opencl_version, *opencl_driver_version;
	int32_t driver_version, cuda_version,
	    compute_capability; /* 100 * major + minor; 0 = unknown */
	int32_t cal_target, metal_support;
	bool have_cuda, have_cal, have_opencl, have_metal;
	bool double_precision;               /* supported by any of its libraries */
	bool atirt_detected, amdrt_detected; /* CAL libraries found */
};

struct rq_distro { /* a Linux distribution in WSL on a Windows host */
	char *distro_name, *os_name, *os_version, *libc_version, *docker_version;
	int32_t wsl_version,
	    distro_version;  /* distro_version: only of the client's own distribution */
	int32_t docker_type; /* 1 Docker, 2 Podman, 0 unknown */
	bool is_default, disallowed;
};

struct rq_file { /* an uploaded output file of a report, or a sticky file on the host */
	char *name;
	double nbytes, max_nbytes;
	char *md5_cksum;
	/*
	 * 1 present (also if the element is absent), 0 absent, 2 to be verified, < 0
	 * error
	 */
	int32_t status;
	bool upload_failed; /* error_msg is present */
};

struct rq_report { /* <result>: a finished task */
	char *name;
	double cpu_time, elapsed_time; /* s; as sent, not made plausible yet */
	int32_t exit_status;           /* EXIT_UNKNOWN if absent */
	int32_t state;
	int32_t version_num, app_version_num;
	char *plan_class, *platform;
	double peak_working_set_size, peak_swap_size, peak_disk_usage; /* bytes */
	char *stderr_out; /* verbatim between the tags, at most 65535 bytes */
	/* the <file_info> elements, verbatim and concatenated, at most 65535 bytes */
	char *xml_doc_out;
	struct rq_file *files;
	size_t nfiles;
};

struct rq_app_version { /* other_results refer to these by index */
	char *app_name, *platform, *plan_class, *coproc_type;
	int32_t version_num;
	double avg_ncpus, flops, coproc_count;
};

struct rq_other { /* a task of this project that remains on the host */
	char *name;
	int32_t app_version; /* index into app_versions, -1 = not sent */
	char *plan_class;
};

struct rq_in_progress { /* a task of any project: input to the EDF simulation */
	char *name;
	double report_deadline, time_remaining, avg_ncpus, ncudas, natis, nintel_gpus;
};

struct rq_trickle {
	char *variety;
	char *xml; /* the message without its variety line */
};

struct request {
	char *authenticator;
	int64_t hostid, rpc_seqno;
	int32_t core_client_major_version, core_client_minor_version,
	    core_client_release;
	int32_t version; /* 10000 * major + 100 * minor + release */
	double resource_share_fraction, rrs_fraction, prrs_fraction; /* default 1 */
	double duration_correction_factor;
	int32_t allow_multiple_clients, sandbox; /* -1 = not sent */
	bool dont_send_work, client_cap_plan_class;
	/* understands the element no_work_deadlines in replies */
	bool client_cap_no_work_deadlines;
	bool dont_use_docker, dont_use_wsl; /* set by the host's owner */
	double work_req_seconds;            /* legacy total, limited to 0 .. 28 days */
	/* cpu_req_secs or cpu_req_instances is present: new style */
	bool has_cpu_request;
	double cpu_req_secs, cpu_req_instances, estimated_delay;
	char *platform_name;
	char **platforms; /* the primary platform first, then the alternates */
	size_t nplatforms;
	char *code_sign_key; /* trimmed; NULL = the client has no key */
	bool has_working_prefs;
	struct rq_prefs prefs;
	/* master copy of the preferences, raw text with tags; NULL = not sent */
	char *global_prefs;
	double global_prefs_mod_time;
	char *global_prefs_source_email_hash, *cross_project_id;
	/*
	 * host_info, time_stats, net_stats, disk_usage: mostly columns of the host row
	 */
	struct rq_host {
		int32_t timezone, p_ncpus;
		char *domain_name, *ip_addr, *host_cpid, *p_vendor, *p_model,
		    *p_features;
		char *os_name, *os_version, *product_name, *virtualbox_version;
		/* "" = neither Docker nor Podman; unset on Windows */
		char *docker_version;
		int32_t docker_type; /* as in rq_distro */
		bool p_vm_extensions_disabled;
		struct rq_distro *distros;
		size_t ndistros;
		double p_fpops, p_iops, p_membw, m_nbytes, m_cache, m_swap, d_total,
		    d_free;
		double on_frac, connected_frac, active_frac, gpu_active_frac;
		double n_bwup, n_bwdown; /* bytes/s */
		double d_boinc_used_total, d_boinc_used_project, d_project_share;
		/*
		 * false: the request was resent without host data; leave the host row
		 * alone
		 */
		bool present;
	} host;
	struct rq_resource *resources; /* [0] is the CPU, which is always present */
	size_t nresources;
	struct rq_report *reports;
	size_t nreports;
	struct rq_trickle *trickles;
	size_t ntrickles;
	/* there were too many: all are dropped, none may be acknowledged */
	bool trickles_cut;
	struct rq_file *files; /* sticky files on the host */
	size_t nfiles;
	struct rq_app_version *app_versions;
	size_t napp_versions;
	/*
	 * The element is present, possibly empty, and neither it nor the reports are
	 * cut short: a task that neither names is not on the host.
	 */
	bool has_other_results;
	struct rq_other *other_results;
	size_t nother_results;
	bool has_in_progress;
	struct rq_in_progress *in_progress;
	size_t nin_progress;
	char *time_stats_log, *job_log, *client_opaque; /* NULL = not sent */
	char *client_brand;
	uint32_t repairs; /* places that the normaliser repaired: a metric */
	/* As the functions below make them; NULL = not made yet. */
	const struct names *held, *accounted;
};

/*
 * The large files that the host has or is about to have, in bytewise order; the number
 * is 1 if the file is present. A file still on its way counts, because it was sent for
 * an earlier job and need not travel again; one whose transfer failed is listed with an
 * error and does not.
 */
const struct names *request_held(struct arena *, const struct request *);
/* The tasks that the client accounts for: it reports them or lists them as still there.
 */
const struct names *request_accounted(struct arena *, const struct request *);

/*
 * Index of a coprocessor type among the resources; NULL and "" mean the CPU. SIZE_MAX:
 * the host has none.
 */
size_t request_resource(const struct request *, const char *coproc_type);
/* Does the client run only programs of its own? */
bool request_is_anonymous(const struct request *);

#endif
