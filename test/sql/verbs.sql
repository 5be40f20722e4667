-- SPDX-License-Identifier: Apache-2.0
-- The rows on which test_verbs runs each command of verbs.def: two apps, four accounts, five hosts, and a
-- workunit in each of the states that `work list` knows, some of a file, some of a batch.
REPLACE INTO project_state (id) VALUES (1);
INSERT INTO app (id, name, create_time, locality_scheduling) VALUES (1, 'sort', 1, 1), (2, 'fold', 1, 0);
INSERT INTO platform (id, name, user_friendly_name) VALUES (1, 'x86_64-pc-linux-gnu', 'Linux'), (2, 'windows_x86_64', 'Windows');
INSERT INTO app_version (id, appid, version_num, platformid, xml_doc) VALUES (1, 1, 100, 1, ''), (2, 1, 100, 2, ''), (3, 1, 101, 1, ''), (4, 2, 100, 1, '');
INSERT INTO team (id, userid, name) VALUES (1, 1, 'Team One'), (2, 2, 'Team Two');
INSERT INTO user (id, create_time, email_addr, name, authenticator, country, teamid, total_credit, expavg_credit, email_validated, cross_project_id) VALUES
	(1, 1000, 'ada@example.org', 'Ada', 'key1', 'France', 1, 100, 10, 1, 'cpid1'),
	(2, 2000, 'bob@example.org', 'Bob', 'key2', 'Chad', 2, 200, 20, 0, 'cpid2'),
	(3, 3000, 'cem@example.org', 'Cem', 'key3', 'Peru', 0, 0, 0, 1, 'cpid3'),
	(4, 4000, 'dee@example.com', 'Dee', 'key4', 'Peru', 0, 0, 0, 1, 'cpid4');
UPDATE user SET banned = 1, ban_reason = 'spam' WHERE id = 4;
INSERT INTO host (id, create_time, userid, rpc_time, rpc_day, rpc_seqno, domain_name, os_name, p_model, p_ncpus, host_cpid, total_credit, expavg_credit, venue) VALUES
	(1, 1000, 1, 86400, 1, 11, 'one', 'Linux', 'M1', 4, 'h1', 60, 6, ''),
	(2, 1000, 1, 172800, 2, 12, 'two', 'Windows', 'M2', 8, 'h2', 40, 4, 'home'),
	(3, 1000, 2, 259200, 3, 13, 'three', 'Linux', 'M3', 2, 'h3', 200, 20, ''),
	(4, 1000, 3, 345600, 4, 14, 'four', 'Linux', 'M4', 1, 'h4', 0, 0, ''),
	(5, 1000, 4, 0, 0, 0, 'five', 'Darwin', 'M5', 16, 'h5', 0, 0, '');
UPDATE host SET max_results_day = -1, ban_reason = 'overheats' WHERE id = 3;
INSERT INTO host_app_version (host_id, app_version_id, max_jobs_per_day, n_jobs_today, consecutive_valid, pfc_n) VALUES (1, 1, 3, 2, 5, 7), (1, 4, 8, 1, 6, 7), (2, 2, 9, 4, 7, 7), (3, 1, 5, 5, 8, 7);
INSERT INTO file (id, name, md5sum, size, create_time) VALUES (1, 'alpha.dat', 'c4ca4238a0b923820dcc509a6f75849b', 1000, 1), (2, 'beta.dat', 'c81e728d9d4c2f636f067f89cc14862c', 2000, 2), (3, 'gamma.dat', 'eccbc87e4b5ce2fe28308fd9f2a7baf3', 3000, 3), (4, 'alpha2.dat', 'a87ff679a2f3e71d9181a67b7542122c', 4000, 4);
INSERT INTO fileset (id, name, appid, gen_parts, create_time) SELECT id, name, 1, 10, id FROM file;
UPDATE fileset SET paused = 1, hold_reason = 'its tests' WHERE id = 4;
INSERT INTO fileset_file (fileset_id, file_id) SELECT id, id FROM file;
INSERT INTO host_file (hostid, file_id, since) VALUES (1, 1, 100), (1, 2, 200), (2, 1, 300), (3, 3, 400);
INSERT INTO batch (id, name, app_id, user_id, state, njobs, create_time) VALUES (1, 'spring', 1, 1, 1, 3, 10), (2, 'summer', 2, 2, 1, 4, 20), (3, 'twin', 1, 1, 0, 0, 30), (4, 'twin', 1, 1, 0, 0, 40);
INSERT INTO workunit (id, name, appid, fileset_id, batch) VALUES (1, 'a_1', 1, 1, 1), (2, 'a_2', 1, 1, 1), (3, 'a_3', 1, 2, 1), (4, 'b_1', 1, 2, 2), (5, 'b_2', 2, 0, 2), (6, 'b_3', 2, 0, 0), (7, 'c_1', 2, 0, 0), (8, 'c_2', 2, 0, 0), (9, 'c_3', 2, 0, 2);
UPDATE workunit SET create_time = 1000 + id, xml_doc = '<workunit/>', min_quorum = 1, target_nresults = 1, max_error_results = 2, max_total_results = 4, max_success_results = 2,
	rsc_memory_bound = id * 1e6, rsc_disk_bound = id * 1e7, transition_time = 9223372036854775807;
UPDATE workunit SET need_validate = 1 WHERE id = 3;
UPDATE workunit SET canonical_resultid = id * 10, assimilate_state = id - 3 WHERE id IN (4, 5);
UPDATE workunit SET error_mask = 2, assimilate_state = 1 WHERE id = 6;
UPDATE workunit SET error_mask = 16, assimilate_state = 2 WHERE id = 7;
INSERT INTO result (id, workunitid, name, appid, fileset_id, batch, create_time) SELECT id * 10, id, CONCAT(name, '_0'), appid, fileset_id, batch, 2000 + id FROM workunit;
INSERT INTO result (id, workunitid, name, appid, fileset_id, batch, create_time) SELECT id * 10 + 1, id, CONCAT(name, '_1'), appid, fileset_id, batch, 2000 + id FROM workunit WHERE id IN (6, 9);
UPDATE result SET server_state = 2, ready = IF(fileset_id > 0, fileset_id, -200) WHERE id IN (10, 90);
UPDATE result SET server_state = 4, hostid = IF(id = 20, 1, 2), userid = 1, app_version_id = IF(id = 20, 1, 4), sent_time = 3000, report_deadline = 900000 WHERE id IN (20, 91);
UPDATE result SET server_state = 5, outcome = 1, hostid = 3, userid = 2, sent_time = 3000, received_time = 4000, app_version_id = 1 WHERE id IN (30, 40, 50);
UPDATE result SET validate_state = 1, granted_credit = 5 WHERE id IN (40, 50);
UPDATE result SET server_state = 5, outcome = 3, validate_state = 2, exit_status = 1, hostid = 1 + id % 2, userid = 1, sent_time = 3000, received_time = 4000, failed_time = 4000, app_version_id = 4 WHERE id IN (60, 61);
UPDATE result SET server_state = 5, outcome = 5 WHERE id IN (70, 80)
