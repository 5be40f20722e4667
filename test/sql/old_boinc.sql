-- SPDX-License-Identifier: Apache-2.0
-- A BOINC project's database of about 2013, for the test of adoption: 32-bit ids, latin1, few defaults, some tables without
-- a primary key, and without our columns. It has a host, and workunits and results in every state.

CREATE TABLE platform (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	name VARCHAR(254) NOT NULL,
	user_friendly_name VARCHAR(254) NOT NULL,
	deprecated TINYINT NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	UNIQUE KEY platform_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE app (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	name VARCHAR(254) NOT NULL,
	min_version INT NOT NULL DEFAULT 0,
	deprecated SMALLINT NOT NULL DEFAULT 0,
	user_friendly_name VARCHAR(254) NOT NULL,
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
	PRIMARY KEY (id),
	UNIQUE KEY app_name (name)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE app_version (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	appid INT NOT NULL,
	version_num INT NOT NULL,
	platformid INT NOT NULL,
	xml_doc BLOB,
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
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE user (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	email_addr VARCHAR(254) NOT NULL,
	name VARCHAR(254) DEFAULT NULL,
	authenticator VARCHAR(254) DEFAULT NULL,
	country VARCHAR(254) DEFAULT NULL,
	postal_code VARCHAR(254) DEFAULT NULL,
	total_credit DOUBLE NOT NULL,
	expavg_credit DOUBLE NOT NULL,
	expavg_time DOUBLE NOT NULL,
	global_prefs BLOB,
	project_prefs BLOB,
	teamid INT NOT NULL,
	venue VARCHAR(254) NOT NULL,
	url VARCHAR(254) DEFAULT NULL,
	send_email SMALLINT NOT NULL,
	show_hosts SMALLINT NOT NULL,
	posts SMALLINT NOT NULL,
	seti_id INT NOT NULL,
	seti_nresults INT NOT NULL,
	seti_last_result_time INT NOT NULL,
	seti_total_cpu DOUBLE NOT NULL,
	signature VARCHAR(254) DEFAULT NULL,
	has_profile SMALLINT NOT NULL,
	cross_project_id VARCHAR(254) NOT NULL,
	passwd_hash VARCHAR(254) NOT NULL,
	email_validated SMALLINT NOT NULL,
	donated SMALLINT NOT NULL,
	login_token CHAR(32) NOT NULL DEFAULT '',
	login_token_time DOUBLE NOT NULL DEFAULT 0,
	previous_email_addr VARCHAR(254) NOT NULL DEFAULT '',
	email_addr_change_time DOUBLE NOT NULL DEFAULT 0,
	PRIMARY KEY (id),
	UNIQUE KEY user_email (email_addr),
	UNIQUE KEY user_auth (authenticator),
	KEY user_name (name),
	KEY ind_tid (teamid),
	KEY user_tot (total_credit),
	KEY user_avg (expavg_credit),
	KEY user_email_time (email_addr_change_time)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE team (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	userid INT NOT NULL,
	name VARCHAR(254) NOT NULL,
	name_lc VARCHAR(254) DEFAULT NULL,
	url VARCHAR(254) DEFAULT NULL,
	type INT NOT NULL,
	name_html VARCHAR(254) DEFAULT NULL,
	description TEXT,
	nusers INT NOT NULL,
	country VARCHAR(254) DEFAULT NULL,
	total_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_credit DOUBLE NOT NULL DEFAULT 0,
	expavg_time DOUBLE NOT NULL,
	seti_id INT NOT NULL DEFAULT 0,
	ping_user INT NOT NULL DEFAULT 0,
	ping_time INT UNSIGNED NOT NULL DEFAULT 0,
	joinable TINYINT NOT NULL DEFAULT 1,
	mod_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	PRIMARY KEY (id),
	UNIQUE KEY team_name (name),
	KEY team_avg (expavg_credit),
	KEY team_tot (total_credit),
	KEY team_userid (userid)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE host (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	userid INT NOT NULL,
	rpc_seqno INT NOT NULL,
	rpc_time INT NOT NULL,
	total_credit DOUBLE NOT NULL,
	expavg_credit DOUBLE NOT NULL,
	expavg_time DOUBLE NOT NULL,
	timezone INT NOT NULL,
	domain_name VARCHAR(254) DEFAULT NULL,
	serialnum VARCHAR(254) DEFAULT NULL,
	last_ip_addr VARCHAR(254) DEFAULT NULL,
	nsame_ip_addr INT NOT NULL,
	on_frac DOUBLE NOT NULL,
	connected_frac DOUBLE NOT NULL,
	active_frac DOUBLE NOT NULL,
	cpu_efficiency DOUBLE NOT NULL,
	duration_correction_factor DOUBLE NOT NULL,
	p_ncpus INT NOT NULL,
	p_vendor VARCHAR(254) DEFAULT NULL,
	p_model VARCHAR(254) DEFAULT NULL,
	p_fpops DOUBLE NOT NULL,
	p_iops DOUBLE NOT NULL,
	p_membw DOUBLE NOT NULL,
	os_name VARCHAR(254) DEFAULT NULL,
	os_version VARCHAR(254) DEFAULT NULL,
	m_nbytes DOUBLE NOT NULL,
	m_cache DOUBLE NOT NULL,
	m_swap DOUBLE NOT NULL,
	d_total DOUBLE NOT NULL,
	d_free DOUBLE NOT NULL,
	d_boinc_used_total DOUBLE NOT NULL,
	d_boinc_used_project DOUBLE NOT NULL,
	d_boinc_max DOUBLE NOT NULL,
	n_bwup DOUBLE NOT NULL,
	n_bwdown DOUBLE NOT NULL,
	credit_per_cpu_sec DOUBLE NOT NULL,
	venue VARCHAR(254) NOT NULL,
	nresults_today INT NOT NULL,
	avg_turnaround DOUBLE NOT NULL,
	host_cpid VARCHAR(254) DEFAULT NULL,
	external_ip_addr VARCHAR(254) DEFAULT NULL,
	max_results_day INT NOT NULL,
	error_rate DOUBLE NOT NULL DEFAULT 0,
	gpu_active_frac DOUBLE NOT NULL,
	PRIMARY KEY (id),
	KEY host_userid_cpid (userid, host_cpid),
	KEY host_domain_name (domain_name),
	KEY host_avg (expavg_credit),
	KEY host_tot (total_credit)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE host_app_version (
	host_id INT NOT NULL,
	app_version_id INT NOT NULL,
	pfc_n DOUBLE NOT NULL,
	pfc_avg DOUBLE NOT NULL,
	et_n DOUBLE NOT NULL,
	et_avg DOUBLE NOT NULL,
	et_var DOUBLE NOT NULL,
	et_q DOUBLE NOT NULL,
	max_jobs_per_day INT NOT NULL,
	n_jobs_today INT NOT NULL,
	turnaround_n DOUBLE NOT NULL,
	turnaround_avg DOUBLE NOT NULL,
	turnaround_var DOUBLE NOT NULL,
	turnaround_q DOUBLE NOT NULL,
	consecutive_valid INT NOT NULL,
	UNIQUE KEY hap (host_id, app_version_id)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE workunit (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	appid INT NOT NULL,
	name VARCHAR(254) NOT NULL,
	xml_doc BLOB,
	batch INT NOT NULL,
	rsc_fpops_est DOUBLE NOT NULL,
	rsc_fpops_bound DOUBLE NOT NULL,
	rsc_memory_bound DOUBLE NOT NULL,
	rsc_disk_bound DOUBLE NOT NULL,
	need_validate SMALLINT NOT NULL,
	canonical_resultid INT NOT NULL,
	canonical_credit DOUBLE NOT NULL,
	transition_time INT NOT NULL,
	delay_bound INT NOT NULL,
	error_mask INT NOT NULL,
	file_delete_state INT NOT NULL,
	assimilate_state INT NOT NULL,
	hr_class INT NOT NULL,
	opaque DOUBLE NOT NULL,
	min_quorum INT NOT NULL,
	target_nresults INT NOT NULL,
	max_error_results INT NOT NULL,
	max_total_results INT NOT NULL,
	max_success_results INT NOT NULL,
	result_template_file VARCHAR(254) NOT NULL,
	priority INT NOT NULL,
	mod_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	rsc_bandwidth_bound DOUBLE NOT NULL,
	fileset_id INT NOT NULL,
	app_version_id INT NOT NULL,
	transitioner_flags TINYINT NOT NULL,
	PRIMARY KEY (id),
	UNIQUE KEY wu_name (name),
	KEY wu_val (appid, need_validate),
	KEY wu_timeout (transition_time),
	KEY wu_filedel (file_delete_state),
	KEY wu_assim (appid, assimilate_state)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE result (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	workunitid INT NOT NULL,
	server_state INT NOT NULL,
	outcome INT NOT NULL,
	client_state INT NOT NULL,
	hostid INT NOT NULL,
	userid INT NOT NULL,
	report_deadline INT NOT NULL,
	sent_time INT NOT NULL,
	received_time INT NOT NULL,
	name VARCHAR(254) NOT NULL,
	cpu_time DOUBLE NOT NULL,
	xml_doc_in BLOB,
	xml_doc_out BLOB,
	stderr_out BLOB,
	batch INT NOT NULL,
	file_delete_state INT NOT NULL,
	validate_state INT NOT NULL,
	claimed_credit DOUBLE NOT NULL,
	granted_credit DOUBLE NOT NULL,
	opaque DOUBLE NOT NULL,
	random INT NOT NULL,
	app_version_num INT NOT NULL,
	appid INT NOT NULL,
	exit_status INT NOT NULL,
	teamid INT NOT NULL,
	priority INT NOT NULL,
	mod_time TIMESTAMP NOT NULL DEFAULT CURRENT_TIMESTAMP ON UPDATE CURRENT_TIMESTAMP,
	elapsed_time DOUBLE NOT NULL,
	flops_estimate DOUBLE NOT NULL,
	app_version_id INT NOT NULL,
	runtime_outlier TINYINT NOT NULL,
	size_class SMALLINT NOT NULL DEFAULT -1,
	PRIMARY KEY (id),
	UNIQUE KEY res_name (name),
	KEY res_wuid (workunitid),
	KEY ind_res_st (server_state, priority),
	KEY res_app_state (appid, server_state),
	KEY res_filedel (file_delete_state),
	KEY res_userid_id (userid, id),
	KEY res_userid_val (userid, validate_state),
	KEY res_hostid_id (hostid, id)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE msg_from_host (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	hostid INT NOT NULL,
	variety VARCHAR(254) NOT NULL,
	handled SMALLINT NOT NULL,
	xml MEDIUMTEXT,
	PRIMARY KEY (id),
	KEY message_handled (handled),
	KEY message_hostid (hostid)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE msg_to_host (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	hostid INT NOT NULL,
	variety VARCHAR(254) NOT NULL,
	handled SMALLINT NOT NULL,
	xml MEDIUMTEXT,
	PRIMARY KEY (id),
	KEY msg_to_host (hostid, handled)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE assignment (
	id INT NOT NULL AUTO_INCREMENT,
	create_time INT NOT NULL,
	target_id INT NOT NULL,
	target_type INT NOT NULL,
	multi TINYINT NOT NULL,
	workunitid INT NOT NULL,
	resultid INT NOT NULL,
	PRIMARY KEY (id),
	KEY asgn_target (target_type, target_id)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE credited_job (
	userid INT NOT NULL,
	workunitid INT NOT NULL,
	UNIQUE KEY user_wu (userid, workunitid),
	KEY credited_job_user (userid),
	KEY credited_job_wu (workunitid)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

CREATE TABLE team_delta (
	userid INT NOT NULL,
	teamid INT NOT NULL,
	timestamp INT NOT NULL,
	joining TINYINT NOT NULL,
	total_credit DOUBLE NOT NULL,
	KEY team_delta_teamid (teamid, timestamp),
	KEY team_delta_userid (userid)
) ENGINE=InnoDB DEFAULT CHARSET=latin1;

SET sql_mode = '';
INSERT INTO app (id, create_time, name, user_friendly_name) VALUES (1, 1, 'pulsar', 'Pulsar search');
INSERT INTO platform (id, create_time, name, user_friendly_name) VALUES (1, 1, 'x86_64-pc-linux-gnu', 'Linux');
INSERT INTO user (id, email_addr, name, authenticator) VALUES (1, 'a@example.org', 'A', 'key_a'), (2, 'b@example.org', 'B', 'key_b');
INSERT INTO host (id, userid, rpc_time, domain_name) VALUES (1, 1, 864000, 'one'), (2, 2, 1728000, 'two');
INSERT INTO host_app_version (host_id, app_version_id) VALUES (1, 1), (2, 1);
INSERT INTO team_delta (userid, teamid, timestamp, joining) VALUES (1, 1, 1, 1), (2, 1, 1, 1);
-- Workunit 3 names a file set that does not exist, and is never due: the last second of 32 bits.
INSERT INTO workunit (id, appid, name, target_nresults, min_quorum, fileset_id, transition_time)
	SELECT seq, 1, CONCAT('wu', seq), 2, 2, IF(seq = 3, 77, 0), IF(seq = 3, 2147483647, 0) FROM seq_1_to_3000;
INSERT INTO result (id, workunitid, appid, name, server_state, hostid, userid, outcome)
	SELECT seq, (seq + 1) DIV 2, 1, CONCAT('wu', (seq + 1) DIV 2, '_', seq % 2), ELT(seq % 3 + 1, 2, 4, 5),
	ELT(seq % 3 + 1, 0, 1, 2), ELT(seq % 3 + 1, 0, 1, 2), seq % 3 = 2 FROM seq_1_to_6000;
