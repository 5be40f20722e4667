/* SPDX-License-Identifier: Apache-2.0 */
/* A scheduler reply as the client reads it (protocol.md 2): plain data. */
#ifndef MODEL_REPLY_H
#define MODEL_REPLY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rp_file { /* <file_info> */
	char *name;
	/* a url with "file_upload_handler" in it counts as an upload url */
	char **urls, **upload_urls;
	size_t nurls, nupload_urls;
	char *md5_cksum, *file_signature, *xml_signature;
	double nbytes, max_nbytes; /* 0 = not given */
	bool executable, sticky, report_on_rpc, generated_locally;
	double sticky_lifetime; /* s from receipt; 0 = unlimited */
};
struct rp_file_ref {
	char *file_name, *open_name;
	bool main_program, copy_file, optional;
};
struct rp_app {
	char *name, *user_friendly_name;
	bool non_cpu_intensive, fraction_done_exact;
};
struct rp_app_version {
	char *app_name, *platform, *plan_class, *api_version, *cmdline, *coproc_type;
	int32_t version_num;
	double avg_ncpus, flops, coproc_count;
	struct rp_file_ref *refs;
	size_t nrefs;
};
struct rp_workunit {
	char *name, *app_name, *command_line;
	double rsc_fpops_est, rsc_fpops_bound, rsc_memory_bound, rsc_disk_bound;
	struct rp_file_ref *refs;
	size_t nrefs;
};
struct rp_result {
	char *name, *wu_name, *platform, *plan_class;
	int32_t version_num;
	double report_deadline;
	bool report_immediately;
	struct rp_file_ref *refs;
	size_t nrefs;
};
struct rp_account { /* the user's and the host's standing; NULL, 0 = not sent */
	char *user_name, *team_name, *email_hash, *cross_project_id, *external_cpid;
	double user_total_credit, user_expavg_credit, user_create_time;
	double host_total_credit, host_expavg_credit, host_create_time;
	int64_t teamid;
};
struct rp_message {
	char *priority, *text;
};

struct reply {
	int32_t scheduler_version;
	double request_delay, next_rpc_delay;
	int64_t hostid; /* 0 = keep the current one */
	int64_t userid;
	char *project_name, *host_venue, *master_url;
	struct rp_account account;
	char *global_preferences, *project_preferences; /* raw, NULL = none */
	char *code_sign_key, *code_sign_key_signature;  /* raw, NULL = none */
	bool project_is_down, send_full_workload, message_ack, dont_use_dcf;
	bool non_cpu_intensive; /* of the project as a whole */
	bool no_work_deadlines; /* no work is sent, because of deadlines */
	struct rp_message *messages;
	size_t nmessages;
	struct rp_app *apps;
	size_t napps;
	struct rp_file *files;
	size_t nfiles;
	struct rp_app_version *app_versions;
	size_t napp_versions;
	struct rp_workunit *workunits;
	size_t nworkunits;
	struct rp_result *results;
	size_t nresults;
	char **acks, **aborts, **aborts_if_not_started, **delete_files, **no_rsc_apps;
	char **trickles_down; /* messages for tasks: raw, without the tags */
	size_t ntrickles_down;
	size_t nacks, naborts, naborts_if_not_started, ndelete_files, nno_rsc_apps;
};

#endif
