-- SPDX-License-Identifier: Apache-2.0
-- The schema of a project: the tables and columns of a BOINC project's database (same names and meanings), with 64-bit
-- ids, every table InnoDB with a primary key, and a default for every number. Additions of Locus are marked "ours".
--
-- Programs parse this layout (adopt.c): one column or index per line, and a line ending in ";" ends a statement. A
-- BOINC database is adopted by adding the columns that it lacks and the indexes marked "-- ours".
--
-- Text: names, keys and digests are compared byte by byte (utf8mb4_bin, the default of every table); e-mail addresses
-- and the names of people and teams are compared without regard to case. Raw data from clients is stored in blobs.
-- The table result has only the indexes that the statements need: each one costs every report and every send.

CREATE TABLE IF NOT EXISTS locus_schema (
	id TINYINT NOT NULL DEFAULT 1,
	version INT NOT NULL DEFAULT 0,
	change_time BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS platform (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	name VARCHAR(191) NOT NULL DEFAULT '',
	user_friendly_name VARCHAR(254) NOT NULL DEFAULT '',
	deprecated TINYINT NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	UNIQUE KEY platform_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS app (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	name VARCHAR(191) NOT NULL DEFAULT '',
	min_version INT NOT NULL DEFAULT 0,
	deprecated SMALLINT NOT NULL DEFAULT 0,
	user_friendly_name VARCHAR(254) NOT NULL DEFAULT '',
	homogeneous_redundancy SMALLINT NOT NULL DEFAULT 0,
	weight DOUBLE NOT NULL DEFAULT 1,
	beta SMALLINT NOT NULL DEFAULT 0,
	target_nresults SMALLINT NOT NULL DEFAULT 0,
	min_avg_pfc DOUBLE NOT NULL DEFAULT 1,
	host_scale_check TINYINT NOT NULL DEFAULT 0,
	homogeneous_app_version TINYINT NOT NULL DEFAULT 0,
	non_cpu_intensive TINYINT NOT NULL DEFAULT 0,
	locality_scheduling INT NOT NULL DEFAULT 0,
	n_size_classes SMALLINT NOT NULL DEFAULT 0,
	fraction_done_exact TINYINT NOT NULL DEFAULT 0,
	drain_time BIGINT NOT NULL DEFAULT 0, -- ours: since when an admin drains it; 0 = its tasks are sent
	added MEDIUMBLOB, -- ours: what "locus app add" wrote elsewhere, for "locus app remove"
	PRIMARY KEY (id),
	UNIQUE KEY app_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS app_version (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	appid BIGINT NOT NULL DEFAULT 0,
	version_num INT NOT NULL DEFAULT 0,
	platformid BIGINT NOT NULL DEFAULT 0,
	xml_doc MEDIUMBLOB,
	min_core_version INT NOT NULL DEFAULT 0,
	max_core_version INT NOT NULL DEFAULT 0,
	deprecated TINYINT NOT NULL DEFAULT 0,
	plan_class VARCHAR(128) NOT NULL DEFAULT '',
	pfc_n DOUBLE NOT NULL DEFAULT 0,
	pfc_avg DOUBLE NOT NULL DEFAULT 0,
	pfc_scale DOUBLE NOT NULL DEFAULT 0,
	expavg_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_time DOUBLE NOT NULL DEFAULT 0,
	beta TINYINT NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	UNIQUE KEY apvp (appid, platformid, version_num, plan_class)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS user (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	email_addr VARCHAR(191) COLLATE utf8mb4_general_ci NOT NULL DEFAULT '',
	name VARCHAR(191) COLLATE utf8mb4_general_ci DEFAULT NULL,
	authenticator VARCHAR(191) DEFAULT NULL,
	country VARCHAR(254) DEFAULT NULL,
	postal_code VARCHAR(254) DEFAULT NULL,
	total_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_time DOUBLE NOT NULL DEFAULT 0,
	global_prefs MEDIUMBLOB,
	project_prefs MEDIUMBLOB,
	teamid BIGINT NOT NULL DEFAULT 0,
	venue VARCHAR(254) NOT NULL DEFAULT '',
	url VARCHAR(254) DEFAULT NULL,
	send_email SMALLINT NOT NULL DEFAULT 0,
	show_hosts SMALLINT NOT NULL DEFAULT 0,
	posts SMALLINT NOT NULL DEFAULT 0,
	seti_id INT NOT NULL DEFAULT 0,
	seti_nresults INT NOT NULL DEFAULT 0,
	seti_last_result_time INT NOT NULL DEFAULT 0,
	seti_total_cpu DOUBLE NOT NULL DEFAULT 0,
	signature VARCHAR(254) DEFAULT NULL,
	has_profile SMALLINT NOT NULL DEFAULT 0,
	cross_project_id VARCHAR(254) NOT NULL DEFAULT '',
	passwd_hash VARCHAR(254) NOT NULL DEFAULT '',
	email_validated SMALLINT NOT NULL DEFAULT 0,
	donated SMALLINT NOT NULL DEFAULT 0,
	login_token CHAR(32) NOT NULL DEFAULT '',
	login_token_time DOUBLE NOT NULL DEFAULT 0,
	previous_email_addr VARCHAR(254) NOT NULL DEFAULT '',
	email_addr_change_time DOUBLE NOT NULL DEFAULT 0,
	banned TINYINT NOT NULL DEFAULT 0, -- ours: hosts of this account get no work
	ban_until BIGINT NOT NULL DEFAULT 0, -- ours: when its ban ends; 0 = it does not end by itself
	ban_reason VARCHAR(254) NOT NULL DEFAULT '', -- ours: the admin's note
	host_seq BIGINT NOT NULL DEFAULT 0, -- ours: grows by 1 with each new host
	old_keys_of VARCHAR(32) NOT NULL DEFAULT '', -- ours: digest of the weak key while the next two keys are valid
	old_weak_key VARCHAR(32) NOT NULL DEFAULT '', -- ours: digest of the weak key before passwd_hash was replaced at a login
	old_rss_key VARCHAR(32) NOT NULL DEFAULT '', -- ours: the same for the key for notices
	PRIMARY KEY (id),
	UNIQUE KEY user_email (email_addr),
	UNIQUE KEY user_auth (authenticator),
	KEY user_name (name),
	KEY ind_tid (teamid),
	KEY user_tot (total_credit),
	KEY user_avg (expavg_credit),
	KEY user_email_time (email_addr_change_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS team (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	userid BIGINT NOT NULL DEFAULT 0,
	name VARCHAR(191) COLLATE utf8mb4_general_ci NOT NULL DEFAULT '',
	name_lc VARCHAR(254) DEFAULT NULL,
	url VARCHAR(254) DEFAULT NULL,
	type INT NOT NULL DEFAULT 0,
	name_html VARCHAR(254) DEFAULT NULL,
	description TEXT,
	nusers INT NOT NULL DEFAULT 0,
	country VARCHAR(254) DEFAULT NULL,
	total_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_time DOUBLE NOT NULL DEFAULT 0,
	seti_id INT NOT NULL DEFAULT 0,
	ping_user INT NOT NULL DEFAULT 0,
	ping_time INT UNSIGNED NOT NULL DEFAULT 0,
	joinable TINYINT NOT NULL DEFAULT 1,
	mod_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (id),
	UNIQUE KEY team_name (name),
	FULLTEXT KEY team_name_desc (name, description),
	KEY team_avg (expavg_credit),
	KEY team_tot (total_credit),
	KEY team_userid (userid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_general_ci;

CREATE TABLE IF NOT EXISTS host (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	userid BIGINT NOT NULL DEFAULT 0,
	rpc_seqno BIGINT NOT NULL DEFAULT 0,
	rpc_time BIGINT NOT NULL DEFAULT 0,
	total_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_time DOUBLE NOT NULL DEFAULT 0,
	timezone INT NOT NULL DEFAULT 0,
	domain_name VARCHAR(254) DEFAULT NULL,
	serialnum VARCHAR(254) DEFAULT NULL,
	last_ip_addr VARCHAR(254) DEFAULT NULL,
	nsame_ip_addr INT NOT NULL DEFAULT 0,
	on_frac DOUBLE NOT NULL DEFAULT 0,
	connected_frac DOUBLE NOT NULL DEFAULT 0,
	active_frac DOUBLE NOT NULL DEFAULT 0,
	cpu_efficiency DOUBLE NOT NULL DEFAULT 0,
	duration_correction_factor DOUBLE NOT NULL DEFAULT 0,
	p_ncpus INT NOT NULL DEFAULT 0,
	p_vendor VARCHAR(254) DEFAULT NULL,
	p_model VARCHAR(254) DEFAULT NULL,
	p_fpops DOUBLE NOT NULL DEFAULT 0,
	p_iops DOUBLE NOT NULL DEFAULT 0,
	p_membw DOUBLE NOT NULL DEFAULT 0,
	os_name VARCHAR(254) DEFAULT NULL,
	os_version VARCHAR(254) DEFAULT NULL,
	m_nbytes DOUBLE NOT NULL DEFAULT 0,
	m_cache DOUBLE NOT NULL DEFAULT 0,
	m_swap DOUBLE NOT NULL DEFAULT 0,
	d_total DOUBLE NOT NULL DEFAULT 0,
	d_free DOUBLE NOT NULL DEFAULT 0,
	d_boinc_used_total DOUBLE NOT NULL DEFAULT 0,
	d_boinc_used_project DOUBLE NOT NULL DEFAULT 0,
	d_boinc_max DOUBLE NOT NULL DEFAULT 0,
	n_bwup DOUBLE NOT NULL DEFAULT 0,
	n_bwdown DOUBLE NOT NULL DEFAULT 0,
	credit_per_cpu_sec DOUBLE NOT NULL DEFAULT 0,
	venue VARCHAR(254) NOT NULL DEFAULT '',
	nresults_today INT NOT NULL DEFAULT 0,
	avg_turnaround DOUBLE NOT NULL DEFAULT 0,
	host_cpid VARCHAR(254) DEFAULT NULL,
	external_ip_addr VARCHAR(254) DEFAULT NULL,
	max_results_day INT NOT NULL DEFAULT 0,
	error_rate DOUBLE NOT NULL DEFAULT 0,
	product_name VARCHAR(254) NOT NULL DEFAULT '',
	gpu_active_frac DOUBLE NOT NULL DEFAULT 0,
	p_ngpus INT NOT NULL DEFAULT 0,
	p_gpu_fpops DOUBLE NOT NULL DEFAULT 0,
	misc TEXT NOT NULL DEFAULT (''),
	rpc_token BIGINT NOT NULL DEFAULT 0, -- ours: written with a commit, resolves an uncertain one
	files_digest BIGINT NOT NULL DEFAULT 0, -- ours: sum of hashes of the ids of its host_file rows
	search_ready BIGINT NOT NULL DEFAULT 0, -- ours: cursor of the search for jobs, in result.q
	search_id BIGINT NOT NULL DEFAULT 0, -- ours: the cursor's other half
	nci_ready BIGINT NOT NULL DEFAULT 0, -- ours: the same cursor for apps that use almost no CPU
	nci_id BIGINT NOT NULL DEFAULT 0, -- ours: the cursor's other half
	rpc_day INT NOT NULL DEFAULT 0, -- ours: day of rpc_time; its index changes once a day, not per RPC
	ban_until BIGINT NOT NULL DEFAULT 0, -- ours: when its ban ends; 0 = it does not end by itself
	ban_reason VARCHAR(254) NOT NULL DEFAULT '', -- ours: the admin's note
	PRIMARY KEY (id),
	KEY host_userid_cpid (userid, host_cpid), -- ours: finds a host of this user
	KEY host_rpc_day (rpc_day), -- ours: counts active hosts
	KEY host_domain_name (domain_name),
	KEY host_avg (expavg_credit),
	KEY host_tot (total_credit)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS host_app_version (
	host_id BIGINT NOT NULL DEFAULT 0,
	app_version_id BIGINT NOT NULL DEFAULT 0,
	pfc_n DOUBLE NOT NULL DEFAULT 0,
	pfc_avg DOUBLE NOT NULL DEFAULT 0,
	et_n DOUBLE NOT NULL DEFAULT 0,
	et_avg DOUBLE NOT NULL DEFAULT 0,
	et_var DOUBLE NOT NULL DEFAULT 0,
	et_q DOUBLE NOT NULL DEFAULT 0,
	max_jobs_per_day INT NOT NULL DEFAULT 0,
	n_jobs_today INT NOT NULL DEFAULT 0,
	turnaround_n DOUBLE NOT NULL DEFAULT 0,
	turnaround_avg DOUBLE NOT NULL DEFAULT 0,
	turnaround_var DOUBLE NOT NULL DEFAULT 0,
	turnaround_q DOUBLE NOT NULL DEFAULT 0,
	consecutive_valid INT NOT NULL DEFAULT 0,
	PRIMARY KEY (host_id, app_version_id) -- ours: every table has a primary key
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS workunit (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	appid BIGINT NOT NULL DEFAULT 0,
	name VARCHAR(191) NOT NULL DEFAULT '',
	xml_doc MEDIUMBLOB,
	batch BIGINT NOT NULL DEFAULT 0,
	rsc_fpops_est DOUBLE NOT NULL DEFAULT 0,
	rsc_fpops_bound DOUBLE NOT NULL DEFAULT 0,
	rsc_memory_bound DOUBLE NOT NULL DEFAULT 0,
	rsc_disk_bound DOUBLE NOT NULL DEFAULT 0,
	need_validate SMALLINT NOT NULL DEFAULT 0,
	canonical_resultid BIGINT NOT NULL DEFAULT 0,
	canonical_credit DOUBLE NOT NULL DEFAULT 0,
	transition_time BIGINT NOT NULL DEFAULT 0,
	delay_bound BIGINT NOT NULL DEFAULT 0,
	error_mask INT NOT NULL DEFAULT 0,
	file_delete_state INT NOT NULL DEFAULT 0,
	assimilate_state INT NOT NULL DEFAULT 0,
	hr_class INT NOT NULL DEFAULT 0,
	opaque DOUBLE NOT NULL DEFAULT 0,
	min_quorum INT NOT NULL DEFAULT 0,
	target_nresults INT NOT NULL DEFAULT 0,
	max_error_results INT NOT NULL DEFAULT 0,
	max_total_results INT NOT NULL DEFAULT 0,
	max_success_results INT NOT NULL DEFAULT 0,
	result_template_file VARCHAR(254) NOT NULL DEFAULT '',
	priority INT NOT NULL DEFAULT 0,
	mod_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	rsc_bandwidth_bound DOUBLE NOT NULL DEFAULT 0,
	fileset_id BIGINT NOT NULL DEFAULT 0,
	app_version_id BIGINT NOT NULL DEFAULT 0,
	transitioner_flags TINYINT NOT NULL DEFAULT 0,
	size_class SMALLINT NOT NULL DEFAULT -1,
	keywords VARCHAR(254) NOT NULL DEFAULT '',
	app_version_num INT NOT NULL DEFAULT 0,
	transition_seq INT UNSIGNED NOT NULL DEFAULT 0, -- ours: programs that need the transitioner add 1
	retries INT UNSIGNED NOT NULL DEFAULT 0, -- ours: grows by 1 when an admin asks the daemons to try again
	tally INT NOT NULL DEFAULT 0, -- ours: the code under which work_tally counts it; 0 = not counted
	tally_inactive INT NOT NULL DEFAULT 0, -- ours: its results as work_tally counts them
	tally_live INT NOT NULL DEFAULT 0, -- ours
	tally_ended INT NOT NULL DEFAULT 0, -- ours
	tally_never_sent INT NOT NULL DEFAULT 0, -- ours
	tally_success INT NOT NULL DEFAULT 0, -- ours
	tally_valid INT NOT NULL DEFAULT 0, -- ours
	tally_failed INT NOT NULL DEFAULT 0, -- ours
	inputs_counted TINYINT NOT NULL DEFAULT 0, -- ours: 1: table input_use counts it among those that need its input files
	done_time BIGINT DEFAULT NULL, -- ours: when its input files were deleted, for db_purge; else NULL
	PRIMARY KEY (id),
	UNIQUE KEY wu_name (name),
	KEY wu_val (appid, need_validate),
	KEY wu_timeout (transition_time),
	KEY wu_filedel (file_delete_state),
	KEY wu_done (done_time), -- ours: finished workunits by age; changes once in the life of a workunit
	KEY wu_assim (appid, assimilate_state),
	KEY wu_batch (batch),
	KEY wu_fileset (fileset_id, canonical_resultid, error_mask) -- ours: can a file still produce results?
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS result (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	workunitid BIGINT NOT NULL DEFAULT 0,
	server_state INT NOT NULL DEFAULT 0,
	outcome INT NOT NULL DEFAULT 0,
	client_state INT NOT NULL DEFAULT 0,
	hostid BIGINT NOT NULL DEFAULT 0,
	userid BIGINT NOT NULL DEFAULT 0,
	report_deadline BIGINT NOT NULL DEFAULT 0,
	sent_time BIGINT NOT NULL DEFAULT 0,
	received_time BIGINT NOT NULL DEFAULT 0,
	name VARCHAR(191) NOT NULL DEFAULT '',
	cpu_time DOUBLE NOT NULL DEFAULT 0,
	xml_doc_in MEDIUMBLOB,
	xml_doc_out MEDIUMBLOB,
	stderr_out MEDIUMBLOB,
	batch BIGINT NOT NULL DEFAULT 0,
	file_delete_state INT NOT NULL DEFAULT 0,
	validate_state INT NOT NULL DEFAULT 0,
	claimed_credit DOUBLE NOT NULL DEFAULT 0,
	granted_credit DOUBLE NOT NULL DEFAULT 0,
	opaque DOUBLE NOT NULL DEFAULT 0,
	random INT NOT NULL DEFAULT 0,
	app_version_num INT NOT NULL DEFAULT 0,
	appid BIGINT NOT NULL DEFAULT 0,
	exit_status INT NOT NULL DEFAULT 0,
	teamid BIGINT NOT NULL DEFAULT 0,
	priority INT NOT NULL DEFAULT 0,
	mod_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	elapsed_time DOUBLE NOT NULL DEFAULT 0,
	flops_estimate DOUBLE NOT NULL DEFAULT 0,
	app_version_id BIGINT NOT NULL DEFAULT 0,
	runtime_outlier TINYINT NOT NULL DEFAULT 0,
	size_class SMALLINT NOT NULL DEFAULT -1,
	peak_working_set_size DOUBLE NOT NULL DEFAULT 0,
	peak_swap_size DOUBLE NOT NULL DEFAULT 0,
	peak_disk_usage DOUBLE NOT NULL DEFAULT 0,
	ready BIGINT DEFAULT NULL, -- ours: unsent: the file set, or the shard (< 0); sent: the mark for the ledger; else NULL
	fileset_id BIGINT NOT NULL DEFAULT 0, -- ours: copy of workunit.fileset_id
	once BIGINT DEFAULT NULL, -- ours: user or -host, if sent under a once rule
	bytes_needed BIGINT NOT NULL DEFAULT 0, -- ours: bytes of large files that the host has to fetch
	bytes_saved BIGINT NOT NULL DEFAULT 0, -- ours: bytes of large files that the host has already
	failed_time BIGINT DEFAULT NULL, -- ours: received_time of a failure, or of outputs that the validator cannot use; else NULL
	PRIMARY KEY (id),
	UNIQUE KEY res_name (name),
	UNIQUE KEY wu_once (workunitid, once), -- ours: the once rule, and the results of a workunit
	KEY q (ready, id), -- ours: unsent results; a claim changes it, a report does not
	KEY res_host (hostid, server_state, id), -- ours: results in progress on a host
	KEY res_user (userid, fileset_id, id), -- ours: last id sent for a user and file set
	KEY res_filedel (file_delete_state), -- ours: results with output files to delete
	KEY res_failed (failed_time) -- ours: failures of the last day; no other report or send changes it
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: logs that clients send about themselves, one row per host and kind
CREATE TABLE IF NOT EXISTS host_log (
	hostid BIGINT NOT NULL DEFAULT 0,
	kind TINYINT NOT NULL DEFAULT 0,
	create_time BIGINT NOT NULL DEFAULT 0,
	log MEDIUMBLOB,
	PRIMARY KEY (hostid, kind)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS msg_from_host (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	hostid BIGINT NOT NULL DEFAULT 0,
	variety VARCHAR(254) NOT NULL DEFAULT '',
	handled SMALLINT NOT NULL DEFAULT 0,
	xml MEDIUMBLOB, -- or text, as in a BOINC project
	PRIMARY KEY (id),
	KEY message_handled (handled),
	KEY message_hostid (hostid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS msg_to_host (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	hostid BIGINT NOT NULL DEFAULT 0,
	variety VARCHAR(254) NOT NULL DEFAULT '',
	handled SMALLINT NOT NULL DEFAULT 0,
	xml MEDIUMBLOB, -- or text, as in a BOINC project
	PRIMARY KEY (id),
	KEY msg_to_host (hostid, handled)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS assignment (
	id BIGINT NOT NULL AUTO_INCREMENT,
	create_time BIGINT NOT NULL DEFAULT 0,
	target_id BIGINT NOT NULL DEFAULT 0,
	target_type INT NOT NULL DEFAULT 0,
	multi TINYINT NOT NULL DEFAULT 0,
	workunitid BIGINT NOT NULL DEFAULT 0,
	resultid BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	KEY asgn_target (target_type, target_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS batch (
	id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
	user_id BIGINT NOT NULL DEFAULT 0,
	create_time BIGINT NOT NULL DEFAULT 0,
	logical_start_time DOUBLE NOT NULL DEFAULT 0,
	logical_end_time DOUBLE NOT NULL DEFAULT 0,
	est_completion_time DOUBLE NOT NULL DEFAULT 0,
	njobs INT NOT NULL DEFAULT 0,
	fraction_done DOUBLE NOT NULL DEFAULT 0,
	nerror_jobs INT NOT NULL DEFAULT 0,
	state INT NOT NULL DEFAULT 0,
	completion_time DOUBLE NOT NULL DEFAULT 0,
	credit_estimate DOUBLE NOT NULL DEFAULT 0,
	credit_canonical DOUBLE NOT NULL DEFAULT 0,
	credit_total DOUBLE NOT NULL DEFAULT 0,
	name VARCHAR(255) NOT NULL DEFAULT '',
	app_id BIGINT NOT NULL DEFAULT 0,
	project_state INT NOT NULL DEFAULT 0,
	description VARCHAR(255) NOT NULL DEFAULT '',
	expire_time DOUBLE NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	KEY batch_name (name(190)) -- ours: finds a batch by its name
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS user_submit (
	user_id BIGINT NOT NULL DEFAULT 0,
	quota DOUBLE NOT NULL DEFAULT 0,
	logical_start_time DOUBLE NOT NULL DEFAULT 0,
	submit_all TINYINT NOT NULL DEFAULT 0,
	manage_all TINYINT NOT NULL DEFAULT 0,
	max_jobs_in_progress INT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS user_submit_app (
	user_id BIGINT NOT NULL DEFAULT 0,
	app_id BIGINT NOT NULL DEFAULT 0,
	manage TINYINT NOT NULL DEFAULT 0,
	PRIMARY KEY (user_id, app_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS job_file (
	id BIGINT NOT NULL AUTO_INCREMENT,
	name VARCHAR(191) NOT NULL DEFAULT '',
	create_time DOUBLE NOT NULL DEFAULT 0,
	delete_time DOUBLE NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	UNIQUE KEY jf_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS credited_job (
	userid BIGINT NOT NULL DEFAULT 0,
	workunitid BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (userid, workunitid),
	KEY credited_job_wu (workunitid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS credit_user (
	userid BIGINT NOT NULL DEFAULT 0,
	appid BIGINT NOT NULL DEFAULT 0,
	njobs INT NOT NULL DEFAULT 0,
	total DOUBLE NOT NULL DEFAULT 0,
	expavg DOUBLE NOT NULL DEFAULT 0,
	expavg_time DOUBLE NOT NULL DEFAULT 0,
	credit_type INT NOT NULL DEFAULT 0,
	PRIMARY KEY (userid, appid, credit_type),
	KEY cu_total (appid, total),
	KEY cu_avg (appid, expavg)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS credit_team (
	teamid BIGINT NOT NULL DEFAULT 0,
	appid BIGINT NOT NULL DEFAULT 0,
	njobs INT NOT NULL DEFAULT 0,
	total DOUBLE NOT NULL DEFAULT 0,
	expavg DOUBLE NOT NULL DEFAULT 0,
	expavg_time DOUBLE NOT NULL DEFAULT 0,
	credit_type INT NOT NULL DEFAULT 0,
	PRIMARY KEY (teamid, appid, credit_type),
	KEY ct_total (appid, total),
	KEY ct_avg (appid, expavg)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS team_delta (
	id BIGINT NOT NULL AUTO_INCREMENT,
	userid BIGINT NOT NULL DEFAULT 0,
	teamid BIGINT NOT NULL DEFAULT 0,
	timestamp BIGINT NOT NULL DEFAULT 0,
	joining TINYINT NOT NULL DEFAULT 0,
	total_credit DOUBLE NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	KEY team_delta_teamid (teamid, timestamp),
	KEY team_delta_userid (userid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS token (
	token VARCHAR(64) NOT NULL,
	userid BIGINT NOT NULL DEFAULT 0,
	type CHAR(1) NOT NULL DEFAULT '',
	create_time BIGINT NOT NULL DEFAULT 0,
	expire_time BIGINT DEFAULT NULL,
	PRIMARY KEY (token),
	KEY token_userid (userid)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS user_deleted (
	userid BIGINT NOT NULL DEFAULT 0,
	public_cross_project_id VARCHAR(254) NOT NULL DEFAULT '',
	create_time DOUBLE NOT NULL DEFAULT 0,
	PRIMARY KEY (userid),
	KEY user_deleted_create (create_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS host_deleted (
	hostid BIGINT NOT NULL DEFAULT 0,
	public_cross_project_id VARCHAR(254) NOT NULL DEFAULT '',
	create_time DOUBLE NOT NULL DEFAULT 0,
	PRIMARY KEY (hostid),
	KEY host_deleted_create (create_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS consent_type (
	id BIGINT NOT NULL AUTO_INCREMENT,
	shortname VARCHAR(191) NOT NULL DEFAULT '',
	description VARCHAR(255) NOT NULL DEFAULT '',
	enabled INT NOT NULL DEFAULT 0,
	project_specific INT NOT NULL DEFAULT 0,
	privacypref INT NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	KEY consent_name (shortname)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS consent (
	id BIGINT NOT NULL AUTO_INCREMENT,
	userid BIGINT NOT NULL DEFAULT 0,
	consent_type_id BIGINT NOT NULL DEFAULT 0,
	consent_time BIGINT NOT NULL DEFAULT 0,
	consent_flag TINYINT NOT NULL DEFAULT 0,
	consent_not_required TINYINT NOT NULL DEFAULT 0,
	source VARCHAR(255) NOT NULL DEFAULT '',
	PRIMARY KEY (id),
	KEY userid_ctid_timestamp (userid, consent_type_id, consent_time),
	KEY consent_timestamp (consent_time),
	KEY flag_ctid (consent_flag, consent_type_id),
	CONSTRAINT consent_of_type FOREIGN KEY (consent_type_id) REFERENCES consent_type (id) ON UPDATE CASCADE ON DELETE RESTRICT
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS file (
	id BIGINT NOT NULL AUTO_INCREMENT,
	name VARCHAR(191) NOT NULL DEFAULT '',
	md5sum VARCHAR(32) NOT NULL DEFAULT '',
	size DOUBLE NOT NULL DEFAULT 0,
	create_time BIGINT NOT NULL DEFAULT 0, -- ours
	PRIMARY KEY (id),
	UNIQUE KEY file_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS fileset (
	id BIGINT NOT NULL AUTO_INCREMENT,
	name VARCHAR(191) NOT NULL DEFAULT '',
	appid BIGINT NOT NULL DEFAULT 0, -- ours: the app whose workunits use it
	gen_parts INT NOT NULL DEFAULT 0, -- ours: parts for the built-in generator
	gen_next INT NOT NULL DEFAULT 0, -- ours: the next part to make
	paused INT NOT NULL DEFAULT 0, -- ours: 1 = paused, 2 = draining
	demand BIGINT NOT NULL DEFAULT 0, -- ours: number of requests that raised need_work
	demand_met BIGINT NOT NULL DEFAULT 0, -- ours: number of waits ended by new work
	demand_time BIGINT NOT NULL DEFAULT 0, -- ours: time of the last such request
	dropped_time BIGINT NOT NULL DEFAULT 0, -- ours: when it last left the working set
	hold_reason VARCHAR(254) NOT NULL DEFAULT '', -- ours: why an admin paused or drains it
	idle_since BIGINT NOT NULL DEFAULT 0, -- ours: since when nothing needs it; 0 = something does
	remove_time BIGINT NOT NULL DEFAULT 0, -- ours: when an admin ordered its removal; 0 = it stays
	create_time BIGINT NOT NULL DEFAULT 0, -- ours
	PRIMARY KEY (id),
	UNIQUE KEY fileset_name (name),
	KEY fileset_remove (remove_time) -- ours
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: file sets with a generator of their own, or of which some jobs should always wait
CREATE TABLE IF NOT EXISTS fileset_source (
	fileset_id BIGINT NOT NULL DEFAULT 0,
	generator VARCHAR(1000) NOT NULL DEFAULT '', -- command that says which jobs to make; '' = as the daemon is told
	low_water INT NOT NULL DEFAULT 0, -- more jobs are made when fewer are unsent
	PRIMARY KEY (fileset_id),
	KEY fileset_source_low (low_water)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: ordinary input files, which several workunits may share, and how many still need each
CREATE TABLE IF NOT EXISTS input_use (
	name VARCHAR(191) NOT NULL DEFAULT '',
	uses BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (name),
	KEY input_use_uses (uses)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS fileset_file (
	fileset_id BIGINT NOT NULL DEFAULT 0,
	file_id BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (fileset_id, file_id),
	KEY fileset_file_file (file_id) -- ours: the file sets of a file
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS sched_trigger (
	id BIGINT NOT NULL AUTO_INCREMENT,
	fileset_id BIGINT NOT NULL DEFAULT 0,
	need_work INT NOT NULL DEFAULT 0,
	work_available INT NOT NULL DEFAULT 0,
	no_work_available INT NOT NULL DEFAULT 0,
	working_set_removal INT NOT NULL DEFAULT 0,
	need_work_time BIGINT NOT NULL DEFAULT 0, -- ours: when each trigger was raised
	work_available_time BIGINT NOT NULL DEFAULT 0, -- ours
	no_work_available_time BIGINT NOT NULL DEFAULT 0, -- ours
	working_set_removal_time BIGINT NOT NULL DEFAULT 0, -- ours
	claim_time BIGINT NOT NULL DEFAULT 0, -- ours: since when a generator works on it; 0 = none
	claim_owner VARCHAR(190) NOT NULL DEFAULT '', -- ours: the generator's instance
	PRIMARY KEY (id),
	UNIQUE KEY fileset_id (fileset_id), -- ours
	KEY need_work (need_work), -- ours
	KEY work_available (work_available), -- ours
	KEY no_work_available (no_work_available), -- ours
	KEY working_set_removal (working_set_removal), -- ours
	KEY sched_trigger_claim (claim_time) -- ours
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS host_file (
	hostid BIGINT NOT NULL DEFAULT 0,
	file_id BIGINT NOT NULL DEFAULT 0,
	since BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (hostid, file_id),
	KEY host_file_file (file_id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: jobs sent, per UTC day (days since 1970), file set and host; day 0 holds the sums of old days, per file set
-- (host 0) and per host (file set 0), and in the largest file set those of all that are gone
CREATE TABLE IF NOT EXISTS ledger (
	day BIGINT NOT NULL DEFAULT 0,
	fileset_id BIGINT NOT NULL DEFAULT 0,
	hostid BIGINT NOT NULL DEFAULT 0,
	jobs BIGINT NOT NULL DEFAULT 0,
	hits BIGINT NOT NULL DEFAULT 0,
	bytes_needed BIGINT NOT NULL DEFAULT 0,
	bytes_saved BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (day, fileset_id, hostid),
	KEY ledger_fileset (fileset_id, day),
	KEY ledger_host (hostid, day)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: for one request in 16, what its jobs would have made the host fetch without locality; in one of 16 shards, so
-- that requests do not wait for each other's row; day is 0, but earlier versions made rows for each UTC day
CREATE TABLE IF NOT EXISTS without_locality (
	day BIGINT NOT NULL DEFAULT 0,
	shard INT NOT NULL DEFAULT 0,
	requests BIGINT NOT NULL DEFAULT 0,
	jobs BIGINT NOT NULL DEFAULT 0,
	bytes_needed BIGINT NOT NULL DEFAULT 0,
	bytes_without BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (day, shard)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: the machines of a project; daemons and schedulers of each say in node_service that they run
CREATE TABLE IF NOT EXISTS node (
	name VARCHAR(100) NOT NULL DEFAULT '',
	place VARCHAR(32) NOT NULL DEFAULT '',
	project VARCHAR(32) NOT NULL DEFAULT '',
	drained INT NOT NULL DEFAULT 0,
	change_time BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

CREATE TABLE IF NOT EXISTS node_service (
	node VARCHAR(100) NOT NULL DEFAULT '',
	name VARCHAR(90) NOT NULL DEFAULT '',
	version VARCHAR(40) NOT NULL DEFAULT '',
	state VARCHAR(20) NOT NULL DEFAULT '',
	start_time BIGINT NOT NULL DEFAULT 0,
	seen_time BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (node, name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: what holds for the whole project: at most one row; drain_time 0 = an admin has not drained it; backup_time: when
-- the newest complete backup was begun, 0 = none was made
CREATE TABLE IF NOT EXISTS project_state (
	id TINYINT NOT NULL DEFAULT 1,
	drain_time BIGINT NOT NULL DEFAULT 0,
	backup_time BIGINT NOT NULL DEFAULT 0,
	recount TINYINT NOT NULL DEFAULT 0, -- 1: programs of an earlier release may have moved workunits without counting them
	count_inputs TINYINT NOT NULL DEFAULT 0, -- 1: or made or finished some without counting their inputs
	PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: why a daemon could not handle a workunit at its last tries; stage = the daemon. Removed when it could, or with the workunit
CREATE TABLE IF NOT EXISTS workunit_trouble (
	workunitid BIGINT NOT NULL DEFAULT 0,
	stage VARCHAR(32) NOT NULL DEFAULT '',
	tries INT NOT NULL DEFAULT 0,
	first_time BIGINT NOT NULL DEFAULT 0,
	last_time BIGINT NOT NULL DEFAULT 0,
	reason VARCHAR(254) NOT NULL DEFAULT '',
	detail MEDIUMBLOB, -- such as the traceback of a handler
	appid BIGINT NOT NULL DEFAULT 0, -- of the daemon; 0 = it handles all apps
	next_time BIGINT NOT NULL DEFAULT 0, -- it is put aside until then
	PRIMARY KEY (workunitid, stage),
	KEY workunit_trouble_stage (stage),
	KEY workunit_trouble_next (stage, appid, next_time)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: number of workunits and of their results, per app (kind 1), batch (2) and file set (3), and state: code is a sum of
-- bits (model/tally.h). The transitioner moves a workunit from one row to another when it visits it, and notes in
-- workunit.tally what it has counted; part: who wrote the row, so that no two programs wait for each other's. The
-- counts of a key are the sums over its parts.
CREATE TABLE IF NOT EXISTS work_tally (
	kind TINYINT NOT NULL DEFAULT 0,
	id BIGINT NOT NULL DEFAULT 0,
	code INT NOT NULL DEFAULT 0,
	part INT NOT NULL DEFAULT 0,
	wus BIGINT NOT NULL DEFAULT 0,
	inactive BIGINT NOT NULL DEFAULT 0,
	live BIGINT NOT NULL DEFAULT 0,
	ended BIGINT NOT NULL DEFAULT 0,
	never_sent BIGINT NOT NULL DEFAULT 0,
	success BIGINT NOT NULL DEFAULT 0,
	valid BIGINT NOT NULL DEFAULT 0,
	failed BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (kind, id, code, part)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- ours: which instance of a daemon does a share of the work; token 0 = none. Times are those of the database's clock.
CREATE TABLE IF NOT EXISTS daemon_lease (
	name VARCHAR(190) NOT NULL DEFAULT '',
	node VARCHAR(100) NOT NULL DEFAULT '',
	service VARCHAR(90) NOT NULL DEFAULT '',
	place VARCHAR(32) NOT NULL DEFAULT '',
	token BIGINT NOT NULL DEFAULT 0,
	seq BIGINT NOT NULL DEFAULT 0,
	term_s BIGINT NOT NULL DEFAULT 0,
	take_time BIGINT NOT NULL DEFAULT 0,
	expire_time BIGINT NOT NULL DEFAULT 0,
	PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin;

-- Also run when a database is adopted: a project keeps its own types.
INSERT INTO consent_type (id, shortname, description, enabled, project_specific, privacypref)
	SELECT t.* FROM (SELECT 1 AS id, 'ENROLL' AS shortname, 'General terms-of-use for this project.' AS description,
		0 AS enabled, 0 AS project_specific, 0 AS privacypref
		UNION ALL SELECT 2, 'STATSEXPORT',
		'Do you consent to exporting your data to BOINC statistics aggregation Web sites?', 0, 0, 1) t
	WHERE NOT EXISTS (SELECT 1 FROM consent_type);

CREATE OR REPLACE VIEW latest_consent AS
	SELECT userid, consent_type_id, consent_flag FROM consent
	WHERE NOT EXISTS (SELECT * FROM consent AS filter
		WHERE consent.userid = filter.userid AND consent.consent_type_id = filter.consent_type_id
		AND filter.consent_time > consent.consent_time);
